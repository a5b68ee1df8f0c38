"""How far a point is from a box, and in which direction."""

from __future__ import annotations

from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, clamp, direction, larger, sign


def box_distance(x: Array, half: Array) -> tuple[Array, Scalar]:
    """The outward unit normal at the nearest point of the surface, and the distance; negative inside.

    x     in the frame of the box
    half  half its lengths
    """
    faces = [abs(x[k]) - half[k] for k in range(3)]
    towards = [sign(x[k]) for k in range(3)]
    largest = larger(faces[0], faces[1])
    inside = choose_vector(faces[0], faces[1], vector(0.0, towards[1], 0.0), vector(towards[0], 0.0, 0.0))
    inside = choose_vector(largest, faces[2], vector(0.0, 0.0, towards[2]), inside)
    normal, outside = direction(vector(*[x[k] - clamp(x[k], half[k]) for k in range(3)]), inside)
    return normal, choose(0.0, outside, outside, larger(largest, faces[2]))
