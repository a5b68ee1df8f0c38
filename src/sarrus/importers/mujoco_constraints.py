"""MuJoCo's equalities and tendons to declared constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.importers.names import first_free, free_name
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Constraint, Coupling, LoopClosure, Tendon
from sarrus.spatial.rotations import rotation_from_quaternion

_DEFAULT_SOLREF = (0.02, 1.0)
_DEFAULT_SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
_PROPERTIES = (
    "stiffness", "damping", "frictionloss", "armature", "lengthspring", "limited", "range", "actfrclimited",
    "actfrcrange",
)  # fmt: skip

_ACTING = ("stiffness", "damping", "frictionloss", "armature", "limited")
_DISABLED = {"stiffness": "SPRING", "damping": "DAMPER", "frictionloss": "FRICTIONLOSS", "limited": "LIMIT"}

Terms = tuple[tuple[str, float], ...]


def add_constraints(
    mj: Any, builder: ModelBuilder, bodies: Sequence[str], joints: Sequence[str], sites: dict[int, str]
) -> None:
    """Fixed tendons become `Tendon`, equalities `LoopClosure` or `Coupling`; what has no counterpart is reported."""
    import mujoco

    eq, obj = mujoco.mjtEq, mujoco.mjtObj
    names: set[str] = set()

    def name_of(kind: Any, index: int, default: str) -> str:
        name = first_free(mujoco.mj_id2name(mj, kind, index) or default, names.__contains__)
        names.add(name)
        return name

    tendons = fixed_tendons(mj, joints)
    for k, terms in tendons.items():
        name = name_of(obj.mjOBJ_TENDON, k, f"tendon_{k}")
        properties = {key: np.array(_tendon(mj, key, k)).tolist() for key in _PROPERTIES}
        for key, flag in _DISABLED.items():
            if disabled(mj, flag):
                properties[key] = 0
        builder.add_constraint(Tendon(name, terms, tuple(properties.items()), source="MJCF tendon/fixed"))
        if properties["armature"]:
            builder.report(f"tendon {name!r}: armature {properties['armature']:g}: not represented", lost=True)
        if np.any(_tendon(mj, "dampingpoly", k)) or np.any(_tendon(mj, "stiffnesspoly", k)):
            builder.report(f"tendon {name!r}: nonlinear damping or spring: only its linear part is kept", lost=True)
    spatial = [k for k in range(mj.ntendon) if k not in tendons]
    if spatial:
        acting = any(np.any(_tendon(mj, key, k)) for k in spatial for key in _ACTING)
        builder.report(f"{len(spatial)} spatial tendons: not represented", lost=acting)

    home = {name: float(mj.qpos0[mj.jnt_qposadr[k]]) for k, name in enumerate(joints)}
    soft, off = 0, disabled(mj, "EQUALITY")
    for k in range(mj.neq):
        kind = eq(mj.eq_type[k])
        tag = kind.name.removeprefix("mjEQ_").lower()
        name = name_of(obj.mjOBJ_EQUALITY, k, f"{tag}_{k}")
        first, second, data = int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k]), mj.eq_data[k]
        made: Constraint | None = None
        declared: dict[str, Any] = {"source": f"MJCF equality/{tag}", "active": bool(mj.eq_active0[k]) and not off}
        if kind in (eq.mjEQ_CONNECT, eq.mjEQ_WELD):
            if mj.eq_objtype[k] == obj.mjOBJ_SITE:
                frames = [sites[first], sites[second]]
            else:
                frames = _body_frames(builder, name, [bodies[first], bodies[second]], data, kind == eq.mjEQ_WELD)
            made = LoopClosure(name, frames[0], frames[1], tag, **declared)
            if kind == eq.mjEQ_WELD and data[10] != 1.0:
                builder.report(f"equality {name!r}: torquescale {data[10]:g}: not represented", lost=True)
        elif kind == eq.mjEQ_JOINT:
            driver = joints[second] if second >= 0 else None
            made = _coupling(name, ((joints[first], 1.0),), driver, data[:5], home, declared)
        elif kind == eq.mjEQ_TENDON and first in tendons and (second < 0 or second in tendons):
            made = _tendon_coupling(name, tendons[first], tendons.get(second, ()), data[:5], home, declared)
        if made is None:
            builder.report(f"equality {name!r} ({tag}): not represented", lost=declared["active"])
            continue
        builder.add_constraint(made)
        soft += not (np.allclose(mj.eq_solref[k], _DEFAULT_SOLREF) and np.allclose(mj.eq_solimp[k], _DEFAULT_SOLIMP))
    if soft:
        builder.report(f"{soft} equalities with their own solref or solimp (softness): not represented")


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


def _tendon(mj: Any, key: str, k: int) -> Any:
    """A number, or several, of a tendon; 0 where this version of MuJoCo has none."""
    field = getattr(mj, f"tendon_{key}", None)
    return 0 if field is None else field[k]


def fixed_tendons(mj: Any, joints: Sequence[str]) -> dict[int, Terms]:
    """Per tendon that is a sum of joint positions: (joint, coefficient)."""
    import mujoco

    found = {}
    for k in range(mj.ntendon):
        wraps = range(mj.tendon_adr[k], mj.tendon_adr[k] + mj.tendon_num[k])
        if all(mj.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT for w in wraps):
            found[k] = tuple((joints[mj.wrap_objid[w]], float(mj.wrap_prm[w])) for w in wraps)
    return found


def _body_frames(builder: ModelBuilder, name: str, bodies: list[str], data: Any, weld: bool) -> list[str]:
    """The two frames that an equality between bodies makes coincide."""
    rotation = None
    if weld:  # MuJoCo: first the anchor in body 2, then the pose of body 2 in body 1
        positions = [data[3:6].copy(), data[0:3].copy()]
        w, x, y, z = data[6:10] / np.linalg.norm(data[6:10])
        rotation = rotation_from_quaternion(np.array([x, y, z, w]))
    else:
        positions = [data[0:3].copy(), data[3:6].copy()]
    frames = []
    for side, body, position, R in zip("ab", bodies, positions, (rotation, None), strict=True):
        frames.append(free_name(builder, f"{name}_{side}"))
        builder.add_frame(frames[-1], body, position=position, rotation=R)
    return frames


def _coupling(
    name: str, ratios: Terms, driver: str | None, polynomial: Any, home: dict[str, float], declared: dict[str, Any]
) -> Coupling:
    """Positions are measured from the pose in the file, as MuJoCo does."""
    coefficients = tuple(float(x) for x in np.trim_zeros(polynomial, "b")) or (0.0,)
    if driver is None:
        coefficients = coefficients[:1]
    involved = dict.fromkeys([joint for joint, _ in ratios] + ([driver] if driver else []))
    references = tuple((joint, home[joint]) for joint in involved if home[joint] != 0.0)
    return Coupling(name, ratios, driver, coefficients, references, **declared)


def _tendon_coupling(
    name: str, first: Terms, second: Terms, polynomial: Any, home: dict[str, float], declared: dict[str, Any]
) -> Coupling | None:
    """length 1 = polynomial(length 2): of one joint if the second tendon has one, or linear; else None."""
    if len(second) == 1:
        (driver, scale), powers = second[0], np.arange(len(polynomial))
        return _coupling(name, first, driver, polynomial * scale**powers, home, declared)
    if second and np.any(polynomial[2:]):
        return None
    ratios = dict(first)
    for joint, coefficient in second:
        ratios[joint] = ratios.get(joint, 0.0) - float(polynomial[1]) * coefficient
    return _coupling(name, tuple(ratios.items()), None, polynomial[:1], home, declared)
