"""The sweeps of forces f and of the multipliers' offsets l through a mechanism that `loop_elimination.py` factored."""

from __future__ import annotations

from typing import NamedTuple

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
    u: dict[int, Array]  # (n,) per joint
    y: dict[int, Array]  # Lt^-1 l_R per root


def inward(e: Elimination, nodes: list[int], loads: Loads, tau: Array) -> Loads:
    """f and l through some nodes, from the leaves."""
    f, l, u, y = dict(loads.f), loads.l.copy(), dict(loads.u), dict(loads.y)
    for i in reversed(nodes):
        node, p, _, UD, kept, N, KSD = e.joints[i]
        if i in e.closed:
            with stage("multipliers"):
                R, U, factor, YK, YU = e.closed[i]
                y[i] = ldl_forward(factor, l[R])
                dy = factor.d_inv * y[i]
                f[i] = f[i] - YK.T @ dy  # eq. (52b), twice
                l[U] = l[U] - YU.T @ dy
        with stage("inward"):
            torque = tau[node.v]
            u[i] = torque + p.S.T @ f[i]
            if N:
                l[N] = l[N] + KSD @ u[i]  # eq. (46e)
            if node.parent >= 0:
                fa = p.beyond(f[i], UD @ u[i], torque, kept)  # eq. (46b)
                f[node.parent] = f[node.parent] + p.apply_T(fa)
    return Loads(f, l, u, y)


def outward(e: Elimination, nodes: list[int], loads: Loads, lam: Array, a: dict[int, Array]) -> dict[int, Array]:
    """Joint accelerations of some nodes, from the roots; a and lam (of the rows that end there) are filled in."""
    qdd: dict[int, Array] = {}
    for i in nodes:
        node, p, D, UD, _, N, KSD = e.joints[i]
        with stage("outward acceleration"):
            qdd[i] = ldl_solve(D, loads.u[i])  # eq. (45)
            if N:
                qdd[i] = qdd[i] - KSD.T @ lam[N]
            if node.parent < 0:
                a[i] = p.S @ qdd[i]
            else:
                felt = p.felt(a[node.parent])
                qdd[i] = qdd[i] - UD.T @ felt
                a[i] = p.acceleration(a[node.parent], felt, qdd[i])
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
