"""A step of bodies that are free to turn, in axes that stay as they were when it began.

The velocity of a free (or planar) joint is in the body's own axes, which turn during the step; where an impact makes
them turn faster, by more than the step could know when it began. In the axes of the beginning an impulse changes the
momentum by just that impulse, and a body in flight keeps its own.
"""

from __future__ import annotations

import numpy as np

from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.simulation.manifold import joints_of
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.rotations import conjugate, cross, exp_quaternion, multiply_quaternions, rotate_by_quaternion, unit


def acceleration_in_fixed_axes(model: Model, v: Array, qdd: Array) -> Array:
    """Accelerations as they are in axes that do not turn, from the rates of change of velocities."""
    parts = []
    for joint, _, at in joints_of(model):
        a, mine = qdd[at], v[at]
        if joint.type.name == "free":
            a = np.concatenate([a[:3] + cross(mine[3:], mine[:3]), a[3:]])
        elif joint.type.name == "planar":
            a = vector(a[0] - mine[2] * mine[1], a[1] + mine[2] * mine[0], a[2])
        parts.append(a)
    return np.concatenate([np.zeros(0), *parts])


def moved_straight(model: Model, q: Array, v: Array, dt: Scalar, shift: Array) -> tuple[Array, Array]:
    """The configuration after a step with velocities v, which are in the axes of its beginning, and v in those of its
    end.

    shift  (nv,) by which positions change beside that
    """
    positions, velocities = [np.zeros(0)], [np.zeros(0)]
    for joint, of_q, of_v in joints_of(model):
        position, velocity = _moved(joint.type, q[of_q], v[of_v], dt * v[of_v] + shift[of_v])
        positions.append(position)
        velocities.append(velocity)
    return np.concatenate(positions), np.concatenate(velocities)


def _moved(joint: AbstractJointType, q: Array, v: Array, way: Array) -> tuple[Array, Array]:
    if joint.name == "free":
        turn = exp_quaternion(way[3:])
        p = q[:3] + rotate_by_quaternion(q[3:], way[:3])
        turned = unit(multiply_quaternions(q[3:], turn))
        return np.concatenate([p, turned]), np.concatenate([rotate_by_quaternion(conjugate(turn), v[:3]), v[3:]])
    if joint.name == "planar":
        (c, s), (k, l) = ((each(np.cos, x)[0], each(np.sin, x)[0]) for x in (q[2:], way[2:]))
        p = vector(q[0] + (c * way[0] - s * way[1]), q[1] + (s * way[0] + c * way[1]), q[2] + way[2])
        return p, vector(k * v[0] + l * v[1], k * v[1] - l * v[0], v[2])
    return joint.integrate(q, way), v


def velocities_between(model: Model, before: Array, after: Array, dt: float) -> Array:
    """(..., nv) at configurations to which steps led with velocities `before`, and from which `after` lead away.

    A step changes velocities where it begins, and then moves with them: energies of what is being accelerated or braked
    are half a step late with one of the two alone.
    """
    after = after.copy()
    for joint, _, at in joints_of(model):
        if joint.type.name == "free":
            linear, angular = slice(at.start, at.start + 3), slice(at.start + 3, at.stop)
            turn = exp_quaternion(dt * after[..., angular])
            after[..., linear] = rotate_by_quaternion(turn, after[..., linear])
        elif joint.type.name == "planar":
            x, y, angle = (after[..., at.start + k].copy() for k in range(3))
            c, s = np.cos(dt * angle), np.sin(dt * angle)
            after[..., at.start], after[..., at.start + 1] = c * x - s * y, s * x + c * y
    return 0.5 * (before + after)
