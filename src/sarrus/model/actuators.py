"""Motors as data: what a control does to joints.

An actuator pulls on a length l, which is its gear times a sum of joint positions, with MuJoCo's affine force:

    f     = clamp(gain . (1, l, l') clamp(u, control_range) + bias . (1, l, l'), force_range)
    tau_k = gear coefficient_k f

A motor has a gain of one number, a position servo gain kp and bias (0, -kp, -kv), a velocity servo gain kv and bias
(0, 0, -kv). Nothing here is part of `Model.digest`: what compiles actuators in takes them as an option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.errors import ModelError

Range = tuple[float, float]
Three = tuple[float, float, float]
UNLIMITED: Range = (-np.inf, np.inf)


@dataclass(frozen=True)
class Actuator:
    """A motor or servo; `joints` are pairs (name, coefficient). `ModelBuilder.add_actuator` creates one.

    >>> sarrus.Actuator("motor", (("hip", 1.0),), gear=6.0).gear
    6.0
    """

    name: str  # unique in the model
    joints: tuple[tuple[str, float], ...]  # names and coefficients: its length is their sum, times the gear
    gear: float = 1.0  # lengths per joint coordinate
    gain: Three = (1.0, 0.0, 0.0)  # force per control: a constant, per length, per speed
    bias: Three = (0.0, 0.0, 0.0)  # force without control: a constant, per length, per speed
    control_range: Range = UNLIMITED  # least and largest control
    force_range: Range = UNLIMITED  # least and largest force: N m, N

    @property
    def joint(self) -> str:
        """What it acts on, in words: the joint's name, or a sum."""
        if len(self.joints) == 1 and self.joints[0][1] == 1.0:
            return self.joints[0][0]
        return " ".join(f"{coefficient:+.4g} {name}" for name, coefficient in self.joints)

    @property
    def kind(self) -> str:
        """In a word: motor, position, velocity, damper or general: what its numbers make it."""
        g, b = self.gain, self.bias
        if g[1] == g[2] == 0.0:
            if not any(b):
                return "motor"
            if b[0] == 0.0 and b[1] == -g[0]:
                return "position"
            if b[0] == b[1] == 0.0 and b[2] == -g[0]:
                return "velocity"
        return "damper" if g[0] == g[1] == 0.0 and not any(b) else "general"

    @property
    def has_force_range(self) -> bool:
        """Whether its force is limited."""
        return bool(np.isfinite(self.force_range).any())


def actuator(
    name: str,
    joint: str | Mapping[str, float],
    *,
    gear: float = 1.0,
    gain: Any = 1.0,
    bias: Any = (0.0, 0.0, 0.0),
    control_range: Any = None,
    force_range: Any = None,
) -> Actuator:
    """An actuator with checked numbers: see `ModelBuilder.add_actuator`."""
    terms = {joint: 1.0} if isinstance(joint, str) else dict(joint)
    what = f"actuator {name!r}"
    if not terms:
        raise ModelError(f"{what} does not act on any joint")
    return Actuator(
        name,
        tuple((x, _numbers(f"coefficient of joint {x!r}", what, c, 1)[0]) for x, c in terms.items()),
        _numbers("gear", what, gear, 1)[0],
        _three("gain", what, gain),
        _three("bias", what, bias),
        _range("control_range", what, control_range),
        _range("force_range", what, force_range),
    )


def actuated_joints(actuators: Iterable[Actuator]) -> frozenset[str]:
    """Names of the joints that some actuator acts on."""
    return frozenset(name for found in actuators for name, _ in found.joints)


def _numbers(key: str, what: str, value: Any, count: int, finite: bool = True) -> tuple[float, ...]:
    try:
        array = np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if len(array) != count or np.isnan(array).any() or (finite and not np.isfinite(array).all()):
        expected = "a number" if count == 1 else f"{count} numbers"
        raise ModelError(f"{key} of {what} is {value!r}: expected {expected}")
    return tuple(array.tolist())


def _three(key: str, what: str, value: Any) -> Three:
    a, b, c = _numbers(key, what, [value, 0.0, 0.0] if np.ndim(value) == 0 else value, 3)
    return (a, b, c)


def _range(key: str, what: str, value: Any) -> Range:
    if value is None:
        return UNLIMITED
    low, high = _numbers(key, what, value, 2, finite=False)
    if low > high:
        raise ModelError(f"{key} of {what}: {low:g} exceeds {high:g}")
    return (low, high)
