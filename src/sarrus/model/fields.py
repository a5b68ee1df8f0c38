"""The numbers of a model as users declare them, checked: shapes, sizes, rotations, inertias. They may be symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.bodies import Placement
from sarrus.spatial.arrays import Array, Scalar, as_field, is_numeric
from sarrus.spatial.product import direction
from sarrus.spatial.rotations import rotation_from_quaternion, rotation_from_rpy

LARGEST = 1e50  # of a mass, a length, a moment of inertia: products of six of them are numbers yet
ROUNDING = 1e-9  # relative slack of physical checks: files print few digits
_UNIT = 1e-6  # slack of rotations


def field(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Finite numbers, or symbols, as an array of that shape."""
    try:
        array = as_field(value, shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{what}: expected shape {shape}: {error}") from None
    if is_numeric(array) and not np.isfinite(array).all():
        raise ModelError(f"{what} is {array.tolist()}: every number must be finite")
    if is_numeric(array) and np.abs(array).max(initial=0.0) > LARGEST:
        raise ModelError(f"{what} is {array.tolist()}: numbers beyond {LARGEST:g} are not supported")
    return array


def as_gravity(value: Any) -> Array:
    """A gravitational field as three finite numbers."""
    try:
        gravity = np.array(value, dtype=float).reshape(3)
    except (TypeError, ValueError):
        raise ModelError(f"gravity is {value!r}: expected three numbers") from None
    if not np.isfinite(gravity).all():
        raise ModelError(f"gravity is {gravity.tolist()}: every number must be finite")
    return gravity


def placement(position: Any, rotation: Any, owner: str, kind: str = "") -> Placement:
    """A pose; `owner`, and what kind of thing it is, are for messages."""
    return Placement(
        _rotation(rotation, f"rotation of {owner!r}"), field(position, (3,), f"position of {kind}{owner!r}")
    )


def _rotation(rotation: Any, what: str) -> Array:
    if rotation is None:
        return np.eye(3)
    size = _count(rotation)
    if size == 3:
        return rotation_from_rpy(*field(rotation, (3,), what))
    if size == 4:
        quaternion = field(rotation, (4,), what)
        if is_numeric(quaternion):
            norm = np.linalg.norm(quaternion)
            if abs(norm - 1.0) > _UNIT:
                raise ModelError(f"{what}: the quaternion (x y z w) has length {norm:.6g}, expected 1")
            quaternion = direction(quaternion)
        return rotation_from_quaternion(quaternion)
    if size != 9:
        raise ModelError(f"{what}: expected a 3x3 matrix, a quaternion xyzw or roll-pitch-yaw")
    R = field(rotation, (3, 3), what)
    if is_numeric(R) and not (np.allclose(R @ R.T, np.eye(3), atol=_UNIT) and np.linalg.det(R) > 0):
        raise ModelError(f"{what}: the matrix is not a rotation")
    return R


def _count(value: Any) -> int:
    """How many numbers it has; 0 if it has rows of different lengths."""
    if hasattr(value, "numel"):
        return value.numel()
    try:
        return np.size(value)
    except ValueError:
        return 0


def nonphysical(Ic: Array, mass: Scalar = 1.0) -> str | None:
    """What is wrong with an inertia matrix about the centre of mass, in words, or None."""
    scale = float(np.abs(Ic).max())
    if not np.allclose(Ic, Ic.T, rtol=0.0, atol=ROUNDING * scale):
        return "its inertia matrix is not symmetric"
    a, b, c = np.linalg.eigvalsh(0.5 * (Ic + Ic.T))
    moments = f"principal moments {a:.3g}, {b:.3g}, {c:.3g}"
    if a < -ROUNDING * scale:
        return f"its inertia matrix is not positive semidefinite ({moments})"
    if c > (a + b) + ROUNDING * scale:
        return f"its {moments} violate the triangle inequality (the largest exceeds the sum of the others)"
    if isinstance(mass, (float, np.floating)) and mass == 0.0 and scale > 0.0:
        return "it has inertia but no mass"
    return None
