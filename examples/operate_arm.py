"""Operational-space control of a redundant arm: Khatib's law with the Delassus matrix.

What you learn
- The task, a point of the hand, is declared as rows (`contact("tip", 3)`). The Delassus matrix `J M^-1 J^T` of these
  rows is the inverse of the inertia felt at the hand. Six algorithms compute it; the cheapest is the default.
- Compiled kernels of any algorithm can be used in a controller written in Python, at about a microsecond per call.
- Dynamically consistent torques in the null space: the elbow moves, and the hand does not feel it.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS, RADIUS = 1e-3, 1.5, 0.08
KP, KD = 400.0, 40.0  # of the hand: 1/s^2, 1/s


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    arm = sarrus.zoo.chain(7)
    task = arm.with_constraints(sarrus.contact("tip", 3, name="hand"))
    for method in ("ltl_osim", "kjr", "efpa", "pv_osim", "pv_osimr"):
        console.print(f"  {method:9} {sarrus.op_count(task, method).total:6,} operations")

    q0 = np.array([0.4, -0.9, 0.3, 1.1, 0.2, -0.6, 0.5])
    console.print(
        f"apparent inertia at the hand: {np.linalg.eigvalsh(sarrus.operational_space_inertia(task, q0)).round(2)} kg"
    )

    control = Controller(arm, task, q0)
    trajectory = sarrus.simulate(arm, q0, controller=control, duration=SECONDS, dt=DT)
    time = trajectory.time
    hand = sarrus.forward_kinematics(arm, trajectory.q, frames=("tip",)).position[:, 0]
    error = np.linalg.norm(hand - np.array([control.wanted(t)[0] for t in time]), axis=1)
    elbow = np.abs(trajectory.q - q0).max()
    console.print(
        f"the hand follows its circle within {1e3 * error.max():.2f} mm; joints move by up to {elbow:.2f} rad"
    )
    assert error.max() < 2e-3

    # Null space: whatever these torques are, the acceleration of the hand stays the same.
    q, v = trajectory.final.q, np.zeros(arm.nv)
    J = control.jacobian(q)
    free = control.null_space(q, J, np.random.default_rng(0).normal(size=arm.nv))
    change = J @ (sarrus.aba(arm, q, v, free) - sarrus.aba(arm, q, v, np.zeros(arm.nv)))
    console.print(
        f"torques of {np.abs(free).max():.2f} Nm in the null space change the hand's acceleration by "
        f"{np.abs(change).max():.0e} m/s^2"
    )
    assert np.abs(change).max() < 1e-9


class Controller:
    """tau = J^T Lambda (xdd - Jd v) + bias + null-space damping, with Lambda = (J M^-1 J^T)^-1."""

    def __init__(self, arm: sarrus.Model, task: sarrus.Model, q0: np.ndarray) -> None:
        world = {"frame": "tip", "reference": "local_world_aligned"}
        self.arm, self.q0 = arm, q0
        self.J = sarrus.compile(arm, "frame_jacobian", **world)
        self.Jd_v = sarrus.compile(arm, "frame_jacobian_bias", **world)
        self.bias = sarrus.compile(arm, "bias_forces")
        self.delassus = sarrus.compile(task, "pv_osimr")  # in the axes of the hand's frame
        self.pose = sarrus.compile(arm, "forward_kinematics", inputs=("q",), frames=("tip",))
        self.M = sarrus.compile(arm, "crba")
        self.start = self.pose(q0).position[0]

    def wanted(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration of the hand: once around a circle of 8 cm, from rest to rest."""
        s = min(1.0, t / SECONDS)
        phase = 2.0 * np.pi * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        rate = 2.0 * np.pi * 30.0 * s**2 * (1.0 - s) ** 2 / SECONDS
        more = 2.0 * np.pi * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / SECONDS**2
        out, along = np.array([np.cos(phase), np.sin(phase), 0.0]), np.array([-np.sin(phase), np.cos(phase), 0.0])
        x = self.start + RADIUS * (out - np.array([1.0, 0.0, 0.0]))
        return x, RADIUS * rate * along, RADIUS * (more * along - rate**2 * out)

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        return self.J(q)[:3]

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """Lambda (3, 3) in the axes of the world (the task's rows are in those of the hand)."""
        R = self.pose(q).rotation[0]
        return np.linalg.inv(R @ self.delassus(q) @ R.T)

    def null_space(self, q: np.ndarray, J: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The part of `tau` that the hand does not feel: (1 - J^T Lambda J M^-1) tau."""
        return tau - J.T @ (self.inertia(q) @ (J @ np.linalg.solve(self.M(q), tau)))

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        J = self.jacobian(q)
        x, xd = self.pose(q).position[0], J @ v
        goal, speed, push = self.wanted(t)
        xdd = push + KP * (goal - x) + KD * (speed - xd)
        posture = self.null_space(q, J, 2.0 * (self.q0 - q) - 1.0 * v)
        return J.T @ (self.inertia(q) @ (xdd - self.Jd_v(q, v)[:3])) + self.bias(q, v) + posture


if __name__ == "__main__":
    main()
