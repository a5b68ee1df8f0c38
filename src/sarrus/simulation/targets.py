"""Where frames and the centre of mass are wanted, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import center_of_mass_constraint
from sarrus.model.fields import placement
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array


@dataclass(frozen=True)
class Targets:
    """Arrays (B, size), or (size,) for all; `names`: frames by position, frames by pose, axes of the centre of mass."""

    names: tuple[tuple[str, ...], tuple[str, ...], str]
    values: dict[str, Array]

    @property
    def sizes(self) -> dict[str, int]:
        return {name: x.shape[-1] for name, x in self.values.items()}

    def repeated(self, count: int) -> Targets:
        """One for each of so many."""
        each = {name: np.broadcast_to(x, (count, x.shape[-1])) for name, x in self.values.items()}
        return replace(self, values=each)

    def of(self, which: Array) -> Targets:
        """Those with these numbers."""
        return replace(self, values={name: x[which] for name, x in self.values.items()})


def as_targets(model: Model, targets: Mapping[str, Any], center_of_mass: Any, axes: str) -> Targets:
    """Checked: see `inverse_kinematics`."""
    if not isinstance(targets, Mapping):
        raise StateError(
            f"targets is {targets!r}: expected positions or poses by frame, as {{'hand': (0.4, 0.1, 0.8)}}"
        )
    points, poses, values = [], [], {}
    for name, target in targets.items():
        if model.frame(name).body == WORLD:
            raise StateError(f"target {name!r}: this frame is on the world, which does not move")
        position, rotation = _position_and_rotation(name, target)
        values[f"position {name}"] = position
        if rotation is None:
            points.append(name)
        else:
            poses.append(name)
            values[f"rotation {name}"] = rotation.reshape(*rotation.shape[:-2], 9)
    if center_of_mass is not None:
        center_of_mass_constraint(axes)  # are these axes?
        values["center of mass"] = _numbers("the centre of mass", center_of_mass, len(axes))
    if not values:
        raise StateError(
            "inverse_kinematics: there is no target. Give frames with positions or poses, or `center_of_mass`"
        )
    return Targets((tuple(points), tuple(poses), axes if center_of_mass is not None else ""), values)


def _position_and_rotation(name: str, target: Any) -> tuple[Array, Array | None]:
    what = f"target {name!r}"
    if isinstance(target, tuple) and len(target) == 2 and np.ndim(target[0]) >= 1:
        return _numbers(what, target[0], 3), _rotations(what, target[1])
    try:
        array = np.asarray(target, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape[-2:] == (4, 4) and array.ndim <= 3:
        if np.abs(array[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max() > 1e-9:
            raise StateError(f"{what}: the last row of a 4x4 pose is 0 0 0 1, got {array[..., 3, :].tolist()}")
        return _numbers(what, array[..., :3, 3], 3), _rotations(what, array[..., :3, :3])
    return _numbers(what, target, 3), None


def _rotations(what: str, value: Any) -> Array:
    """(3, 3) or (B, 3, 3), of matrices, quaternions or roll-pitch-yaw."""
    array = np.asarray(value, dtype=float)
    single = array.shape in ((3, 3), (4,), (3,))
    each = [placement((0.0, 0.0, 0.0), x, what).R for x in ([array] if single else array)]
    return each[0] if single else np.stack(each)


def _numbers(what: str, value: Any, size: int) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros((0, 0, 0))
    if array.shape[-1:] != (size,) or array.ndim > 2 or not np.isfinite(array).all():
        raise StateError(f"{what} is {value!r}: expected {size} finite numbers, or (B, {size})")
    return array
