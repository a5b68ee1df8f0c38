"""Soft constraints in the time of ABA: Gauss' principle with penalties."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.aba import articulated_bodies
from sarrus.errors import UnsupportedError
from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, joined, result
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import symmetric_product
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
    at = mechanism(model, q, v, tau, external_forces)
    rows = [r.declared() for r in rows_of(at, k, "pv_soft")]
    weights = [soft_weight(r.R, len(r.k), weight, "pv_soft") for r in rows]
    nodes = list(at.nodes)
    with stage("constraints"):
        for r, w in zip(rows, weights, strict=True):
            KR, node = r.K.T * w, nodes[r.node]
            nodes[r.node] = node._replace(H=node.H + symmetric_product(KR, r.K), f=node.f + KR @ r.k)
    found = articulated_bodies(nodes)
    lam = joined([w * r.residual(found.a) for r, w in zip(rows, weights, strict=True)])
    return result(at, rows, found.qdd, found.a, lam, found.pivots, soft=True)


def soft_weight(R: Array | None, size: int, weight: float | None, method: str) -> Array:
    """R^-1 of a constraint: its own, or the common one."""
    if R is not None:
        return 1.0 / R
    if weight is None:
        raise UnsupportedError(
            f"{method} needs a softness: declare constraints with R=..., or pass weight=... (R^-1, e.g. 1e6)"
        )
    return np.full(size, float(weight))
