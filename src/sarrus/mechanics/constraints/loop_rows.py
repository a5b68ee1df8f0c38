"""Rows and position errors of constraints between two frames: any joint type as the cut joint, and distances.

They are made of primitive conditions between frame a and frame b, each with its exact derivatives. K acts on
accelerations in excess of the bias motion; the rows' force acts on b, and its opposite on a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from sarrus.mechanics.bodies import Relative
from sarrus.mechanics.constraints.rotation_errors import alignment_error, rotation_error
from sarrus.mechanics.constraints.rows import (
    EQUATIONS,
    Block,
    Equations,
    KinematicState,
    Rows,
    feedback,
    merged,
    rotation_sines,
    turned,
)
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Constraint, Distance, LoopClosure
from sarrus.model.constraints.loops import Held, LoopConstraint
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.product import product
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


def all_of(parts: list[Condition]) -> Condition:
    return Condition(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def point_rows(p: Array) -> Array:
    """(3, 6) of the acceleration of a node's point p."""
    return np.concatenate([E, -skew(p)], axis=1)


def coincide(x: Relative) -> Condition:
    """The two origins are one point (in the axes of node a, which do not take part in the derivative)."""
    rate = x.R @ x.b.point_velocity(x.b.p) - x.a.point_velocity(x.a.p)
    bias = product(x.R, x.b.point_acceleration(x.b.p)) - x.a.point_acceleration(x.a.p)
    return Condition(-point_rows(x.a.p), product(x.R, point_rows(x.b.p)), x.offset, rate, bias)


def coordinate(x: Relative, d: Array) -> Condition:
    """b's origin keeps zero in direction d of frame a, as seen from a."""
    d = product(x.a.axes, d)
    K_a = -np.concatenate([d, cross(x.s, d)])
    carried = product(d, x.R)
    K_b = np.concatenate([carried, cross(x.b.p, carried)])
    return Condition(K_a[None], K_b[None], vector(d @ x.offset), vector(d @ x.v), vector(d @ x.acceleration))


def perpendicular(x: Relative, t: Array, w: Array) -> Condition:
    """Direction w of frame b stays perpendicular to direction t of frame a."""
    t, n = product(x.a.axes, t), x.turned(w)
    m = cross(n, t)  # t . (omega x n) = omega . (n x t)
    zero = np.zeros(3)
    spin = x.w
    bias = m @ x.alpha + t @ cross(spin, cross(spin, n))
    K_a, K_b = np.concatenate([zero, -m]), np.concatenate([zero, product(m, x.R)])
    return Condition(K_a[None], K_b[None], vector(product(t, n)), vector(m @ spin), vector(bias))


def no_rotation(x: Relative) -> Condition:
    """Frame b does not turn against frame a; the error is the sine of the angle about each axis of node a."""
    zero = np.zeros((3, 3))
    error = rotation_sines(x.R @ x.b.axes @ x.a.axes.T)
    bias = x.R @ x.b.motion.alpha - x.a.motion.alpha
    return Condition(np.concatenate([zero, -E], axis=1), np.concatenate([zero, x.R], axis=1), error, x.w, bias)


def no_turn(x: Relative, axes: Array, error: Array) -> Condition:
    """The same as an error of position: frame b is not turned about these axes of node a. No rates and biases."""
    zero, unknown = np.zeros((len(axes), 3)), np.zeros(len(axes))
    K_a, K_b = np.concatenate([zero, -axes], axis=1), np.concatenate([zero, product(axes, x.R)], axis=1)
    return Condition(K_a, K_b, error, unknown, unknown)


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


_Conditions = dict[Held, Callable[[Relative, Any], Condition]]  # x: frame b seen from frame a; c: the constraint

