"""Eliminating joints and multipliers of a mechanism with loops, from the leaves inwards (LCABA paper, section V).

About the bias motion (`mechanics/bodies.py`) the cost-to-go of a node is, with its acceleration a and the multipliers
lam of the rows that reach it,

    a^T H a / 2 - f^T a + lam^T (K a + l) - lam^T L lam / 2

which is eq. (40) with l = -k. A constraint's rows meet at its root, the node nearest to the leaves that has all of them
below: there they appear in nothing else, and their multipliers are eliminated (eqs. 49 to 52). Those that act on the
world end there, or before (`loop_roots.py`). What is factored (H, K, L) is separate from what is solved (f, l), whose
sweeps iterations repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, Node, eliminate
from sarrus.model.bodies import WORLD
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import (
    Ldl,
    ldl,
    ldl_backward,
    ldl_forward,
    ldl_solve,
    minus_product,
    subtract_product,
    symmetric_product,
)
from sarrus.spatial.norms import size
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


class Joint(NamedTuple):
    """A node whose joint was eliminated."""

    node: Node
    D: Ldl
    UD: Array  # (s, n) U D^-1
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
    def pivots(self) -> list[Array]:
        """The inverse pivots of every joint's D."""
        return [joint.D.d_inv for joint in self.joints]


def eliminate_loops(
    at: Mechanism, rows: list[Rows], roots: list[int], damping: Array, factorize: Callable[[Array, list[int]], Ldl]
) -> Elimination:
    """H, K and L from the leaves to the world.

    roots      per constraint, where its multipliers are eliminated (`loop_roots.py`)
    damping    (m,) L's initial diagonal: 1 / mu
    factorize  L_RR of the rows with these numbers
    """
    nodes, m = at.nodes, len(damping)
    H = [node.H for node in nodes]
    K: list[dict[int, Array]] = [{} for _ in nodes]  # row: (s,)
    E: list[dict[int, Array]] = [{} for _ in nodes]  # row: (n,), on the joint's own acceleration
    L = np.zeros((m, m), dtype=np.result_type(damping, *(r.k for r in rows)))
    ends: dict[int, list[int]] = {}
    for r, root in zip(rows, roots, strict=True):
        numbers = range(r.span.start, r.span.stop)
        ends.setdefault(root, []).extend(numbers)
        for target, i, block in [(E, i, e) for i, e in r.relation] or [(K, b.node, b.K) for b in r.blocks]:
            _add(target[i], zip(numbers, block, strict=True))  # eq. (42a)
    L[range(m), range(m)] = damping  # eq. (42b)
    joints: list[Joint] = []
    closed: dict[int, Closed] = {}
    for i, node in reversed(list(enumerate(nodes))):
        n = node.S.shape[1]
        if i in ends:
            with stage("multipliers"):
                closed[i], H[i], K[i] = _close(ends[i], H[i], K[i], L, factorize)
        with stage("inward"):
            D, U, UD = eliminate(node, H[i])
            if node.parent >= 0:
                Ha = subtract_product(H[i], UD, U)
                H[node.parent] = H[node.parent] + node.X.congruence(Ha)  # eq. (46a)
        with stage("constraints"):
            N = sorted({*K[i], *E[i]})
            KSD = np.zeros((len(N), n))
            if N:
                K_i = np.stack([K[i].get(x, np.zeros(len(node.S))) for x in N])
                KS = K_i @ node.S + np.stack([E[i].get(x, np.zeros(n)) for x in N])
                KSD = ldl_solve(D, KS.T).T
                block = np.ix_(N, N)
                L[block] = L[block] + symmetric_product(KSD, KS.T)  # eq. (46d)
                if node.parent >= 0:
                    carried = rows_T(node.X, minus_product(K_i, KSD, U.T))  # eq. (46c)
                    _add(K[node.parent], zip(N, carried, strict=True))
        joints.append(Joint(node, D, UD, N, KSD))
    if WORLD in ends:
        with stage("multipliers"):
            closed[WORLD], _, _ = _close(ends[WORLD], np.zeros((6, 6)), {}, L, factorize)
    inner = sorted({j for i in closed for j in at.tree.paths[i]})
    return Elimination(joints[::-1], closed, inner, [i for i in range(len(nodes)) if i not in inner])


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


class Loads(NamedTuple):
    """Right-hand sides on their way inwards."""

    f: dict[int, Array]  # (6,) per node
    l: Array  # (m,)
    u: dict[int, Array]  # (n,) per joint: tau, then tau + S^T f
    y: dict[int, Array]  # Lt^-1 l_R per root


def loads_of(at: Mechanism, l: Array) -> Loads:
    """The forces on a mechanism, and offsets l of its rows."""
    return Loads({i: n.f for i, n in enumerate(at.nodes)}, l, {i: n.tau for i, n in enumerate(at.nodes)}, {})


def inward(e: Elimination, nodes: Sequence[int], loads: Loads) -> Loads:
    """f, tau and l through some nodes, from the leaves."""
    f, l, u, y = dict(loads.f), loads.l.copy(), dict(loads.u), dict(loads.y)
    for i in reversed(nodes):
        node, _, UD, N, KSD = e.joints[i]
        if i in e.closed:
            with stage("multipliers"):
                R, U, factor, YK, YU = e.closed[i]
                y[i] = ldl_forward(factor, l[R])
                dy = factor.d_inv * y[i]
                f[i] = f[i] - YK.T @ dy  # eq. (52b), twice
                l[U] = l[U] - YU.T @ dy
        with stage("inward"):
            u[i] = u.get(i, 0.0) + node.S.T @ f[i]
            if N:
                l[N] = l[N] + KSD @ u[i]  # eq. (46e)
            if node.parent >= 0:
                fa = f[i] - UD @ u[i]
                f[node.parent] = f[node.parent] + node.X.apply_T(fa)  # eq. (46b)
    return Loads(f, l, u, y)


def outward(e: Elimination, nodes: Sequence[int], loads: Loads, lam: Array, a: dict[int, Array]) -> dict[int, Array]:
    """Joint accelerations of some nodes, from the roots; a and lam (of the rows that end there) are filled in."""
    qdd: dict[int, Array] = {}
    for i in nodes:
        node, D, UD, N, KSD = e.joints[i]
        with stage("outward acceleration"):
            qdd[i] = ldl_solve(D, loads.u[i])  # eq. (45)
            if N:
                qdd[i] = qdd[i] - KSD.T @ lam[N]
            if node.parent < 0:
                a[i] = node.S @ qdd[i]
            else:
                a_parent = node.X.apply(a[node.parent])
                qdd[i] = qdd[i] - UD.T @ a_parent
                a[i] = a_parent + node.S @ qdd[i]
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


def dual_scale(desired: Array, free: Array) -> Scalar:
    """What residuals are measured against by methods that never see the links' accelerations: those that rows want.

    free: the rows' accelerations without constraints, which may be much larger than those with them
    """
    return size(desired) + 1e-2 * size(free)
