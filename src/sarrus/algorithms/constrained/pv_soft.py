"""Soft constraints in the time of ABA: Gauss' principle with penalties."""

from __future__ import annotations

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.sweeps import inward_articulated, outward_acceleration, pivots_of
from sarrus.mechanics.problem import pose_problem
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n + m)",
    references=("sathya2024pv",),
    supports=Feature.ON_LINKS | Feature.ANY_RANK | Feature.SOFT,
)
def pv_soft(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    weight: float | None = None,
) -> ConstrainedDynamicsResult:
    """Soft constrained forward dynamics: ABA with H += K^T R^-1 K and f += K^T R^-1 k (section VI, eq. 52).

    weight: R^-1 for constraints that were declared without a softness R of their own.
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "pv_soft")
    problem = problem._replace(rows=[r.declared() for r in problem.rows])
    weights = [soft_weight(r.R, len(r.k), weight, "pv_soft") for r in problem.rows]
    H, f = problem.H, list(problem.forces)
    with stage("constraints"):
        for r, w in zip(problem.rows, weights, strict=True):
            KR = r.K.T * w  # (6, m)
            H[r.node] = H[r.node] + KR @ r.K
            f[r.node] = f[r.node] + KR @ r.k
    parts = inward_articulated(problem.tree, problem.passages, H, f, problem.tau)
    qdd, a = outward_acceleration(problem.tree, problem.passages, parts)
    lam = [w * r.residual(a) for r, w in zip(problem.rows, weights, strict=True)]
    return result(problem, qdd, a, lam, soft=True, pivots=pivots_of(parts))


def soft_weight(R: Array | None, size: int, weight: float | None, method: str) -> Array:
    """R^-1 of a constraint: its own, or the common one."""
    if R is not None:
        return 1.0 / R
    if weight is None:
        raise UnsupportedError(
            f"{method} needs a softness: declare constraints with R=..., or pass weight=... (R^-1, e.g. 1e6)"
        )
    return np.full(size, float(weight))
