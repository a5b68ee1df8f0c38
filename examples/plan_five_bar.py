"""Ten thousand rollouts of a five-bar: planning by trial, in native code.

What you learn
- `rollout` steps a batch in native code without returning to Python: loops closed, one kernel, SIMD over robots.
- Predictive sampling: draw torque sequences, roll them all out, keep the best, and draw around it again.
- If a robot of the batch fails, its status says so, and the others go on.
"""

from __future__ import annotations

import os
import time

import numpy as np
from rich.console import Console

import sarrus

ROLLOUTS = int(os.environ.get("SARRUS_EXAMPLE_ROLLOUTS", "10000"))
DT, STEPS, KNOTS, ROUNDS = 2e-3, 150, 6, 4
SPREAD = 1.0  # Nm
DRIVEN = ("left_crank_joint", "right_crank_joint")


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = sarrus.zoo.five_bar()
    q0 = sarrus.neutral(model)
    begin = sarrus.forward_kinematics(model, q0, frames=("tool",)).position[0]
    goal = begin + np.array([0.12, 0.0, -0.05])
    rng = np.random.default_rng(0)
    motors = [model.layout.v_of(name).start for name in DRIVEN]
    best = np.tile(sarrus.gravity_forces(model, q0)[motors], (KNOTS, 1))
    console.print(f"the tool is to go from {begin.round(3)} to {goal.round(3)} m in {DT * STEPS:g} s, and stop there")

    seconds = 0.0
    for number in range(ROUNDS):
        plans = best + SPREAD * 0.6**number * rng.normal(size=(ROLLOUTS, KNOTS, 2))
        plans[0] = best
        began = time.perf_counter()
        found = sarrus.rollout(
            model, np.tile(q0, (ROLLOUTS, 1)), tau=torques(model, plans, motors), dt=DT, stabilization=0.02,
            record_every=15, threads=None,
        )  # fmt: skip
        seconds += time.perf_counter() - began if number else 0.0  # the first one compiles
        cost = costs(model, found, goal)
        choice = int(np.argmin(cost))
        best = plans[choice]
        tool = sarrus.forward_kinematics(model, found.q[choice, -1], frames=("tool",)).position[0]
        failed = int((found.status.max(axis=1) > 0).sum())
        console.print(
            f"round {number}: best of {ROLLOUTS:,}: {1e3 * np.linalg.norm(tool - goal):6.1f} mm from the goal, "
            f"cost {cost[choice]:.4f}; {failed} rollouts failed"
        )
    steps = (ROUNDS - 1) * ROLLOUTS * STEPS
    console.print(
        f"{steps:,} steps in {seconds:.2f} s: {1e6 * seconds / steps:.3f} us each, "
        f"{steps * DT / seconds:,.0f} times real time"
    )
    assert np.linalg.norm(tool - goal) < 0.03


def torques(model: sarrus.Model, plans: np.ndarray, motors: list[int]) -> np.ndarray:
    """Torques (B, T, nv) of the motors, linear between the knots."""
    at = np.linspace(0.0, KNOTS - 1.0, STEPS)
    left, part = np.minimum(at.astype(int), KNOTS - 2), at - np.minimum(at.astype(int), KNOTS - 2)
    between = plans[:, left] * (1.0 - part)[:, None] + plans[:, left + 1] * part[:, None]
    tau = np.zeros((len(plans), STEPS, model.nv))
    tau[:, :, motors] = between
    return tau


def costs(model: sarrus.Model, found: sarrus.Trajectory, goal: np.ndarray) -> np.ndarray:
    """Costs (B,): how far from the goal the tool ends, and how fast it still is; infinite for rollouts that failed."""
    tool = sarrus.forward_kinematics(model, found.q[:, -1], frames=("tool",)).position[:, 0]
    speed = np.linalg.norm(found.v[:, -1], axis=1)
    cost = np.linalg.norm(tool - goal, axis=1) + 0.01 * speed
    return np.where(found.status.max(axis=1) > 0, np.inf, cost)


if __name__ == "__main__":
    main()
