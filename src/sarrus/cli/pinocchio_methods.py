"""What Pinocchio calls the quantities of a tree that Sarrus has, with our conventions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sarrus.cli.peer import Peer
from sarrus.cli.pinocchio_twin import in_columns, se3
from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.registry.table import find


class Counterpart(NamedTuple):
    """`call(pin, twin, data, *arrays, *frame)` is what is timed."""

    call: Callable[..., Any]
    read: Callable[[Any, Any], Any] = lambda found, data: found  # our outputs in order, None for what it does not have
    parallel: str | None = None  # what does the same for a batch
    moving_axes: bool = True  # whether it is right where the axes of a joint move relative to each other


def _named(name: str) -> Callable[..., Any]:
    return lambda pin, *arguments: getattr(pin, name)(*arguments)


def symmetric(half: Any) -> np.ndarray:
    """Pinocchio fills half of what is symmetric."""
    return np.triu(half) + np.triu(half, 1).T


def _energy(pin: Any, twin: Any, data: Any, q: Any, v: Any) -> Any:
    return pin.computeKineticEnergy(twin, data, q, v), pin.computePotentialEnergy(twin, data, q)


def _kinematics(pin: Any, twin: Any, data: Any, *given: Any) -> None:
    pin.forwardKinematics(twin, data, *given)


def _poses_and_motions(_: Any, data: Any) -> tuple[Any, ...]:
    rotation, position = ([getattr(pose, part) for pose in data.oMi][1:] for part in ("rotation", "translation"))
    return rotation, position, *([motion.vector for motion in part][1:] for part in (data.v, data.a))


def _frame_velocity(pin: Any, twin: Any, data: Any, q: Any, v: Any, frame: int) -> Any:
    pin.forwardKinematics(twin, data, q, v)
    return pin.getFrameVelocity(twin, data, frame, pin.LOCAL).vector


def _frame_acceleration(pin: Any, twin: Any, data: Any, q: Any, v: Any, a: Any, frame: int) -> Any:
    pin.forwardKinematics(twin, data, q, v, a)
    return pin.getFrameAcceleration(twin, data, frame, pin.LOCAL).vector


def _frame_jacobian_bias(pin: Any, twin: Any, data: Any, q: Any, v: Any, frame: int) -> Any:
    """What is left of a frame's acceleration where that of the joints is zero."""
    return _frame_acceleration(pin, twin, data, q, v, np.zeros(twin.nv), frame)


def _frame_velocity_derivatives(pin: Any, twin: Any, data: Any, q: Any, v: Any, frame: int) -> Any:
    pin.computeForwardKinematicsDerivatives(twin, data, q, v)
    by = pin.getFrameVelocityDerivatives(twin, data, frame, pin.LOCAL)
    return pin.getFrameVelocity(twin, data, frame, pin.LOCAL).vector, *by


def _frame_acceleration_derivatives(pin: Any, twin: Any, data: Any, q: Any, v: Any, a: Any, frame: int) -> Any:
    pin.computeForwardKinematicsDerivatives(twin, data, q, v, a)
    _, *by = pin.getFrameAccelerationDerivatives(twin, data, frame, pin.LOCAL)  # the first is of the velocity
    return pin.getFrameAcceleration(twin, data, frame, pin.LOCAL).vector, *by


def _center_of_mass_derivatives(pin: Any, twin: Any, data: Any, q: Any, v: Any) -> Any:
    pin.centerOfMass(twin, data, q, v)
    by_q = pin.getCenterOfMassVelocityDerivatives(twin, data)
    jacobian = pin.jacobianCenterOfMass(twin, data, q, False)
    return data.com[0], data.vcom[0], jacobian, by_q, jacobian


def _centroidal_momentum_derivatives(pin: Any, twin: Any, data: Any, q: Any, v: Any) -> Any:
    """With those of the momentum's rate, which it cannot leave out; that by a is that of the momentum by v."""
    by_q, _, _, by_v = pin.computeCentroidalDynamicsDerivatives(twin, data, q, v, np.zeros(twin.nv))
    return data.hg.vector, by_q, by_v


def _jacobian(of: str) -> Callable[..., Any]:
    return lambda pin, *arguments: getattr(pin, of)(*arguments, pin.LOCAL)


