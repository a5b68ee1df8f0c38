"""What the narrow phase finds: where two shapes touch, or would."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.extremes import direction

Pose = tuple[Array, Array]  # R (3, 3) and p (3,) in the world

ABSENT = 1e10  # metres: the gap of a candidate that this state does not have
ANY_DIRECTION = np.array([0.0, 0.0, 1.0])  # the normal where none is distinguished: of balls with one centre


class Touch(NamedTuple):
    """A point at which two shapes touch, or would if they came closer along the normal.

    point   (3,) in the world, midway between the surfaces
    normal  (3,) in the world, a unit vector from b to a
    gap     metres along the normal; negative where the shapes penetrate, `ABSENT` if there is no such point
    """

    point: Array
    normal: Array
    gap: Scalar


def seen_from_the_other(touch: Touch) -> Touch:
    """The same touch with a and b exchanged."""
    return touch._replace(normal=-touch.normal)


def ball_at(center: Array, radius: float, normal: Array, distance: Scalar) -> Touch:
    """Of a ball and a surface that is `distance` below its centre, along the normal."""
    return Touch(center - normal * (0.5 * (distance + radius)), normal, distance - radius)


def between_balls(a: Array, radius_a: float, b: Array, radius_b: float) -> Touch:
    """Of two balls."""
    normal, distance = direction(a - b, ANY_DIRECTION)
    middle = a - normal * (0.5 * (distance + (radius_a - radius_b)))
    return Touch(middle, normal, distance - (radius_a + radius_b))
