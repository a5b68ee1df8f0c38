"""MuJoCo's states. It writes quaternions w x y z and the linear velocity of a free joint in the world's axes.

Joints are in the same order, and hinges and slides have the same numbers (`ref` included), in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import conjugate, rotate_by_quaternion

_JOINTS = ("revolute", "continuous", "prismatic", "spherical", "free")


def to_mujoco_state(model: Model, q: Any, v: Any) -> tuple[Array, Array]:
    """(qpos, qvel) of MuJoCo from (q, v). Arrays (n,) or (B, n)."""
    qpos = _reordered(model, check_configuration(model, q), [3, 0, 1, 2])
    return qpos, _turned(model, as_state_array("v", v, model.nv), qpos, lambda quaternion: quaternion)


def from_mujoco_state(model: Model, qpos: Any, qvel: Any) -> tuple[Array, Array]:
    """(q, v) from MuJoCo's (qpos, qvel). Arrays (n,) or (B, n)."""
    qpos = as_state_array("qpos", qpos, model.nq)
    q = check_configuration(model, _reordered(model, qpos, [1, 2, 3, 0]))
    return q, _turned(model, as_state_array("qvel", qvel, model.nv), qpos, conjugate)


def _reordered(model: Model, q: Array, order: list[int]) -> Array:
    """The quaternions' elements in another order."""
    for joint in (body.joint for body in model.bodies):
        if joint.type.name not in _JOINTS:
            valid = ", ".join(_JOINTS)
            raise UnsupportedError(f"joint {joint.name!r} is {joint.type.name}: MuJoCo's joints are {valid}")
    out = q.copy()
    for _, start in model.layout.quaternions:
        out[..., start : start + 4] = q[..., start : start + 4][..., order]
    return out


def _turned(model: Model, v: Array, qpos: Array, direction: Callable[[Array], Array]) -> Array:
    """The linear velocities of free joints, turned by the quaternions in qpos (w x y z) or against them."""
    batch = np.broadcast_shapes(v.shape[:-1], qpos.shape[:-1])
    out = np.broadcast_to(v, (*batch, model.nv)).copy()
    for body, sq, sv in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        if body.joint.type.name == "free":
            quaternion = direction(qpos[..., sq][..., [4, 5, 6, 3]])
            linear = slice(sv.start, sv.start + 3)
            out[..., linear] = rotate_by_quaternion(quaternion, v[..., linear])
    return out
