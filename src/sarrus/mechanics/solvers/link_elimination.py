"""Eliminating links of a mechanism with loops, from the leaves inwards: LCABA's Algorithms 1 and 2.

D is used by halves, L^-1 U^T and not D^-1 U^T: of a joint with several freedoms penalties stiffen some only, and the
full solve would lose digits of the others. What is factored (H and the couplings) is separate from what is solved
(f, l), which the iterations repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, Node
from sarrus.mechanics.solvers.couplings import Couplings, Image
from sarrus.spatial.arrays import Array, add_to
from sarrus.spatial.linear_algebra import (
    Ldl,
    ldl,
    ldl_backward,
    ldl_forward,
    minus_product,
    subtract_product,
    symmetric_product,
)
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.rotations import skew
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


class EliminatedLink(NamedTuple):
    """A node whose joint was eliminated."""

    node: Node
    D: Ldl  # S^T H S + A + penalties of the joint's own coordinate = Lt diag(1 / d_inv) Lt^T
    dY: Array  # (n, s) diag(d_inv) Lt^-1 U^T
    images: list[int]  # those of it
    seen: list[tuple[int, Array]]  # images of others that it was coupled with: (d, (n, m) Lt^-1 (H_di S)^T)


class Elimination(NamedTuple):
    links: dict[int, EliminatedLink]
    images: list[Image]
    shares: list[list[int]]  # per constraint: the images that its rows are the sum of

    @property
    def pivots(self) -> list[Array]:
        """The inverse pivots of every joint's D."""
        return [self.links[i].D.d_inv for i in range(len(self.links))]


def eliminate_links(at: Mechanism, rows: list[Rows], mu: list[Array], order: list[int]) -> Elimination:
    """All links, in that order: H and its couplings, that is Algorithm 1 without its forces."""
    H = Couplings(at.nodes)
    with stage("constraints"):
        shares = [_add_rows(H, r, m) for r, m in zip(rows, mu, strict=True)]
    rank = {i: position for position, i in enumerate(order)}
    links: dict[int, EliminatedLink] = {}
    for i in order:
        node, S = at.nodes[i], at.nodes[i].S
        with stage("coupling"):
            own, seen = H.take(i)
        with stage("inward"):
            HS = own.H @ S
            D = ldl(S.T @ HS + node.A + (S.T @ own.C + own.C.T @ S) + own.B)
            Y = ldl_forward(D, (HS + own.C + node.E).T)
            dY = D.divide(Y)
            if node.parent >= 0:
                Ha = subtract_product(own.H, dY.T, Y.T)
                H.H[node.parent] = H.H[node.parent] + node.X.congruence(Ha)  # eq. (30a)
        with stage("coupling"):
            YH = {d: ldl_forward(D, (H_di @ S).T) for d, H_di in seen.items()}  # (n, m)
            if node.parent >= 0:
                for d, H_di in seen.items():
                    left = minus_product(H_di.G, YH[d].T, dY)  # H_di P^T
                    before = rank[H.images[d].node] < rank[node.parent]
                    on_parent, M = _on_parent(H, node, left, before)
                    H.couple(d, on_parent, M if d != on_parent else M + M.T)  # eq. (30c), and (34)
            for d, other in combinations(seen, 2):
                H.couple(d, other, -(D.divide(YH[d]).T @ YH[other]))  # eq. (30d)
            for d, YH_d in YH.items():
                H.couple(d, d, -symmetric_product(YH_d.T, D.divide(YH_d)))
        links[i] = EliminatedLink(node, D, dY, [], list(YH.items()))
    for c, image in enumerate(H.images):
        links[image.node].images.append(c)
    return Elimination(links, H.images, shares)


