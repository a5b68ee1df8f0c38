"""What Pinocchio calls the quantities of a tree that Sarrus has, with our conventions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.cli.pinocchio_twin import se3
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model


def _energy(twin: Any, data: Any, q: Any, v: Any) -> Any:
    import pinocchio as pin

    return pin.computeKineticEnergy(twin, data, q, v), pin.computePotentialEnergy(twin, data, q)


def _frame_velocity(twin: Any, data: Any, q: Any, v: Any, frame: int) -> Any:
    import pinocchio as pin

    pin.forwardKinematics(twin, data, q, v)
    return pin.getFrameVelocity(twin, data, frame, pin.LOCAL).vector


def _frame_jacobian(twin: Any, data: Any, q: Any, frame: int) -> Any:
    import pinocchio as pin

    return pin.computeFrameJacobian(twin, data, q, frame, pin.LOCAL)


def _named(name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        import pinocchio as pin

        return getattr(pin, name)(*arguments)

    return call


OF_TREES: dict[str, Callable[..., Any]] = {
    "bias_forces": _named("nonLinearEffects"),
    "gravity_forces": _named("computeGeneralizedGravity"),
    "center_of_mass": _named("centerOfMass"),
    "centroidal_momentum": lambda *x: _named("computeCentroidalMomentum")(*x).vector,
    "centroidal_momentum_matrix": _named("computeCentroidalMap"),
    "energy": _energy,
    "frame_jacobian": _frame_jacobian,
    "frame_velocity": _frame_velocity,
    "inverse_dynamics_regressor": _named("computeJointTorqueRegressor"),
    "kinetic_energy_regressor": _named("computeKineticEnergyRegressor"),
    "potential_energy_regressor": _named("computePotentialEnergyRegressor"),
}


def add_frame(twin: Any, model: Model, name: str) -> int:
    """The number of a frame of ours that is added to Pinocchio's model."""
    import pinocchio as pin

    frame = model.frame(name)
    joint = 0 if frame.body == WORLD else frame.body + 1
    return twin.addFrame(pin.Frame(f"{name}_as_declared", joint, se3(pin, frame.placement), pin.FrameType.OP_FRAME))
