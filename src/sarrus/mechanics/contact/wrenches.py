"""The Delassus matrix through the wrenches of bodies with several contacts each: G = B W B^T (`delassus.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.delassus import AbstractDelassus, Piece, solve_unpivoted
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import ldl, ldl_semidefinite, ldl_solve, symmetric_product
from sarrus.spatial.norms import root


class Group(NamedTuple):
    """Rows that depend on the same few velocities: those of a body, or of one row alone."""

    at: slice  # where these velocities are in W
    rows: list[slice]  # of every contact or row
    B: list[Array]  # of every one, (number of its rows, number of these velocities)


class WrenchDelassus(AbstractDelassus):
    """G = V B W B^T V, V = diag(scale)."""

    is_redundant = True

    def __init__(self, groups: Sequence[Group], W: Array, scale: Array | None = None, C: Array | None = None) -> None:
        self.groups, self.W = list(groups), W
        self.scale = np.ones(sum(len(B) for group in groups for B in group.B)) if scale is None else scale
        self.C = lower_root(W) if C is None else C

    def wrenches(self, x: Array) -> Array:
        # B^T V x
        pushed, parts = self.scale * x, [np.zeros(0)]
        for group in self.groups:
            one, *others = [B.T @ pushed[rows] for rows, B in zip(group.rows, group.B, strict=True)]
            parts.append(sum(others, one))
        return np.concatenate(parts)

    def along_rows(self, velocities: Array) -> Array:
        # V B velocities
        out = np.empty(
            len(self.scale), dtype=np.result_type(velocities, self.scale, *(B for g in self.groups for B in g.B))
        )
        for group in self.groups:
            for rows, B in zip(group.rows, group.B, strict=True):
                out[rows] = self.scale[rows] * (B @ velocities[group.at])
        return out

    def __matmul__(self, x: Array) -> Array:
        return self.along_rows(self.W @ self.wrenches(x))

    def block(self, rows: slice) -> Array:
        group, B = self._of(rows)
        own = symmetric_product(B @ self.W[group.at, group.at], B.T)
        v = self.scale[rows]
        return own * np.outer(v, v)

    def scaled(self, scale: Array) -> WrenchDelassus:
        return WrenchDelassus(self.groups, self.W, self.scale * scale, self.C)

    def response(self, rows: slice, x: Array) -> Array:
        group, B = self._of(rows)
        return self.W[:, group.at] @ (B.T @ (self.scale[rows] * x))

    def along(self, rows: slice, velocities: Array) -> Array:
        group, B = self._of(rows)
        return self.scale[rows] * (B @ velocities[group.at])

    def newton_direction(self, pieces: Sequence[Piece], r: Scalar, k: Scalar, F: Array) -> Array:
        C = self.C
        NT = {piece.rows.start: r * (piece.N @ piece.T) for piece in pieces}
        e = np.concatenate([F[piece.rows] + piece.N @ (k * F[piece.rows]) for piece in pieces])
        H = self._through(lambda rows: NT[rows.start])
        S = np.eye(len(C)) + sum(C[g.at].T @ (h @ C[g.at]) for g, h in zip(self.groups, H, strict=True))
        s = solve_unpivoted(S, C.T @ self.wrenches(e))
        moved = self.along_rows(C @ s)  # -G d
        return np.concatenate([NT[piece.rows.start] @ moved[piece.rows] - e[piece.rows] for piece in pieces])

    def solve_shifted(self, shift: Scalar, b: Array) -> Array:
        C, over = self.C, 1.0 / shift
        H = self._through(lambda rows: over * np.eye(rows.stop - rows.start))
        S = sum(symmetric_product(C[g.at].T, h @ C[g.at]) for g, h in zip(self.groups, H, strict=True))
        s = ldl_solve(ldl(np.eye(len(C)) + S), C.T @ self.wrenches(over * b))
        return over * (b - self.along_rows(C @ s))

    def _through(self, K: Callable[[slice], Array]) -> list[Array]:
        """B^T V K V B of every group, where K has a block for every contact, all of whose rows have one scale."""
        found = []
        for group in self.groups:
            scales = [self.scale[rows.start] for rows in group.rows]
            blocks = [(v * v) * K(rows) for v, rows in zip(scales, group.rows, strict=True)]
            found.append(sum(B.T @ block @ B for B, block in zip(group.B, blocks, strict=True)))
        return found

    def _of(self, rows: slice) -> tuple[Group, Array]:
        """The group of these rows, and their B."""
        for group in self.groups:
            for span, B in zip(group.rows, group.B, strict=True):
                if span == rows:
                    return group, B
        raise KeyError(rows)


def lower_root(W: Array) -> Array:
    """C, lower triangular, of W = C C^T, which may be singular: columns of rows that depend on others are zero."""
    factor = ldl_semidefinite(W)
    pivots = vector(*(choose(0.0, x, 1.0 / root(choose(0.0, x, x, 1.0)), 0.0) for x in factor.d_inv))
    return np.tril(factor.L) * pivots
