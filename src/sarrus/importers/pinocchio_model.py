"""Pinocchio's models to models: joints in the same order, v of the same numbers; for q see `pinocchio_state`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.model import Model

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


class _Step(NamedTuple):
    """One joint here: a part of one of Pinocchio's, which may take several."""

    suffix: str
    kind: str
    nq: int  # of Pinocchio's q
    nv: int
    options: dict[str, Any]
    R: np.ndarray  # its frame in the one before
    p: np.ndarray


def from_pinocchio(model: Any) -> Model:
    """A model from a `pinocchio.Model`.

    A composite joint, and `SphericalZYX`, become a chain of joints named "joint/1", "joint/2", ... with massless bodies
    between. Frames are kept; where Pinocchio has several of one name (a body and a fixed joint, say) the first is.
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
    steps = list(_steps(model.names[i], model.joints[i]))
    M = model.jointPlacements[i]
    parent, q, v = bodies[model.parents[i]], model.idx_qs[i], model.idx_vs[i]
    R, p = M.rotation, M.translation
    for k, step in enumerate(steps):
        last = k == len(steps) - 1
        name = bodies[i] if last else f"{bodies[i]}{step.suffix}"
        inertial = {"mass": inertia.mass, "com": inertia.lever, "inertia": inertia.inertia, "allow_nonphysical": True}
        builder.add_body(
            name,
            parent,
            joint=step.kind,
            joint_name=model.names[i] + step.suffix,
            position=p + R @ step.p,
            rotation=R @ step.R,
            **step.options,
            **_carried(model, step, slice(q, q + step.nq), slice(v, v + step.nv)),
            **(inertial if last else {}),
        )
        parent, q, v, R, p = name, q + step.nq, v + step.nv, np.eye(3), np.zeros(3)


def _steps(name: str, joint: Any, suffix: str = "", R: Any = None, p: Any = None) -> Iterator[_Step]:
    kind = joint.shortname().removeprefix("JointModel")
    R = np.eye(3) if R is None else R
    p = np.zeros(3) if p is None else p
    if kind[:-1] in _ALIGNED and kind[-1] in _AXES:
        options = {"axis": _AXES[kind[-1]]}
        if kind[0] == "H":
            options["pitch"] = joint.extract().pitch
        yield _Step(suffix, _ALIGNED[kind[:-1]], joint.nq, joint.nv, options, R, p)
    elif kind in _UNALIGNED:
        options = {"axis": _axis(joint)}
        if kind == "HelicalUnaligned":
            options["pitch"] = joint.extract().pitch
        yield _Step(suffix, _UNALIGNED[kind], joint.nq, joint.nv, options, R, p)
    elif kind in _OTHERS:
        yield _Step(suffix, _OTHERS[kind], joint.nq, joint.nv, {}, R, p)
    elif kind == "Universal":
        concrete = joint.extract()
        yield _Step(suffix, "universal", 2, 2, {"axis": concrete.axis1, "second_axis": concrete.axis2}, R, p)
    elif kind == "SphericalZYX":
        for k, letter in enumerate("ZYX"):
            here = (R, p) if k == 0 else (np.eye(3), np.zeros(3))
            yield _Step(f"{suffix}/{k + 1}", "revolute", 1, 1, {"axis": _AXES[letter]}, *here)
    elif kind == "Composite":
        concrete = joint.extract()
        for k, (part, M) in enumerate(zip(concrete.joints, concrete.jointPlacements, strict=True)):
            here = (M.rotation, M.translation) if k else (R @ M.rotation, p + R @ M.translation)
            yield from _steps(name, part, f"{suffix}/{k + 1}", *here)
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
