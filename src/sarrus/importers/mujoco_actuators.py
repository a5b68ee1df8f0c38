"""MuJoCo's actuators: those whose force is an affine function of length, speed and control become `Actuator`s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.importers.mujoco_constraints import fixed_tendons
from sarrus.importers.names import first_free, some
from sarrus.model.builder import ModelBuilder

_TRANSMISSIONS = {
    "SLIDERCRANK": "a slider-crank", "SITE": "a site", "BODY": "a body's contacts", "SO3": "a rotation",
    "UNDEFINED": "nothing",
}  # fmt: skip


def add_actuators(mj: Any, builder: ModelBuilder, joints: Sequence[str]) -> None:
    """Motors and servos on hinges, slides and fixed tendons; the others are reported with the reason."""
    import mujoco

    tendons = fixed_tendons(mj, joints)
    off = int(mj.opt.disableflags)
    cut = not off & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    dropped: dict[str, list[str]] = {}
    added: list[str] = []
    names: set[str] = set()
    for k in range(getattr(mj, "nactuator", mj.nu)):  # newer versions have actuators with several controls
        given = mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_ACTUATOR, k)
        name = first_free(given or f"actuator_{k}", names.__contains__)
        names.add(name)
        acts_on = _joints(mj, k, joints, tendons)
        reason = acts_on if isinstance(acts_on, str) else _not_affine(mj, k)
        if reason:
            dropped.setdefault(reason, []).append(name)
            continue
        assert not isinstance(acts_on, str)
        affine_gain = mujoco.mjtGain(mj.actuator_gaintype[k]) == mujoco.mjtGain.mjGAIN_AFFINE
        has_bias = mujoco.mjtBias(mj.actuator_biastype[k]) == mujoco.mjtBias.mjBIAS_AFFINE
        on_tendon = mujoco.mjtTrn(mj.actuator_trntype[k]) == mujoco.mjtTrn.mjTRN_TENDON
        builder.add_actuator(
            name,
            acts_on,
            gear=float(mj.actuator_gear[k, 0]),
            gain=mj.actuator_gainprm[k, :3] if affine_gain else mj.actuator_gainprm[k, 0],
            bias=mj.actuator_biasprm[k, :3] if has_bias else 0.0,
            control_range=mj.actuator_ctrlrange[k] if mj.actuator_ctrllimited[k] and cut else None,
            force_range=mj.actuator_forcerange[k] if mj.actuator_forcelimited[k] else None,
        )
        added.append(name)
        if _own(mj, "damping", k) or _own(mj, "dampingpoly", k) or _own(mj, "armature", k):
            builder.report(f"actuator {name!r}: damping and armature of its own: not represented", lost=True)
        if on_tendon and mj.tendon_actfrclimited[mj.actuator_trnid[k, 0]]:
            builder.report(f"actuator {name!r}: the force range of its tendon: not represented", lost=True)
    for reason, which in dropped.items():
        builder.report(f"{len(which)} actuators {reason} ({some(which)}): not represented", lost=True)
    groups = _own(mj.opt, "disableactuator", None)
    if added and (off & mujoco.mjtDisableBit.mjDSBL_ACTUATION or groups):
        builder.report(
            "the file disables actuators: not represented; all of them follow controls that are given", lost=True
        )


def _joints(mj: Any, k: int, joints: Sequence[str], tendons: dict[int, Any]) -> dict[str, float] | str:
    """The joints that actuator k acts on with their coefficients; or why that cannot be said so."""
    import mujoco

    trn, jnt = mujoco.mjtTrn, mujoco.mjtJoint
    kind, which = trn(mj.actuator_trntype[k]), int(mj.actuator_trnid[k, 0])
    if kind == trn.mjTRN_TENDON:
        if which not in tendons:
            return "on spatial tendons"
        total: dict[str, float] = {}
        for joint, coefficient in tendons[which]:
            total[joint] = total.get(joint, 0.0) + coefficient
        return total
    if kind not in (trn.mjTRN_JOINT, trn.mjTRN_JOINTINPARENT):
        tag = kind.name.removeprefix("mjTRN_")
        return f"on {_TRANSMISSIONS.get(tag, tag.lower())}"
    if jnt(mj.jnt_type[which]) not in (jnt.mjJNT_HINGE, jnt.mjJNT_SLIDE):
        return "on a ball or free joint"
    return {joints[which]: 1.0}


def _not_affine(mj: Any, k: int) -> str:
    """What makes the force of actuator k more than an affine function, or an empty string."""
    import mujoco

    dynamics = mujoco.mjtDyn(mj.actuator_dyntype[k])
    if dynamics != mujoco.mjtDyn.mjDYN_NONE:
        return f"with activation dynamics ({dynamics.name.removeprefix('mjDYN_').lower()})"
    gain, bias = mujoco.mjtGain(mj.actuator_gaintype[k]), mujoco.mjtBias(mj.actuator_biastype[k])
    if gain not in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE):
        return f"with a {gain.name.removeprefix('mjGAIN_').lower()} gain"
    if bias not in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE):
        return f"with a {bias.name.removeprefix('mjBIAS_').lower()} bias"
    if mj.actuator_plugin[k] >= 0:
        return "of a plugin"
    return "with a delay" if _own(mj, "delay", k) else ""


def _own(mj: Any, key: str, k: int | None) -> bool:
    """Whether there is something other than zero in a field that older versions of MuJoCo do not have."""
    field = getattr(mj, key, None) if k is None else getattr(mj, f"actuator_{key}", None)
    return field is not None and bool(np.any(field if k is None else field[k]))
