"""Small symmetric linear algebra, the same text for floats and symbols. No square roots: L D L^T."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.precision import epsilon

_DEPENDENT = 1e4  # roundings: of a pivot relative to its diagonal element
_NOTHING = 1e8  # roundings squared: of a pivot relative to the whole diagonal


class Ldl(NamedTuple):
    """A = L diag(1 / d_inv) L^T with L unit lower triangular."""

    L: Array  # (n, n)
    d_inv: Array  # (n,)


def ldl(A: Array) -> Ldl:
    """Factor a symmetric positive definite matrix; reads the lower triangle."""
    return _factor(A, lambda j, d: 1.0 / d)


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

    return _factor(A, inverse)


def _factor(A: Array, inverse: Callable[[int, Scalar], Scalar]) -> Ldl:
    """inverse: of pivot j."""
    n = len(A)
    L = np.eye(n).astype(A.dtype)
    W = np.zeros((n, n), dtype=A.dtype)  # L D, kept to save multiplications
    d_inv = np.empty(n, dtype=A.dtype)
    for j in range(n):
        d_inv[j] = inverse(j, A[j, j] - sum((W[j, k] * L[j, k] for k in range(j)), 0.0))
        for i in range(j + 1, n):
            W[i, j] = A[i, j] - sum((W[i, k] * L[j, k] for k in range(j)), 0.0)
            L[i, j] = W[i, j] * d_inv[j]
    return Ldl(L, d_inv)


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
    x = ldl_forward(factor, b)
    for i, d_inv in enumerate(factor.d_inv):
        x[i] = x[i] * d_inv
    return ldl_backward(factor, x)


def ldl_forward(factor: Ldl, b: Array) -> Array:
    """L^-1 b: half of a solve. With Y = L^-1 B, B^T A^-1 B = Y^T diag(d_inv) Y."""
    L, d_inv = factor
    x = np.array(b, dtype=np.result_type(L, b))
    for i in range(len(d_inv)):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
    return x


def ldl_backward(factor: Ldl, b: Array) -> Array:
    """L^-T b: the other half, after a multiplication by d_inv."""
    L, d_inv = factor
    n = len(d_inv)
    x = np.array(b, dtype=np.result_type(L, b))
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
    return x


def ldl_congruence(factor: Ldl, B: Array) -> Array:
    """B^T A^-1 B, symmetric, each element computed once."""
    Y = ldl_forward(factor, B)
    return symmetric_product(Y.T, (Y.T * factor.d_inv).T)


def symmetric_product(A: Array, B: Array) -> Array:
    """A B where the result is known to be symmetric: each element computed once."""
    n = len(A)
    out = np.zeros((n, n), dtype=np.result_type(A, B))
    for i in range(n):
        for j in range(i, n):
            out[i, j] = out[j, i] = A[i] @ B[:, j]
    return out


def subtract_product(H: Array, U: Array, V: Array, zero_rows: tuple[int, ...] = ()) -> Array:
    """H - U V^T where the result is known to be symmetric, and zero in `zero_rows`: each element computed once."""
    n = len(H)
    out = np.zeros((n, n), dtype=np.result_type(H, U, V))
    for i in range(n):
        for j in range(i, n):
            if i in zero_rows or j in zero_rows:
                continue
            out[i, j] = H[i, j] - (U[i] @ V[j])
            out[j, i] = out[i, j]
    return out
