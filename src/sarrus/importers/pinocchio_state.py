"""Pinocchio's states. They are Sarrus' but for two joints: it writes an unbounded angle as cosine and sine.

Velocities, forces and accelerations are the same numbers in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.spatial.arrays import Array

_ANGLE_AT = {"continuous": 0, "planar": 2}  # where in a joint's q the angle is that Pinocchio writes as two numbers


def to_pinocchio_configuration(model: Model, q: Any) -> Array:
    """Pinocchio's q of the model that was, or could have been, imported. Arrays (n,) or (B, n)."""
    q = check_configuration(model, q)
    parts = []
    for body, s in zip(model.bodies, model.layout.q, strict=True):
        part = q[..., s]
        at = _ANGLE_AT.get(body.joint.type.name)
        if at is not None:
            part = np.concatenate([part[..., :at], np.cos(part[..., at:]), np.sin(part[..., at:])], axis=-1)
        parts.append(part)
    return np.concatenate([q[..., :0], *parts], axis=-1)


def from_pinocchio_configuration(model: Model, q: Any) -> Array:
    """q from Pinocchio's q; unbounded angles are in (-pi, pi]. Arrays (n,) or (B, n)."""
    widths = [b.joint.type.nq + (b.joint.type.name in _ANGLE_AT) for b in model.bodies]
    q = as_state_array("q", q, sum(widths))
    parts, start = [], 0
    for body, width in zip(model.bodies, widths, strict=True):
        part, start = q[..., start : start + width], start + width
        at = _ANGLE_AT.get(body.joint.type.name)
        if at is not None:
            angle = np.arctan2(part[..., at + 1 :], part[..., at : at + 1])
            part = np.concatenate([part[..., :at], angle], axis=-1)
        parts.append(part)
    return check_configuration(model, np.concatenate([q[..., :0], *parts], axis=-1))
