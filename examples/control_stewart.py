"""A Stewart platform that follows a motion, driven by the lengths of its legs.

What you learn
- `project` with `held` joints is the inverse kinematics of a parallel robot: the platform is put where it should be
  and the legs follow, for the whole motion in one batch.
- `pd` takes a target for each step, and a feedforward; it is compiled into the step, and new targets need no new
  kernel.
- The motor forces that hold a closed mechanism at rest, from one linear system of motors and loop forces.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS = 2e-3, 2.0
RADIUS, TILT = 0.06, 0.12  # metres, radians
KP, KD = 20_000.0, 400.0  # of a leg: N/m, Ns/m


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = sarrus.zoo.stewart()
    console.print(sarrus.diagnose(model).lines()[0])

    time = DT * np.arange(round(SECONDS / DT))
    wanted = legs_for(model, poses(model, time))
    pistons = np.array([model.layout.v_of(f"piston_{k}_joint").start for k in range(6)])
    kp, kd = np.zeros(model.nv), np.zeros(model.nv)
    kp[pistons], kd[pistons] = KP, KD

    hold = holding_forces(model, wanted[0], pistons)
    console.print(f"leg forces that hold the platform: {np.array2string(hold[pistons], precision=1)} N")
    speeds = np.vstack([sarrus.difference(model, wanted[:-1], wanted[1:]) / DT, np.zeros(model.nv)])
    for name, more in (
        ("PD alone", {}),
        ("+ the weight", {"feedforward": hold}),
        ("+ velocities", {"feedforward": hold, "v_target": speeds}),
    ):
        control = sarrus.pd(kp, kd, wanted, **more)
        trajectory = sarrus.simulate(
            model, wanted[0], controller=control, duration=SECONDS, dt=DT, stabilization=0.01, project_every=None
        )
        error = trajectory.q[:-1, :3] - wanted[:, :3]
        console.print(
            f"{name:13} platform within {1e3 * np.linalg.norm(error, axis=1).max():5.2f} mm of its path; "
            f"leg forces up to {np.abs(trajectory.tau[:, pistons]).max():.0f} N; "
            f"loops closed to {trajectory.closure_error.max():.0e} m"
        )
    assert np.linalg.norm(error, axis=1).max() < 0.002


def poses(model: sarrus.Model, time: np.ndarray) -> np.ndarray:
    """Configurations (T, nq) with the platform on a circle, tilted outwards; the legs do not reach it yet."""
    q = np.tile(sarrus.neutral(model), (len(time), 1))
    phase = 2.0 * np.pi * time / SECONDS
    grow = np.minimum(1.0, time / 0.5) ** 2 * (3.0 - 2.0 * np.minimum(1.0, time / 0.5))  # starts without a jump
    x, y = grow * np.cos(phase), grow * np.sin(phase)
    q[:, 0], q[:, 1] = q[0, 0] + RADIUS * x, q[0, 1] + RADIUS * y
    q[:, 3], q[:, 4] = -np.sin(0.5 * TILT * y), np.sin(0.5 * TILT * x)
    return sarrus.normalize(model, q)


def legs_for(model: sarrus.Model, q: np.ndarray) -> np.ndarray:
    """Inverse kinematics: the platform is held, cylinders and pistons close the loops."""
    held = np.zeros((len(q), model.nv))
    held[:, model.layout.v_of("platform_joint")] = 1.0
    result = sarrus.project(model, q, held=held)
    assert result.error.max() < 1e-9, "a pose out of reach"
    return result.q


def holding_forces(model: sarrus.Model, q: np.ndarray, motors: np.ndarray) -> np.ndarray:
    """Motor forces (nv,) that hold the robot: tau + J^T f = gravity forces, solved for motors and loops together."""
    J = sarrus.closure(model, q, np.zeros(model.nv)).jacobian
    unknown = np.hstack([np.eye(model.nv)[:, motors], J.T])
    found = np.linalg.lstsq(unknown, sarrus.gravity_forces(model, q), rcond=None)[0]
    tau = np.zeros(model.nv)
    tau[motors] = found[: len(motors)]
    return tau


if __name__ == "__main__":
    main()
