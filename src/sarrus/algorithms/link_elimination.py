"""Eliminating links of a mechanism with loops, from the leaves inwards (LCABA paper, section IV).

The couplings between links that are not parent and child are in `link_form.py`. D is used by halves, L^-1 U^T and not
D^-1 U^T: of a joint with several freedoms penalties stiffen some only, and the full solve would lose digits of the
others. What is factored (H, G, W) is separate from what is solved (f, l), which the iterations repeat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.link_form import Form
from sarrus.algorithms.ports import Port, Share, add_to
from sarrus.algorithms.rows import Rows
from sarrus.model.tree import Kinematics, Node, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_forward, subtract_product, symmetric_product
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
