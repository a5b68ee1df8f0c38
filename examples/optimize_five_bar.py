"""iLQR on a closed loop: optimal torques from the derivatives of the simulation's own steps.

What you learn
- `Simulation.linearize` gives A and B of every step of a trajectory in one batch, with the loop closed: all joints are
  coordinates, and a change of the torques moves them along the loop.
- The Riccati recursion and a line search on top of it (`examples/ilqr.py`) converge in a few iterations.
- `Simulation.vjp` gives the gradient of the same cost without forming any matrix: at the optimum it is zero.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from rich.console import Console

import sarrus
from examples.ilqr import Solution, Task, ilqr

DRIVEN = ("left_crank_joint", "right_crank_joint")


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = sarrus.zoo.five_bar()
    motors = [model.layout.v_of(name).start for name in DRIVEN]
    q0 = sarrus.neutral(model)
    aim = q0.copy()
    aim[motors] += np.array([0.5, 0.7])
    goal = sarrus.project(model, aim, held=np.isin(np.arange(model.nv), motors).astype(float)).q
    simulation = sarrus.Simulation(model, 5e-3, "semi_implicit_euler", stabilization=0.05, project_every=None)
    task = Task(simulation, motors, q0, goal, holding(model, q0), steps=60)
    found = ilqr(task, console.print)
    rollout = simulation.rollout(q0, np.zeros(model.nv), task.tau(found.u))
    q_bar, v_bar = np.zeros((2, task.steps + 1, model.nv))
    q_bar[-1], v_bar[-1] = np.split(task.end_gradient(found.q[-1], found.v[-1]), 2)
    gradient = simulation.vjp(rollout, q_bar, v_bar, tau=task.tau(found.u)).u_bar[:, motors]
    gradient = gradient + task.effort * (found.u - task.u0)
    off = np.abs(sarrus.difference(model, goal, found.q[-1])).max()
    console.print(
        f"cost {found.costs[0]:.3f} -> {found.costs[-1]:.6f} in {len(found.costs) - 1} iterations: "
        f"at the end {off:.1e} rad from the goal, still moving at {np.abs(found.v[-1]).max():.1e} rad/s"
    )
    console.print(
        f"the largest element of the gradient is {np.abs(gradient).max():.1e}; the loop stayed closed to "
        f"{rollout.closure_error.max():.1e} m"
    )
    assert found.costs[-1] < 0.05 * found.costs[0]
    assert np.abs(gradient).max() < 1e-4
    plot(rollout, found, console)


def holding(model: sarrus.Model, q: np.ndarray) -> np.ndarray:
    """The motors' torques that hold the linkage at q."""
    zero = np.zeros(model.nv)
    return sarrus.ce_rnea(sarrus.embed(model), q, zero, zero, motors=DRIVEN).motors


def plot(rollout: sarrus.Trajectory, found: Solution, console: Console) -> None:
    """Torques, joints and cost, into demo_output/."""
    from matplotlib.figure import Figure

    figure = Figure((12.0, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(rollout.time[:-1], found.u, label=DRIVEN)
    left.set(title="motor torques", xlabel="time [s]", ylabel="torque [Nm]")
    middle.plot(rollout.time, rollout.q, label=rollout.joint_names)
    middle.set(title="joint angles", xlabel="time [s]", ylabel="angle [rad]")
    for axes in (left, middle):  # below the curves
        axes.legend(fontsize=8, frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    right.semilogy(np.array(found.costs), "o-", markersize=3)
    right.set(title="cost", xlabel="iteration", ylabel="cost [-]")
    figure.suptitle("A five-bar moves to a posture: torques found by iLQR")
    directory = Path(os.environ.get("SARRUS_EXAMPLE_OUTPUT", "demo_output"))
    directory.mkdir(exist_ok=True)
    figure.savefig(directory / "optimize_five_bar.png", dpi=110)
    console.print(f"written: {directory / 'optimize_five_bar.png'}")


if __name__ == "__main__":
    main()
