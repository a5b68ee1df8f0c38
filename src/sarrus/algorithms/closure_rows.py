"""Rows of loop closures: any joint type as the cut joint.

A closure is primitive conditions between frame a and frame b, each with its exact second derivative:

- coincidence of the origins, in the axes of node a (3 rows);
- a coordinate of b's origin as seen from a, `d . r = 0` with d fixed in a;
- a direction of b that stays perpendicular to one of a, `t . n = 0`;
- no relative rotation (3 rows).

K acts on accelerations in excess of the bias motion; the rows' force acts on b, and its opposite on a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.relative_motion import Relative
from sarrus.algorithms.rows import Block, Rows
from sarrus.errors import unknown_name
from sarrus.model.constraints import LoopClosure
from sarrus.model.model import WORLD
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.rotations import cross, skew

E = np.eye(3)


class Condition(NamedTuple):
    """Rows with their position, velocity and bias acceleration."""

    K_a: Array  # (m, 6)
    K_b: Array  # (m, 6)
    error: Array  # (m,)
    rate: Array  # (m,)
    bias: Array  # (m,)


def joined(parts: list[Condition]) -> Condition:
    return Condition(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def coincide(x: Relative) -> Condition:
    """The two origins are one point (in the axes of node a, which do not take part in the derivative)."""
    C_a = np.concatenate([E, -skew(x.a.p)], axis=1)
    C_b = np.concatenate([E, -skew(x.b.p)], axis=1)
    rate = x.R @ x.b.point_velocity(x.b.p) - x.a.point_velocity(x.a.p)
    bias = x.R @ x.b.point_acceleration(x.b.p) - x.a.point_acceleration(x.a.p)
    return Condition(-C_a, x.R @ C_b, x.offset, rate, bias)


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
    turn = x.R @ x.b.axes @ x.a.axes.T
    error = 0.5 * vector(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1])
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


def across(u: Array) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed basis with u."""
    t = np.cross(u, E[int(np.argmin(np.abs(u)))])
    t /= np.linalg.norm(t)
    return t, np.cross(u, t)


def closure_condition(closure: LoopClosure, x: Relative) -> Condition:
    """The conditions of one closure, in order."""
    u = np.array(closure.axis if closure.axis is not None else (0.0, 0.0, 1.0), dtype=float)
    u = u / np.linalg.norm(u)
    t1, t2 = across(u)
    aligned = [perpendicular(x, t1, u), perpendicular(x, t2, u)]
    on_axis = [coordinate(x, t1), coordinate(x, t2)]
    if closure.joint == "universal":  # u of frame a stays perpendicular to the second axis, of frame b
        second = t1 if closure.second_axis is None else np.array(closure.second_axis, float)
        return joined([coincide(x), perpendicular(x, u, second)])
    table = {
        "weld": lambda: [coincide(x), no_rotation(x)],
        "connect": lambda: [coincide(x)],
        "spherical": lambda: [coincide(x)],
        "revolute": lambda: [coincide(x), *aligned],
        "prismatic": lambda: [*on_axis, no_rotation(x)],
        "cylindrical": lambda: [*on_axis, *aligned],
        "planar": lambda: [coordinate(x, u), *aligned],
        "helical": lambda: [*on_axis, *aligned, screw(x, u, t1, closure.pitch)],
    }
    if closure.joint not in table:
        raise unknown_name(f"joint of loop closure {closure.name!r}:", closure.joint, [*table, "universal"])
    return joined(table[closure.joint]())


def closure_rows(closure: LoopClosure, x: Relative) -> Rows:
    """Rows of a closure, with Baumgarte's feedback in k."""
    c = closure_condition(closure, x)
    T = closure.stabilization
    feedback = 0.0 if T is None else (2.0 / T) * c.rate + (1.0 / T**2) * c.error
    k = -c.bias - feedback
    whole = closure.joint in ("weld", "connect", "spherical")  # then K^T K is constant on both sides: R is a rotation
    blocks = [
        Block(side.node, K, _gram(side.p, closure.joint) if whole else None)
        for side, K in ((x.a, c.K_a), (x.b, c.K_b))
        if side.node != WORLD
    ]
    if len(blocks) == 2 and blocks[0].node == blocks[1].node:
        blocks = [Block(blocks[0].node, blocks[0].K + blocks[1].K)]
    return Rows(tuple(blocks), k, None, None, x.a.axes if whole else None)


def _gram(p: Array, joint: str) -> Array:
    C = np.concatenate([E, -skew(p)], axis=1)
    spin = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    return C.T @ C + (spin if joint == "weld" else 0.0)
