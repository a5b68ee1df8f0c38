"""Small square systems without pivoting, for floats and symbols alike.

Straight-line code cannot choose pivots at run time, and a pivot chosen beforehand may vanish where the matrix does not.
Up to three unknowns Cramer's rule needs none; beyond that reflections do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, matrix
from sarrus.spatial.choice import choose
from sarrus.spatial.orthogonal import triangularize

_SINGULAR = 1e-24  # of the regularity: what is solved then is not determined


def solve_square(A: Array, B: Array, usual: Sequence[float] | None = None) -> tuple[Array, Scalar]:
    """A^-1 B, and how regular A is: about 1, and near a singularity it falls with the square of the distance to it.

    usual  squared lengths that the rows have elsewhere; default: those that they have. A single number is always as
           regular as any other unless one knows how large it should be.

    Up to three unknowns the regularity is the squared volume of the rows over that of a box with edges of those
    lengths. Where A is singular the answer is zero, not infinite: the regularity tells.
    """
    n = len(A)
    if n > 3:
        return _by_reflections(A, B, usual)
    adjugate, det = _adjugate(A)
    edges: Scalar = 1.0
    for length in [row @ row for row in A] if usual is None else usual:
        edges = edges * length
    regularity = _ratio(det * det, edges)
    return (adjugate @ B) * _inverse(det, regularity), regularity


def _inverse(x: Scalar, regularity: Scalar) -> Scalar:
    return choose(_SINGULAR, regularity, 1.0 / choose(_SINGULAR, regularity, x, 1.0), 0.0)


def _ratio(part: Scalar, whole: Scalar) -> Scalar:
    """part / whole; zero for 0 / 0."""
    if isinstance(whole, float) and whole != 0.0:
        return part * (1.0 / whole)
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


def _by_reflections(A: Array, B: Array, usual: Sequence[float] | None) -> tuple[Array, Scalar]:
    """Q A = R, then backwards. The smallest diagonal element of R, over the mean length of columns, is the regularity.

    Not over its own column's length: a column that vanishes as a whole leaves its unknown as undetermined as one that
    depends on others.
    """
    Q, R, rank = triangularize(A)
    n = len(A)
    if rank < n:
        return np.zeros(B.shape), 0.0
    per_length = _ratio(float(n), sum([row @ row for row in A] if usual is None else usual, 0.0))
    X = Q.apply(B)
    out = np.zeros(B.shape, dtype=np.result_type(R, X))
    regularity: Scalar = 1.0
    for j in range(n - 1, -1, -1):
        share = R[j, j] * R[j, j] * per_length
        regularity = choose(share, regularity, share, regularity)
        out[j] = (X[j] - R[j, j + 1 :] @ out[j + 1 :]) * _inverse(R[j, j], share)
    return out, regularity
