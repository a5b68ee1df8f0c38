"""Small symmetric linear algebra, the same text for floats and symbols. No square roots: L D L^T."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, is_numeric
from sarrus.spatial.choice import NUMBERS, AbstractScalar, choose
from sarrus.spatial.precision import epsilon
from sarrus.spatial.product import product

_DEPENDENT = 1e4  # roundings: of a pivot relative to its diagonal element
_ROUNDINGS = 16.0  # which may be left where equal numbers are subtracted
_NOTHING = 1e8  # roundings squared: of a pivot relative to the whole diagonal


class Ldl(NamedTuple):
    """A = L diag(1 / d_inv) L^T with L unit lower triangular."""

    L: Array  # (n, n)
    d_inv: Array  # (n,)
    d: Array | None = None  # (n,) the pivots; None: some may count as infinite

    def divide(self, x: Array) -> Array:
        """diag(d_inv) x."""
        if not len(x) or self.d is None or (x.dtype != object and self.d.dtype != object):
            return (x.T * self.d_inv).T
        return np.stack([_over(row, d, d_inv) for row, d, d_inv in zip(x, self.d, self.d_inv, strict=True)])


def _over(x: Array, d: Scalar, d_inv: Scalar) -> Array:
    """x / d, where 1 / d is known. Numbers by division, so that one over itself is 1, without rounding."""
    if isinstance(d, AbstractScalar) or isinstance(d_inv, AbstractScalar) or d_inv == 0.0:
        return x * d_inv
    return np.frompyfunc(lambda e: e * d_inv if isinstance(e, AbstractScalar) else e / d, 1, 1)(x)


def minus_product(A: Array, B: Array, C: Array) -> Array:
    """A - B C, where what rounding leaves of a number minus itself is zero."""
    if all(is_numeric(x) for x in (A, B, C)):
        out = A - product(B, C)
        size = np.abs(A) + product(np.abs(B), np.abs(C))
        return np.where(np.abs(out) <= _ROUNDINGS * epsilon() * size, 0.0, out)
    out = B @ C
    a, products, rows, columns = A.tolist(), out.tolist(), B.tolist(), C.T.tolist()
    for i, j in np.ndindex(out.shape):
        out[i, j] = _minus(a[i][j], products[i][j], rows[i], columns[j])
    return out


def _minus(a: Scalar, product: Scalar, row: list[Scalar], column: list[Scalar]) -> Scalar:
    """a minus the product of this row and this column; zero where only rounding is left of a number."""
    difference = a - product
    if not isinstance(difference, NUMBERS):
        return difference
    return _rounded(difference, _size(a) + sum(_size(x) * _size(y) for x, y in zip(row, column, strict=True)))


def _minus_constant(a: Any, b: Any, c: Any) -> Any:
    """a - b c. A number among symbols is a constant of the robot: what rounding leaves of it minus itself is zero."""
    if isinstance(c, np.ndarray):
        return np.array([_minus_constant(x, b, y) for x, y in zip(a, c, strict=True)], dtype=a.dtype)
    product = b * c
    difference = a - product
    if isinstance(difference, (AbstractScalar, np.floating)):
        return difference
    return _rounded(difference, _size(a) + _size(product))


def _rounded(x: Any, scale: float) -> Any:
    return 0.0 if abs(x) <= _ROUNDINGS * epsilon() * scale else x


def _size(x: Scalar) -> float:
    """The absolute value. A symbol counts for nothing: where a number is left, it was multiplied by zero."""
    return abs(x) if isinstance(x, NUMBERS) else 0.0


def ldl(A: Array) -> Ldl:
    """Factor a symmetric positive definite matrix; reads the lower triangle."""
    L, d_inv, d = _factor(A, lambda j, d: _reciprocal(d))
    return Ldl(L, d_inv, d)


def ldl_semidefinite(A: Array, usual: Array | None = None) -> Ldl:
    """Factor a symmetric positive semidefinite matrix; a row that depends on those before it gets pivot infinity.

    `ldl_solve` then returns one of the solutions of a consistent system, and finite numbers otherwise. The diagonal
    element of a row that is zero but for rounding is that rounding squared: it is compared with what is usual, or
    with the whole diagonal.
    """
    n = len(A)
    usual = np.full(n, sum((A[j, j] for j in range(n)), 0.0)) if usual is None else usual

    def inverse(j: int, d: Scalar) -> Scalar:
        # what is left of the diagonal is rounding
        dependent = (_DEPENDENT * epsilon()) * A[j, j] + (_NOTHING * epsilon() ** 2) * usual[j]
        return choose(dependent, d, 1.0 / choose(dependent, d, d, 1.0), 0.0)

    L, d_inv, _ = _factor(A, inverse)
    return Ldl(L, d_inv)


def _factor(A: Array, inverse: Callable[[int, Scalar], Scalar]) -> tuple[Array, Array, Array]:
    """L, the inverse pivots and the pivots. inverse: of pivot j."""
    n = len(A)
    L = np.eye(n).astype(A.dtype)
    W = np.tril(A)  # becomes L D, kept to save multiplications
    d, d_inv = np.empty(n, dtype=A.dtype), np.empty(n, dtype=A.dtype)
    for j in range(n):
        for k in range(j):  # as `ldl_forward` does it, so that the tracer sees that A^-1 A is 1
            W[j, j] = W[j, j] - L[j, k] * W[j, k]
            W[j + 1 :, j] = [_minus_constant(W[i, j], L[i, k], W[j, k]) for i in range(j + 1, n)]
        d[j], d_inv[j] = W[j, j], inverse(j, W[j, j])
        L[j + 1 :, j] = _over(W[j + 1 :, j], d[j], d_inv[j])
    return L, d_inv, d


def ldl_growth(factor: Ldl, usual: Array, squared: bool = False) -> Scalar:
    """How much smaller the pivots are than what is usual for them; all in all.

    squared: of the squares. A pivot is what was left of its diagonal element, with the rounding of the whole of it:
    where the inverse of a matrix is used as such, that counts, too.
    """
    inverse: dict[Scalar, Scalar] = {}  # of pivots for which the same is usual
    for w, d in zip(usual, factor.d_inv, strict=True):
        w, d = (w * w, d * d) if squared else (w, d)
        inverse[w] = inverse[w] + d if w in inverse else d
    return sum((w * d for w, d in inverse.items()), 0.0)


def ldl_solve(factor: Ldl, b: Array) -> Array:
    """A^-1 b for a vector or the columns of a matrix b."""
    return ldl_backward(factor, factor.divide(ldl_forward(factor, b)))


def ldl_forward(factor: Ldl, b: Array) -> Array:
    """L^-1 b: half of a solve. With Y = L^-1 B, B^T A^-1 B = Y^T diag(d_inv) Y."""
    L = factor.L
    x = np.array(b, dtype=np.result_type(L, b))
    for i in range(len(L)):
        for k in range(i):
            x[i] = _minus_constant(x[i], L[i, k], x[k])
    return x


def ldl_backward(factor: Ldl, b: Array) -> Array:
    """L^-T b: the other half, after a multiplication by d_inv."""
    L, n = factor.L, len(factor.L)
    x = np.array(b, dtype=np.result_type(L, b))
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] = _minus_constant(x[i], L[k, i], x[k])
    return x


def ldl_congruence(factor: Ldl, B: Array) -> Array:
    """B^T A^-1 B, symmetric, each element computed once."""
    Y = ldl_forward(factor, B)
    return symmetric_product(Y.T, factor.divide(Y))


def symmetric_product(A: Array, B: Array) -> Array:
    """A B where the result is known to be symmetric: each element computed once."""
    n = len(A)
    out = np.zeros((n, n), dtype=np.result_type(A, B))
    for i in range(n):
        for j in range(i, n):
            out[i, j] = out[j, i] = product(A[i], B[:, j])
    return out


def subtract_product(H: Array, U: Array, V: Array) -> Array:
    """H - U V^T where the result is known to be symmetric: each element computed once.

    Of the two products that give it the one is taken with which H cancels, if there is one.
    """
    if all(is_numeric(x) for x in (H, U, V)):
        out = np.triu(minus_product(H, U, V.T))
        return out + np.triu(out, 1).T
    out = np.zeros(H.shape, dtype=object)
    a, rows, columns = H.tolist(), U.tolist(), V.tolist()
    units = [sum(isinstance(x, NUMBERS) and x in (0.0, 1.0) for x in row) for row in rows]
    for i, j in combinations_with_replacement(range(len(H)), 2):
        k, l = (j, i) if units[j] > units[i] else (i, j)
        x, other = (_minus(a[i][j], _dot(u, v), u, v) for u, v in ((rows[k], columns[l]), (rows[l], columns[k])))
        out[i, j] = out[j, i] = 0.0 if isinstance(other, NUMBERS) and other == 0.0 else x
    return out


def _dot(x: list[Scalar], y: list[Scalar]) -> Scalar:
    return sum(map(mul, x, y), 0.0)


def _reciprocal(d: Any) -> Any:
    """1 / d, infinite for a constant that is zero."""
    if isinstance(d, AbstractScalar):
        return 1.0 / d  # type: ignore[operator]
    return float("inf") if d == 0.0 else 1.0 / d
