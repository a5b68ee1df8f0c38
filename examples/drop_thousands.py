"""Four thousand quadrupeds, turned at random, are dropped at once and come to rest on the ground.

What you learn
- A batch on the ground is one call: states are SIMD lanes, and each lane stops iterating on its contacts by itself.
- `record` and `record_every` keep only what is needed: 4,096 robots over 1,500 steps do not fill the memory.
- Every step of every robot has a status: a contact problem that was not solved would say so.
- How deep anything penetrates, and how much the ground carries.
"""

from __future__ import annotations

import os
import time

import numpy as np
from rich.console import Console

import sarrus

ROBOTS = int(os.environ.get("SARRUS_EXAMPLE_ROLLOUTS", "4096"))
DT, SECONDS, HEIGHT = 1e-3, 1.5, 0.5
DAMPING = 1.0  # Nms/rad at the driven joints: limp, but not like a rope


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.zoo.geared_quadruped().with_ground(friction=0.7)
    driven = np.array([b.joint.independent is True for b in robot.bodies for _ in range(b.joint.type.nv)])
    control = sarrus.pd(20.0 * driven, DAMPING * driven, robot.home)
    simulation = sarrus.Simulation(
        sarrus.embed(robot), DT, controller=control, record=("status", "contacts"), record_every=50
    )
    console.print(
        f"{robot.name}: {robot.nv} dof; {len(simulation.run(duration=0.0).contacts.names)} pairs of shapes may touch"
    )

    rng = np.random.default_rng(0)
    start = np.tile(robot.home, (ROBOTS, 1))
    start[:, 2] += HEIGHT
    start[:, 3:7] = rng.normal(size=(ROBOTS, 4))
    start[:, 3:7] /= np.linalg.norm(start[:, 3:7], axis=1, keepdims=True)
    v = np.zeros((ROBOTS, robot.nv))
    v[:, :6] = rng.normal(size=(ROBOTS, 6))
    began = time.perf_counter()
    dropped = simulation.run(start, v, duration=SECONDS)
    seconds = time.perf_counter() - began

    steps = ROBOTS * round(SECONDS / DT)
    console.print(f"{ROBOTS:,} robots, {SECONDS:g} s each: {steps / seconds:,.0f} steps per second, ", end="")
    console.print(f"{1e6 * seconds / steps:.2f} us per step, {steps * DT / seconds:,.0f} times real time")
    contacts, weight = dropped.contacts, 9.81 * float(robot.mass)
    console.print(f"statuses of recorded states: {dropped.statuses}")
    console.print(f"deepest penetration {-1e3 * contacts.gaps[contacts.touching].min():.2f} mm")
    still = np.linalg.norm(dropped.v[:, -1, :3], axis=1) < 0.05
    count = contacts[:, -1].touching.sum(axis=-1).mean()
    console.print(f"{np.mean(still):.0%} of the robots lie still, on {count:.1f} contact points each")
    carried = contacts.total_force[still, -1, 2]
    console.print(f"the ground carries {carried.mean():.1f} N of one that lies still; a robot weighs {weight:.1f} N")
    assert np.isfinite(dropped.q).all()
    assert abs(carried.mean() - weight) < 0.1 * weight


if __name__ == "__main__":
    main()
