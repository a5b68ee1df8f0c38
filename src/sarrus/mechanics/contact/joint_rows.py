"""The Delassus matrix through joint space: G = J M^-1 J^T of more rows than there are velocities, never written out.

Where many joints rub, each has a row, and they are rows of M^-1 itself. With scaled rows V J, Newton's method needs d
in (I - k D) d + r D T G d = -F. With N = (I - k D)^-1 D and the change of velocities u = M^-1 J^T V d,

    d = -(F + k N F) - r N T V J u,      (M + J^T V r N T V J) u = -J^T V (F + k N F)

where nothing is larger than M, and a row of one joint adds to the diagonal: that of a joint that sticks is held by an
inertia. Velocities are eliminated from the leaves, which keeps the sparsity of the tree as far as contacts have it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.contact.delassus import AbstractDelassus, Piece, solve_unpivoted
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import ldl, ldl_solve
from sarrus.spatial.orthogonal import is_structurally_zero


class AbstractInertia(ABC):
    """M of a robot's velocities, with what keeps its loops closed, if it has some."""

    matrix: Array  # (n, n)

    @abstractmethod
    def moved_by(self, impulses: Array) -> Array:
        """M^-1 impulses."""

    @abstractmethod
    def delassus(self, J: Array) -> Array:
        """J M^-1 J^T."""


class JointRowsDelassus(AbstractDelassus):
    """G = V J M^-1 J^T V, V = diag(scale)."""

    is_redundant = True

    def __init__(self, J: Array, inertia: AbstractInertia, scale: Array | None = None) -> None:
        self.J, self.inertia = J, inertia
        self.scale = np.ones(len(J)) if scale is None else scale

    def wrenches(self, x: Array) -> Array:
        return self.scale * x

    def along_rows(self, velocities: Array) -> Array:
        return self.scale * velocities

    def __matmul__(self, x: Array) -> Array:
        return self.along_rows(self.J @ self.inertia.moved_by(self.J.T @ self.wrenches(x)))

    def block(self, rows: slice) -> Array:
        v = self.scale[rows]
        return self.inertia.delassus(self.J[rows]) * np.outer(v, v)

    def scaled(self, scale: Array) -> JointRowsDelassus:
        return JointRowsDelassus(self.J, self.inertia, self.scale * scale)

    def response(self, rows: slice, x: Array) -> Array:
        return self.J @ self.inertia.moved_by(self.J[rows].T @ (self.scale[rows] * x))

    def along(self, rows: slice, velocities: Array) -> Array:
        return self.scale[rows] * velocities[rows]

    def newton_direction(self, pieces: Sequence[Piece], r: Scalar, k: Scalar, F: Array) -> Array:
        through = [r * (piece.N @ piece.T) for piece in pieces]
        e = np.concatenate([F[piece.rows] + piece.N @ (k * F[piece.rows]) for piece in pieces])
        A = self.inertia.matrix + self._added([piece.rows for piece in pieces], through)
        u = _from_the_leaves(A, self.J.T @ self.wrenches(e))
        moved = self.along_rows(self.J @ u)  # -G d
        return np.concatenate([NT @ moved[p.rows] - e[p.rows] for p, NT in zip(pieces, through, strict=True)])

    def solve_shifted(self, shift: Scalar, b: Array) -> Array:
        rows = [slice(i, i + 1) for i in range(len(b))]
        A = shift * self.inertia.matrix + self._added(rows, [np.eye(1)] * len(rows))
        u = ldl_solve(ldl(A[::-1, ::-1]), (self.J.T @ self.wrenches(b))[::-1])[::-1]
        return (1.0 / shift) * (b - self.along_rows(self.J @ u))

    def _added(self, rows: Sequence[slice], blocks: Sequence[Array]) -> Array:
        """J^T V K V J, where K has these blocks."""
        n = self.J.shape[1]
        out: Array = np.zeros((n, n), dtype=np.result_type(self.inertia.matrix, self.scale, *blocks))
        for span, K in zip(rows, blocks, strict=True):
            J, v = self.J[span], self.scale[span]
            moving = [k for k, column in enumerate(J.T) if not all(is_structurally_zero(x) for x in column)]
            at, J = np.ix_(moving, moving), J[:, moving]
            out[at] = out[at] + J.T @ ((K * np.outer(v, v)) @ J)
        return out


def _from_the_leaves(A: Array, b: Array) -> Array:
    """A^-1 b, where velocities of joints come after those of the joints that carry them."""
    return solve_unpivoted(A[::-1, ::-1], b[::-1])[::-1]
