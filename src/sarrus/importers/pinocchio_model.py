"""Pinocchio's models and states: joints in the same order; velocities, forces and accelerations of the same numbers.

Configurations are the same but for two joints: Pinocchio writes an unbounded angle as cosine and sine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD_NAME, Placement
from sarrus.model.builder import ModelBuilder
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.spatial.arrays import Array

_UNLIMITED = 1e300  # Pinocchio writes the largest double where there is no limit
_AXES = dict(zip("XYZ", np.eye(3), strict=True))
_ALIGNED = {"R": "revolute", "RUB": "continuous", "P": "prismatic", "H": "helical"}
_UNALIGNED = {
    "RevoluteUnaligned": "revolute", "RevoluteUnboundedUnaligned": "continuous", "PrismaticUnaligned": "prismatic",
    "HelicalUnaligned": "helical",
}  # fmt: skip
_OTHERS = {"FreeFlyer": "free", "Planar": "planar", "Spherical": "spherical", "Translation": "translation"}
_SUPPORTED = (
    *(f"{kind}{letter}" for kind in _ALIGNED for letter in _AXES), *_UNALIGNED, *_OTHERS, "Universal", "SphericalZYX",
    "Composite",
)  # fmt: skip
_ANGLE_AT = {"continuous": 0, "planar": 2}  # where in a joint's q the angle is that Pinocchio writes as two numbers


class _Step(NamedTuple):
    """One joint here: a part of one of Pinocchio's, which may take several."""

    suffix: str
    kind: str
    nq: int  # of Pinocchio's q
    nv: int
    options: dict[str, Any]
    placement: Placement  # its frame in the one before


def from_pinocchio(model: Any) -> Model:
    """A model from a `pinocchio.Model`.

    A composite joint, and `SphericalZYX`, become a chain of joints named "joint/1", "joint/2", ... with massless bodies
    between. Frames are kept; where Pinocchio has several with the same name (a body and a fixed joint, say), only the
    first is.

    returns  a `Model`
    errors   `UnsupportedError`: a joint type that a `Model` cannot represent

    >>> import pinocchio
    >>> sarrus.from_pinocchio(pinocchio.buildSampleModelManipulator()).nv
    6
    """
    builder = ModelBuilder(model.name or "robot", gravity=model.gravity.linear)
    bodies = _body_names(model)
    for i in range(1, model.njoints):
        _add_joint(model, builder, bodies, i)
    _add_frames(model, builder, bodies)
    if np.any(model.rotorInertia):
        builder.report(
            "rotorInertia, which Pinocchio's dynamics do not use either (`armature` is used): not represented"
        )
    return builder.build(allow_ill_posed=True)


def _body_names(model: Any) -> list[str]:
    """A joint's body is called as the first body frame that lies on it, or as the joint."""
    names: list[str | None] = [WORLD_NAME] + [None] * (model.njoints - 1)
    for frame in model.frames:
        i = frame.parentJoint
        if frame.type.name == "BODY" and names[i] is None and frame.placement.isIdentity() and frame.name not in names:
            names[i] = frame.name
    return [name or model.names[i] for i, name in enumerate(names)]


def _add_joint(model: Any, builder: ModelBuilder, bodies: list[str], i: int) -> None:
    inertia = model.inertias[i]
    inertial = {"mass": inertia.mass, "com": inertia.lever, "inertia": inertia.inertia, "allow_nonphysical": True}
    steps = list(_steps(model.names[i], model.joints[i], _placement(model.jointPlacements[i])))
    parent, q, v = bodies[model.parents[i]], model.idx_qs[i], model.idx_vs[i]
    for k, step in enumerate(steps):
        last = k == len(steps) - 1
        name = bodies[i] if last else f"{bodies[i]}{step.suffix}"
        carried = _carried(model, step, slice(q, q + step.nq), slice(v, v + step.nv))
        builder.add_body(
            name, parent, joint=step.kind, joint_name=model.names[i] + step.suffix, position=step.placement.p,
            rotation=step.placement.R, **step.options, **carried, **(inertial if last else {}),
        )  # fmt: skip
        parent, q, v = name, q + step.nq, v + step.nv