_BY_SINE: _Conditions = {
    Held.POINT: lambda x, c: coincide(x),
    Held.LINE: lambda x, c: all_of([coordinate(x, t) for t in c.basis[1:]]),
    Held.PLANE: lambda x, c: coordinate(x, c.basis[0]),
    Held.ROTATION: lambda x, c: no_rotation(x),
    Held.DIRECTION: lambda x, c: all_of([perpendicular(x, t, c.basis[0]) for t in c.basis[1:]]),
    Held.RIGHT_ANGLE: lambda x, c: perpendicular(x, c.basis[0], c.basis[1] if c.second_axis is None else c.second_axis),
    Held.SCREW: lambda x, c: screw(x, c.basis[0], c.basis[1], c.pitch),
    Held.DISTANCE: lambda x, c: distance(x, c.length),
}
_BY_ANGLE = _BY_SINE | {
    Held.ROTATION: lambda x, c: no_turn(x, *rotation_error(x)),
    Held.DIRECTION: lambda x, c: no_turn(x, *alignment_error(x, *c.basis)),
}


def loop_rows(constraint: LoopConstraint, at: KinematicState, desired: Array) -> Rows:
    """The rows, with Baumgarte's feedback in k."""
    x = at.between(constraint)
    c = _condition(constraint, x, _BY_SINE)
    sides = [(side, K) for side, K in ((x.a, c.K_a), (x.b, c.K_b)) if side.node != WORLD]
    blocks = merged([Block(side.node, K, _gram(constraint, x, side.p)) for side, K in sides])
    k = desired - c.bias - feedback(constraint, c.rate, c.error)
    coincident = constraint.holds[0] is Held.POINT
    return Rows(blocks, k, axes=x.a.axes, vectors=_vectors(constraint), coincident=coincident)


def point_seen_from_b(constraint: LoopClosure, at: KinematicState) -> Rows:
    """The rows of two points that are one in the axes of node b, and with the opposite sign: a is seen from b."""
    x = at.between(replace(constraint, frame_a=constraint.frame_b, frame_b=constraint.frame_a))
    c = coincide(x)
    blocks = merged([Block(side.node, K) for side, K in ((x.a, c.K_a), (x.b, c.K_b)) if side.node != WORLD])
    k = -c.bias - feedback(constraint, c.rate, c.error)
    return Rows(blocks, k, axes=-(x.R @ x.b.axes), vectors=(0,), coincident=True)


def is_point(constraint: Constraint) -> bool:
    """Whether it makes two points one that stay together, and no more."""
    still = constraint.desired is None and not constraint.takes_input
    return isinstance(constraint, LoopClosure) and constraint.holds == (Held.POINT,) and still


def loop_error(constraint: LoopConstraint, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error and Jacobian, in the axes of frame a."""
    x, vectors = at.between(constraint), _vectors(constraint)
    c = _condition(constraint, x, _BY_ANGLE)
    rows = _condition(constraint, x, _BY_SINE) if of_dynamics else c
    # Where two points should coincide and do not, a motion of both links as one body turns the error.
    as_one = of_dynamics and constraint.holds[0] is Held.POINT
    J = at.jacobian([(x.a.node, rows.K_a), (x.b.node, rows.K_b)], as_one)
    return turned(x.a.axes.T, vectors, c.error), turned(x.a.axes.T, vectors, J)


def _condition(constraint: LoopConstraint, x: Relative, table: _Conditions) -> Condition:
    """All that the constraint holds, in the order of its rows."""
    found = all_of([table[held](x, constraint) for held in constraint.holds])
    return found.at_rest if x.a.node == x.b.node else found


def _vectors(constraint: LoopConstraint) -> tuple[int, ...]:
    """Where the rows begin that are vectors in the axes of node a: coincidences, and rotations about all axes."""
    ends = accumulate(held.rows for held in constraint.holds)
    return tuple(end - 3 for end, held in zip(ends, constraint.holds, strict=True) if held.rows == 3)


def _gram(constraint: LoopConstraint, x: Relative, p: Array) -> Array | None:
    """K^T K of the rows of the side's point p: constant where all rows are vectors, since a rotation turns those."""
    if x.a.node == x.b.node or tuple(constraint.holds) not in ((Held.POINT,), (Held.POINT, Held.ROTATION)):
        return None
    C = point_rows(p)
    return product(C.T, C)


EQUATIONS[LoopClosure] = EQUATIONS[Distance] = Equations(loop_rows, loop_error)