def _add_rows(H: Couplings, r: Rows, mu: Array) -> list[int]:
    """Penalties on the rows of a constraint: eq. (25), multi-link rows included (36); rows on one link only touch that
    (35).
    """
    if r.relation:
        shares = [H.add_image(i, None, s) for i, s in r.relation]
        for c in shares:
            H.couple(c, c, np.diag(mu))
    else:
        shares = [H.add_image(b.node, b.K, None) for b in r.blocks]
        for b in r.blocks:
            H.H[b.node] = H.H[b.node] + b.weighted_gram(mu)
    for c, d in combinations(shares, 2):
        H.couple(c, d, np.diag(mu))
    return shares


def _on_parent(H: Couplings, node: Node, left: Array, before: bool) -> tuple[int, Array]:
    """The image of the parent that rows `left` on a node see, and how: (d, M).

    Beyond a ball joint that is the acceleration of a point; worth it if the one who sees it is eliminated before.
    """
    carried = rows_T(node.X, left)
    sees_a_point = all(is_structurally_zero(x) for x in left[:, 3:].flat)
    if before and sees_a_point and isinstance(node.X, Transform):
        point = np.hstack([np.eye(3), -skew(node.X.point(np.zeros(3)))])
        return H.image(node.parent, point), carried[:, :3]
    return H.whole(node.parent), carried


class Loads(NamedTuple):
    """Right-hand sides: forces on nodes, on joints and on images."""

    f: dict[int, Array]
    u: dict[int, Array]
    l: dict[int, Array]


def row_loads(e: Elimination, w: Sequence[Array]) -> dict[int, Array]:
    """Forces w along the rows, on images: K^T w."""
    l: dict[int, Array] = {}
    for shares, x in zip(e.shares, w, strict=True):
        for c in shares:
            add_to(l, c, x)
    return l


def inward(e: Elimination, nodes: Sequence[int], loads: Loads) -> dict[int, Array]:
    """Lt^-1 u of those nodes, scaled: Algorithm 1, lines 11 to 23, for forces only; Algorithm 2, lines 1 to 6."""
    f, u, l = dict(loads.f), dict(loads.u), dict(loads.l)
    z: dict[int, Array] = {}
    for i in nodes:
        node, D, dY, images, seen = e.links[i]
        for c in (c for c in images if c in l):
            add_to(f, i, e.images[c].E.T @ l[c])
            add_to(u, i, e.images[c].e.T @ l[c])
        if i in f:
            add_to(u, i, node.S.T @ f[i])
        if i not in u:
            continue
        x = ldl_forward(D, u[i])
        z[i] = D.d_inv * x
        for d, YH in seen:
            add_to(l, d, -(YH.T @ z[i]))  # eq. (30e)
        if node.parent >= 0:
            fa = f[i] - dY.T @ x if i in f else -(dY.T @ x)
            add_to(f, node.parent, node.X.apply_T(fa))  # eq. (30b)
    return z


def outward(
    e: Elimination, nodes: Sequence[int], z: dict[int, Array], a: dict[int, Array], y: dict[int, Array]
) -> dict[int, Array]:
    """Joint accelerations of those nodes, last first, eq. (29); fills in the accelerations of nodes and images."""
    qdd: dict[int, Array] = {}
    for i in reversed(nodes):
        node, D, dY, images, seen = e.links[i]
        own = z.get(i, np.zeros(len(dY)))
        for d, YH in seen:
            own = own - D.d_inv * (YH @ y[d])
        if node.parent >= 0:
            a_parent = node.X.apply(a[node.parent])
            qdd[i] = ldl_backward(D, own - dY @ a_parent)
            a[i] = a_parent + node.S @ qdd[i]
        else:
            qdd[i] = ldl_backward(D, own)
            a[i] = node.S @ qdd[i]
        for c in images:
            y[c] = e.images[c] @ (a[i], qdd[i])
    return qdd


def row_accelerations(e: Elimination, y: dict[int, Array]) -> list[Array]:
    """K a of every constraint."""
    return [sum((y[c] for c in shares[1:]), y[shares[0]]) for shares in e.shares]
