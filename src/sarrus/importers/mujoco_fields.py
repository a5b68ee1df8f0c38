"""What is asked of a compiled MuJoCo model everywhere: names, flags, quaternions, fields that not all versions have."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import rotation_from_quaternion


def name_of(mj: Any, kind: str, k: int) -> str:
    """The name of a BODY, JOINT, ACTUATOR, ...; empty if it has none."""
    import mujoco

    return mujoco.mj_id2name(mj, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), k) or ""


def field_of(mj: Any, field: str, k: int) -> Any:
    """Element k of a field; 0 where this version of MuJoCo has no such field."""
    values = getattr(mj, field, None)
    return 0 if values is None else values[k]


def word(value: Any) -> str:
    """What one of MuJoCo's enumerated values is called in a file: mjGAIN_AFFINE is "affine"."""
    return value.name.partition("_")[2].lower()


def disabled(mj: Any, part: str) -> bool:
    """Whether the file's `<flag>` turns a kind of force off: SPRING, DAMPER, FRICTIONLOSS, LIMIT, EQUALITY, ..."""
    import mujoco

    names = [part]
    if part in ("FRICTIONLOSS", "LIMIT", "EQUALITY"):
        names.append("CONSTRAINT")
    if part in ("SPRING", "DAMPER"):
        names.append("PASSIVE")  # in older versions, both
    bits = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}", 0) for name in names)
    return any(int(mj.opt.disableflags) & int(bit) for bit in bits)


def rotation_from_wxyz(quaternion: Array) -> Array:
    """The rotation matrix of a quaternion in MuJoCo's order, of any length."""
    w, x, y, z = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    return rotation_from_quaternion(np.array([x, y, z, w]))