OF_TREES: dict[str, Counterpart] = {
    "aba": Counterpart(_named("aba"), parallel="abaInParallel"),
    "aba_derivatives": Counterpart(
        _named("computeABADerivatives"), lambda by, data: (data.ddq, by[0], by[1], symmetric(by[2])),
        moving_axes=False,
    ),
    "bias_forces": Counterpart(_named("nonLinearEffects")),
    "center_of_mass": Counterpart(_named("centerOfMass")),
    "center_of_mass_derivatives": Counterpart(_center_of_mass_derivatives, moving_axes=False),
    "centroidal_momentum": Counterpart(_named("computeCentroidalMomentum"), lambda found, data: found.vector),
    "centroidal_momentum_derivatives": Counterpart(_centroidal_momentum_derivatives, moving_axes=False),
    "centroidal_momentum_matrix": Counterpart(_named("computeCentroidalMap")),
    "crba": Counterpart(_named("crba"), lambda found, data: symmetric(found)),
    "energy": Counterpart(_energy),
    "forward_kinematics": Counterpart(_kinematics, _poses_and_motions),
    "frame_acceleration": Counterpart(_frame_acceleration),
    "frame_acceleration_derivatives": Counterpart(_frame_acceleration_derivatives),
    "frame_jacobian": Counterpart(_jacobian("computeFrameJacobian")),
    "frame_jacobian_bias": Counterpart(_frame_jacobian_bias),
    "frame_jacobian_derivative": Counterpart(_jacobian("frameJacobianTimeVariation")),
    "frame_velocity": Counterpart(_frame_velocity),
    "frame_velocity_derivatives": Counterpart(_frame_velocity_derivatives),
    "gravity_forces": Counterpart(_named("computeGeneralizedGravity")),
    "inverse_dynamics_regressor": Counterpart(_named("computeJointTorqueRegressor")),
    "kinetic_energy_regressor": Counterpart(_named("computeKineticEnergyRegressor")),
    "potential_energy_regressor": Counterpart(_named("computePotentialEnergyRegressor")),
    "rnea": Counterpart(_named("rnea"), parallel="rneaInParallel"),
    "rnea_derivatives": Counterpart(
        _named("computeRNEADerivatives"), lambda by, data: (data.tau, by[0], by[1], symmetric(by[2])),
        moving_axes=False,
    ),
}  # fmt: skip


def of_a_tree(twin: Any, model: Model, method: str, arrays: list[np.ndarray], options: dict[str, Any]) -> Peer:
    """Pinocchio's call for one of `OF_TREES`."""
    import pinocchio as pin

    counterpart = OF_TREES[method]
    if not counterpart.moving_axes:
        _check_axes(model)
    first = [np.ascontiguousarray(x[0]) for x in arrays]
    frame = [add_frame(twin, model, options["frame"])] if "frame" in options else []
    data = twin.createData()
    single, batch = partial(counterpart.call, pin, twin, data, *first, *frame), None
    if counterpart.parallel is not None and hasattr(pin, "ModelPool"):
        columns = [in_columns(x) for x in arrays]
        out = np.zeros_like(columns[1])
        batch = partial(getattr(pin, counterpart.parallel), 1, pin.ModelPool(twin, 1), *columns, out)
    found = counterpart.read(single(), data)
    values = found if isinstance(found, tuple) else (found,)
    named = zip(find(method).output_names, values, strict=False)  # it may have fewer
    return Peer("Pinocchio", single, batch, {name: np.array(x) for name, x in named})


def _check_axes(model: Model) -> None:
    """Measured on Pinocchio 4.1: what it computes itself, differentiated numerically, has our derivatives there."""
    moving = next((b.joint.name for b in model.bodies if b.joint.type.name == "universal"), None)
    if moving is not None:
        raise UnsupportedError(
            f"its derivatives are wrong here: they take the two axes of joint {moving!r} (universal) for fixed "
            "relative to each other"
        )


def add_frame(twin: Any, model: Model, name: str) -> int:
    """The number of a frame of ours that is added to Pinocchio's model."""
    import pinocchio as pin

    frame = model.frame(name)
    joint = 0 if frame.body == WORLD else frame.body + 1
    return twin.addFrame(pin.Frame(f"{name}_as_declared", joint, se3(pin, frame.placement), pin.FrameType.OP_FRAME))
