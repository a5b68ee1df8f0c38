"""MuJoCo's names that Sarrus uses. Its modules are compiled and ship no types: a name not written here is an error."""

from typing import Any

class _Enumerated:
    """One of MuJoCo's C enumerations; made from its number."""

    name: str
    value: int
    def __init__(self, value: int) -> None: ...
    def __int__(self) -> int: ...

class mjtBias(_Enumerated):
    mjBIAS_AFFINE: mjtBias

class mjtDisableBit(_Enumerated):
    mjDSBL_ACTUATION: int  # joined by |, which gives an int
    mjDSBL_CONSTRAINT: int
    mjDSBL_CONTACT: int
    mjDSBL_GRAVITY: int

class mjtDyn(_Enumerated): ...

class mjtEnableBit(_Enumerated):
    mjENBL_OVERRIDE: int

class mjtEq(_Enumerated): ...

class mjtGain(_Enumerated):
    mjGAIN_AFFINE: mjtGain

class mjtGeom(_Enumerated): ...

class mjtJoint(_Enumerated):
    mjJNT_FREE: mjtJoint
    mjJNT_HINGE: mjtJoint
    mjJNT_SLIDE: mjtJoint

class mjtObj(_Enumerated):
    mjOBJ_SITE: mjtObj

class mjtTrn(_Enumerated):
    mjTRN_JOINT: mjtTrn
    mjTRN_JOINTINPARENT: mjtTrn
    mjTRN_TENDON: mjtTrn

class mjtWrap(_Enumerated):
    mjWRAP_JOINT: mjtWrap

class MjModel:
    """Hundreds of arrays, different from version to version: `importers/mujoco_fields.py` asks for them by name."""

    def __getattr__(self, name: str) -> Any: ...

class MjData:
    qpos: Any
    qvel: Any
    qacc: Any
    qfrc_applied: Any
    def __init__(self, model: MjModel) -> None: ...

class MjOption: ...

def mj_forward(m: MjModel, d: MjData) -> None: ...
def mj_normalizeQuat(m: MjModel, qpos: Any) -> None: ...
def mj_id2name(m: MjModel, type: int | mjtObj, id: int) -> str | None: ...
