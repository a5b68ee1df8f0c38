"""MuJoCo's keyframes, as a file has them: they may not fit the robot that is loaded, if its base was freed or fixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.importers.mujoco_fields import name_of
from sarrus.importers.mujoco_state import from_mujoco_state
from sarrus.importers.names import Names
from sarrus.model.keyframes import Keyframe, Keyframes
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array


class Key(NamedTuple):
    """A keyframe in MuJoCo's numbers; what has no elements is MuJoCo's default."""

    name: str
    time: float
    qpos: Array
    qvel: Array
    controls: Array


def keys_of_specification(spec: Any) -> list[Key]:
    """Before compiling, which refuses those that do not fit."""
    return [
        Key(key.name, float(key.time), *(np.array(list(x), float) for x in (key.qpos, key.qvel, key.ctrl)))
        for key in spec.keys
    ]


def keys_of_model(mj: Any) -> list[Key]:
    return [
        Key(name_of(mj, "KEY", k), float(mj.key_time[k]), mj.key_qpos[k], mj.key_qvel[k], mj.key_ctrl[k])
        for k in range(mj.nkey)
    ]


def fitting(mj: Any, keys: Iterable[Key]) -> list[Key]:
    """Those of the model's sizes, with finite numbers."""
    return [
        key for key in keys
        if len(key.qpos) in (0, mj.nq) and len(key.qvel) in (0, mj.nv) and len(key.controls) in (0, mj.nu)
        and all(np.isfinite(x).all() for x in (key.time, key.qpos, key.qvel, key.controls))
    ]  # fmt: skip


def keyframes(model: Model, mj: Any, keys: Iterable[Key], kept: Sequence[int]) -> Keyframes:
    """Keyframes of the model. kept: which of MuJoCo's controls are those of the model's actuators."""
    import mujoco

    keys = list(keys)
    names = Names(key.name for key in keys)
    found = {}
    for k, key in enumerate(keys):
        qpos = np.array(key.qpos if len(key.qpos) else mj.qpos0)
        mujoco.mj_normalizeQuat(mj, qpos)
        q, v = from_mujoco_state(model, qpos, key.qvel if len(key.qvel) else np.zeros(mj.nv))
        controls = (key.controls if len(key.controls) else np.zeros(mj.nu))[list(kept)]
        found[key.name or names.claim(f"keyframe_{k}")] = Keyframe(q, v, controls, key.time)
    return Keyframes(found)
