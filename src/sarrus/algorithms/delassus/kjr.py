"""The Delassus matrix by propagating spatial inverse inertias: Kreutz-Delgado, Jain and Rodriguez."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of_links
from sarrus.mechanics.solvers.propagators import Propagator, Support, propagators, put_block, symmetric_part
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(
    outputs="Lambda_inv",
    cost="O(n + m^2 d)",
    references=("kreutz1992", "sathya2024pv"),
    supports=Feature.ON_LINKS | Feature.REDUNDANT,
)
def kjr(model: Model, q: Array) -> Array:
    """Delassus matrix J M^-1 J^T (m, m) by the Kreutz-Delgado-Jain-Rodriguez algorithm.

    Articulated inertias inward, spatial inverse inertias Omega (6, 6) outward, then for every pair of constraints the
    relative inverse inertia along the path that joins them. It is kept as the first of its kind; the other algorithms
    need fewer operations.
    """
    at = mechanism(model, q)
    rows = rows_of_links(at, "kjr")
    support = Support(at.nodes, rows)
    parts = propagators(at.nodes)

    # Outward: Omega_i = P^T Omega_parent P + S D^-1 S^T, the spatial inverse inertia of every supporting node.
    Omega: dict[int, Array] = {}
    with stage("inverse inertia"):
        for i, part in enumerate(parts):
            if not support.ES[i]:
                continue
            Omega[i] = part.acceleration(np.eye(len(part.S)))
            if part.node.parent >= 0:
                Omega[i] = Omega[i] + _both_sides(part, Omega[part.node.parent])

    # Every pair of constraints: from their common ancestor along the path to one, then to the other.
    Lambda_inv = np.zeros((support.m, support.m), dtype=q.dtype)
    with stage("delassus"):
        for i, r in enumerate(rows):
            Lambda_inv[r.span, r.span] = symmetric_part(r.K @ Omega[r.node], r.K)
            for j in range(i):
                cca = support.cca(i, j)
                if cca < 0:
                    continue  # different roots do not feel each other
                relative = Omega[cca]  # (6, 6): forces on j (columns) to accelerations of i (rows)
                for k in support.between(i, cca):
                    relative = _left(parts[k], relative)
                for k in support.between(j, cca):
                    relative = _left(parts[k], relative.T).T
                put_block(Lambda_inv, r.span, rows[j].span, r.K @ relative @ rows[j].K.T)
    return Lambda_inv


def _left(part: Propagator, A: Array) -> Array:
    """P^T X A, column by column."""
    return np.stack([part.outward(column) for column in A.T], axis=1)


def _both_sides(part: Propagator, Omega: Array) -> Array:
    """P^T X Omega X^T P."""
    return _left(part, _left(part, Omega).T)
