"""Sizes of vectors that neither overflow where the vector does not, nor lose a number that is none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.precision import largest


def total(numbers: Sequence[Scalar]) -> Scalar:
    """Their sum, in pairs: as many additions as one after the other, most of which do not wait for each other."""
    if len(numbers) <= 2:
        return sum(numbers, 0.0)
    half = len(numbers) // 2
    return total(numbers[:half]) + total(numbers[half:])


def dot(x: Array, y: Array) -> Scalar:
    """The scalar product, in pairs."""
    return total([a * b for a, b in zip(x, y, strict=True)])


def size(*arrays: Array) -> Scalar:
    """The sum of all absolute values. (Squares would overflow at 1e154, and in single precision at 1e19.)"""
    return total([abs(x) for array in arrays for x in np.asarray(array).flat])


def root(x: Scalar) -> Scalar:
    """The square root of a scalar."""
    return np.sqrt(vector(x))[0]


def if_finite(yes: Scalar, no: Scalar, *arrays: Array) -> Scalar:
    """`yes`, unless a number is not finite (their sum is not, either), or so large that what follows may not be."""
    everything = total([x for array in arrays for x in np.asarray(array).flat])
    return choose(abs(everything), largest(), yes, no)
