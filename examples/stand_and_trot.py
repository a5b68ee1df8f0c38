"""A quadruped with geared legs on the ground: it stands, trots in open loop, is pushed, and falls.

What you learn
- `with_ground` and a PD controller are enough to stand; gears are embedded, so rotor inertias count and cost no rows.
- A blind trot: feet on half ellipses, legs by the two-link formula, diagonal pairs in turn; only joints are fed back.
- Pushes are `external_forces` on a body; trunk and knees have collision shapes too, and end up on the ground.
- Contacts over time: what touches, and how much the ground carries.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

DT, STAND, SECONDS, PUSHED = 1e-3, 0.5, 5.0, (3.5, 3.7)  # seconds
FREQUENCY, STRIDE, LIFT = 2.5, 0.1, 0.06  # 1/s, m, m
PUSH = 180.0  # newtons, to the left
KP, KD = 400.0, 8.0  # Nm/rad, Nms/rad
THIGH, SHANK = 0.21, 0.2  # metres, of the zoo's quadruped
LEGS = ("front_left", "front_right", "hind_left", "hind_right")


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.zoo.geared_quadruped().with_ground(friction=0.8)
    control = sarrus.pd(*gains(robot), trot(robot))
    simulation = sarrus.Simulation(sarrus.embed(robot), DT, controller=control)
    for note in simulation.notes:
        console.print(f"note: {note}")
    push = np.zeros((round(SECONDS / DT), robot.nb, 6))  # on each body, in its frame: force, then moment
    push[round(PUSHED[0] / DT) : round(PUSHED[1] / DT), 0, 1] = PUSH
    motion = simulation.run(duration=SECONDS, external_forces=push)

    contacts, weight = motion.contacts, 9.81 * float(robot.mass)
    trots = (motion.time > STAND + 0.5) & (motion.time < PUSHED[0])
    vertical = contacts.total_force[:, 2]
    console.print(f"stands: the ground carries {vertical[round(STAND / DT)]:.1f} N, the robot weighs {weight:.1f} N")
    ahead = np.ptp(motion.q[trots, 0]) / np.ptp(motion.time[trots])
    on_two = np.mean(contacts.touching[trots].sum(axis=1) == 2)
    console.print(
        f"trots at {ahead:.2f} m/s, on two feet {on_two:.0%} of the time, {vertical[trots].mean():.1f} N on average"
    )
    end = contacts[-1]
    names = sorted({contacts.names[number][0] for number in end.numbers[end.touching]})
    console.print(
        f"pushed by {PUSH:g} N for {PUSHED[1] - PUSHED[0]:.1f} s, it falls; at the end these touch the ground:"
    )
    console.print(f"  {', '.join(names)}")
    console.print(
        f"statuses {motion.statuses}; up to {motion.iterations.max():.0f} Newton steps for the contacts of a step"
    )
    assert ahead > 0.3
    assert abs(motion.q[trots, 2].min() - robot.home[2]) < 0.03
    assert motion.q[-1, 2] < 0.6 * robot.home[2]


def gains(robot: sarrus.Model) -> tuple[np.ndarray, np.ndarray]:
    """Gains of the joints that motors drive, but not of their rotors, which the gears move."""
    driven = np.array([b.joint.independent is True for b in robot.bodies for _ in range(b.joint.type.nv)])
    return KP * driven, KD * driven


def trot(robot: sarrus.Model) -> np.ndarray:
    """Configurations (T, nq): standing at home, then the legs of a trot under the trunk."""
    time = DT * np.arange(round(SECONDS / DT))
    since = np.maximum(0.0, time - STAND)
    begun = np.minimum(1.0, 2.0 * since)
    q = np.tile(robot.home, (len(time), 1))
    down = robot.home[2] - 0.02  # height of the hips above the feet
    for leg in LEGS:
        phase = (FREQUENCY * since + (0.0 if leg in ("front_left", "hind_right") else 0.5)) % 1.0
        swings, part = phase < 0.5, (2.0 * phase) % 1.0
        x = 0.006 + begun * STRIDE * np.where(swings, part - 0.5, 0.5 - part)
        z = down - begun * LIFT * np.where(swings, np.sin(np.pi * part), 0.0)
        knee = -np.arccos((x**2 + z**2 - THIGH**2 - SHANK**2) / (2.0 * THIGH * SHANK))
        hip = np.arctan2(-x, z) - np.arctan2(SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee))
        q[:, robot.layout.q_of(f"{leg}_hip_pitch_joint").start] = hip
        q[:, robot.layout.q_of(f"{leg}_knee_joint").start] = knee
    return q


if __name__ == "__main__":
    main()