def _placement(M: Any) -> Placement:
    return Placement(M.rotation, M.translation)


def _steps(name: str, joint: Any, placement: Placement, suffix: str = "") -> Iterator[_Step]:
    kind = joint.shortname().removeprefix("JointModel")
    aligned = kind[:-1] in _ALIGNED and kind[-1] in _AXES
    if aligned or kind in _UNALIGNED:
        kind, axis = (_ALIGNED[kind[:-1]], _AXES[kind[-1]]) if aligned else (_UNALIGNED[kind], _axis(joint))
        options = {"axis": axis} | ({"pitch": joint.extract().pitch} if kind == "helical" else {})
        yield _Step(suffix, kind, joint.nq, joint.nv, options, placement)
    elif kind in _OTHERS:
        yield _Step(suffix, _OTHERS[kind], joint.nq, joint.nv, {}, placement)
    elif kind == "Universal":
        concrete = joint.extract()
        yield _Step(suffix, "universal", 2, 2, {"axis": concrete.axis1, "second_axis": concrete.axis2}, placement)
    elif kind == "SphericalZYX":
        for k, letter in enumerate("ZYX"):
            here = Placement.identity() if k else placement
            yield _Step(f"{suffix}/{k + 1}", "revolute", 1, 1, {"axis": _AXES[letter]}, here)
    elif kind == "Composite":
        concrete = joint.extract()
        for k, (part, M) in enumerate(zip(concrete.joints, concrete.jointPlacements, strict=True)):
            here = _placement(M) if k else placement @ _placement(M)
            yield from _steps(name, part, here, f"{suffix}/{k + 1}")
    else:
        raise UnsupportedError(
            f"joint {name!r}: {kind} has no counterpart here. Valid: {', '.join(_SUPPORTED)}"
            + (". Build the Pinocchio model without mimic joints and declare a Coupling" if "Mimic" in kind else "")
        )


def _axis(joint: Any) -> np.ndarray:
    """The axis of an unaligned joint, from its motion subspace: not every type tells it in Python."""
    data = joint.createData()
    q = np.zeros(joint.idx_q + joint.nq)
    q[joint.idx_q] = 1.0 if joint.nq == 2 else 0.0  # (cosine, sine) of zero, or zero
    joint.calc(data, q)
    column = np.asarray(data.S).reshape(6)
    return column[3:] if column[3:].any() else column[:3]


def _carried(model: Any, step: _Step, q: slice, v: slice) -> dict[str, Any]:
    carried = {
        "armature": model.armature[v].copy(),
        "damping": model.damping[v].copy(),
        "friction": model.friction[v].copy(),
        "velocity_limit": _unlimited(model.velocityLimit[v]),
        "effort_limit": _unlimited(model.effortLimit[v]),
    }
    if step.kind in ("revolute", "prismatic", "helical", "universal", "translation"):
        carried["lower"] = _unlimited(model.lowerPositionLimit[q])
        carried["upper"] = _unlimited(model.upperPositionLimit[q])
    return carried


def _unlimited(limit: np.ndarray) -> np.ndarray:
    return np.where(np.abs(limit) >= _UNLIMITED, np.copysign(np.inf, limit), limit)


def _add_frames(model: Any, builder: ModelBuilder, bodies: list[str]) -> None:
    doubles = []
    for frame in model.frames:
        if frame.type.name == "JOINT" or frame.name in ("universe", bodies[frame.parentJoint]):
            continue
        if builder.has_name(frame.name):
            doubles.append(frame.name)
            continue
        M = frame.placement
        builder.add_frame(frame.name, bodies[frame.parentJoint], position=M.translation, rotation=M.rotation)
    if doubles:
        builder.report(f"{len(doubles)} frames whose name another has ({', '.join(doubles)}): not represented")


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
