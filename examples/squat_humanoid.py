"""A humanoid squats; its knees are four-bars, and rods in space drive its ankles.

What you learn
- Six loops and two feet on the ground: `embed` takes care of the loops, `lcaba` of the feet. That takes about half
  the operations of constraint rows for everything.
- The configurations of a squat come from `project`: the trunk is held lower and lower and everything else follows, with
  the loops closed and the soles on the ground.
- Motors act where they are built in, at the cranks: passive joints get no torque, and effort limits hold.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS, DEPTH = 1e-3, 2.0, 0.12


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.zoo.biped(contacts=True, arms=False)
    model = sarrus.embed(robot)
    motors = np.array([np.isfinite(b.joint.effort_limit).any() for b in robot.bodies for _ in range(b.joint.type.nv)])
    console.print(
        f"{robot.name}: {robot.nv} dof, {motors.sum()} motors, {robot.n_rows} rows; {model.n_rows} with loops embedded"
    )
    console.print(f"lcaba: {ops(robot):,} operations with loops as rows, {ops(model):,} with loops embedded")

    wanted = squat(robot)
    hold = np.array([holding_torques(robot, q, motors) for q in wanted[:: len(wanted) // 20]])
    every = np.linspace(0.0, len(wanted) - 1.0, len(hold))
    weight = np.stack([np.interp(np.arange(len(wanted)), every, x) for x in hold.T], axis=1)
    control = sarrus.pd(600.0 * motors, 30.0 * motors, wanted, feedforward=weight)
    trajectory = sarrus.simulate(
        model, wanted[0], controller=control, duration=SECONDS, dt=DT, stabilization=0.02, project_every=None
    )

    height = trajectory.q[:, 2] - trajectory.q[0, 2]
    console.print(f"the trunk goes down by {-1e3 * height.min():.0f} mm (asked for {1e3 * DEPTH:.0f}) and up again")
    for name in ("left_knee_crank_joint", "left_inner_crank_joint", "left_thigh_joint"):
        console.print(f"  {name:24} at most {np.abs(trajectory.torque(name)).max():5.1f} Nm")
    console.print(f"loops and soles closed to {trajectory.closure_error.max():.0e}; statuses {trajectory.statuses}")
    feet = sum(trajectory.force(f"contact_{side}_sole")[:, 2] for side in ("left", "right"))
    console.print(
        f"the feet carry {feet.min():.0f} to {feet.max():.0f} N; the robot weighs {9.81 * float(robot.mass):.0f} N"
    )
    assert set(trajectory.statuses) == {"ok"}
    assert abs(height.min() + DEPTH) < 0.02


def ops(model: sarrus.Model) -> int:
    return sarrus.op_count(model, "lcaba").total


def squat(robot: sarrus.Model) -> np.ndarray:
    """Configurations (T, nq): down and up, with a smooth start and end."""
    depth = 0.5 * DEPTH * (1.0 - np.cos(2.0 * np.pi * np.linspace(0.0, 1.0, 41)))
    q, held = np.tile(sarrus.neutral(robot), (len(depth), 1)), np.zeros((len(depth), robot.nv))
    q[:, 2], held[:, robot.layout.v_of("torso_joint")] = -depth, 1.0
    found = sarrus.project(robot, q, held=held)
    assert found.error.max() < 1e-9, "too deep"
    steps = round(SECONDS / DT)
    at = np.linspace(0.0, len(depth) - 1.0, steps)
    return np.stack([np.interp(at, np.arange(len(depth)), x) for x in found.q.T], axis=1)


def holding_torques(robot: sarrus.Model, q: np.ndarray, motors: np.ndarray) -> np.ndarray:
    """The smallest motor torques (nv,) that hold the robot: tau + J^T f = gravity forces."""
    J = sarrus.closure(robot, q, np.zeros(robot.nv)).jacobian
    unknown = np.hstack([np.eye(robot.nv)[:, motors], 0.1 * J.T])
    tau = np.zeros(robot.nv)
    tau[motors] = np.linalg.lstsq(unknown, sarrus.gravity_forces(robot, q), rcond=None)[0][: motors.sum()]
    return tau


if __name__ == "__main__":
    main()
