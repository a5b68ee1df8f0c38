"""Errors of rotation, measured by what must be turned to close a loop.

The rows of the dynamics measure rotations by their sine, which is also zero after half a turn: two frames welded the
wrong way round, a hinge whose axes point at each other. For finding an assembly, rotations are measured by their angle.
Then J^T error is the exact gradient of half the squared error, open or closed, and where it is closed J is that of the
dynamics.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies import Relative
from sarrus.mechanics.constraints.rows import rotation_sines
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.rotations import cross

_TINY = 1e-30  # added to squares: no division by zero
_HALF_TURN = 1e-16  # squared sine below which an angle near pi has no axis that can be told


def rotation_error(x: Relative) -> tuple[Array, Array]:
    """How far frame b is turned against frame a: axes (as rows) in node a, and the angle about each."""
    return np.eye(3), rotation_vector(x.R @ x.b.axes @ x.a.axes.T)


def alignment_error(x: Relative, u: Array, t1: Array, t2: Array) -> tuple[Array, Array]:
    """How far axis u of frame b is turned against that of frame a, likewise: about two axes across them."""
    here, there = x.a.axes @ u, x.turned(u)
    axis = cross(here, there)
    cosine = here @ there
    rows = np.stack([x.a.axes @ t2, -(x.a.axes @ t1)])
    turned = rows @ axis * _angle_over_sine(axis @ axis, cosine)
    flipped = _is_half_turn(axis @ axis, cosine)
    return rows, vector(choose(0.0, flipped, np.pi, turned[0]), choose(0.0, flipped, 0.0, turned[1]))


def rotation_vector(R: Array) -> Array:
    """Of a rotation matrix, of length at most pi; half a turn is about the axis that is nearest to a coordinate's."""
    sine = rotation_sines(R)
    cosine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    half = choose(0.0, _is_half_turn(sine @ sine, cosine), np.pi, 0.0)
    is_x = choose(R[1, 1], R[0, 0], choose(R[2, 2], R[0, 0], 1.0, 0.0), 0.0)
    is_y = (1.0 - is_x) * choose(R[2, 2], R[1, 1], 1.0, 0.0)
    # A sine that is too small to have a direction is too small to matter in the sum.
    turned = sine * _angle_over_sine(sine @ sine, cosine)
    about = vector(is_x, is_y, 1.0 - is_x - is_y)
    return vector(*(choose(0.0, half, half * a, b) for a, b in zip(about, turned, strict=True)))


def _angle_over_sine(squared_sine: Scalar, cosine: Scalar) -> Scalar:
    sine = np.sqrt(vector(squared_sine + _TINY))
    return (np.arctan2(sine, vector(cosine)) / sine)[0]


def _is_half_turn(squared_sine: Scalar, cosine: Scalar) -> Scalar:
    return choose(squared_sine, _HALF_TURN, choose(cosine, 0.0, 1.0, 0.0), 0.0)
