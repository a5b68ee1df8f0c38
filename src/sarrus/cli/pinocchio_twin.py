"""The same robot in Pinocchio, made from the declared data: from whatever file it came, joints are in our order.

Axes along x, y or z get Pinocchio's joints for these, which are its quickest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD, Body, Placement
from sarrus.model.constraints import Constraint, Contact, LoopClosure
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

_SIMPLE = {"translation": "JointModelTranslation", "spherical": "JointModelSpherical", "free": "JointModelFreeFlyer"}
_ALIGNED = {"revolute": "JointModelR", "continuous": "JointModelR", "prismatic": "JointModelP"}
_UNALIGNED = {
    "revolute": "JointModelRevoluteUnaligned", "continuous": "JointModelRevoluteUnaligned",
    "prismatic": "JointModelPrismaticUnaligned",
}  # fmt: skip


def pinocchio_twin(model: Model) -> Any:
    """A `pinocchio.Model`; its q is ours. An error in words where a joint has no counterpart with the same q, where an
    inertia is none of a body, or where branches are interleaved: Pinocchio's sparse matrices take for granted that they
    are not."""
    import pinocchio as pin

    if not _is_depth_first(model):
        raise UnsupportedError("it needs the bodies of each branch to be numbered one after the other")

    twin = pin.Model()
    twin.gravity.linear[:] = model.gravity
    for body in model.bodies:
        twin.addJoint(body.parent + 1, _joint(pin, body), se3(pin, body.placement), body.joint.name)
        mass, c = float(body.inertia.mass), body.inertia.h
        com = c / mass if mass else c
        inertia = body.inertia.Io - mass * (com @ com * np.eye(3) - np.outer(com, com))
        try:
            whole = pin.Inertia(mass, com, inertia)
        except RuntimeError as error:
            raise UnsupportedError(f"it refuses the inertia of {body.name!r}: {error}") from None
        twin.appendBodyToJoint(twin.njoints - 1, whole, pin.SE3.Identity())
    twin.armature = np.concatenate([np.zeros(0), *(body.joint.armature for body in model.bodies)])
    return twin


def _is_depth_first(model: Model) -> bool:
    """Whether the parent of each body is the body before it, or one of that body's ancestors."""
    path: list[int] = []
    for i, body in enumerate(model.bodies):
        while path and path[-1] != body.parent:
            path.pop()
        if not path and body.parent != WORLD:
            return False
        path.append(i)
    return True


def pinocchio_constraints(model: Model, twin: Any) -> tuple[Any, Any]:
    """Contacts, welds and connects as Pinocchio's rigid constraints, and their data."""
    import pinocchio as pin

    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in model.active_constraints:
        frames, dim = _held(constraint)
        sides: list[Any] = []
        for name in frames:
            frame = model.frame(name)
            sides += [0 if frame.body == WORLD else frame.body + 1, se3(pin, frame.placement)]
        kind = pin.ContactType.CONTACT_6D if dim == 6 else pin.ContactType.CONTACT_3D
        models.append(pin.RigidConstraintModel(kind, twin, *sides, pin.ReferenceFrame.LOCAL))
    for made in models:
        datas.append(made.createData())
    return models, datas


def _held(constraint: Constraint) -> tuple[tuple[str, ...], int]:
    """The frames, and how many rows."""
    if isinstance(constraint, Contact):
        return (constraint.frame,), constraint.size
    if isinstance(constraint, LoopClosure) and constraint.joint in ("weld", "connect", "spherical"):
        return (constraint.frame_a, constraint.frame_b), 6 if constraint.joint == "weld" else 3
    kind, between = constraint.in_words()
    raise UnsupportedError(f"it has no counterpart of constraint {constraint.name!r} ({kind}: {between})")


def _joint(pin: Any, body: Body) -> Any:
    kind = body.joint.type.name
    if kind in _SIMPLE:
        return getattr(pin, _SIMPLE[kind])()
    if kind == "universal":
        return pin.JointModelUniversal(*(np.asarray(axis, float) for axis in body.joint.axes))
    if kind not in _UNALIGNED:
        raise UnsupportedError(f"it has no counterpart of joint {body.joint.name!r} ({kind}) with the same q")
    axis = np.asarray(body.joint.axes[0], float)
    for letter, unit in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, unit):
            return getattr(pin, _ALIGNED[kind] + letter)()
    return getattr(pin, _UNALIGNED[kind])(*axis)


def se3(pin: Any, placement: Placement) -> Any:
    """A placement as Pinocchio's."""
    return pin.SE3(np.array(placement.R, float), np.array(placement.p, float))


def in_columns(x: Array) -> Array:
    """A batch as Pinocchio takes it."""
    return np.asfortranarray(x.T)
