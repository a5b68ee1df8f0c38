"""Two hands that hold a cube: many coupled loops, and forces that the motion does not show.

What you learn
- Eight fingers on one cube are loops that all share a body: 38 degrees of freedom, 24 rows, mobility 14.
- The exact cost of each method on such a robot; `lcaba` eliminates links in an order that keeps loops local.
- What holds the cube: contact forces by name, whose sum is its weight.
- Torques that only squeeze: they change the forces, but nothing moves.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS = 1e-3, 1.0
METHODS = ("lcaba", "prox_bbo", "prox_ltl")


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    model = sarrus.zoo.two_hands_cube()
    console.print(sarrus.diagnose(model).lines()[0])
    for method in METHODS:
        console.print(f"  {method:9} {sarrus.op_count(model, method).total:6,} operations")

    # The fingers hold their posture and carry their own weight; the controller's springs carry the cube. The gains
    # (Nm/rad, Nms/rad) are low because the last links of the fingers are light.
    start = sarrus.neutral(model)
    fingers = np.array([b.joint.type.name != "free" for b in model.bodies for _ in range(b.joint.type.nv)])
    tau = sarrus.gravity_forces(model, start) * fingers
    control = sarrus.pd(2.0, 0.05, start, feedforward=tau)
    trajectory = sarrus.simulate(
        model, start, controller=control, duration=SECONDS, dt=DT, stabilization=0.02, project_every=None
    )
    sunk = trajectory.q[:, 2] - start[2]
    console.print(
        f"the cube sinks by up to {-1e3 * sunk.min():.2f} mm and comes to rest {-1e3 * sunk[-1]:.2f} mm lower"
    )

    # Forces act on frame b of a closure (here on the cube), in the axes of the finger's frame.
    onto_cube = fingertip_forces(model, trajectory)
    together = onto_cube.sum(axis=0)
    weight = 9.81 * float(model.bodies[model.body_names.index("cube")].inertia.mass)
    console.print(
        f"together the fingers push with {np.array2string(together, precision=3, suppress_small=True)} N; ", end=""
    )
    console.print(f"the cube weighs {weight:.3f} N")
    console.print(f"loops closed to {trajectory.closure_error.max():.0e} m; statuses {trajectory.statuses}")
    assert abs(together[2] - weight) < 0.02 * weight

    # Torques that squeeze change forces and move nothing: they do no work on any motion that the loops allow.
    q = trajectory.final.q
    J = sarrus.closure(model, q, np.zeros(model.nv)).jacobian
    N = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :]  # motions that keep the loops closed
    inner = np.linalg.svd(N[:, fingers])[2][len(N) :]  # torques that do no work on any of them
    console.print(f"{fingers.sum()} motors, {len(N)} possible motions: {len(inner)} independent ways to squeeze")
    extra = np.zeros(model.nv)
    extra[fingers] = 0.05 * inner[0]
    rest, v = trajectory.tau[-1], np.zeros(model.nv)
    before, after = (sarrus.forward_dynamics(model, q, v, rest + x) for x in (0.0 * extra, extra))
    console.print(
        f"one of them changes forces by {np.abs(after.forces - before.forces).max():.2f} N, "
        f"accelerations by {np.abs(after.qdd - before.qdd).max():.0e}"
    )


def fingertip_forces(model: sarrus.Model, trajectory: sarrus.Trajectory) -> np.ndarray:
    """Forces (8, 3) on the cube at the end, in the axes of the world."""
    names = trajectory.constraint_names
    R = sarrus.forward_kinematics(model, trajectory.final.q, frames=tuple(f"{name}_a" for name in names)).rotation
    return np.array([R[k] @ trajectory.force(name)[-1] for k, name in enumerate(names)])


if __name__ == "__main__":
    main()
