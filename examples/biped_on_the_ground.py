"""A humanoid whose legs are full of loops, with nothing holding it up: it lands, squats and takes three steps.

What you learn
- `with_ground` is all that a robot with collision shapes needs; loops are embedded, contacts are solved in every step.
- The configurations of a walk come from `project`, on a twin of the robot whose soles are welded to the ground.
- Feedforward from inverse dynamics, PD control around it: gains this stiff are stepped implicitly, and a note says so.
- Contact forces: what the feet carry, and how much of the available friction they use.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS, KEY = 1e-3, 9.0, 0.05  # KEY: seconds between the configurations that are solved for
FRICTION = 1.0  # between soles and ground
DROP, DEPTH, STEP, LIFT, SWAY = 0.05, 0.12, 0.1, 0.05, 0.085  # metres
STEPS = ((2.8, "left", STEP), (4.2, "right", 2.0 * STEP), (5.9, "left", STEP))  # weight shifts when, foot, how far
SHIFTS, SWING = (0.8, 1.1, 1.1, 0.8), 0.6  # seconds
KP, KD = 2000.0, 100.0  # of the motors: Nm/rad, Nms/rad


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.zoo.biped().with_ground(friction=FRICTION)
    simulation, start = on_the_ground(robot)
    for note in simulation.notes:
        console.print(f"note: {note}")
    motion = simulation.run(start, duration=SECONDS)
    contacts, weight, landed = motion.contacts, 9.81 * float(robot.mass), motion.time > 0.6
    console.print(f"statuses {motion.statuses}; loops closed to {motion.closure_error.max():.0e} m")
    console.print(f"squats {-1e3 * motion.q[:, 2].min():.0f} mm deep, walks {1e3 * motion.q[-1, 0]:.0f} mm forward")
    force = contacts.total_force
    console.print(f"at the end the ground carries {force[-500:, 2].mean():.1f} N; the robot weighs {weight:.1f} N")
    console.print(f"landing: {DT * force[:, 2].max():.0f} Ns in one step, {np.abs(motion.tau).max():.0f} Nm", end="")
    console.print(f"; then no motor needs more than {np.abs(motion.tau[landed]).max():.0f} Nm")
    used = np.linalg.norm(force[landed, :2], axis=1) / force[landed, 2]
    console.print(f"horizontal forces reach {used.max():.2f} of the vertical ones; friction is {FRICTION:g}")
    assert set(motion.statuses) == {"ok"}
    assert abs(motion.q[-1, 2]) < 0.05, "it fell"


def on_the_ground(robot: sarrus.Model) -> tuple[sarrus.Simulation, np.ndarray]:
    """The simulation of the walk, and its starting configuration, in the air."""
    time, steps = np.arange(0.0, SECONDS + KEY, KEY), DT * np.arange(round(SECONDS / DT))
    q, tau = walk(sarrus.zoo.biped(contacts=True), time)
    targets, forces = (np.stack([np.interp(steps, time, x) for x in table.T], axis=1) for table in (q, tau))
    control = sarrus.pd(KP * motors(robot), KD * motors(robot), targets, feedforward=forces)
    start = q[0] + DROP * np.eye(robot.nq)[2]
    uncut = sarrus.JointForces(effort=False)  # stiff gains are implicit only where no effort limit clips them
    return sarrus.Simulation(sarrus.embed(robot), DT, controller=control, joint_forces=uncut), start


def walk(twin: sarrus.Model, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Configurations (T, nq) and motor torques (T, nv): trunk and feet go where they should, the legs follow."""
    trunk, feet = np.zeros((len(time), 3)), {side: np.zeros((len(time), 3)) for side in ("left", "right")}
    trunk[:, 2] = -DEPTH * (ease(time, 1.0, 1.7) - ease(time, 1.9, 2.6)) - 0.02 * ease(time, 2.4, 3.0)
    x, y = 0.0, 0.0
    for (begin, side, length), shift in zip(STEPS, SHIFTS[:-1], strict=True):
        lifted, down = begin + shift, begin + shift + SWING
        middle = 0.5 * (lifted + down)
        stance = feet["right" if side == "left" else "left"][-1, 0]
        aside = -SWAY if side == "left" else SWAY
        trunk[:, :2] += np.outer(ease(time, begin, lifted), (stance - x, aside - y))
        feet[side][:, 0] += length * ease(time, lifted, down)
        feet[side][:, 2] += LIFT * (ease(time, lifted, middle) - ease(time, middle, down))
        x, y = stance, aside
    trunk[:, :2] += np.outer(ease(time, down, down + SHIFTS[-1]), (feet["left"][-1, 0] - x, -y))
    held, q = np.zeros((len(time), twin.nv)), np.tile(sarrus.neutral(twin), (len(time), 1))
    held[:, twin.layout.v_of("torso_joint")], q[:, :3] = 1.0, trunk
    for side, foot in feet.items():  # the twin's feet stay in place: its trunk is placed relative to this foot
        beside = q.copy()
        beside[:, :3] = trunk - foot
        legs = sarrus.project(twin, beside, held=held)
        assert legs.error.max() < 1e-9, "out of reach"
        for name in twin.joint_names:
            if name.startswith(side):
                q[:, twin.layout.q_of(name)] = legs.q[:, twin.layout.q_of(name)]
    return q, feedforward(twin, q, np.clip(0.5 + 0.5 * trunk[:, 1] / SWAY, 0.0, 1.0))


def feedforward(twin: sarrus.Model, q: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Motor torques (T, nv) of the motion if the left sole carries this share (T,) of the load."""
    v = np.gradient(np.delete(q, 6, axis=1), KEY, axis=0)  # the trunk does not turn
    needed = sarrus.rnea(twin, q, v, np.gradient(v, KEY, axis=0))
    J = sarrus.closure(twin, q, v).jacobian
    rows = dict(zip((c.name for c in twin.active_constraints), twin.row_spans, strict=True))
    for name, part in (("contact_left_sole", left), ("contact_right_sole", 1.0 - left)):
        J[:, rows[name]] *= 0.01 * np.sqrt(part)[:, None, None]  # a sole that should carry more: its force costs less
    tau, driven = np.zeros_like(v), motors(twin)
    for k in range(len(q)):  # least squares of torques and sole forces; forces in loops cost next to nothing
        unknown = np.hstack([np.eye(twin.nv)[:, driven], 10.0 * J[k].T])
        tau[k, driven] = np.linalg.lstsq(unknown, needed[k], rcond=1e-9)[0][: driven.sum()]
    return tau


def ease(time: np.ndarray, begin: float, end: float) -> np.ndarray:
    """From 0 to 1, with zero velocity and acceleration at both ends."""
    s = np.clip((time - begin) / (end - begin), 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def motors(robot: sarrus.Model) -> np.ndarray:
    return np.array([np.isfinite(b.joint.effort_limit).any() for b in robot.bodies for _ in range(b.joint.type.nv)])


if __name__ == "__main__":
    main()
