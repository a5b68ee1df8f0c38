"""MuJoCo's actuators: those whose force is an affine function of length, speed and control become `Actuator`s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.errors import listed
from sarrus.importers.mujoco_constraints import fixed_tendons, other_tendon
from sarrus.importers.mujoco_fields import disabled, field_of, name_of, word
from sarrus.importers.names import Names
from sarrus.model.builder import ModelBuilder

_TRANSMISSIONS = {
    "slidercrank": "a slider-crank", "site": "a site", "body": "a body's contacts", "so3": "a rotation",
    "undefined": "nothing",
}  # fmt: skip


def add_actuators(mj: Any, builder: ModelBuilder, joints: Sequence[str]) -> list[int]:
    """Motors and servos on hinges, slides and fixed tendons; the others are reported with the reason.

    The result: which of MuJoCo's controls they take.
    """
    tendons = fixed_tendons(mj, joints)
    dropped: dict[str, list[str]] = {}
    kept = []
    count, names = getattr(mj, "nactuator", mj.nu), Names()  # newer versions have actuators with several controls
    for k in range(count):
        name = names.claim(name_of(mj, "ACTUATOR", k) or f"actuator_{k}")
        acts_on = _joints(mj, k, joints, tendons)
        reason = acts_on if isinstance(acts_on, str) else _not_affine(mj, k)
        if reason:
            dropped.setdefault(reason, []).append(name)
        else:
            builder.add_actuator(name, acts_on, **_numbers(mj, k))  # type: ignore[arg-type]
            _report_losses(mj, k, builder, name)
            kept.append(int(mj.actuator_ctrladr[k]) if hasattr(mj, "actuator_ctrladr") else k)
    for reason, which in dropped.items():
        builder.report(f"{len(which)} actuators {reason} ({listed(which)}): not represented", lost=True)
    off = disabled(mj, "ACTUATION") or np.any(getattr(mj.opt, "disableactuator", 0))
    if off and count > sum(map(len, dropped.values())):
        builder.report(
            "the file disables actuators: not represented; all of them follow controls that are given", lost=True
        )
    return kept


def _numbers(mj: Any, k: int) -> dict[str, Any]:
    """Arguments of `ModelBuilder.add_actuator`."""
    import mujoco

    affine_gain = mj.actuator_gaintype[k] == mujoco.mjtGain.mjGAIN_AFFINE
    has_bias = mj.actuator_biastype[k] == mujoco.mjtBias.mjBIAS_AFFINE
    clamped = mj.actuator_ctrllimited[k] and not disabled(mj, "CLAMPCTRL")
    return {
        "gear": float(mj.actuator_gear[k, 0]),
        "gain": mj.actuator_gainprm[k, :3] if affine_gain else mj.actuator_gainprm[k, 0],
        "bias": mj.actuator_biasprm[k, :3] if has_bias else 0.0,
        "control_range": mj.actuator_ctrlrange[k] if clamped else None,
        "force_range": mj.actuator_forcerange[k] if mj.actuator_forcelimited[k] else None,
    }


def _report_losses(mj: Any, k: int, builder: ModelBuilder, name: str) -> None:
    import mujoco

    if any(np.any(field_of(mj, f"actuator_{key}", k)) for key in ("damping", "dampingpoly", "armature")):
        builder.report(f"actuator {name!r}: damping and armature of its own: not represented", lost=True)
    on_tendon = mj.actuator_trntype[k] == mujoco.mjtTrn.mjTRN_TENDON
    if on_tendon and mj.tendon_actfrclimited[mj.actuator_trnid[k, 0]]:
        builder.report(f"actuator {name!r}: the force range of its tendon: not represented", lost=True)


def _joints(mj: Any, k: int, joints: Sequence[str], tendons: dict[int, Any]) -> dict[str, float] | str:
    """The joints that actuator k acts on with their coefficients; or why that cannot be said so."""
    import mujoco

    trn, jnt = mujoco.mjtTrn, mujoco.mjtJoint
    kind, which = trn(mj.actuator_trntype[k]), int(mj.actuator_trnid[k, 0])
    if kind == trn.mjTRN_TENDON:
        if which not in tendons:
            return f"on {other_tendon(mj, which)}"
        total: dict[str, float] = {}
        for joint, coefficient in tendons[which]:
            total[joint] = total.get(joint, 0.0) + coefficient
        return total
    if kind not in (trn.mjTRN_JOINT, trn.mjTRN_JOINTINPARENT):
        return f"on {_TRANSMISSIONS.get(word(kind), word(kind))}"
    if jnt(mj.jnt_type[which]) not in (jnt.mjJNT_HINGE, jnt.mjJNT_SLIDE):
        return "on a ball or free joint"
    return {joints[which]: 1.0}


def _not_affine(mj: Any, k: int) -> str:
    """What makes the force of actuator k more than an affine function, or an empty string."""
    import mujoco

    dynamics, gain, bias = (
        word(kind(field[k]))
        for kind, field in (
            (mujoco.mjtDyn, mj.actuator_dyntype), (mujoco.mjtGain, mj.actuator_gaintype),
            (mujoco.mjtBias, mj.actuator_biastype),
        )
    )  # fmt: skip
    if dynamics != "none":
        return f"with activation dynamics ({dynamics})"
    if gain not in ("fixed", "affine"):
        return f"with a {gain} gain"
    if bias not in ("none", "affine"):
        return f"with a {bias} bias"
    if mj.actuator_plugin[k] >= 0:
        return "of a plugin"
    return "with a delay" if np.any(field_of(mj, "actuator_delay", k)) else ""
