"""Sizes of vectors that neither overflow where the vector does not, nor lose a number that is none."""

from __future__ import annotations

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.precision import largest


def size(*arrays: Array) -> Scalar:
    """The sum of all absolute values. (Squares would overflow at 1e154, and in single precision at 1e19.)"""
    return sum((abs(x) for array in arrays for x in np.asarray(array).flat), 0.0)


def root(x: Scalar) -> Scalar:
    """The square root of a scalar."""
    return np.sqrt(vector(x))[0]


def if_finite(yes: Scalar, no: Scalar, *arrays: Array) -> Scalar:
    """`yes`, unless a number is not finite (their sum is not, either), or so large that what follows may not be."""
    total = sum((x for array in arrays for x in np.asarray(array).flat), 0.0)
    return choose(abs(total), largest(), yes, no)
