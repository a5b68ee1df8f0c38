"""A quadruped with geared motors stands on feet that are held in place, and is pushed.

What you learn
- Contacts and gears in one robot: gears are embedded (no rows), feet are held by point contacts (12 rows).
- A `Simulation` is data, and used twice: with a controller compiled into the step, then also with pushes on the base.
- Constraint forces by name: do the feet carry the weight, and would any of them lift off?
- A thousand robots, pushed in a thousand directions, by the same kernel.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS, BATCH = 1e-3, 1.0, 1000
PUSH = 80.0  # newtons, for a tenth of a second
LEGS = ("front_left", "front_right", "hind_left", "hind_right")


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.zoo.geared_quadruped(contacts=True)
    model = sarrus.embed(robot)
    console.print(f"{robot.name}: {robot.nv} dof, {robot.n_rows} rows; gears embedded: {model.n_rows} rows")
    for name, which in (("as rows", robot), ("embedded", model)):
        console.print(f"  {name:9} lcaba: {sarrus.op_count(which, 'lcaba').total:6,} operations")

    control = sarrus.pd(*gains(robot), robot.home)
    steps = round(SECONDS / DT)
    simulation = sarrus.Simulation(model, DT, controller=control, stabilization=0.02, project_every=None)

    # At rest, every foot carries its share.
    standing = simulation.run(robot.home, duration=SECONDS)
    forces = np.array([standing.force(f"contact_{leg}_foot")[-1] for leg in LEGS])
    weight = 9.81 * float(robot.mass)
    upright = vertical(robot, standing.q[-1], forces)
    console.print(
        "feet carry " + ", ".join(f"{leg} {f:.1f}" for leg, f in zip(LEGS, upright[:, 2], strict=True)) + " N"
    )
    console.print(f"together {upright[:, 2].sum():.2f} N; the robot weighs {weight:.2f} N")

    # A batch that is pushed from all sides, one robot per direction.
    push = np.zeros((BATCH, steps, robot.nv))
    angle = 2.0 * np.pi * np.arange(BATCH) / BATCH
    push[:, 200:300, 0], push[:, 200:300, 1] = PUSH * np.cos(angle)[:, None], PUSH * np.sin(angle)[:, None]
    start = np.tile(standing.final.q, (BATCH, 1))
    began = time.perf_counter()
    pushed = replace(simulation, record_every=20, record=("forces", "status")).rollout(start, tau=push)
    seconds = time.perf_counter() - began
    away = np.linalg.norm(pushed.q[..., :2] - pushed.q[:, :1, :2], axis=-1)
    console.print(
        f"{BATCH} robots pushed by {PUSH:g} N: the trunk moves by {1e3 * away.max():.1f} mm at most, "
        f"and ends within {1e3 * away[:, -1].max():.1f} mm of where it was; "
        f"{1e6 * seconds / (BATCH * steps):.2f} us per step, {BATCH * SECONDS / seconds:,.0f} times real time"
    )
    lifted = [leg for leg in LEGS if foot_pulls(robot, pushed, leg)]
    console.print(f"feet that would lift off (the contacts hold them): {', '.join(lifted) or 'none'}")
    assert abs(upright[:, 2].sum() - weight) < 0.01 * weight


def gains(robot: sarrus.Model) -> tuple[np.ndarray, np.ndarray]:
    """Gains of the joints that motors drive, but not of their rotors, which the gears move."""
    kp, kd = np.zeros(robot.nv), np.zeros(robot.nv)
    for body, at in zip(robot.bodies, robot.layout.v, strict=True):
        if body.joint.independent:
            kp[at], kd[at] = 200.0, 6.0
    return kp, kd


def vertical(robot: sarrus.Model, q: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Contact forces (4, 3), turned from the axes of their frames into those of the world."""
    R = sarrus.forward_kinematics(robot, q, frames=tuple(f"{leg}_foot" for leg in LEGS)).rotation
    return np.einsum("kij,kj->ki", R, forces)


def foot_pulls(robot: sarrus.Model, pushed: sarrus.Trajectory, leg: str) -> bool:
    """Whether a foot ever pulls at the ground, in any of the rollouts."""
    q = pushed.q.reshape(-1, robot.nq)
    R = sarrus.forward_kinematics(robot, q[::10], frames=(f"{leg}_foot",)).rotation[:, 0]
    f = pushed.force(f"contact_{leg}_foot").reshape(-1, 3)[::10]
    return bool((np.einsum("ki,ki->k", R[:, 2], f) < 0.0).any())


if __name__ == "__main__":
    main()
