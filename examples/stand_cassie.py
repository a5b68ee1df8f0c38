"""Cassie, with four loops and leaf springs in its legs, stands, is dropped, and falls when its motors are switched off.

    python -m examples.stand_cassie agility_cassie/scene.xml

The file is that of MuJoCo Menagerie (its meshes are not needed); SARRUS_CASSIE may say where it is.

What you learn
- A scene file as it comes: its floor, time step, keyframe and motors are used; stiff springs make steps implicit.
- `put_down` and `inverse_kinematics` find where to stand: feet on the ground, centre of mass above them, loops closed.
- A controller in Python, called in every step: PD control of the motors, and feet that push against the way the
  centre of mass goes.
- What carries the robot: contact forces, and the forces that close its loops.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

import sarrus

KP, KD = 1000.0, 30.0  # of all motors: Nm/rad, Nms/rad
LEAN, SWAY = 2500.0, 600.0  # of the feet, against what the centre of mass does: N, Ns
FEET, AHEAD = ("left-foot", "right-foot"), 0.02  # metres by which the middle of a foot is ahead of its joint
SECONDS, DROP = 2.0, 0.05  # of each part; metres


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    given = next((x for x in (*sys.argv[1:], os.environ.get("SARRUS_CASSIE", "")) if x.endswith(".xml")), None)
    if given is None or not Path(given).is_file():
        console.print("Cassie's file does not come with Sarrus. It is agility_cassie/scene.xml of MuJoCo Menagerie:")
        console.print("  https://github.com/google-deepmind/mujoco_menagerie")
        console.print("  python -m examples.stand_cassie agility_cassie/scene.xml")
        console.print("Another robot with loops that stands: python -m examples.biped_on_the_ground")
        return
    robot = sarrus.load(given)
    console.print(f"{robot.name}: {robot.nv} velocities, {robot.n_rows} rows of loops, steps of {robot.time_step} s")
    stand = where_to_stand(robot)
    control = balancing(robot, stand)
    uncut = sarrus.JointForces(effort=False)  # effort limits would clip the stiff gains
    simulation = sarrus.Simulation(sarrus.embed(robot), controller=control, joint_forces=uncut)
    console.print("note: " + simulation.notes[0])

    standing = simulation.run(stand, duration=SECONDS)
    told(console, robot, "stands", standing)
    assert standing.q[-1, 2] > 0.9, "it fell"
    dropped = simulation.run(stand + DROP * np.eye(robot.nq)[2], duration=SECONDS)
    told(console, robot, f"dropped by {1e3 * DROP:.0f} mm", dropped)
    assert dropped.q[-1, 2] > 0.9, "it fell"
    limp = sarrus.Simulation(sarrus.embed(robot)).run(standing.q[-1], duration=SECONDS)
    told(console, robot, "motors off", limp)


def where_to_stand(robot: sarrus.Model) -> np.ndarray:
    """The file's keyframe with its feet on the ground, and the centre of mass above them."""
    q = sarrus.put_down(robot, robot.keyframes["home"].q)
    feet = sarrus.forward_kinematics(robot, q, frames=FEET)
    targets = {name: (p, R) for name, p, R in zip(FEET, feet.position, feet.rotation, strict=True)}
    middle = feet.position[:, :2].mean(axis=0) + np.array([AHEAD, 0.0])
    return sarrus.inverse_kinematics(robot, targets, q, center_of_mass=middle, axes="xy", strict=True).q


def balancing(robot: sarrus.Model, stand: np.ndarray):
    """Torques of the motors, by time and state."""
    motors = np.zeros(robot.nv)
    motors[[robot.layout.v_of(actuator.joints[0][0]).start for actuator in robot.actuators]] = 1.0
    ankles = [robot.layout.v_of(name).start for name in FEET]

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        com = sarrus.center_of_mass(robot, q, v)
        feet = sarrus.forward_kinematics(robot, q, frames=FEET)
        ahead = com.position[0] - feet.position[:, 0].mean() - AHEAD
        tau = motors * (KP * sarrus.difference(robot, q, stand) - KD * v)
        tau[ankles] -= LEAN * ahead + SWAY * com.velocity[0]
        return tau

    return control


def told(console: Console, robot: sarrus.Model, what: str, motion: sarrus.Trajectory) -> None:
    assert motion.contacts is not None
    force, weight = motion.contacts.total_force[:, 2], 9.81 * float(robot.mass)
    console.print(
        f"{what:>16}: {motion.statuses}, pelvis at {motion.q[-1, 2]:.2f} m, the ground bears {force[-1]:.0f} N of "
        f"{weight:.0f} (at most {force.max():.0f}), loops closed to {motion.closure_error.max():.0e} m"
    )


if __name__ == "__main__":
    main()
