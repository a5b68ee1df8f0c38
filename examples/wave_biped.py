"""Whole-body control of a humanoid with closed loops, in plain calls: its hands draw circles while it stands.

What you learn
- Public calls compile themselves: `crba`, `bias_forces`, `frame_jacobian`, `closure` and `forward_dynamics` take
  milliseconds at first, and microseconds once a kernel has paid off. Nothing is compiled by hand.
- `Simulation.step` is a function: a state and torques in, a state out.
- Inverse dynamics with loops and contacts is a linear problem: find accelerations, motor torques and constraint forces
  that obey the equations of motion, move the hands as asked as well as they can, and are small.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console

import sarrus

DT, SECONDS, RADIUS, TURNS = 2e-3, 1.0, 0.06, 1.0
KP, KD, POSTURE = 900.0, 60.0, 20.0  # of the hands, 1/s^2 and 1/s; of all joints, 1/s
HANDS = ("left_hand", "right_hand")


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.zoo.biped(contacts=True)
    simulation = sarrus.Simulation(robot, dt=DT, joint_forces=False)
    controller = Controller(robot)
    console.print(f"{robot.name}: {robot.nv} dof, {controller.motors.sum()} motors, {robot.n_rows} rows of constraints")
    state, began, took, error = simulation.start(), time.perf_counter(), [], []
    for _ in range(round(SECONDS / DT)):
        start = time.perf_counter()
        tau = controller(state.time, state.q, state.v)
        took.append(time.perf_counter() - start)
        error.append(np.linalg.norm(hands(robot, state.q) - controller.wanted(state.time)[0], axis=1).max())
        state = simulation.step(state, tau=tau)
    usual, first = 1e3 * np.median(took[len(took) // 2 :]), 1e3 * took[0]
    console.print(f"{SECONDS:g} s of motion in {time.perf_counter() - began:.1f} s")
    console.print(f"the controller takes {first:.0f} ms at first, and {usual:.2f} ms once its calls are compiled")
    console.print(f"the hands stay within {1e3 * max(error):.1f} mm of their circles")
    console.print(f"loops and soles closed to {np.abs(sarrus.closure(robot, state.q, state.v).position).max():.0e}")
    assert state.status == sarrus.Status.OK
    assert max(error) < 0.01


def hands(robot: sarrus.Model, q: np.ndarray) -> np.ndarray:
    """Positions (2, 3)."""
    return sarrus.forward_kinematics(robot, q, frames=HANDS).position


class Controller:
    """Motor torques from one least-squares problem in every step."""

    def __init__(self, robot: sarrus.Model) -> None:
        self.robot, self.start = robot, hands(robot, sarrus.neutral(robot))
        limited = [np.isfinite(b.joint.effort_limit).any() for b in robot.bodies for _ in range(b.joint.type.nv)]
        self.motors = np.array(limited)

    def wanted(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations of the hands: a circle in the vertical plane, from rest to rest."""
        s = min(1.0, t / SECONDS)
        phase = 2.0 * np.pi * TURNS * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        rate = 2.0 * np.pi * TURNS * 30.0 * s**2 * (1.0 - s) ** 2 / SECONDS
        more = 2.0 * np.pi * TURNS * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / SECONDS**2
        out, along = np.array([np.cos(phase), 0.0, np.sin(phase)]), np.array([-np.sin(phase), 0.0, np.cos(phase)])
        x = self.start + RADIUS * (out - np.array([1.0, 0.0, 0.0]))
        return x, np.tile(RADIUS * rate * along, (2, 1)), np.tile(RADIUS * (more * along - rate**2 * out), (2, 1))

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        robot, nv = self.robot, self.robot.nv
        M, h = sarrus.crba(robot, q), sarrus.bias_forces(robot, q, v)
        J = sarrus.closure(robot, q, v).jacobian
        k = (
            J @ sarrus.forward_dynamics(robot, q, v, np.zeros(nv)).qdd
        )  # what the constraints demand of the accelerations
        tasks, asked = [], []
        x, xd, xdd = self.wanted(t)
        for number, hand in enumerate(HANDS):
            Jh = sarrus.frame_jacobian(robot, q, hand, "local_world_aligned")[:3]
            bias = sarrus.frame_jacobian_bias(robot, q, v, hand, "local_world_aligned")[:3]
            off, rate = x[number] - hands(robot, q)[number], xd[number] - Jh @ v
            tasks.append(Jh)
            asked.append(xdd[number] + KP * off + KD * rate - bias)
        # Unknowns: accelerations, torques, constraint forces. `wishes` should hold as well as possible, `laws` exactly.
        S, m = np.eye(nv)[:, self.motors], len(J)
        n, free = nv + S.shape[1] + m, np.zeros((6, S.shape[1] + m))
        wishes = np.vstack([10.0 * np.hstack([np.vstack(tasks), free]), np.diag([0.3] * nv + [0.01] * (n - nv))])
        goals = np.concatenate([10.0 * np.concatenate(asked), -0.3 * POSTURE * v, np.zeros(n - nv)])
        laws = np.block([[M, -S, -J.T], [J, np.zeros((m, n - nv))]])
        kkt = np.block([[wishes.T @ wishes, laws.T], [laws, -1e-9 * np.eye(len(laws))]])
        found = np.linalg.solve(kkt, np.concatenate([wishes.T @ goals, -h, k]))
        return S @ found[nv : nv + S.shape[1]]


if __name__ == "__main__":
    main()
