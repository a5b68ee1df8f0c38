"""Eliminating joints and multipliers of a mechanism with loops, from the leaves inwards (LCABA paper, section V).

About the bias motion (`sweeps.py`) the cost-to-go of a node is, with its acceleration a and the multipliers lam of the rows that
reach it,

    a^T H a / 2 - f^T a + lam^T (K a + l) - lam^T L lam / 2

which is eq. (40) with l = -k. A constraint's rows meet at its root, the node nearest to the leaves that has all of them below: there
they appear in nothing else, and their multipliers are eliminated (eqs. 49 to 52). Those that act on the world end there. What is
factored (H, K, L) is separate from what is solved (f, l), which proximal iterations repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.rows import Rows
from sarrus.algorithms.sweeps import eliminate_inertia
from sarrus.model.model import WORLD
from sarrus.model.tree import Kinematics, Node, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl_backward, ldl_forward, ldl_solve, symmetric_product
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


class Joint(NamedTuple):
    """A node whose joint was eliminated."""

    node: Node
    X: Transform
    S: Array  # (6, n)
    D: Ldl
    UD: Array  # (6, n) U D^-1
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


class Loads(NamedTuple):
    """Right-hand sides on their way inwards."""

    f: dict[int, Array]  # (6,) per node
    l: Array  # (m,)
    u: dict[int, Array]  # (n,) per joint
    y: dict[int, Array]  # Lt^-1 l_R per root


def root_of(tree: Tree, r: Rows) -> int:
    """The node at which all blocks of a constraint have met; one of a single link is against the world."""
    nodes = {tree.nodes[i].parent for i, _ in r.relation} or {block.node for block in r.blocks}
    if len(nodes) == 1 and not r.relation:
        return WORLD
    return max(set.intersection(*(set(_path(tree, i)) for i in nodes)), default=WORLD)


def _path(tree: Tree, i: int) -> list[int]:
    path = []
    while i != WORLD:
        path.append(i)
        i = tree.nodes[i].parent
    return path


def eliminate(
    tree: Tree,
    joints: list[Kinematics],
    rows: list[Rows],
    spans: list[slice],
    damping: Array,
    factorize: Callable[[Array], Ldl],
) -> Elimination:
    """H, K and L from the leaves to the world; `damping` (m,) is L's initial diagonal: 1 / mu."""
    m, n = len(damping), len(tree.nodes)
    H = [node.inertia.matrix() for node in tree.nodes]
    K: list[dict[int, Array]] = [{} for _ in tree.nodes]  # row: (6,)
    E: list[dict[int, Array]] = [{} for _ in tree.nodes]  # row: (n,), on the joint's own acceleration
    L = np.zeros((m, m), dtype=np.result_type(damping, *(r.k for r in rows)))
    ends: dict[int, list[int]] = {}
    for r, span in zip(rows, spans, strict=True):
        numbers = range(span.start, span.stop)
        ends.setdefault(root_of(tree, r), []).extend(numbers)
        for target, i, block in [(E, i, e) for i, e in r.relation] or [(K, b.node, b.K) for b in r.blocks]:
            _add(target[i], zip(numbers, block, strict=True))  # eq. (42a)
    L[range(m), range(m)] = damping  # eq. (42b)
    parts: list[Joint] = [None] * n  # type: ignore[list-item]
    closed: dict[int, Closed] = {}
    for i in range(n - 1, -1, -1):
        node, (X, S, _, _) = tree.nodes[i], joints[i]
        if i in ends:
            with stage("multipliers"):
                closed[i], H[i], K[i] = _close(ends[i], H[i], K[i], L, factorize)
        with stage("inward"):
            U, D, UD, Ha = eliminate_inertia(node, S, H[i])
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + X.congruence(Ha)  # eq. (46a)
        with stage("constraints"):
            N = sorted({*K[i], *E[i]})
            KSD = np.zeros((len(N), node.m))
            if N:
                own = np.stack([E[i].get(x, np.zeros(node.m)) for x in N])
                K_i = np.stack([K[i].get(x, np.zeros(6)) for x in N])
                KS = K_i @ S + own
                KSD = ldl_solve(D, KS.T).T
                block = np.ix_(N, N)
                L[block] = L[block] + symmetric_product(KSD, KS.T)  # eq. (46d)
                if node.parent >= 0:
                    carried = K_i - KSD @ U.T  # eq. (46c)
                    zero = list(node.zero_rows)
                    carried[:, zero] = -(own @ S.T)[:, zero]  # (K S + E) D^-1 U^T S = K S + E: exactly
                    _add(K[node.parent], zip(N, (X.apply_T(row) for row in carried), strict=True))
        parts[i] = Joint(node, X, S, D, UD, N, KSD)
    if WORLD in ends:
        with stage("multipliers"):
            closed[WORLD], _, _ = _close(ends[WORLD], np.zeros((6, 6)), {}, L, factorize)
    inner = sorted({j for i in closed for j in _path(tree, i)})
    return Elimination(parts, closed, inner, [i for i in range(n) if i not in inner])


