"""MuJoCo's equalities and tendons to declared constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.importers.mujoco_fields import disabled, field_of, name_of, rotation_from_wxyz, word
from sarrus.importers.names import Names, first_free
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Coupling, LoopClosure, Tendon

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
    names, tendons = Names(), fixed_tendons(mj, joints)
    _add_tendons(mj, builder, names, tendons)
    home = {joint: float(mj.qpos0[mj.jnt_qposadr[k]]) for k, joint in enumerate(joints)}
    soft, off = 0, disabled(mj, "EQUALITY")
    for k in range(mj.neq):
        tag = _tag(mj, k)
        name = names.claim(name_of(mj, "EQUALITY", k) or f"{tag}_{k}")
        declared: dict[str, Any] = {"source": f"MJCF equality/{tag}", "active": bool(mj.eq_active0[k]) and not off}
        if tag in ("connect", "weld"):
            made = _closure(mj, k, builder, name, bodies, sites, declared)
        else:
            made = _coupling_of(mj, k, name, joints, tendons, home, declared)
        if made is None:
            builder.report(f"equality {name!r} ({tag}): not represented", lost=declared["active"])
            continue
        builder.add_constraint(made)
        soft += not (np.allclose(mj.eq_solref[k], _DEFAULT_SOLREF) and np.allclose(mj.eq_solimp[k], _DEFAULT_SOLIMP))
    if soft:
        builder.report(f"{soft} equalities with their own solref or solimp (softness): not represented")


def _tag(mj: Any, k: int) -> str:
    import mujoco

    return word(mujoco.mjtEq(mj.eq_type[k]))


def _add_tendons(mj: Any, builder: ModelBuilder, names: Names, tendons: dict[int, Terms]) -> None:
    for k, terms in tendons.items():
        name = names.claim(name_of(mj, "TENDON", k) or f"tendon_{k}")
        properties = {key: np.array(field_of(mj, f"tendon_{key}", k)).tolist() for key in _PROPERTIES}
        for key, flag in _DISABLED.items():
            if disabled(mj, flag):
                properties[key] = 0
        builder.add_constraint(Tendon(name, terms, tuple(properties.items()), source="MJCF tendon/fixed"))
        if properties["armature"]:
            builder.report(f"tendon {name!r}: armature {properties['armature']:g}: not represented", lost=True)
        if any(np.any(field_of(mj, f"tendon_{key}", k)) for key in ("dampingpoly", "stiffnesspoly")):
            builder.report(f"tendon {name!r}: nonlinear damping or spring: only its linear part is kept", lost=True)
    left_out: dict[str, list[int]] = {}
    for k in range(mj.ntendon):
        if k not in tendons:
            left_out.setdefault(other_tendon(mj, k), []).append(k)
    for what, which in left_out.items():
        acting = any(np.any(field_of(mj, f"tendon_{key}", k)) for k in which for key in _ACTING)
        builder.report(f"{len(which)} {what}: not represented", lost=acting)


def fixed_tendons(mj: Any, joints: Sequence[str]) -> dict[int, Terms]:
    """Per tendon that is a sum of positions of hinges and slides: (joint, coefficient)."""
    found = {}
    for k in range(mj.ntendon):
        if not other_tendon(mj, k):
            found[k] = tuple((joints[mj.wrap_objid[w]], float(mj.wrap_prm[w])) for w in _wraps(mj, k))
    return found


def other_tendon(mj: Any, k: int) -> str:
    """What tendon k is, if it is no sum of positions of hinges and slides."""
    import mujoco

    wrap, jnt = mujoco.mjtWrap, mujoco.mjtJoint
    if any(mj.wrap_type[w] != wrap.mjWRAP_JOINT for w in _wraps(mj, k)):
        return "spatial tendons"
    one_coordinate = (jnt.mjJNT_HINGE, jnt.mjJNT_SLIDE)
    if any(jnt(mj.jnt_type[mj.wrap_objid[w]]) not in one_coordinate for w in _wraps(mj, k)):
        return "tendons over ball or free joints"
    return ""


def _wraps(mj: Any, k: int) -> range:
    """What tendon k is made of."""
    return range(mj.tendon_adr[k], mj.tendon_adr[k] + mj.tendon_num[k])


def _closure(
    mj: Any, k: int, builder: ModelBuilder, name: str, bodies: Sequence[str], sites: dict[int, str], declared: Any
) -> LoopClosure:
    """Two sites that coincide, or frames on two bodies that are made for it."""
    import mujoco

    ends, data, weld = (int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k])), mj.eq_data[k], _tag(mj, k) == "weld"
    if weld and data[10] != 1.0:
        builder.report(f"equality {name!r}: torquescale {data[10]:g}: not represented", lost=True)
    if mj.eq_objtype[k] == mujoco.mjtObj.mjOBJ_SITE:
        return LoopClosure(name, sites[ends[0]], sites[ends[1]], _tag(mj, k), **declared)
    poses = [(data[0:3], None), (data[3:6], None)]
    if weld:  # MuJoCo: first the anchor in body 2, then the pose of body 2 in body 1
        poses = [(data[3:6], rotation_from_wxyz(data[6:10])), (data[0:3], None)]
    frames = []
    for side, body, (position, rotation) in zip("ab", ends, poses, strict=True):
        frames.append(first_free(f"{name}_{side}", builder.has_name))
        builder.add_frame(frames[-1], bodies[body], position=position, rotation=rotation)
    return LoopClosure(name, frames[0], frames[1], _tag(mj, k), **declared)


def _coupling_of(
    mj: Any, k: int, name: str, joints: Sequence[str], tendons: dict[int, Terms], home: dict[str, float], declared: Any
) -> Coupling | None:
    """A relation of joints, or of tendons; None: it is of another kind, or not one that can be said."""
    tag, first, second, polynomial = _tag(mj, k), int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k]), mj.eq_data[k, :5]
    if tag == "joint":
        driver = joints[second] if second >= 0 else None
        return _coupling(name, ((joints[first], 1.0),), driver, polynomial, home, declared)
    if tag == "tendon" and first in tendons and (second < 0 or second in tendons):
        return _tendon_coupling(name, tendons[first], tendons.get(second, ()), polynomial, home, declared)
    return None


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
