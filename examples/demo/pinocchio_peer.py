"""The demo's robot in Pinocchio, where it is installed: built from the same declared data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sarrus

_ACCURACY = 1e-8


def pinocchio_methods(robot: sarrus.Model, arrays: list[np.ndarray]) -> dict[str, Callable[[], Any]]:
    """Functions that solve all states (q, v, tau), by name; none without Pinocchio, or with one too old for loops."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    model = _model(pin, robot)
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in robot.active_constraints:
        constraints.append(_constraint(pin, model, robot, constraint))
    for constraint in constraints:
        datas.append(constraint.createData())
    states = list(zip(*(np.ascontiguousarray(x) for x in arrays), strict=True))
    found: dict[str, Callable[[], Any]] = {}
    data = model.createData()
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(_ACCURACY, 1e-8, 20)
    found["Pinocchio constraintDynamics"] = lambda: [
        pin.constraintDynamics(model, data, *state, constraints, datas, settings).copy() for state in states
    ]
    if hasattr(pin, "lcaba"):
        other, soft = model.createData(), pin.ProximalSettings(_ACCURACY, 1e-4, 20)
        pin.computeJointMinimalOrdering(model, other, constraints)
        found["Pinocchio lcaba"] = lambda: [
            pin.lcaba(model, other, *state, constraints, datas, soft).copy() for state in states
        ]
    return found


def _model(pin: Any, robot: sarrus.Model) -> Any:
    model = pin.Model()
    for body in robot.bodies:
        axes = [np.asarray(axis, float) for axis in body.joint.axes]
        kinds = {
            "free": lambda: pin.JointModelFreeFlyer(),
            "revolute": lambda axes=axes: pin.JointModelRevoluteUnaligned(*axes[0]),
            "universal": lambda axes=axes: pin.JointModelUniversal(*axes),
        }
        placement = pin.SE3(np.array(body.placement.R, float), np.array(body.placement.p, float))
        joint = model.addJoint(body.parent + 1, kinds[body.joint.type.name](), placement, body.joint.name)
        mass, Sigma = float(body.inertia.mass), np.array(body.inertia.Sigma, float)
        com = np.array(body.inertia.h, float) / mass
        Sigma = Sigma - mass * np.outer(com, com)
        model.appendBodyToJoint(joint, pin.Inertia(mass, com, np.trace(Sigma) * np.eye(3) - Sigma), pin.SE3.Identity())
    return model


def _constraint(pin: Any, model: Any, robot: sarrus.Model, constraint: Any) -> Any:
    """A loop closed by a ball joint (3 rows), or a foot on the ground (6)."""
    names = (constraint.frame_a, constraint.frame_b) if constraint.size == 3 else (constraint.frame,)
    sides: list[Any] = []
    for name in names:
        frame = robot.frame(name)
        sides += [frame.body + 1, pin.SE3(np.array(frame.placement.R, float), np.array(frame.placement.p, float))]
    kind = pin.ContactType.CONTACT_3D if constraint.size == 3 else pin.ContactType.CONTACT_6D
    return pin.RigidConstraintModel(kind, model, *sides, pin.ReferenceFrame.LOCAL)
