"""Where a rectangle and a parallelogram above it overlap, seen from above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, matrix
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import clamp, larger, smaller
from sarrus.spatial.precision import within

_WINDOW = 1e-9  # relative: edges that coincide are inside of each other
_SAME = 1e-4  # of the rectangle's size: corners that are nearer to each other are one
_STEEPLY = 1e5  # heights count so much more: the deepest of those that differ stays
_STEEP = 1e-12  # the least component of an edge that something is divided by


class Corner(NamedTuple):
    """A corner of the overlap.

    height  of the parallelogram there
    there   1 if there is such a corner, else 0
    """

    x: Scalar
    y: Scalar
    height: Scalar
    there: Scalar


def overlap(half: Array, middle: Array, first: Array, second: Array) -> list[Corner]:
    """The corners, at most eight: four on edges of the parallelogram, then four on edges of the rectangle.

    half    (2,) of the rectangle's lengths
    middle  (3,) of the parallelogram; its corners: middle +- first +- second, counter-clockwise from above

    With both outlines passed through counter-clockwise, each edge has one corner at most: where it enters the other
    outline, or its own beginning if that is inside. Every corner of the overlap is one of these. Where outlines
    coincide, or nearly so, each would be there twice: once is enough.
    """
    corners = []
    for s, t, there in _entries(half, middle[:2], first[:2], second[:2]):
        x, y, height = middle + first * s + second * t
        corners.append(_unless_there(Corner(x, y, height, there), corners, half))
    # The rectangle in the coordinates (s, t) of the parallelogram is a parallelogram in a square.
    inverse = 1.0 / (first[0] * second[1] - first[1] * second[0])
    to_st = matrix([[second[1], -second[0]], [-first[1], first[0]]]) * inverse
    center = -(to_st @ middle[:2])
    across, along = to_st[:, 0] * half[0], to_st[:, 1] * half[1]
    for a, b, there in _entries(np.ones(2), center, across, along):
        s, t = center + across * a + along * b
        corner = Corner(half[0] * a, half[1] * b, middle[2] + first[2] * s + second[2] * t, there)
        corners.append(_unless_there(corner, corners, half))
    return corners


def _unless_there(corner: Corner, others: Sequence[Corner], half: Array) -> Corner:
    """The corner, not there if one of the others is in the same place."""
    near, there = _SAME * (half[0] + half[1]), corner.there
    for other in others:
        apart = abs(corner.x - other.x) + abs(corner.y - other.y) + abs(corner.height - other.height) * _STEEPLY
        there = choose(apart, near, choose(other.there, 0.5, there, 0.0), there)
    return corner._replace(there=there)


def _entries(half: Array, middle: Array, first: Array, second: Array) -> list[tuple[Scalar, Scalar, Scalar]]:
    """Per edge of the parallelogram: s and t (from -1 to 1) of where it enters the rectangle, and 1 if it does."""
    found = []
    for side in (-1.0, 1.0):
        s, there = _entry(half, middle + second * side, first, forwards=side < 0.0)
        found.append((s, side, there))
        t, there = _entry(half, middle - first * side, second, forwards=side < 0.0)
        found.append((-side, t, there))
    return found


def _entry(half: Array, middle: Array, edge: Array, forwards: bool) -> tuple[Scalar, Scalar]:
    """Where middle + s edge, with s from -1 to 1 (or backwards), enters the rectangle, and 1 if it does."""
    low, high = -1.0, 1.0
    for k in range(2):
        inverse = 1.0 / choose(abs(edge[k]), _STEEP, _STEEP, edge[k])
        center, width = -middle[k] * inverse, abs(inverse) * (half[k] * (1.0 + within(_WINDOW, 100.0)))
        low, high = larger(low, center - width), smaller(high, center + width)
    # Far beside the rectangle the numbers are large: what is not there is kept near.
    return clamp(low if forwards else high, 1.0), choose(high, low, 0.0, 1.0)
