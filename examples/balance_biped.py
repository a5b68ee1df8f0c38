"""A biped keeps its balance when it is pushed: model predictive control by rollouts on the ground (MPPI).

What you learn
- Rollouts with contacts, each with its own targets, are one call: fast enough to plan with.
- A plan is improved by the exponentially weighted mean of random plans around it (Williams et al., 2017).
- What is planned: a few offsets to the joint targets. The first part of the plan is carried out, then planning repeats.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import sarrus

ROLLOUTS = 64
DT, AHEAD, DONE, KNOTS = 4e-3, 75, 15, 4  # s per step; steps planned, steps carried out, knots of a plan
SECONDS = 1.2
PUSH = (0.55, 0.25)  # m/s, forward and to the left
SPREAD, TEMPERATURE = 0.15, 0.2


class Planner:
    """Plans from a given state: random plans around the last one, weighted by their cost."""

    def __init__(self, model: sarrus.Model) -> None:
        self.model, self.rng, self.home = model, np.random.default_rng(0), sarrus.neutral(model)
        names = [body.joint.name for body in model.bodies if body.joint.independent is True]
        self.joints = np.array([model.layout.q_of(name).start for name in names])
        gains = np.zeros((2, model.nv))
        gains[:, [model.layout.v_of(name).start for name in names]] = [[300.0], [10.0]]
        self.held = sarrus.pd(*gains, self.home)
        self.simulation = sarrus.Simulation(model, DT, record=("status",), record_every=DONE, controller=self.held)
        self.plan = np.zeros((KNOTS, len(names)))
        at = np.arange(AHEAD) * (KNOTS - 1) / AHEAD
        self.spline = np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(KNOTS)))  # (AHEAD, KNOTS): linear

    def run(self, q: np.ndarray, v: np.ndarray, plans: np.ndarray, steps: int) -> sarrus.Trajectory:
        """Rollouts from one state that follow plans (B, KNOTS, joints)."""
        targets = np.tile(self.home, (len(plans), steps, 1))
        targets[:, :, self.joints] += (self.spline @ plans)[:, :steps]
        controller = replace(self.held, targets={**self.held.targets, "q_target": targets})
        q, v = (np.tile(x, (len(plans), 1)) for x in (q, v))
        return replace(self.simulation, controller=controller).run(q, v, steps=steps)

    def improve(self, q: np.ndarray, v: np.ndarray) -> None:
        noise = SPREAD * self.rng.normal(size=(ROLLOUTS, *self.plan.shape))
        noise[0] = 0.0  # the current plan competes with the random ones
        costs = self.cost(self.run(q, v, self.plan + noise, AHEAD))
        weights = np.exp(-(costs - costs.min()) / TEMPERATURE)
        self.plan = self.plan + np.tensordot(weights / weights.sum(), noise, 1)

    def go_on(self) -> None:
        """Shift the plan by the steps that were carried out."""
        at = np.minimum(np.arange(KNOTS) + DONE * (KNOTS - 1) / AHEAD, KNOTS - 1.0)
        self.plan = np.stack([np.interp(at, np.arange(KNOTS), x) for x in self.plan.T], axis=1)

    def cost(self, motion: sarrus.Trajectory) -> np.ndarray:
        """Low if upright, as high as at home, where it began and at rest; the end counts most."""
        q, v = motion.q[:, 1:], motion.v[:, 1:]
        off = 40.0 * np.sum(q[..., 3:5] ** 2, -1) + 60.0 * (q[..., 2] - self.home[2]) ** 2
        off += 2.0 * np.sum((q[..., :2] - self.home[:2]) ** 2, -1) + 0.5 * np.sum(v[..., :3] ** 2, -1)
        failed = np.any(motion.status >= sarrus.Status.DIVERGED, axis=1)
        return off.mean(axis=1) + 3.0 * off[:, -1] + np.where(failed, 1e3, 0.0)


def pushed(planner: Planner, plans: bool) -> np.ndarray:
    """Configurations after a push, every DONE steps: with planning, or holding still (which is the first plan)."""
    q, v = planner.home, np.r_[PUSH, np.zeros(planner.model.nv - 2)]
    seen = [q]
    for _ in range(round(SECONDS / (DT * DONE))):
        if plans:
            planner.improve(q, v)
        motion = planner.run(q, v, planner.plan[None], DONE)
        q, v = motion.q[0, -1], motion.v[0, -1]
        planner.go_on()
        seen.append(q)
    return np.array(seen)


def main() -> None:
    planner = Planner(sarrus.embed(sarrus.zoo.biped(arms=False).with_ground(friction=0.8)))
    still, began = pushed(planner, plans=False), time.perf_counter()
    kept = pushed(planner, plans=True)
    took, plans = time.perf_counter() - began, len(kept) - 1
    print(f"a push gives the trunk {PUSH[0]} m/s forward and {PUSH[1]} m/s to the left")
    for words, q in (("holding still", still), (f"{plans} plans of {ROLLOUTS} rollouts", kept)):
        print(f"{words}: after {SECONDS} s the trunk is {100 * (planner.home[2] - q[-1, 2]):.0f} cm lower")
    print(f"{took:.1f} s in all, {1e3 * took / plans:.0f} ms per plan of {AHEAD} steps of {1e3 * DT:g} ms")
    assert kept[-1, 2] > planner.home[2] - 0.1, "it fell"
    draw(still, kept, Path(os.environ.get("SARRUS_EXAMPLE_OUTPUT", "demo_output")))


def draw(still: np.ndarray, kept: np.ndarray, output: Path) -> None:
    plt = sarrus.errors.optional_package("matplotlib.pyplot", "the picture needs matplotlib", "'sarrus[plots]'")
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for words, q in (("holding still", still), ("planning", kept)):
        axes.plot(DT * DONE * np.arange(len(q)), q[:, 2], label=words)
    axes.set(xlabel="time [s]", ylabel="trunk above its start [m]", title="A biped after a push: what planning does")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # beside the curves
    output.mkdir(parents=True, exist_ok=True)
    figure.savefig(output / "balance_biped.png", dpi=80)


if __name__ == "__main__":
    main()
