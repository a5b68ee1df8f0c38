"""Vectors in three dimensions, rotation matrices and quaternions (x y z w).

These run on floats and on symbols alike. Those for states take batches of floats as well, shapes (..., 3) and (..., 4).
"""

from __future__ import annotations

import numpy as np

from sarrus.spatial.arrays import Array, each, is_numeric, matrix, vector
from sarrus.spatial.choice import choose

_TINY = 1e-30  # added to squares: no division by zero, and no digit changes, in single precision neither


def cross(a: Array, b: Array) -> Array:
    """a x b."""
    return vector(
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def skew(a: Array) -> Array:
    """The matrix of b -> a x b."""
    return matrix([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation_from_quaternion(quaternion: Array) -> Array:
    """The rotation matrix of a unit quaternion (x y z w)."""
    x, y, z, w = quaternion
    x2, y2, z2 = x + x, y + y, z + z
    return matrix(
        [
            [1.0 - (y * y2 + z * z2), x * y2 - w * z2, x * z2 + w * y2],
            [x * y2 + w * z2, 1.0 - (x * x2 + z * z2), y * z2 - w * x2],
            [x * z2 - w * y2, y * z2 + w * x2, 1.0 - (x * x2 + y * y2)],
        ]
    )


def quaternion_rates(quaternion: Array) -> Array:
    """(4, 3): the rate of a quaternion (x y z w) per angular velocity in the axes of the body that it turns."""
    x, y, z, w = 0.5 * quaternion
    return matrix([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])


def quaternion_from_rotation(R: Array) -> Array:
    """The unit quaternion (x y z w) of a rotation matrix of floats, with w >= 0."""
    # The eigenvector form: no branch, and accurate for every rotation.
    trace = np.trace(R)
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - trace * np.eye(3)
    K[:3, 3] = K[3, :3] = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    K[3, 3] = trace
    quaternion = np.linalg.eigh(K)[1][:, -1]
    return quaternion if quaternion[3] >= 0 else -quaternion


def rotation_about(axis: Array, angle: float) -> Array:
    """The matrix of a rotation by `angle` about a unit axis (floats)."""
    K = skew(np.asarray(axis, float))
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """URDF's fixed-axis angles: Rz(yaw) Ry(pitch) Rx(roll)."""
    ex, ey, ez = np.eye(3)
    return rotation_about(ez, yaw) @ rotation_about(ey, pitch) @ rotation_about(ex, roll)


# --- floats, symbols and batches of floats: shapes (..., 3) and (..., 4) ------------------------------


def multiply_quaternions(a: Array, b: Array) -> Array:
    """Hamilton's product of (..., 4) quaternions (x y z w)."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate([aw * bv + bw * av + np.cross(av, bv), aw * bw - np.sum(av * bv, -1, keepdims=True)], axis=-1)


def conjugate(quaternion: Array) -> Array:
    return quaternion * np.array([-1.0, -1.0, -1.0, 1.0])


def rotate_by_quaternion(quaternion: Array, x: Array) -> Array:
    """R(quaternion) x."""
    u, w = quaternion[..., :3], quaternion[..., 3:]
    t = 2.0 * np.cross(u, x)
    return x + w * t + np.cross(u, t)


def sinc(x: Array) -> Array:
    """sin(x) / x."""
    size = each(np.sqrt, x * x + _TINY)
    return each(np.sin, size) / size


def unit(quaternion: Array) -> Array:
    """A quaternion scaled to length one."""
    return quaternion / each(np.sqrt, np.sum(quaternion * quaternion, axis=-1, keepdims=True))


def exp_quaternion(rotation_vector: Array) -> Array:
    """The quaternion of a rotation vector."""
    half = 0.5 * rotation_vector
    angle = each(np.sqrt, np.sum(half * half, axis=-1, keepdims=True) + _TINY)
    return np.concatenate([(each(np.sin, angle) / angle) * half, each(np.cos, angle)], axis=-1)


def screw_displacement(linear: Array, rotation_vector: Array) -> Array:
    """Where a body's origin gets in unit time, in its axes at the start, with constant velocities in its own axes.

    What cancels for small angles is then multiplied by their square.
    """
    w = rotation_vector
    squared = np.sum(w * w, axis=-1, keepdims=True) + _TINY
    half = 0.5 * each(np.sqrt, squared)
    s, c = each(np.sin, half), each(np.cos, half)
    across = np.cross(w, linear)
    a = 0.5 * (s / half) * (s / half)  # (1 - cos) / angle^2
    b = (1.0 - s * c / half) / squared  # (angle - sin) / angle^3
    return linear + a * across + b * np.cross(w, across)


def displacement_screw(displacement: Array, rotation_vector: Array) -> Array:
    """The inverse of `screw_displacement`, for angles of at most pi: the constant linear velocity that leads there."""
    w = rotation_vector
    squared = np.sum(w * w, axis=-1, keepdims=True) + _TINY
    half = 0.5 * each(np.sqrt, squared)
    across = np.cross(w, displacement)
    b = (1.0 - half * each(np.cos, half) / each(np.sin, half)) / squared
    return displacement - 0.5 * across + b * np.cross(w, across)


def log_quaternion(quaternion: Array) -> Array:
    """The rotation vector, of length at most pi, of a unit quaternion."""
    u, w = quaternion[..., :3], quaternion[..., 3:]
    sign = np.where(w < 0.0, -1.0, 1.0) if is_numeric(w) else each(lambda x: choose(x, 0.0, -1.0, 1.0), w)
    sine = each(np.sqrt, np.sum(u * u, axis=-1, keepdims=True) + _TINY)
    return (2.0 * sign * np.arctan2(sine, sign * w) / sine) * u
