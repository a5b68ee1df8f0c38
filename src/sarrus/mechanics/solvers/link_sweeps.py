"""LCABA's sweeps over eliminated links, for right-hand sides only: what an iteration repeats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.solvers.link_elimination import Elimination
from sarrus.mechanics.solvers.ports import Port
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl_backward, ldl_forward
from sarrus.spatial.sums import add_to


class Loads(NamedTuple):
    """Right-hand sides: forces on nodes, on joints and on ports."""

    f: dict[int, Array]
    u: dict[int, Array]
    l: dict[int, Array]


def row_loads(e: Elimination, w: list[Array], loads: Loads) -> Loads:
    """Add forces w along the rows: K^T w."""
    f, u, l = dict(loads.f), dict(loads.u), dict(loads.l)
    for shares, x in zip(e.shares, w, strict=True):
        for share in shares:
            if share.port is not None:
                add_to(l, share.port, x)
                continue
            if share.E is not None:
                add_to(f, share.node, share.E.T @ x)
            if share.e is not None:
                add_to(u, share.node, share.e.T @ x)
    return Loads(f, u, l)


def inward(e: Elimination, nodes: list[int], loads: Loads) -> dict[int, Array]:
    """Lt^-1 u of those nodes, scaled: Algorithm 1, lines 11 to 23, for forces only; Algorithm 2, lines 1 to 6."""
    f, u, l = dict(loads.f), dict(loads.u), dict(loads.l)
    z: dict[int, Array] = {}
    for i in nodes:
        node, D, dY, ports, coupled = e.nodes[i]
        for c in ports:
            if c in l:
                port = e.ports[c]
                if port.E is not None:
                    add_to(f, i, port.E.T @ l[c])
                if port.e is not None:
                    add_to(u, i, port.e.T @ l[c])
        if i in f:
            add_to(u, i, node.S.T @ f[i])
        if i not in u:
            continue
        x = ldl_forward(D, u[i])
        z[i] = D.d_inv * x
        for c, YG in coupled:
            add_to(l, c, -(YG.T @ z[i]))  # eq. (30e)
        if node.parent >= 0:
            fa = -(dY.T @ x) if i not in f else f[i] - dY.T @ x
            add_to(f, node.parent, node.X.apply_T(fa))  # eq. (30b)
    return z


def outward(
    e: Elimination, nodes: list[int], z: dict[int, Array], a: dict[int, Array], y: dict[int, Array]
) -> dict[int, Array]:
    """Joint accelerations of those nodes, last first, eq. (29); fills in the accelerations of nodes and ports."""
    qdd: dict[int, Array] = {}
    for i in reversed(nodes):
        node, D, dY, ports, coupled = e.nodes[i]
        own = z.get(i, np.zeros(node.S.shape[1]))
        for c, YG in coupled:
            own = own - D.d_inv * (YG @ y[c])
        if node.parent >= 0:
            a_parent = node.X.apply(a[node.parent])
            qdd[i] = ldl_backward(D, own - dY @ a_parent)
            a[i] = a_parent + node.S @ qdd[i]
        else:
            qdd[i] = ldl_backward(D, own)
            a[i] = node.S @ qdd[i]
        for c in ports:
            y[c] = e.ports[c].image(a[i], qdd[i])
    return qdd


def images(e: Elimination, a: dict[int, Array], qdd: dict[int, Array], y: dict[int, Array]) -> list[Array]:
    """K a of every constraint."""
    out = []
    for shares in e.shares:
        terms = [
            y[s.port] if s.port is not None else Port(s.node, s.E, s.e).image(a[s.node], qdd[s.node]) for s in shares
        ]
        out.append(sum(terms[1:], terms[0]))
    return out
