"""Eliminating links of a mechanism with loops, from the leaves inwards (LCABA paper, section IV).

The couplings between links that are not parent and child are in `link_form.py`. D is used by halves, L^-1 U^T and not
D^-1 U^T: of a joint with several freedoms penalties stiffen some only, and the full solve would lose digits of the
others. What is factored (H, G, W) is separate from what is solved (f, l), which the iterations repeat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.link_form import Form, Port, Share, add_to
from sarrus.algorithms.rows import Rows
from sarrus.model.tree import Kinematics, Node, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_backward, ldl_forward, subtract_product, symmetric_product
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


class Eliminated(NamedTuple):
    """A node whose joint was eliminated."""

    node: Node
    X: Transform
    S: Array  # (6, n)
    D: Ldl  # S^T H S + armature + penalties of the joint's own coordinate = Lt diag(1 / d_inv) Lt^T
    Y: Array  # (n, 6) Lt^-1 U^T
    ports: list[int]  # those on it
    coupled: list[tuple[int, Array]]  # (port c, (n, m) Lt^-1 (G_c S)^T)
    zero: list[int]  # rows in which the parent feels just the reaction of what acts on the joint itself: S^T U D^-1 = 1


class Elimination(NamedTuple):
    order: list[int]
    nodes: dict[int, Eliminated]
    ports: list[Port]
    shares: list[list[Share]]  # per constraint


def eliminate(tree: Tree, joints: list[Kinematics], rows: list[Rows], mu: list[Array], order: list[int]) -> Elimination:
    """All links, in that order: H, G and W, that is Algorithm 1 without its forces."""
    form = Form(tree)
    rank = {i: position for position, i in enumerate(order)}
    with stage("constraints"):
        shares = [form.rows(r, m, rank) for r, m in zip(rows, mu, strict=True)]
        for i in order:
            form.merge_ports(i)
    nodes: dict[int, Eliminated] = {}
    for i in order:
        node, (X, S, _, _) = tree.nodes[i], joints[i]
        with stage("coupling"):
            form.fold_ports(i)
        with stage("inward"):
            U, B = form.H[i] @ S, S.T @ (form.H[i] @ S) + np.diag(node.armature)
            plain = i not in form.C and i not in form.B  # then S^T Ha = 0
            if i in form.C:
                B = B + (S.T @ form.C[i] + form.C[i].T @ S)
                U = U + form.C[i]
            if i in form.B:
                B = B + form.B[i]
            D = ldl(B)
            Y = ldl_forward(D, U.T)
            dY = (Y.T * D.d_inv).T
            zero = list(node.zero_rows) if plain else []
            if node.parent >= 0:
                Ha = subtract_product(form.H[i], Y.T, dY.T, tuple(zero))
                form.H[node.parent] = form.H[node.parent] + X.congruence(Ha)  # eq. (30a)
        with stage("coupling"):
            coupled = _uncouple(form, i, node, X, S, D, dY, zero)
        nodes[i] = Eliminated(node, X, S, D, Y, [], coupled, zero)
    for c, port in enumerate(form.ports):
        nodes[port.node].ports.append(c)
    return Elimination(order, nodes, form.ports, shares)


def _uncouple(
    form: Form, i: int, node: Node, X: Transform, S: Array, D: Ldl, dY: Array, zero: list[int]
) -> list[tuple[int, Array]]:
    """Couplings of a node that is eliminated go on to its parent and to each other."""
    found = []
    for c in range(len(form.ports)):
        if c not in form.G or (i not in form.G[c] and i not in form.g[c]):
            continue
        G, direct = form.G[c].pop(i, None), form.g[c].pop(i, None)
        terms = [M for M in (None if G is None else G @ S, direct) if M is not None]
        GS = sum(terms[1:], terms[0])  # (m, n)
        YG = ldl_forward(D, GS.T)  # (n, m)
        if node.parent >= 0:
            left = -(YG.T @ dY) if G is None else G - YG.T @ dY  # G P^T
            if direct is None:
                left[:, zero] = 0.0
            add_to(form.G[c], node.parent, np.stack([X.apply_T(row) for row in left]))  # eq. (30c)
        found.append((c, YG))
    for x, (c, YG) in enumerate(found):
        dYG = (YG.T * D.d_inv).T
        form.couple(c, c, -symmetric_product(YG.T, dYG))  # eq. (30d)
        for d, other in found[x + 1 :]:
            form.couple(c, d, -(dYG.T @ other))
    return found


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
        node, X, S, D, Y, ports, coupled, zero = e.nodes[i]
        for c in ports:
            if c in l:
                port = e.ports[c]
                if port.E is not None:
                    add_to(f, i, port.E.T @ l[c])
                if port.e is not None:
                    add_to(u, i, port.e.T @ l[c])
        own = u.get(i)  # on the joint itself
        if i in f:
            add_to(u, i, S.T @ f[i])
        if i not in u:
            continue
        z[i] = D.d_inv * ldl_forward(D, u[i])
        for c, YG in coupled:
            add_to(l, c, -(YG.T @ z[i]))  # eq. (30e)
        if node.parent >= 0:
            fa = -(Y.T @ z[i]) if i not in f else f[i] - Y.T @ z[i]  # eq. (30b)
            fa[zero] = 0.0 if own is None else -(S @ own)[zero]
            add_to(f, node.parent, X.apply_T(fa))
    return z


def outward(
    e: Elimination, nodes: list[int], z: dict[int, Array], a: dict[int, Array], y: dict[int, Array]
) -> dict[int, Array]:
    """Joint accelerations of those nodes, last first, eq. (29); fills in the accelerations of nodes and ports."""
    qdd: dict[int, Array] = {}
    for i in reversed(nodes):
        node, X, S, D, Y, ports, coupled, _ = e.nodes[i]
        own = z.get(i, np.zeros(node.m))
        for c, YG in coupled:
            own = own - D.d_inv * (YG @ y[c])
        carried = None
        if node.parent >= 0:
            carried = X.apply(a[node.parent])
            own = own - (Y.T * D.d_inv).T @ carried
        qdd[i] = ldl_backward(D, own)
        a[i] = S @ qdd[i] if carried is None else carried + S @ qdd[i]
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
