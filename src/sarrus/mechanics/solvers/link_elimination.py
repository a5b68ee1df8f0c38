"""Eliminating links of a mechanism with loops, from the leaves inwards (LCABA paper, section IV).

The couplings between links that are not parent and child are in `link_form.py`. D is used by halves, L^-1 U^T and not
D^-1 U^T: of a joint with several freedoms penalties stiffen some only, and the full solve would lose digits of the
others. What is factored (H, G, W) is separate from what is solved (f, l), which the iterations repeat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, Node
from sarrus.mechanics.solvers.link_form import Form
from sarrus.mechanics.solvers.merged_ports import merge_ports
from sarrus.mechanics.solvers.ports import Port, Share
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_forward, minus_product, subtract_product, symmetric_product
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.rotations import skew
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage
from sarrus.spatial.sums import add_to
from sarrus.spatial.transforms import Transform


class EliminatedLink(NamedTuple):
    """A node whose joint was eliminated."""

    node: Node
    D: Ldl  # S^T H S + A + penalties of the joint's own coordinate = Lt diag(1 / d_inv) Lt^T
    dY: Array  # (n, s) diag(d_inv) Lt^-1 U^T
    ports: list[int]  # those on it
    coupled: list[tuple[int, Array]]  # (port c, (n, m) Lt^-1 (G_c S)^T)


class Elimination(NamedTuple):
    order: list[int]
    nodes: dict[int, EliminatedLink]
    ports: list[Port]
    shares: list[list[Share]]  # per constraint

    @property
    def pivots(self) -> list[Array]:
        """The inverse pivots of every joint's D."""
        return [self.nodes[i].D.d_inv for i in range(len(self.nodes))]


def eliminate_links(at: Mechanism, rows: list[Rows], mu: list[Array], order: list[int]) -> Elimination:
    """All links, in that order: H, G and W, that is Algorithm 1 without its forces."""
    form = Form([node.H for node in at.nodes], order)
    with stage("constraints"):
        shares = [form.rows(r, m) for r, m in zip(rows, mu, strict=True)]
    nodes: dict[int, EliminatedLink] = {}
    for i in order:
        node, S = at.nodes[i], at.nodes[i].S
        with stage("coupling"):
            form.fold_ports(i)
            merge_ports(form, i)
        with stage("inward"):
            U = form.H[i] @ S
            B = S.T @ U + node.A
            if i in form.C:
                B = B + (S.T @ form.C[i] + form.C[i].T @ S)
                U = U + form.C[i]
            if i in form.B:
                B = B + form.B[i]
            D = ldl(B)
            Y = ldl_forward(D, (U + node.E).T)
            dY = D.divide(Y)
            if node.parent >= 0:
                Ha = subtract_product(form.H[i], dY.T, Y.T)
                form.H[node.parent] = form.H[node.parent] + node.X.congruence(Ha)  # eq. (30a)
        with stage("coupling"):
            coupled = _uncouple(form, i, node, D, dY)
        nodes[i] = EliminatedLink(node, D, dY, [], coupled)
    for c, port in enumerate(form.ports):
        nodes[port.node].ports.append(c)
    return Elimination(order, nodes, form.ports, shares)


def _uncouple(form: Form, i: int, node: Node, D: Ldl, dY: Array) -> list[tuple[int, Array]]:
    """What was coupled with a node that is eliminated is now coupled with its parent, and among itself."""
    found = []
    for c in sorted(form.G):
        if i not in form.G[c] and i not in form.g[c]:
            continue
        G, direct = form.G[c].pop(i, None), form.g[c].pop(i, None)
        terms = [M for M in (None if G is None else G @ node.S, direct) if M is not None]
        GS = sum(terms[1:], terms[0])  # (m, n)
        YG = ldl_forward(D, GS.T)  # (n, m)
        if node.parent >= 0:
            left = -(YG.T @ dY) if G is None else minus_product(G, YG.T, dY)
            carried = rows_T(node.X, left)  # G P^T X
            if (
                _sees_a_point(left)
                and isinstance(node.X, Transform)
                and form.is_before(form.ports[c].node, node.parent)
            ):
                point = np.hstack([np.eye(3), -skew(node.X.point(np.zeros(3)))])
                form.couple(c, form.port_on(node.parent, point), carried[:, :3])
            else:
                add_to(form.G[c], node.parent, carried)  # eq. (30c)
        found.append((c, YG))
    for x, (c, YG) in enumerate(found):
        dYG = D.divide(YG)
        form.couple(c, c, -symmetric_product(YG.T, dYG))  # eq. (30d)
        for d, other in found[x + 1 :]:
            form.couple(c, d, -(dYG.T @ other))
    return found


def _sees_a_point(K: Array) -> bool:
    """Whether rows see nothing of a link but the acceleration of its origin, as beyond a ball joint."""
    return all(is_structurally_zero(x) for x in K[:, 3:].flat)
