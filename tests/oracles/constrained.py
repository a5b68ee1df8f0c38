"""Dense constrained dynamics on top of `dense.py`: Jacobians and their derivatives from the oracle, one KKT solve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.constraints import Contact, LinkRows
from sarrus.model.model import Model
from tests.oracles.dense import Dense, oracle_of_model, placed


class Kkt(NamedTuple):
    """The constrained problem in joint space: M qdd + c = tau + J^T f, J qdd = k."""

    M: np.ndarray
    c: np.ndarray
    J: np.ndarray
    k: np.ndarray
    R: np.ndarray  # softness per row (nan: hard)


def kkt(model: Model, q: np.ndarray, v: np.ndarray, k_input: np.ndarray | None = None, external_forces=None) -> Kkt:
    oracle: Dense = oracle_of_model(model)
    forces = None if external_forces is None else dict(zip(model.body_names, external_forces, strict=True))
    J, k, R, used = [np.zeros((0, oracle.nv))], [np.zeros(0)], [np.zeros(0)], 0
    for constraint in model.constraints:
        frame = model.frame(constraint.frame)
        link = model.bodies[frame.body].name
        placement = placed(np.asarray(frame.placement.R), np.asarray(frame.placement.p))
        T, velocity, bias = oracle.frame_motion(link, placement, q, v, np.zeros(oracle.nv))
        jacobian = oracle.frame_jacobian(link, placement, q)
        rows = constraint.K if isinstance(constraint, LinkRows) else np.eye(6)[: constraint.size]
        acceleration = rows @ bias
        if isinstance(constraint, Contact) and constraint.dim == 3:
            acceleration = bias[:3] + np.cross(velocity[3:], velocity[:3])
        desired = np.zeros(constraint.size) if constraint.desired is None else constraint.desired
        if isinstance(desired, str):
            desired, used = k_input[used : used + constraint.size], used + constraint.size
        if constraint.stabilization is not None:
            t = constraint.stabilization
            desired = desired - 2.0 / t * (rows @ velocity) - error_of(constraint, T) / t**2
        J.append(rows @ jacobian)
        k.append(desired - acceleration)
        R.append(np.full(constraint.size, np.nan) if constraint.R is None else constraint.R)
    return Kkt(oracle.mass_matrix(q), oracle.bias(q, v, forces), np.vstack(J), np.concatenate(k), np.concatenate(R))


def error_of(constraint, T: np.ndarray) -> np.ndarray:
    if not isinstance(constraint, Contact) or constraint.at is None:
        return np.zeros(constraint.size)
    if constraint.dim == 3:
        return T[:3, :3].T @ (T[:3, 3] - constraint.at)
    position, rotation = constraint.at
    E = rotation.T @ T[:3, :3]
    turned = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    return np.concatenate([T[:3, :3].T @ (T[:3, 3] - position), turned])


def solve_hard(problem: Kkt, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(qdd, f); least squares, minimum norm forces where rows are redundant."""
    M, c, J, k, _ = problem
    free = np.linalg.solve(M, tau - c)
    delassus = J @ np.linalg.solve(M, J.T)
    f = np.linalg.lstsq(delassus, k - J @ free, rcond=1e-12)[0]
    return free + np.linalg.solve(M, J.T @ f), f


def solve_soft(problem: Kkt, tau: np.ndarray, weight: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    M, c, J, k, R = problem
    W = np.diag(1.0 / R) if weight is None else weight * np.eye(len(k))
    qdd = np.linalg.solve(M + J.T @ W @ J, tau - c + J.T @ W @ k)
    return qdd, W @ (k - J @ qdd)
