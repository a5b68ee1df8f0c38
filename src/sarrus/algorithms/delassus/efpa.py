"""The Delassus matrix by extended force propagators: Wensing, Featherstone and Orin."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of_links
from sarrus.mechanics.solvers.propagators import Support, propagators, put_block, symmetric_part
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(
    outputs="Lambda_inv",
    cost="O(n + m d + m^2)",
    references=("wensing2012", "sathya2025osimr"),
    supports=Feature.ON_LINKS | Feature.REDUNDANT,
)
def efpa(model: Model, q: Array) -> Array:
    """Delassus matrix J M^-1 J^T (m, m) by the extended force propagator algorithm (PV-OSIMr paper, Algorithm 2).

    Three sweeps: articulated inertias and constraint rows K inward, the accelerations Omega K^T that constraint
    forces give to each of their ancestors outward, and one product per pair of constraints at their closest common
    ancestor.
    """
    at = mechanism(model, q)
    rows = rows_of_links(at, "efpa")
    support = Support(at.nodes, rows)
    parts = propagators(at.nodes)

    # Inward: K[e][i], the rows of constraint e as node i feels them.
    K: list[dict[int, Array]] = [{r.node: r.K} for r in rows]  # line 4
    with stage("constraint rows"):
        for i in range(len(parts) - 1, -1, -1):
            for e in support.ES[i]:
                if parts[i].node.parent >= 0:
                    K[e][parts[i].node.parent] = parts[i].inward(K[e][i])  # line 11

    # Outward: a[e][i] = K[e][i] Omega_i (m_e, 6), accelerations of node i for unit forces of constraint e.
    a: list[dict[int, Array]] = [{} for _ in rows]
    with stage("accelerations"):
        for i, part in enumerate(parts):
            for e in support.ES[i]:
                a[e][i] = part.acceleration(K[e][i])  # line 17
                if part.node.parent >= 0:
                    carried = np.stack([part.outward(row) for row in a[e][part.node.parent]])
                    a[e][i] = a[e][i] + carried  # line 15

    # Assemble at the closest common ancestors.
    Lambda_inv = np.zeros((support.m, support.m), dtype=q.dtype)
    with stage("delassus"):
        for i, r in enumerate(rows):
            Lambda_inv[r.span, r.span] = symmetric_part(a[i][r.node], r.K)
            for j in range(i):
                cca = support.cca(i, j)
                if cca >= 0:  # else different roots, which do not feel each other
                    put_block(Lambda_inv, r.span, rows[j].span, K[i][cca] @ a[j][cca].T)  # line 19
    return Lambda_inv
