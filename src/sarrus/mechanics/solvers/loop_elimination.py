"""Eliminating joints and multipliers of a mechanism with loops, from the leaves inwards (LCABA paper, section V).

About the bias motion (`sweeps.py`) the cost-to-go of a node is, with its acceleration a and the multipliers lam of the
rows that reach it,

    a^T H a / 2 - f^T a + lam^T (K a + l) - lam^T L lam / 2

which is eq. (40) with l = -k. A constraint's rows meet at its root, the node nearest to the leaves that has all of them
below: there they appear in nothing else, and their multipliers are eliminated (eqs. 49 to 52). Those that act on the
world end there, or before (`loop_roots.py`). What is factored here (H, K, L) is separate from what is solved (f, l:
`loop_sweeps.py`), which iterations repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.passage import Passage, eliminate_inertia
from sarrus.mechanics.bodies.relative_motion import path_to_root
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.bodies import WORLD
from sarrus.model.topology import AbstractNode, AbstractTree
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_forward, ldl_solve, symmetric_product
from sarrus.spatial.stages import stage


class Joint(NamedTuple):
    """A node whose joint was eliminated."""

    node: AbstractNode
    passage: Passage
    D: Ldl
    UD: Array  # (6, n) U D^-1, felt
    kept: Scalar | None  # `Passage.kept`
    N: list[int]  # rows that go on to the parent
    KSD: Array  # (|N|, n) K S D^-1


class Closed(NamedTuple):
    """Rows whose multipliers were eliminated at a node or at the world: L_RR = Lt diag(1 / d_inv) Lt^T."""

    R: list[int]
    U: list[int]  # rows that go on
    factor: Ldl
    YK: Array  # (|R|, 6) Lt^-1 K_R
    YU: Array  # (|R|, |U|) Lt^-1 L_RU


class Elimination(NamedTuple):
    joints: list[Joint]
    closed: dict[int, Closed]  # by root
    inner: list[int]  # roots of loops and their ancestors: all that a change of the multipliers' offsets reaches
    outer: list[int]

    @property
    def pivots(self) -> dict[int, Array]:
        """The inverse pivots of every joint's D, by node."""
        return {i: joint.D.d_inv for i, joint in enumerate(self.joints)}


def eliminate(
    tree: AbstractTree,
    passages: list[Passage],
    inertias: list[Array],
    rows: list[Rows],
    spans: list[slice],
    roots: list[int],
    damping: Array,
    factorize: Callable[[Array, list[int]], Ldl],
) -> Elimination:
    """H, K and L from the leaves to the world.

    roots    per constraint, where its multipliers are eliminated (`loop_roots.py`)
    damping  (m,) L's initial diagonal: 1 / mu
    factorize  L_RR of the rows with these numbers
    """
    m, n = len(damping), len(tree.nodes)
    H = list(inertias)
    K: list[dict[int, Array]] = [{} for _ in tree.nodes]  # row: (6,)
    E: list[dict[int, Array]] = [{} for _ in tree.nodes]  # row: (n,), on the joint's own acceleration
    L = np.zeros((m, m), dtype=np.result_type(damping, *(r.k for r in rows)))
    ends: dict[int, list[int]] = {}
    for r, span, root in zip(rows, spans, roots, strict=True):
        numbers = range(span.start, span.stop)
        ends.setdefault(root, []).extend(numbers)
        for target, i, block in [(E, i, e) for i, e in r.relation] or [(K, b.node, b.K) for b in r.blocks]:
            _add(target[i], zip(numbers, block, strict=True))  # eq. (42a)
    L[range(m), range(m)] = damping  # eq. (42b)
    parts: list[Joint] = [None] * n  # type: ignore[list-item]
    closed: dict[int, Closed] = {}
    for i in range(n - 1, -1, -1):
        node, p = tree.nodes[i], passages[i]
        if i in ends:
            with stage("multipliers"):
                closed[i], H[i], K[i] = _close(ends[i], H[i], K[i], L, factorize)
        with stage("inward"):
            (U, _, D, UD, kept), Ha = eliminate_inertia(p, H[i])
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + p.congruence(Ha)  # eq. (46a)
        with stage("constraints"):
            N = sorted({*K[i], *E[i]})
            KSD = np.zeros((len(N), node.m))
            if N:
                own = np.stack([E[i].get(x, np.zeros(node.m)) for x in N])
                K_i = np.stack([K[i].get(x, np.zeros(len(p.S))) for x in N])
                KS = K_i @ p.S + own
                KSD = ldl_solve(D, KS.T).T
                block = np.ix_(N, N)
                L[block] = L[block] + symmetric_product(KSD, KS.T)  # eq. (46d)
                if node.parent >= 0:
                    carried = p.beyond(K_i, KSD @ U.T, own, kept)  # eq. (46c)
                    _add(K[node.parent], zip(N, p.apply_T(carried), strict=True))
        parts[i] = Joint(node, p, D, UD, kept, N, KSD)
    if WORLD in ends:
        with stage("multipliers"):
            closed[WORLD], _, _ = _close(ends[WORLD], np.zeros((6, 6)), {}, L, factorize)
    inner = sorted({j for i in closed for j in path_to_root(tree, i)})
    return Elimination(parts, closed, inner, [i for i in range(n) if i not in inner])


def damped(L: Array, R: list[int]) -> Ldl:
    """L_RR with 1 / mu on its diagonal, which is positive definite."""
    return ldl(L)


def _add(target: dict[int, Array], rows: Iterable[tuple[int, Array]]) -> None:
    for x, row in rows:
        target[x] = target[x] + row if x in target else row


def _close(
    R: list[int], H: Array, K: dict[int, Array], L: Array, factorize: Callable[[Array, list[int]], Ldl]
) -> tuple[Closed, Array, dict[int, Array]]:
    """Eliminate the multipliers of rows R at a node; L_UU is updated in place."""
    U = sorted(x for x in K if x not in R)
    factor = factorize(L[np.ix_(R, R)], R)
    YK = ldl_forward(factor, np.stack([K.get(x, np.zeros(len(H))) for x in R]))
    YU = ldl_forward(factor, L[np.ix_(R, U)])
    dYK, dYU = (YK.T * factor.d_inv).T, (YU.T * factor.d_inv).T
    block = np.ix_(U, U)
    L[block] = L[block] - symmetric_product(YU.T, dYU)  # eq. (52a), three times
    left = {x: K[x] - YU[:, j] @ dYK for j, x in enumerate(U)}
    return Closed(R, U, factor, YK, YU), H + symmetric_product(YK.T, dYK), left
