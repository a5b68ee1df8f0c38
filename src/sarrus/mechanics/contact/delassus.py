"""The Delassus matrix G = J M^-1 J^T, by which impulses x along rows change the velocities of the rows, as an operator.

Dense, or through wrenches: contacts of one body act on it as one wrench, so that with rows B of the body's velocity
(six numbers, however many points it touches with),

    G = B W B^T,      W = J_body M^-1 J_body^T

Two feet of six points are 36 rows, but W is 12 x 12. Newton's method needs J^-1 of J = I - k D + r D T G, in which D
and T are one small block per contact. With N = (I - k D)^-1 D, J d = -F is d = -(F + N (k F + r T B y)), y = W B^T d,
and with W = C C^T and y = C s,

    (I + C^T H C) s = -C^T B^T (F + k N F),      H = r B^T N T B

where nothing is larger than W, and H has one block per body. (I + H W is of that size, too, but needs pivots.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import ldl, ldl_solve

MANY = 3  # contacts of a body: more rows than a wrench has numbers


class Piece(NamedTuple):
    """Of the natural map F = x - P(x - r (c + Gamma(c))) about some impulses, what belongs to one row or contact."""

    rows: slice
    D: Array  # derivative of the projection P
    N: Array  # (I - k D)^-1 D,  k = 1 - r eps
    T: Array  # I + Gamma'(c)


class AbstractDelassus(ABC):
    """G of some rows: `G @ x` is what impulses x change of their velocities."""

    is_redundant: bool  # whether its rank is known to be less than its size
    rounding: float = 1e-4  # roundings of the whole trace of G that a row which nothing moves may have on its diagonal

    @abstractmethod
    def __matmul__(self, x: Array) -> Array: ...

    @abstractmethod
    def wrenches(self, x: Array) -> Array:
        """What impulses x are on the rows from which G was made, which may be fewer: those of bodies."""

    @abstractmethod
    def along_rows(self, velocities: Array) -> Array:
        """The velocities of all rows, where those from which G was made have these."""

    @abstractmethod
    def block(self, rows: slice) -> Array:
        """What the impulses of these rows change of their own velocities."""

    @abstractmethod
    def scaled(self, scale: Array) -> AbstractDelassus:
        """diag(scale) G diag(scale)."""

    @abstractmethod
    def response(self, rows: slice, x: Array) -> Array:
        """What impulses x of these rows alone change of the velocities of the rows from which G was made."""

    @abstractmethod
    def along(self, rows: slice, velocities: Array) -> Array:
        """`along_rows` of these rows alone."""

    @abstractmethod
    def newton_direction(self, pieces: Sequence[Piece], r: Scalar, k: Scalar, F: Array) -> Array:
        """d in J d = -F."""

    @abstractmethod
    def solve_shifted(self, shift: Scalar, b: Array) -> Array:
        """(G + shift)^-1 b."""


class DenseDelassus(AbstractDelassus):
    """All of G."""

    is_redundant = False

    def __init__(self, G: Array) -> None:
        self.G = G

    def __matmul__(self, x: Array) -> Array:
        return self.G @ x

    def block(self, rows: slice) -> Array:
        return self.G[rows, rows]

    def scaled(self, scale: Array) -> DenseDelassus:
        m = len(scale)
        G = np.empty((m, m), dtype=np.result_type(self.G, scale))
        for i in range(m):
            for j in range(i + 1):
                G[i, j] = G[j, i] = self.G[i, j] * (scale[i] * scale[j])
        return DenseDelassus(G)

    def response(self, rows: slice, x: Array) -> Array:
        return self.G[:, rows] @ x

    def along(self, rows: slice, velocities: Array) -> Array:
        return velocities[rows]

    def wrenches(self, x: Array) -> Array:
        return x

    def along_rows(self, velocities: Array) -> Array:
        return velocities

    def newton_direction(self, pieces: Sequence[Piece], r: Scalar, k: Scalar, F: Array) -> Array:
        J = np.empty(self.G.shape, dtype=np.result_type(self.G, F, *(piece.D for piece in pieces)))
        for rows, D, _, T in pieces:
            J[rows] = (r * (D @ T)) @ self.G[rows]
            J[rows, rows] = J[rows, rows] + np.eye(len(D)) - k * D
        return -solve_unpivoted(J, F)

    def solve_shifted(self, shift: Scalar, b: Array) -> Array:
        return ldl_solve(ldl(self.G + shift * np.eye(len(b))), b)


def solve_unpivoted(A: Array, b: Array) -> Array:
    """A^-1 b by elimination in the given order. (J is neither symmetric nor near a matrix that needs pivots.)"""
    m = len(b)
    U, y = np.array(A), np.array(b, dtype=np.result_type(A, b))
    inverse = []
    for k in range(m):
        inverse.append(1.0 / U[k, k])
        for i in range(k + 1, m):
            factor = U[i, k] * inverse[k]
            U[i, k + 1 :] = U[i, k + 1 :] - factor * U[k, k + 1 :]
            y[i] = y[i] - factor * y[k]
    for k in reversed(range(m)):
        for j in range(k + 1, m):
            y[k] = y[k] - U[k, j] * y[j]
        y[k] = y[k] * inverse[k]
    return y
