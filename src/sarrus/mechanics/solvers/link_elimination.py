"""Eliminating links of a mechanism with loops, from the leaves inwards (LCABA paper, section IV).

The couplings between links that are not parent and child are in `link_form.py`. D is used by halves, L^-1 U^T and not
D^-1 U^T: of a joint with several freedoms penalties stiffen some only, and the full solve would lose digits of the
others. What is factored (H, G, W) is separate from what is solved (f, l), which the iterations repeat.
"""

from __future__ import annotations

from typing import NamedTuple

from sarrus.mechanics.bodies.passage import Passage
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.solvers.link_form import Form
from sarrus.mechanics.solvers.merged_ports import merge_ports
from sarrus.mechanics.solvers.ports import Port, Share
from sarrus.model.topology import AbstractNode, AbstractTree
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_forward, symmetric_product
from sarrus.spatial.stages import stage
from sarrus.spatial.sums import add_to


class Eliminated(NamedTuple):
    """A node whose joint was eliminated."""

    node: AbstractNode
    passage: Passage
    D: Ldl  # S^T H S + armature + penalties of the joint's own coordinate = Lt diag(1 / d_inv) Lt^T
    Y: Array  # (n, 6) Lt^-1 U^T, felt
    ports: list[int]  # those on it
    coupled: list[tuple[int, Array]]  # (port c, (n, m) Lt^-1 (G_c S)^T)
    kept: Scalar | None  # `Passage.kept`


class Elimination(NamedTuple):
    order: list[int]
    nodes: dict[int, Eliminated]
    ports: list[Port]
    shares: list[list[Share]]  # per constraint

    @property
    def pivots(self) -> dict[int, Array]:
        """The inverse pivots of every joint's D, by node."""
        return {i: node.D.d_inv for i, node in self.nodes.items()}


def eliminate(
    tree: AbstractTree,
    passages: list[Passage],
    inertias: list[Array],
    rows: list[Rows],
    mu: list[Array],
    order: list[int],
) -> Elimination:
    """All links, in that order: H, G and W, that is Algorithm 1 without its forces."""
    form = Form(inertias, order)
    with stage("constraints"):
        shares = [form.rows(r, m) for r, m in zip(rows, mu, strict=True)]
    nodes: dict[int, Eliminated] = {}
    for i in order:
        node, p = tree.nodes[i], passages[i]
        with stage("coupling"):
            form.fold_ports(i)
            merge_ports(form, i)
        with stage("inward"):
            U, B = form.H[i] @ p.S, p.S.T @ (form.H[i] @ p.S) + p.A
            A = p.A
            if i in form.C:
                B = B + (p.S.T @ form.C[i] + form.C[i].T @ p.S)
                U = U + form.C[i]
            if i in form.B:
                A, B = A + form.B[i], B + form.B[i]
            D = ldl(B)
            Y = ldl_forward(D, p.coupling(U).T)
            dY = (Y.T * D.d_inv).T
            kept = None if i in form.C else p.kept(D, A, form.H[i])
            if node.parent >= 0:
                Ha = p.beyond_inertia(form.H[i], Y.T, dY.T, kept)
                form.H[node.parent] = form.H[node.parent] + p.congruence(Ha)  # eq. (30a)
        with stage("coupling"):
            coupled = _uncouple(form, i, node, p, D, dY, kept)
        nodes[i] = Eliminated(node, p, D, Y, [], coupled, kept)
    for c, port in enumerate(form.ports):
        nodes[port.node].ports.append(c)
    return Elimination(order, nodes, form.ports, shares)


def _uncouple(
    form: Form, i: int, node: AbstractNode, p: Passage, D: Ldl, dY: Array, kept: Scalar | None
) -> list[tuple[int, Array]]:
    """Couplings of a node that is eliminated go on to its parent and to each other."""
    found = []
    point = p.felt_point(kept)
    for c in range(len(form.ports)):
        if c not in form.G or (i not in form.G[c] and i not in form.g[c]):
            continue
        G, direct = form.G[c].pop(i, None), form.g[c].pop(i, None)
        terms = [M for M in (None if G is None else G @ p.S, direct) if M is not None]
        GS = sum(terms[1:], terms[0])  # (m, n)
        YG = ldl_forward(D, GS.T)  # (n, m)
        if node.parent >= 0:
            left = p.apply_T(p.beyond(G, YG.T @ dY, direct, kept))  # G P^T X
            if point is not None and form.is_before(form.ports[c].node, node.parent):
                form.couple(c, form.port_on(node.parent, point), left[:, :3])
            else:
                add_to(form.G[c], node.parent, left)  # eq. (30c)
        found.append((c, YG))
    for x, (c, YG) in enumerate(found):
        dYG = (YG.T * D.d_inv).T
        form.couple(c, c, -symmetric_product(YG.T, dYG))  # eq. (30d)
        for d, other in found[x + 1 :]:
            form.couple(c, d, -(dYG.T @ other))
    return found
