"""The Delassus matrix and its inverse as operators that are never formed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.delassus.pv_osim import collect_rows
from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.link_rows import link_constraints
from sarrus.mechanics.mechanism import mechanism, rows_of_links
from sarrus.mechanics.solvers.propagators import Propagator, Support, propagators
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import ldl, ldl_congruence, ldl_forward, ldl_semidefinite, ldl_solve
from sarrus.spatial.norms import if_finite, size
from sarrus.spatial.stages import stage
from sarrus.status import Status

_TOLERANCE = 1e-8
_NOTHING = 1e-300  # what is left of a right-hand side of zeros


class DelassusOperatorResult(NamedTuple):
    """What the Delassus matrix and its inverse, the operational-space inertia, make of a vector."""

    applied: Array  # (m,) J M^-1 J^T rhs
    solved: Array  # (m,) (J M^-1 J^T)^-1 rhs
    status: Scalar  # a `sarrus.Status`: not determined where `solved` is no solution: L_b was singular at this q


@algorithm(
    cost="O(n + m^2 d + m^3 / r^2)",
    references=("sathya2024pv",),
    supports=Feature.ON_LINKS,
)
def pv_osim_fast(model: Model, q: Array, rhs: Array) -> DelassusOperatorResult:
    """Products of the Delassus matrix and of its inverse with a vector by PV-OSIM-fast (PV paper, section VII-B).

    PV-OSIM up to the roots leaves L_b, with one diagonal block per child of a root, and the rows K. The root's joint
    then adds K S D^-1 S^T K^T, whose inverse the matrix inversion lemma gives without forming the dense sum (eqs. 53
    to 55). r is the number of blocks. Every block must be invertible: enough joints between the root and the
    constraints.
    """
    at = mechanism(model, q)
    rows = rows_of_links(at, "pv_osim_fast")
    support = Support(at.nodes, rows)
    _check_blocks(model, at.tree, support)
    parts = propagators(at.nodes)
    L = np.zeros((support.m, support.m), dtype=q.dtype)
    K, index = collect_rows(parts, rows, L, until_roots=True)

    dtype = np.result_type(q, rhs)
    applied, solved, back = (np.zeros(support.m, dtype=dtype) for _ in range(3))
    for i, part in enumerate(parts):
        if part.node.parent < 0 and index[i]:
            blocks = _blocks(at.tree, support, i)
            r = index[i]
            with stage("applied"):
                applied[r] = _apply(part, L, blocks, K[i], r, rhs)
            with stage("solved"):
                solved[r] = _solve(part, L, blocks, K[i], r, rhs)
            with stage("status"):
                back[r] = _apply(part, L, blocks, K[i], r, solved)
    with stage("status"):
        off = back - rhs
        met = choose(size(off), _TOLERANCE * size(rhs) + _NOTHING, Status.OK, Status.NOT_DETERMINED)
        status = if_finite(met if len(off) else Status.OK, Status.NOT_FINITE, applied, solved)
    return DelassusOperatorResult(applied, solved, np.asarray(status, dtype=object))


def _apply(root: Propagator, L: Array, blocks: list[list[int]], K: Array, r: list[int], x: Array) -> Array:
    """(L_b + K S D^-1 S^T K^T) x: eq. (48)."""
    KS = K @ root.S
    y = KS @ ldl_solve(root.D, KS.T @ x[r])
    for block in blocks:
        at = [r.index(row) for row in block]
        y[at] = y[at] + L[np.ix_(block, block)] @ x[block]
    return y


def _solve(root: Propagator, L: Array, blocks: list[list[int]], K: Array, r: list[int], x: Array) -> Array:
    """Eq. (54), gathered: Lambda_b (x - K S z) with (D + (K S)^T Lambda_b K S) z = (K S)^T Lambda_b x."""
    KS = K @ root.S
    C = root.S.T @ (root.H @ root.S) + root.node.A  # D
    g = np.zeros(len(C))
    solves = []
    for block in blocks:
        at = [r.index(row) for row in block]
        factor = ldl_semidefinite(L[np.ix_(block, block)])
        C = C + ldl_congruence(factor, KS[at])
        g = g + ldl_forward(factor, KS[at]).T @ (factor.d_inv * ldl_forward(factor, x[block]))
        solves.append((at, block, factor))
    z = ldl_solve(ldl(C), g)
    y = np.zeros(len(r), dtype=np.result_type(L, x, KS))
    for at, block, factor in solves:
        y[at] = ldl_solve(factor, x[block] - KS[at] @ z)
    return y


def _blocks(tree: AbstractTree, support: Support, root: int) -> list[list[int]]:
    """The rows beyond each child of a root."""
    beyond = [support.ES[child] for child in tree.children[root]]
    return [[row for e in ES for row in range(*support.spans[e].indices(support.m))] for ES in beyond if ES]


def _check_blocks(model: Model, tree: AbstractTree, support: Support) -> None:
    """An error that names the constraints whose rows cannot be independent before the root's joint.

    excess: how many forces along the rows beyond a link move no joint. A joint takes as many as it has degrees of
    freedom; more than six at one link cannot all be told apart.
    """
    names = [constraint.name for constraint in link_constraints(model)]
    excess = [0] * len(tree.nodes)
    for e, node in enumerate(support.at):
        excess[node] += support.spans[e].stop - support.spans[e].start
    for i in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[i]
        allowed = 0 if node.parent < 0 else node.size
        if excess[i] > allowed:
            culprits = ", ".join(repr(names[e]) for e in support.ES[i])
            reason = (
                f"there are {excess[i]} more rows than joint motions between root {node.name!r} and the constraints"
                if node.parent < 0 else f"{excess[i]} rows meet at link {node.name!r}, which has {node.size} motions"
            )  # fmt: skip
            raise UnsupportedError(
                "pv_osim_fast eliminates the constraints before the root's joint, which is not possible here: "
                f"{reason} "
                f"({culprits}). Use pv_osim or pv_osimr"
            )
        if node.parent >= 0:
            excess[node.parent] += max(excess[i] - node.m, 0)
