"""A joint from what a user says about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import ModelError, unknown_name
from sarrus.model.bodies import Joint
from sarrus.model.fields import LARGEST, ROUNDING, field
from sarrus.model.joints import JOINT_TYPES, AbstractJointType, Helical
from sarrus.spatial.arrays import Array, Scalar, as_field, is_numeric
from sarrus.spatial.product import direction

FIXED = "fixed"
_PROPERTIES = ("armature", "damping", "friction", "stiffness")  # one number per velocity, like the limits of it
_LIMITS = ("velocity_limit", "effort_limit")
_VALID = (*_PROPERTIES, *_LIMITS, "effort_lower", "lower", "upper", "rest", "independent")


def make_joint(
    name: str, kind: str, axis: Any, second_axis: Any, pitch: Scalar, carried: dict[str, Any]
) -> Joint | None:
    """A joint with checked numbers: see `ModelBuilder.add_body`. None: it is fixed."""
    if kind == FIXED:
        return None
    if kind not in JOINT_TYPES:
        raise unknown_name(f"type of joint {name!r}:", kind, [FIXED, *JOINT_TYPES])
    for key in carried:
        if key not in _VALID:
            raise unknown_name(f"property of joint {name!r}:", key, _VALID)
    joint = Helical(field(pitch, (1,), f"pitch of joint {name!r}")[0]) if kind == "helical" else JOINT_TYPES[kind]()

    def numbers(key: str, size: int, default: Any) -> Array:
        return _numbers(carried.get(key, default), size, f"{key} of joint {name!r}")

    per_velocity = {key: numbers(key, joint.nv, 0.0) for key in _PROPERTIES}
    per_velocity |= {key: numbers(key, joint.nv, np.inf) for key in _LIMITS}
    for key, values in per_velocity.items():
        if is_numeric(values):
            _check_size(f"{key} of joint {name!r}", values, may_be_infinite=key in _LIMITS)
    lower, upper = numbers("lower", joint.nq, -np.inf), numbers("upper", joint.nq, np.inf)
    if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
        raise ModelError(f"limits of joint {name!r}: lower {lower.tolist()} exceeds upper {upper.tolist()}")
    if (lower > LARGEST).any() or (upper < -LARGEST).any():
        raise ModelError(f"limits of joint {name!r}: between them are only numbers beyond {LARGEST:g}")
    least = numbers("effort_lower", joint.nv, 0.0) if carried.get("effort_lower") is not None else None
    if least is not None and not (least <= per_velocity["effort_limit"]).all():
        limit = per_velocity["effort_limit"].tolist()
        raise ModelError(f"effort_lower of joint {name!r} is {least.tolist()}: it exceeds effort_limit {limit}")
    return Joint(
        name, joint, _axes(name, joint, axis, second_axis), rest=numbers("rest", joint.nq, joint.neutral()),
        lower=lower, upper=upper, independent=carried.get("independent"), effort_lower=least, **per_velocity,
    )  # fmt: skip


def _numbers(value: Any, size: int, what: str) -> Array:
    """One number for all, or an array."""
    try:
        return as_field(np.full(size, float(value)) if isinstance(value, (int, float)) else value, (size,))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what}: expected {size} numbers: {error}") from None


def _check_size(what: str, values: Array, may_be_infinite: bool) -> None:
    said = f"{what} is {values.tolist()}"
    if not (values >= 0.0).all():
        raise ModelError(f"{said}: it must not be negative")
    if not may_be_infinite and not np.isfinite(values).all():
        raise ModelError(f"{said}: it must be finite")
    if not may_be_infinite and (values > LARGEST).any():
        raise ModelError(f"{said}: numbers beyond {LARGEST:g} are not supported")


def _axes(name: str, joint: AbstractJointType, axis: Any, second_axis: Any) -> tuple[Array, ...]:
    if joint.n_axes == 0:
        return ()
    if joint.n_axes == 1:
        return (_unit(name, (0.0, 0.0, 1.0) if axis is None else axis),)
    first = _unit(name, (1.0, 0.0, 0.0) if axis is None else axis)
    second = _unit(name, (0.0, 1.0, 0.0) if second_axis is None else second_axis)
    if abs(first @ second) > ROUNDING:
        raise ModelError(
            f"joint {name!r}: the axes of a universal joint are perpendicular, but {first.tolist()} and "
            f"{second.tolist()} are not. Use two revolute joints with a massless body between them"
        )
    return (first, second)


def _unit(name: str, axis: Any) -> Array:
    try:
        array = np.array(axis, dtype=float).reshape(3)
    except (TypeError, ValueError):
        raise ModelError(
            f"joint {name!r}: an axis is three numbers, got {axis!r} (a symbolic direction goes into `rotation`)"
        ) from None
    longest = float(np.abs(array).max())
    if not np.isfinite(longest) or longest == 0.0:
        raise ModelError(f"joint {name!r}: the axis {array.tolist()} has no direction")
    return direction(array / longest)  # squares of tiny and of huge numbers are not exact, or not finite
