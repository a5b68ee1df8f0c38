"""Kinematics of a batch of states in world axes, in any floating-point type. It shares no code with `sarrus`.

Every joint is one or two factors, each a displacement whose velocities are twists that are constant in the moved frame
(as in the oracle of the tests). Positions, velocities, accelerations at qdd = 0 and Jacobian columns of every body's
origin follow by the composition of relative motion, all in the axes of the world.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.model.model import Model

Array = np.ndarray


class Motion(NamedTuple):
    """A frame, for each of B states; J has the columns of its velocity."""

    R: Array  # (B, 3, 3) its axes in the world
    p: Array  # (B, 3)
    w: Array  # (B, 3) angular velocity
    v: Array  # (B, 3) velocity of its origin
    alpha: Array  # (B, 3) angular acceleration where qdd = 0
    a: Array  # (B, 3) acceleration of its origin, as a point, where qdd = 0
    Jw: Array  # (B, 3, nv)
    Jv: Array  # (B, 3, nv)


def cross(a: Array, b: Array) -> Array:
    """Along the last axis, of arrays that broadcast; much quicker than NumPy's."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def apply(R: Array, x: Array) -> Array:
    """R x, of one vector or of one for each state."""
    return (R @ x[..., None])[..., 0]


def moment_columns(J: Array, r: Array) -> Array:
    """Columns w of J (B, 3, nv) become w x r."""
    return np.swapaxes(cross(np.swapaxes(J, 1, 2), r[:, None]), 1, 2)


def ground(batch: int, nv: int, dtype: Any) -> Motion:
    """The world's frame."""
    still, none = np.zeros((batch, 3), dtype), np.zeros((batch, 3, nv), dtype)
    return Motion(np.broadcast_to(np.eye(3, dtype=dtype), (batch, 3, 3)), still, still, still, still, still, none, none)


def placed(x: Motion, R: Array, p: Array) -> Motion:
    """A frame that is fixed on x, with these axes and this origin in it."""
    r = apply(x.R, np.asarray(p, x.p.dtype))
    v = x.v + cross(x.w, r)
    a = x.a + cross(x.alpha, r) + cross(x.w, cross(x.w, r))
    R = x.R @ np.asarray(R, x.p.dtype)
    return Motion(R, x.p + r, x.w, v, x.alpha, a, x.Jw, x.Jv + moment_columns(x.Jw, r))


class Factor(NamedTuple):
    """Part of a joint: the moved frame in the fixed one, and the twists of its velocities in the moved one."""

    R: Array  # (B, 3, 3)
    p: Array  # (B, 3)
    linear: Array  # (k, 3)
    angular: Array  # (k, 3)


def turn(axis: Array, angle: Array) -> Array:
    """(B, 3, 3): rotations about one unit axis (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])
    s, c = np.sin(angle)[:, None, None], np.sin(angle / 2)[:, None, None] ** 2 * 2
    return np.eye(3, dtype=angle.dtype) + s * K + c * (K @ K)


def turn_of_quaternion(q: Array) -> Array:
    """(B, 3, 3) from x y z w; of any length but zero."""
    x, y, z, w = np.moveaxis(q / np.sqrt(np.sum(q * q, axis=-1))[:, None], -1, 0)
    return np.moveaxis(
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        ),
        -1,
        0,
    )


def plane_axes(normal: Array) -> Array:
    """(2, 3): x and y of a planar joint, as the conventions have them; z has the coordinates' own."""
    nonzero = np.flatnonzero(np.abs(normal) > 1e-15)
    if len(nonzero) == 1:
        x = np.eye(3)[(nonzero[0] + 1) % 3]
    elif abs(normal[0]) <= 1e-15:
        x = np.eye(3)[0]
    else:  # z tipped about y, then turned about z
        across = np.hypot(normal[0], normal[1])
        x = np.array([normal[2] * normal[0] / across, normal[2] * normal[1] / across, -across])
        if abs(normal[1]) <= 1e-15:
            x = np.array([normal[2], 0.0, -normal[0]])
    return np.array([x, np.cross(normal, x)])


def factors(joint: Any, q: Array) -> list[Factor]:
    """The factors of a declared joint at q (B, nq)."""
    dtype, batch = q.dtype, len(q)
    E, zero = np.eye(3, dtype=dtype), np.zeros((1, 3), dtype)
    still, same = np.zeros((batch, 3), dtype), np.broadcast_to(E, (batch, 3, 3))
    axes = [_unit(np.asarray(axis, dtype)) for axis in joint.axes]
    kind = joint.type.name
    if kind in ("revolute", "continuous", "helical"):
        (u,) = axes
        pitch = dtype.type(joint.type.constants[0] if kind == "helical" else 0.0)
        return [Factor(turn(u, q[:, 0]), pitch * q[:, :1] * u, pitch * u[None], u[None])]
    if kind == "prismatic":
        return [Factor(same, q[:, :1] * axes[0], axes[0][None], zero)]
    if kind == "cylindrical":
        (u,) = axes
        return [Factor(turn(u, q[:, 0]), q[:, 1:] * u, np.array([zero[0], u]), np.array([u, zero[0]]))]
    if kind == "universal":
        return [Factor(turn(u, q[:, k]), still, zero, u[None]) for k, u in enumerate(axes)]
    if kind == "planar":
        (n,) = axes
        x, y = plane_axes(n).astype(dtype)
        p = q[:, :1] * x + q[:, 1:2] * y
        return [Factor(turn(n, q[:, 2]), p, np.array([x, y, zero[0]]), np.array([zero[0], zero[0], n]))]
    none = np.zeros((3, 3), dtype)
    if kind == "translation":
        return [Factor(same, q, E, none)]
    if kind == "spherical":
        return [Factor(turn_of_quaternion(q), still, none, E)]
    if kind == "free":
        return [Factor(turn_of_quaternion(q[:, 3:]), q[:, :3], np.vstack([E, none]), np.vstack([none, E]))]
    raise NotImplementedError(kind)


def _unit(x: Array) -> Array:
    return x / np.sqrt(x @ x)


def moved(x: Motion, factor: Factor, v: Array, at: int) -> Motion:
    """Beyond a joint's factor, whose velocities are v[:, at:at + k]."""
    R = x.R @ factor.R
    r = apply(x.R, factor.p)
    speeds = v[:, at : at + len(factor.linear)]
    spin, slide = apply(R, speeds @ factor.angular), apply(R, speeds @ factor.linear)
    Jw, Jv = x.Jw.copy(), x.Jv + moment_columns(x.Jw, r)
    for k, (linear, angular) in enumerate(zip(factor.linear, factor.angular, strict=True)):
        Jw[:, :, at + k], Jv[:, :, at + k] = R @ angular, R @ linear
    velocity = x.v + cross(x.w, r) + slide
    alpha = x.alpha + cross(x.w, spin)
    a = x.a + cross(x.alpha, r) + cross(x.w, cross(x.w, r)) + 2 * cross(x.w, slide) + cross(spin, slide)
    return Motion(R, x.p + r, x.w + spin, velocity, alpha, a, Jw, Jv)


def bodies(model: Model, q: Array, v: Array) -> list[Motion]:
    """Every body's frame. The type of q is that of all numbers."""
    start = ground(len(q), model.nv, q.dtype)
    out: list[Motion] = []
    for body, at_q, at_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        x = placed(start if body.parent < 0 else out[body.parent], body.placement.R, body.placement.p)
        at = at_v.start
        for factor in factors(body.joint, q[:, at_q]):
            x = moved(x, factor, v, at)
            at += len(factor.linear)
        out.append(x)
    return out
