"""The sweeps of forces f and of the multipliers' offsets l through a mechanism that `loop_elimination.py` factored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sarrus.mechanics.mechanism import Mechanism
from sarrus.mechanics.solvers.loop_elimination import Elimination
from sarrus.model.bodies import WORLD
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import ldl_backward, ldl_forward, ldl_solve
from sarrus.spatial.norms import size
from sarrus.spatial.stages import stage


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