def _add(target: dict[int, Array], rows: Iterable[tuple[int, Array]]) -> None:
    for x, row in rows:
        target[x] = target[x] + row if x in target else row


def _close(
    R: list[int], H: Array, K: dict[int, Array], L: Array, factorize: Callable[[Array], Ldl]
) -> tuple[Closed, Array, dict[int, Array]]:
    """Eliminate the multipliers of rows R at a node; L_UU is updated in place."""
    U = sorted(x for x in K if x not in R)
    factor = factorize(L[np.ix_(R, R)])
    YK = ldl_forward(factor, np.stack([K.get(x, np.zeros(6)) for x in R]))
    YU = ldl_forward(factor, L[np.ix_(R, U)])
    dYK, dYU = (YK.T * factor.d_inv).T, (YU.T * factor.d_inv).T
    block = np.ix_(U, U)
    L[block] = L[block] - symmetric_product(YU.T, dYU)  # eq. (52a), three times
    left = {x: K[x] - YU[:, j] @ dYK for j, x in enumerate(U)}
    return Closed(R, U, factor, YK, YU), H + symmetric_product(YK.T, dYK), left


def inward(e: Elimination, nodes: list[int], loads: Loads, tau: Array) -> Loads:
    """f and l through some nodes, from the leaves."""
    f, l, u, y = dict(loads.f), loads.l.copy(), dict(loads.u), dict(loads.y)
    for i in reversed(nodes):
        node, X, S, _, UD, N, KSD = e.joints[i]
        if i in e.closed:
            with stage("multipliers"):
                R, U, factor, YK, YU = e.closed[i]
                y[i] = ldl_forward(factor, l[R])
                dy = factor.d_inv * y[i]
                f[i] = f[i] - YK.T @ dy  # eq. (52b), twice
                l[U] = l[U] - YU.T @ dy
        with stage("inward"):
            torque = tau[node.v]
            u[i] = torque + S.T @ f[i]
            if N:
                l[N] = l[N] + KSD @ u[i]  # eq. (46e)
            if node.parent >= 0:
                fa = f[i] - UD @ u[i]  # eq. (46b)
                zero = list(node.zero_rows)
                fa[zero] = -(S @ torque)[zero]
                f[node.parent] = f[node.parent] + X.apply_T(fa)
    return Loads(f, l, u, y)


def outward(
    e: Elimination, nodes: list[int], loads: Loads, lam: Array, a: dict[int, Array]
) -> dict[int, Array]:
    """Joint accelerations of some nodes, from the roots; a and lam (of the rows that end there) are filled in."""
    qdd: dict[int, Array] = {}
    for i in nodes:
        node, X, S, D, UD, N, KSD = e.joints[i]
        with stage("outward acceleration"):
            qdd[i] = ldl_solve(D, loads.u[i])  # eq. (45)
            if N:
                qdd[i] = qdd[i] - KSD.T @ lam[N]
            a[i] = S @ qdd[i]
            if node.parent >= 0:
                carried = X.apply(a[node.parent])
                qdd[i] = qdd[i] - UD.T @ carried
                a[i] = carried + S @ qdd[i]
        if i in e.closed:
            with stage("multipliers"):
                R, U, factor, YK, YU = e.closed[i]
                b = loads.y[i] + YK @ a[i]
                b = b - YU @ lam[U] if U else b
                lam[R] = ldl_backward(factor, factor.d_inv * b)  # eq. (51)
    return qdd


def at_world(e: Elimination, loads: Loads, lam: Array) -> Array:
    """lam with the multipliers of the rows that end at the world: nothing moves there."""
    lam = lam.copy()
    if WORLD in e.closed:
        with stage("multipliers"):
            lam[e.closed[WORLD].R] = ldl_solve(e.closed[WORLD].factor, loads.l[e.closed[WORLD].R])
    return lam
