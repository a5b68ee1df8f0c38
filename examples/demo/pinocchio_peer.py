"""The demo's robot in Pinocchio, where it is installed: built from the same declared data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import sarrus


class Peer(NamedTuple):
    """`solve` computes the states' accelerations (B, nv); `timed` does the same work for the clock."""

    solve: Callable[[], np.ndarray]
    timed: Callable[[], object]


def pinocchio_methods(robot: sarrus.Model, arrays: list[np.ndarray]) -> dict[str, Peer]:
    """Its ways to solve the states (q, v, tau), by name; none without Pinocchio."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    model = _model(pin, robot)
    rows, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in robot.active_constraints:
        rows.append(_constraint(pin, model, robot, constraint))
    for constraint in rows:
        datas.append(constraint.createData())
    states = list(zip(*(np.ascontiguousarray(x) for x in arrays), strict=True))

    data = model.createData()
    pin.initConstraintDynamics(model, data, rows, datas)
    two = pin.ProximalSettings(1e-8, 1e-8, 2)  # two iterations are enough for 1e-9 here, more are not better

    def dense() -> np.ndarray:
        return np.array([pin.constraintDynamics(model, data, *state, rows, datas, two).copy() for state in states])

    found = {"pin constraintDynamics": Peer(dense, dense)}
    if hasattr(pin, "lcaba"):
        soft = pin.ProximalSettings(1e-8, 1e-4, 20)

        def ordered() -> Any:
            fresh = model.createData()
            pin.computeJointMinimalOrdering(model, fresh, rows)
            return fresh

        # With a `Data` that has seen another state, lcaba of Pinocchio 4.1 is off by 1e-3 or so. It is checked with
        # new ones, and timed without making them.
        kept = ordered()
        found["pin lcaba"] = Peer(
            lambda: np.array([pin.lcaba(model, ordered(), *state, rows, datas, soft).copy() for state in states]),
            lambda: [pin.lcaba(model, kept, *state, rows, datas, soft) for state in states],
        )
    return found


def _model(pin: Any, robot: sarrus.Model) -> Any:
    """Joints in the same order, which must be depth first: Pinocchio relies on it without a check."""
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
