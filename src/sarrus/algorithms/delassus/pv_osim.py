"""The Delassus matrix by the Popov-Vereshchagin recursion."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import mechanism, rows_of_links
from sarrus.mechanics.solvers.loop_delassus import carry_rows, has_loops, rows_at_rest
from sarrus.mechanics.solvers.propagators import Propagator, propagators
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(
    outputs="Lambda_inv",
    cost="O(n + m^2 d)",
    references=("sathya2024pv", "sathya2025osimr"),
    supports=Feature.ON_ALL | Feature.REDUNDANT,
)
def pv_osim(model: Model, q: Array) -> Array:
    """Delassus matrix J M^-1 J^T (m, m) by PV-OSIM (PV-OSIMr paper, Algorithm 1): one inward sweep.

    Beside the articulated inertias, the constraints' rows K and their coupling L go from the leaves to the roots:

        K' = K P^T X      L' = L + K S D^-1 S^T K^T

    Rows of loops act on several links; where the branches of a loop meet, their K are added.
    """
    if has_loops(model):
        at, rows = rows_at_rest(model, q, "pv_osim")
        return carry_rows(propagators(at.nodes), rows, q.dtype)
    at = mechanism(model, q)
    rows = rows_of_links(at, "pv_osim")
    parts = propagators(at.nodes)
    m = sum(len(r.k) for r in rows)
    L = np.zeros((m, m), dtype=q.dtype)
    collect_rows(parts, rows, L, until_roots=False)
    return L  # line 15


def collect_rows(
    parts: list[Propagator], rows: list[Rows], L: Array, until_roots: bool
) -> tuple[list[Array], list[list[int]]]:
    """The inward sweep of K and L; L is filled in. Returns K per node and which of all rows it holds.

    until_roots: stop before the roots' joints.
    """
    K: list[Array] = [np.zeros((0, len(part.S))) for part in parts]
    index: list[list[int]] = [[] for _ in parts]
    for r in rows:  # lines 3 to 5
        K[r.node] = np.concatenate([K[r.node], r.K])
        index[r.node] += range(r.span.start, r.span.stop)
    with stage("constraint rows"):
        for i in range(len(parts) - 1, -1, -1):
            parent = parts[i].node.parent
            if not index[i] or (until_roots and parent < 0):
                continue
            block = np.ix_(index[i], index[i])
            with stage("delassus"):
                L[block] = L[block] + parts[i].response(K[i])  # line 14
            if parent >= 0:
                K[parent] = np.concatenate([K[parent], parts[i].inward(K[i])])  # line 13
                index[parent] += index[i]
    return K, index
