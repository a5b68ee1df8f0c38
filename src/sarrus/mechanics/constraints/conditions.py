"""What loops are made of: primitive conditions between frame a and frame b, each with its exact derivatives.

K acts on accelerations in excess of the bias motion; the rows' force acts on b, and its opposite on a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints.rows import rotation_sines
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.rotations import cross, skew

E = np.eye(3)


class Condition(NamedTuple):
    """Rows with their position, velocity and bias acceleration."""

    K_a: Array  # (m, 6)
    K_b: Array  # (m, 6)
    error: Array  # (m,)
    rate: Array  # (m,)
    bias: Array  # (m,)

    @property
    def at_rest(self) -> Condition:
        """The same between two frames of one body, which nothing moves against each other."""
        still = np.zeros(len(self.error))
        return Condition(np.zeros(self.K_a.shape), np.zeros(self.K_b.shape), self.error, still, still)


def joined(parts: list[Condition]) -> Condition:
    return Condition(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def point_rows(p: Array) -> Array:
    """(3, 6) of the acceleration of a node's point p."""
    return np.concatenate([E, -skew(p)], axis=1)


def coincide(x: Relative) -> Condition:
    """The two origins are one point (in the axes of node a, which do not take part in the derivative)."""
    rate = x.R @ x.b.point_velocity(x.b.p) - x.a.point_velocity(x.a.p)
    bias = x.R @ x.b.point_acceleration(x.b.p) - x.a.point_acceleration(x.a.p)
    return Condition(-point_rows(x.a.p), x.R @ point_rows(x.b.p), x.offset, rate, bias)


def coordinate(x: Relative, d: Array) -> Condition:
    """b's origin keeps zero in direction d of frame a, as seen from a."""
    d = x.a.axes @ d
    K_a = -np.concatenate([d, cross(x.s, d)])
    carried = d @ x.R
    K_b = np.concatenate([carried, cross(x.b.p, carried)])
    return Condition(K_a[None], K_b[None], vector(d @ x.offset), vector(d @ x.v), vector(d @ x.acceleration))


def perpendicular(x: Relative, t: Array, w: Array) -> Condition:
    """Direction w of frame b stays perpendicular to direction t of frame a."""
    t, n = x.a.axes @ t, x.turned(w)
    m = cross(n, t)  # t . (omega x n) = omega . (n x t)
    zero = np.zeros(3)
    spin = x.w
    bias = m @ x.alpha + t @ cross(spin, cross(spin, n))
    K_a, K_b = np.concatenate([zero, -m]), np.concatenate([zero, m @ x.R])
    return Condition(K_a[None], K_b[None], vector(t @ n), vector(m @ spin), vector(bias))


def no_rotation(x: Relative) -> Condition:
    """Frame b does not turn against frame a; the error is the sine of the angle about each axis of node a."""
    zero = np.zeros((3, 3))
    error = rotation_sines(x.R @ x.b.axes @ x.a.axes.T)
    bias = x.R @ x.b.motion.alpha - x.a.motion.alpha
    return Condition(np.concatenate([zero, -E], axis=1), np.concatenate([zero, x.R], axis=1), error, x.w, bias)


def screw(x: Relative, u: Array, t: Array, pitch: Scalar) -> Condition:
    """The advance along u is `pitch` times the angle about u, which is measured from t."""
    advance, axis = coordinate(x, u), x.a.axes @ u
    zero = np.zeros(3)
    turned = x.turned(t)
    angle = np.arctan2(vector((x.a.axes @ np.cross(u, t)) @ turned), vector((x.a.axes @ t) @ turned))
    return Condition(
        advance.K_a + pitch * np.concatenate([zero, axis])[None],
        advance.K_b - pitch * np.concatenate([zero, axis @ x.R])[None],
        advance.error - pitch * angle,
        advance.rate - pitch * vector(axis @ x.w),
        advance.bias - pitch * vector(axis @ x.alpha),
    )


def distance(x: Relative, wanted: Scalar) -> Condition:
    """The origins keep a distance: along the line between them, with the centripetal acceleration in the bias."""
    d = x.offset
    squared = d @ d
    length = np.sqrt(vector(squared))[0]
    # Two points that coincide have no direction between them: the row is then zero, not NaN.
    inverse = choose(1e-24, squared, 1.0 / choose(1e-24, squared, length, 1.0), 0.0)
    n, points = d * inverse, coincide(x)
    along = n @ points.rate
    centripetal = (points.rate @ points.rate - along * along) * inverse
    K_a, K_b = n @ points.K_a, (n @ x.R) @ point_rows(x.b.p)
    return Condition(
        K_a[None], K_b[None], vector(length - wanted), vector(along), vector(n @ points.bias + centripetal)
    )
