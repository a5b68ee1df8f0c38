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
        properties = tuple((key, np.array(getattr(mj, f"tendon_{key}")[k]).tolist()) for key in _PROPERTIES)
        builder.add_constraint(
            Tendon(name_of(obj.mjOBJ_TENDON, k, f"tendon_{k}"), terms, properties, source="MJCF tendon/fixed")
        )
    if mj.ntendon > len(tendons):
        builder.report(f"{mj.ntendon - len(tendons)} spatial tendons: not represented")

    home = {name: float(mj.qpos0[mj.jnt_qposadr[k]]) for k, name in enumerate(joints)}
    soft = 0
    for k in range(mj.neq):
        kind = eq(mj.eq_type[k])
        tag = kind.name.removeprefix("mjEQ_").lower()
        name = name_of(obj.mjOBJ_EQUALITY, k, f"{tag}_{k}")
        first, second, data = int(mj.eq_obj1id[k]), int(mj.eq_obj2id[k]), mj.eq_data[k]
        made: Constraint | None = None
        declared: dict[str, Any] = {"source": f"MJCF equality/{tag}", "active": bool(mj.eq_active0[k])}
        if kind in (eq.mjEQ_CONNECT, eq.mjEQ_WELD):
            if mj.eq_objtype[k] == obj.mjOBJ_SITE:
                frames = [sites[first], sites[second]]
            else:
                frames = _body_frames(builder, name, [bodies[first], bodies[second]], data, kind == eq.mjEQ_WELD)
            made = LoopClosure(name, frames[0], frames[1], tag, **declared)
            if kind == eq.mjEQ_WELD and data[10] != 1.0:
                builder.report(f"equality {name!r}: torquescale {data[10]:g}: not represented")
        elif kind == eq.mjEQ_JOINT:
            driver = joints[second] if second >= 0 else None
            made = _coupling(name, ((joints[first], 1.0),), driver, data[:5], home, declared)
        elif kind == eq.mjEQ_TENDON and first in tendons and (second < 0 or second in tendons):
            made = _tendon_coupling(name, tendons[first], tendons.get(second, ()), data[:5], home, declared)
        if made is None:
            builder.report(f"equality {name!r} ({tag}): not represented")
            continue
        builder.add_constraint(made)
        soft += not (np.allclose(mj.eq_solref[k], _DEFAULT_SOLREF) and np.allclose(mj.eq_solimp[k], _DEFAULT_SOLIMP))
    if soft:
        builder.report(f"{soft} equalities with their own solref or solimp (softness): not represented")


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
