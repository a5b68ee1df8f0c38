"""iLQR: the Riccati recursion on the linearized steps of a simulation, with a line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import sarrus
from sarrus.simulation.trajectory import State

ITERATIONS = 60
SHORTER = 0.5 ** np.arange(12)


class Task(NamedTuple):
    """From rest at q0 to the goal, driven by some motors; the torques u0 hold the robot at its start."""

    simulation: sarrus.Simulation
    motors: list[int]  # indices of the driven velocities
    q0: np.ndarray
    goal: np.ndarray
    u0: np.ndarray
    effort: float = 1e-2  # weights: of torques in every step, of positions and of velocities at the end
    reach: float = 200.0
    rest: float = 2.0
    steps: int = 100

    def tau(self, u: np.ndarray) -> np.ndarray:
        out = np.zeros((*u.shape[:-1], self.simulation.model.nv))
        out[..., self.motors] = u
        return out

    def end_gradient(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """By the last state, which is near enough to the goal for rotations to be added like vectors."""
        return np.concatenate([self.reach * sarrus.difference(self.simulation.model, self.goal, q), self.rest * v])

    def cost(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> float:
        away = sarrus.difference(self.simulation.model, self.goal, q[-1])
        at_end = self.reach * away @ away + self.rest * v[-1] @ v[-1]
        return 0.5 * float(at_end + self.effort * np.sum((u - self.u0) ** 2))


class Solution(NamedTuple):
    q: np.ndarray  # (T + 1, nq)
    v: np.ndarray
    u: np.ndarray  # (T, motors)
    costs: list[float]


def ilqr(task: Task, tell: Callable[[str], None]) -> Solution:
    zero = np.zeros(task.simulation.model.nv)
    u = np.tile(task.u0, (task.steps, 1))
    begun = task.simulation.rollout(task.q0, zero, task.tau(u))
    q, v = begun.q, begun.v
    costs = [task.cost(q, v, u)]
    for number in range(1, ITERATIONS + 1):
        A, B = task.simulation.linearize(State(0.0, q[:-1], v[:-1]), tau=task.tau(u))
        k, K = backward(task, q, v, u, A, B[:, :, task.motors])
        for shorter in SHORTER:
            new = forward(task, q, v, u, shorter * k, K)
            cost = task.cost(*new)
            if cost < costs[-1]:
                break
        else:
            break
        (q, v, u), gain = new, costs[-1] - cost
        costs.append(cost)
        tell(f"iteration {number:2}: cost {cost:.8f}, step {shorter:g}")
        if gain < 1e-11 * cost:
            break
    return Solution(q, v, u, costs)


def forward(
    task: Task, q: np.ndarray, v: np.ndarray, u: np.ndarray, k: np.ndarray, K: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate with feedback around the last trajectory."""
    simulation = task.simulation
    state, us = simulation.start(task.q0), []
    qs, vs = [state.q], [state.v]
    for t in range(task.steps):
        away = np.concatenate([sarrus.difference(simulation.model, q[t], qs[-1]), vs[-1] - v[t]])
        us.append(u[t] + k[t] + K[t] @ away)
        state = simulation.step(state, tau=task.tau(us[-1]))
        qs.append(state.q)
        vs.append(state.v)
    return np.array(qs), np.array(vs), np.array(us)


def backward(
    task: Task, q: np.ndarray, v: np.ndarray, u: np.ndarray, A: np.ndarray, B: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The Riccati recursion: steps k (T, m) and gains K (T, m, 2 nv)."""
    nv = v.shape[1]
    Vx, Vxx = task.end_gradient(q[-1], v[-1]), np.diag(np.repeat([task.reach, task.rest], nv))
    k, K = np.zeros_like(u), np.zeros((len(u), u.shape[1], 2 * nv))
    for t in reversed(range(len(u))):
        Qu = task.effort * (u[t] - task.u0) + B[t].T @ Vx
        Quu = task.effort * np.eye(len(Qu)) + B[t].T @ Vxx @ B[t]
        Qux = B[t].T @ Vxx @ A[t]
        k[t], K[t] = -np.linalg.solve(Quu, Qu), -np.linalg.solve(Quu, Qux)
        Vx = A[t].T @ Vx + Qux.T @ k[t]
        Vxx = A[t].T @ Vxx @ A[t] + Qux.T @ K[t]
        Vxx = 0.5 * (Vxx + Vxx.T)
    return k, K
