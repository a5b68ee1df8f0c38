"""Orthogonal changes of basis by reflections, whose sizes are known while tracing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import root


class Reflection(NamedTuple):
    """x[rows] -= w (beta w^T x[rows]): the identity on all other rows."""

    rows: tuple[int, ...]
    w: Array
    beta: Scalar


class Swap(NamedTuple):
    """Exchange two rows."""

    i: int
    j: int


class Reflections(NamedTuple):
    """Q, the product of its steps, the first applied first."""

    steps: tuple[Reflection | Swap, ...]

    def apply(self, x: Array) -> Array:
        """Q x, for a vector or the columns of a matrix."""
        for step in self.steps:
            x = _step(step, x)
        return x

    def apply_T(self, x: Array) -> Array:
        """Q^T x."""
        for step in reversed(self.steps):
            x = _step(step, x)
        return x


def _step(step: Reflection | Swap, x: Array) -> Array:
    out = x.copy()
    if isinstance(step, Swap):
        out[[step.i, step.j]] = x[[step.j, step.i]]
        return out
    rows = list(step.rows)
    out = out if step.w.dtype != object else out.astype(object)
    out[rows] = x[rows] - np.multiply.outer(step.w, step.beta * (step.w @ x[rows]))
    return out


def triangularize(A: Array) -> tuple[Reflections, Array, int]:
    """Q, Q A and r such that the rows of Q A from r on are zero.

    Rows that are structurally zero take no part, and a column with one nonzero needs only a swap: that is what makes
    the first joints after a welded link cheap. Where a column vanishes at run time its reflection is the identity.
    """
    m, n = A.shape
    steps: list[Reflection | Swap] = []
    r = 0
    for j in range(n):
        rows = [i for i in range(r, m) if not is_structurally_zero(A[i, j])]
        if not rows:
            continue
        if rows[0] != r:  # put a row that takes part first
            steps.append(Swap(r, rows[0]))
            A = _step(steps[-1], A)
            rows[0] = r
        if len(rows) > 1:
            steps.append(_reflection(A[rows, j], tuple(rows)))
            A = _step(steps[-1], A)
            A[rows[1:], j] = 0.0  # exactly, so that tracing sees it
        r += 1
    return Reflections(tuple(steps)), A, r


def _reflection(x: Array, rows: tuple[int, ...]) -> Reflection:
    """Householder: w = x + sign(x0) |x| e0 and beta = 2 / w^T w, with sign(0) = 1; the identity for x = 0."""
    squared = x @ x
    norm = root(squared)
    w = x.copy()
    w[0] = x[0] + choose(x[0], 0.0, -norm, norm)
    # w^T w = 2 (|x|^2 + |x0| |x|)
    half = squared + choose(x[0], 0.0, -x[0], x[0]) * norm
    beta = choose(0.0, half, 1.0 / choose(0.0, half, half, 1.0), 0.0)
    return Reflection(rows, w, beta)


def is_structurally_zero(x: Scalar) -> bool:
    """Whether an element of an array with symbols is zero whatever the inputs: a number, not a symbol.

    Where everything is a number (`numpy.float64`), nothing tells a zero of this state from one of the mechanism: no.
    """
    return type(x) in (float, int) and x == 0.0
