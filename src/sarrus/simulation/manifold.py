"""Tangents of the configuration manifold, for floats and symbols alike (one state).

A step from q is a tangent u: q + u for angles and distances, q exp(u) for rotations and poses (`model.state.moved`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sarrus.model.bodies import Joint
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, each, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.rotations import conjugate, cross, multiply_quaternions, rotate_by_quaternion

Bracket = Callable[[Array, Array], Array]  # [u, v] of a joint's motions

_TINY = 1e-20  # a squared sine below which the rotation vector is twice the vector part


def joints_of(model: Model) -> Iterator[tuple[Joint, slice, slice]]:
    """Every joint with where it lies in q and in v."""
    return zip((body.joint for body in model.bodies), model.layout.q, model.layout.v, strict=True)


def tangent_rate(model: Model, u: Array, v: Array) -> Array:
    """du/dt where q = q0 exp(u) moves with velocity v: what a Runge-Kutta method on the manifold adds up.

    v + [u, v]/2 + [u, [u, v]]/12 - [u, [u, [u, [u, v]]]]/720, the inverse of the exponential's derivative
    (Munthe-Kaas).
    """

    def of_joint(bracket: Bracket, u: Array, v: Array) -> Array:
        once = bracket(u, v)
        twice = bracket(u, once)
        return v + 0.5 * once + (1 / 12) * twice - (1 / 720) * bracket(u, bracket(u, twice))

    return _per_joint(model, of_joint, v, u, v)


def velocity_of_rate(model: Model, u: Array, w: Array) -> Array:
    """The velocity v of q = q0 exp(u) where du/dt = w: the inverse of `tangent_rate`."""

    def of_joint(bracket: Bracket, u: Array, w: Array) -> Array:
        v, term = w, w
        for k in range(2, 6):
            term = (-1 / k) * bracket(u, term)
            v = v + term
        return v

    return _per_joint(model, of_joint, w, u, w)


def tangent_acceleration(model: Model, u: Array, w: Array, v: Array, a: Array) -> Array:
    """d2u/dt2 where q = q0 exp(u), du/dt = w, and the velocity v changes by a: the derivative of `tangent_rate`."""

    def of_joint(bracket: Bracket, u: Array, w: Array, v: Array, a: Array) -> Array:
        uv, wv, ua = bracket(u, v), bracket(w, v), bracket(u, a)
        return a + 0.5 * (wv + ua) + (1 / 12) * (bracket(w, uv) + bracket(u, wv + ua))

    return _per_joint(model, of_joint, a, u, w, v, a)


def _per_joint(model: Model, of_joint: Callable[..., Array], plain: Array, *arrays: Array) -> Array:
    """of_joint(bracket, parts of the arrays) for joints whose motions do not commute, `plain` for the others."""
    parts = []
    for joint, _, at in joints_of(model):
        bracket = _BRACKETS.get(joint.type.name)
        parts.append(plain[at] if bracket is None else of_joint(bracket, *(x[at] for x in arrays)))
    return np.concatenate(parts) if parts else np.zeros(0)


def difference_to(joint: AbstractJointType, q: Array, target: Array) -> Array:
    """How far a joint is from a target, in the axes of its velocity; position and rotation of a free joint apart."""
    if joint.name == "planar":
        c, s = each(np.cos, q[2:])[0], each(np.sin, q[2:])[0]
        d = target - q
        return vector(c * d[0] + s * d[1], c * d[1] - s * d[0], d[2])
    if joint.name == "spherical":
        return _rotation_vector(multiply_quaternions(conjugate(q), target))
    if joint.name == "free":
        offset = rotate_by_quaternion(conjugate(q[3:]), target[:3] - q[:3])
        return np.concatenate([offset, _rotation_vector(multiply_quaternions(conjugate(q[3:]), target[3:]))])
    return target - q


def _rotation_vector(quaternion: Array) -> Array:
    """The shortest rotation vector of a unit quaternion."""
    u, w = quaternion[:3], quaternion[3]
    sign = choose(w, 0.0, -1.0, 1.0)
    squared = u @ u
    sine = each(np.sqrt, vector(choose(squared, _TINY, 1.0, squared)))
    angle = 2.0 * np.arctan2(sine, vector(sign * w))[0]
    return (sign * choose(squared, _TINY, 2.0, angle / sine[0])) * u


def _planar_bracket(u: Array, v: Array) -> Array:
    return vector(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], 0.0)


def _free_bracket(u: Array, v: Array) -> Array:
    return np.concatenate([cross(u[3:], v[:3]) + cross(u[:3], v[3:]), cross(u[3:], v[3:])])


_BRACKETS: dict[str, Bracket] = {
    "planar": _planar_bracket, "spherical": cross, "free": _free_bracket,
}  # fmt: skip
