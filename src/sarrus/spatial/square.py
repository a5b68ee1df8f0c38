"""Small square systems without pivoting, for floats and symbols alike.

Straight-line code cannot choose pivots at run time, and a pivot chosen beforehand may vanish where the matrix does not.
Up to three unknowns Cramer's rule needs none; beyond that reflections do.
"""

from __future__ import annotations

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, matrix
from sarrus.spatial.choice import AbstractScalar, choose
from sarrus.spatial.orthogonal import triangularize

_SINGULAR = 1e-24  # of the regularity: what is solved then is not determined


def solve_square(A: Array, B: Array) -> tuple[Array, Scalar]:
    """A^-1 B, and how regular A is: the squared volume of its rows over that of a box with the same edges, 0 to 1.

    Where A is singular the answer is zero, not infinite: the regularity tells.
    """
    n = len(A)
    if n > 3:
        return _by_reflections(A, B)
    adjugate, det = _adjugate(A)
    edges = 1.0
    for row in A:
        edges = edges * (row @ row)
    if n == 1:
        regularity: Scalar = 1.0 if not isinstance(det, AbstractScalar) and det != 0.0 else _ratio(det * det, edges)
    else:
        regularity = _ratio(det * det, edges)
    return (adjugate @ B) * _inverse(det, regularity), regularity


def _inverse(x: Scalar, regularity: Scalar) -> Scalar:
    return choose(_SINGULAR, regularity, 1.0 / choose(_SINGULAR, regularity, x, 1.0), 0.0)


def _ratio(part: Scalar, whole: Scalar) -> Scalar:
    """part / whole; zero for 0 / 0."""
    return choose(0.0, whole, part / choose(0.0, whole, whole, 1.0), 0.0)


def _adjugate(A: Array) -> tuple[Array, Scalar]:
    if len(A) == 1:
        return np.ones((1, 1)), A[0, 0]
    if len(A) == 2:
        (a, b), (c, d) = A
        return matrix([[d, -b], [-c, a]]), a * d - b * c
    (a, b, c), (d, e, f), (g, h, i) = A
    adjugate = matrix(
        [
            [e * i - f * h, c * h - b * i, b * f - c * e],
            [f * g - d * i, a * i - c * g, c * d - a * f],
            [d * h - e * g, b * g - a * h, a * e - b * d],
        ]
    )
    return adjugate, a * adjugate[0, 0] + b * adjugate[1, 0] + c * adjugate[2, 0]


def _by_reflections(A: Array, B: Array) -> tuple[Array, Scalar]:
    """Q A = R, then backwards. Reflections keep a column's length: its share on the diagonal is its regularity."""
    Q, R, rank = triangularize(A)
    n = len(A)
    if rank < n:
        return np.zeros(B.shape), 0.0
    lengths = [A[:, j] @ A[:, j] for j in range(n)]
    X = Q.apply(B)
    out = np.zeros(B.shape, dtype=np.result_type(R, X))
    regularity: Scalar = 1.0
    for j in range(n - 1, -1, -1):
        share = _ratio(R[j, j] * R[j, j], lengths[j])
        regularity = choose(share, regularity, share, regularity)
        out[j] = (X[j] - R[j, j + 1 :] @ out[j + 1 :]) * _inverse(R[j, j], share)
    return out, regularity
