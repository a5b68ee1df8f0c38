"""The demo's robot and what it does: a humanoid with loops in its legs, on its feet, that squats, sways and turns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import sarrus

DT, SECONDS = 1e-3, 10.0
LEGS, ARMS = (900.0, 45.0), (80.0, 3.0)  # PD gains of motors: Nm/rad, Nms/rad
STABILIZATION = 0.02  # seconds, Baumgarte's
_KEYS = 101  # configurations of the motion that are solved for; linear between them


class Robots(NamedTuple):
    """The same robot three times."""

    rows: sarrus.Model  # loops as constraint rows
    embedded: sarrus.Model  # loops embedded: only the feet are rows
    motors: np.ndarray  # (nv,) 1 where a motor is


def robots() -> Robots:
    rows = sarrus.zoo.biped(contacts=True)
    motors = [float(np.isfinite(b.joint.effort_limit).any()) for b in rows.bodies for _ in range(b.joint.type.nv)]
    return Robots(rows, sarrus.embed(rows), np.array(motors))


def targets(robot: sarrus.Model) -> np.ndarray:
    """(T, nq): the torso and the arms are put where they should be; legs follow, loops closed, soles on the ground."""
    t = np.linspace(0.0, SECONDS, _KEYS)
    ease = np.minimum(1.0, t) ** 2 * (3.0 - 2.0 * np.minimum(1.0, t))
    q, held = np.tile(sarrus.neutral(robot), (_KEYS, 1)), np.zeros((_KEYS, robot.nv))
    q[:, 1] = 0.04 * ease * np.sin(2.0 * np.pi * t / 5.0)
    q[:, 2] = -0.07 * ease * (1.0 - np.cos(2.0 * np.pi * t / 2.5))
    q[:, 5] = np.sin(0.1 * ease * np.sin(2.0 * np.pi * t / 5.0))
    q[:, 6] = np.sqrt(1.0 - q[:, 5] ** 2)
    held[:, robot.layout.v_of("torso_joint")] = 1.0
    for side, sign in (("left", 1.0), ("right", -1.0)):
        q[:, robot.layout.q_of(f"{side}_shoulder_joint").start] = 0.5 * sign * ease * np.sin(2.0 * np.pi * t / 2.5)
    found = sarrus.project(robot, q, held=held)
    assert found.error.max() < 1e-9, "the motion leaves what the legs can reach"
    steps = DT * np.arange(round(SECONDS / DT))
    return np.stack([np.interp(steps, t, x) for x in found.q.T], axis=1)


def simulation(robots: Robots, wanted: np.ndarray, duration: float, **more: Any) -> sarrus.Trajectory:
    """The motion under PD control, loops embedded, contacts by lcaba."""
    of_arms = np.zeros(robots.rows.nv)
    for side in ("left", "right"):
        for part in ("shoulder", "upper_arm", "forearm"):
            of_arms[robots.rows.layout.v_of(f"{side}_{part}_joint")] = 1.0
    kp, kd = (robots.motors * (legs + of_arms * (arms - legs)) for legs, arms in zip(LEGS, ARMS, strict=True))
    control = sarrus.pd(kp, kd, wanted)
    return sarrus.simulate(
        robots.embedded, wanted[0], controller=control, duration=duration, dt=DT, method="lcaba",
        stabilization=STABILIZATION, project_every=None, **more,
    )  # fmt: skip


def energy_balance(trajectory: sarrus.Trajectory) -> tuple[float, float, np.ndarray]:
    """Largest |energy - what the motors gave| in joules and relative to what they turned over; and it over time."""
    assert trajectory.tau is not None
    v = 0.5 * (trajectory.v[:-1] + trajectory.v[1:])
    power = np.einsum("ti,ti->t", trajectory.tau[:-1], v)
    given = np.append(0.0, np.cumsum(DT * power))[::10]
    energy = trajectory[::10].energy.total
    missing = energy - energy[0] - given
    turned_over = float(np.abs(DT * power).sum())
    return float(np.abs(missing).max()), float(np.abs(missing).max()) / turned_over, missing


def of_rows(robots: Robots, trajectory: sarrus.Trajectory, kernel: sarrus.Kernel, every: int) -> sarrus.Trajectory:
    """What is saved: fewer states, of the robot as the zoo has it, with the forces in its loops, too."""
    part = trajectory[::every]
    assert part.tau is not None
    result = kernel(part.q, part.v, part.tau)
    return sarrus.Trajectory(
        robots.rows, part.time, part.q, part.v, tau=part.tau, qdd=part.qdd, forces=result.forces, status=part.status,
        settings=trajectory.settings,
    )  # fmt: skip
