"""Couplings between links that are not parent and child, as penalties on rows make them (LCABA paper, eq. 23).

The paper keeps a 6x6 block H_ij per pair of neighbours. It has at most the rank of the rows that made it, so here it is
kept as a product, the sum of E_c^T W_cd E_d over *images* c of link i and d of link j:

    y_c = E_c a_i + e_c qdd_i            (a share of a constraint's rows; e_c: of a relation between joint coordinates)

So a ball joint's coupling has three rows, a gear's one. What a link passes on is coupled with the whole acceleration of
its parent, an image too, or beyond a ball joint with that of a point. Where a link sees more than six rows of another
one's images, these become its whole acceleration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import Node
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.orthogonal import is_structurally_zero


class Image(NamedTuple):
    """y = E a + e qdd of a node."""

    node: int
    E: Array  # (m, s)
    e: Array  # (m, n)

    def __matmul__(self, motion: tuple[Array, Array]) -> Array:
        a, qdd = motion
        return self.E @ a + self.e @ qdd


class Coupling(NamedTuple):
    """What an image d is coupled with of one node: y_d^T (G a + g qdd)."""

    G: Array  # (m, s)
    g: Array  # (m, n)

    def __add__(self, other: Coupling) -> Coupling:  # type: ignore[override]
        return Coupling(self.G + other.G, self.g + other.g)

    def __rmatmul__(self, M: Array) -> Coupling:
        return Coupling(M @ self.G, M @ self.g)

    def __matmul__(self, S: Array) -> Array:
        """(m, n) on the joint."""
        return self.G @ S + self.g

    __array_ufunc__ = None  # M @ coupling is not NumPy's to compute


class OwnTerms(NamedTuple):
    """What couplings leave on one node: a^T H a / 2 + a^T C qdd + qdd^T B qdd / 2."""

    H: Array
    C: Array
    B: Array


class Couplings:
    """All images, and W_cd between them. H: what merging images leaves on nodes."""

    def __init__(self, nodes: list[Node]) -> None:
        self.images: list[Image] = []
        self.H = [node.H for node in nodes]
        self._nodes = nodes
        self._W: dict[int, dict[int, Array]] = {}  # both ways: W_dc = W_cd^T
        self._live: list[list[int]] = [[] for _ in nodes]  # images of a node that still count

    def image(self, node: int, E: Array) -> int:
        """y = E a of a node: the image that there is, or a new one."""
        for c in self._live[node]:
            if np.array_equal(self.images[c].E, E) and not self.images[c].e.any():
                return c
        return self.add_image(node, E, None)

    def add_image(self, node: int, E: Array | None, e: Array | None) -> int:
        """y = E a + e qdd, where None is zero."""
        s, n = self._nodes[node].S.shape
        m = len(E if E is not None else e)  # type: ignore[arg-type]
        self.images.append(Image(node, np.zeros((m, s)) if E is None else E, np.zeros((m, n)) if e is None else e))
        c = len(self.images) - 1
        self._live[node].append(c)
        self._W[c] = {}
        return c

    def whole(self, node: int) -> int:
        """The acceleration of a node."""
        return self.image(node, np.eye(len(self._nodes[node].S)))

    def couple(self, c: int, d: int, M: Array) -> None:
        """Add M to W_cd."""
        self._W[c][d] = self._W[c][d] + M if d in self._W[c] else M
        if c != d:
            self._W[d][c] = self._W[c][d].T

    def _uncouple(self, c: int, d: int) -> Array:
        self._W[d].pop(c, None) if c != d else None
        return self._W[c].pop(d)

    def take(self, i: int) -> tuple[OwnTerms, dict[int, Coupling]]:
        """All couplings of a node that is to be eliminated: with itself, and with the images d of others."""
        s, n = self._nodes[i].S.shape
        own = OwnTerms(self.H[i], np.zeros((s, n)), np.zeros((n, n)))
        seen: dict[int, Coupling] = {}
        for c in self._live[i]:
            own = self._add_own(own, c)
            _, E, e = self.images[c]
            for d in list(self._W[c]):
                M = self._uncouple(c, d).T
                mine = Coupling(M @ E, M @ e)
                seen[d] = seen[d] + mine if d in seen else mine
        self._live[i] = []
        for j in sorted({self.images[d].node for d in seen}):
            seen = self._merged(j, seen)
        return own, dict(sorted(seen.items()))

    def _add_own(self, own: OwnTerms, c: int) -> OwnTerms:
        """With the terms of image c and later images of the same node; eq. (34) where the parent was a neighbour."""
        H, C, B = own
        i, E, e = self.images[c]
        W = self._uncouple(c, c) if c in self._W[c] else None
        others = [d for d in self._W[c] if self.images[d].node == i]
        if W is not None and not others:
            H, B = H + symmetric_product(E.T @ W, E), B + symmetric_product(e.T @ W, e)
        for d in others:
            M = self._uncouple(c, d)
            _, E_d, e_d = self.images[d]
            T = M @ E_d if W is None else M @ E_d + 0.5 * (W @ E)
            A = E.T @ T
            H, C = H + (A + A.T), C + E.T @ (M @ e_d) + (M @ E_d).T @ e
            B = B + (e.T @ (M @ e_d) + (M @ e_d).T @ e)
            B = B if W is None else B + symmetric_product(e.T @ W, e)
            C = C if W is None else C + E.T @ (W @ e)
            W = None
        return OwnTerms(H, C if W is None else C + E.T @ (W @ e), B)

    def _merged(self, j: int, seen: dict[int, Coupling]) -> dict[int, Coupling]:
        """`seen`, where images of node j have become its whole acceleration if they have more rows than that.

        Not before: links that see few of these images would have to carry six rows.
        """
        found = [c for c in self._live[j] if not self.images[c].e.any()]
        rows = [_rows_in_use(seen[c].G) for c in found if c in seen]
        if len(rows) < 2 or sum(rows) <= len(self.H[j]):
            return seen
        whole, seen = self.whole(j), dict(seen)
        for c in found:
            if c == whole:
                continue
            E = self.images[c].E
            if c in seen:
                mine = E.T @ seen.pop(c)
                seen[whole] = seen[whole] + mine if whole in seen else mine
            for d in list(self._W[c]):
                M = self._uncouple(c, d)
                if d == c:
                    self.H[j] = self.H[j] + symmetric_product(E.T @ M, E)
                elif d == whole:
                    A = E.T @ M
                    self.H[j] = self.H[j] + (A + A.T)
                else:
                    self.couple(whole, d, E.T @ M)
            self._live[j].remove(c)
        return seen


def _rows_in_use(G: Array) -> int:
    return sum(not all(map(is_structurally_zero, row)) for row in G)
