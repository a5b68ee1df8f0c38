"""What actuators do with controls: on arrays (`actuator_forces`), and compiled into the step (`Actuated`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.actuators import Actuator
from sarrus.model.gravity_compensation import GravityCompensation
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.simulation.controllers import AbstractController, CasadiController
from sarrus.simulation.gravity_compensation import bearing_forces
from sarrus.simulation.joint_forces import clamp, clamp_effort
from sarrus.spatial.arrays import Array, Scalar, vector


def actuator_forces(model: Model, q: Any, v: Any, controls: Any) -> Any:
    """The joint forces (nv,) or (B, nv) that the model's actuators produce for controls (nu,) or (B, nu).

    Takes arrays or CasADi symbols. The effort limit of a joint saturates the sum of its motors, which includes their
    gravity compensation (MJCF's `actuatorgravcomp`): this is MuJoCo's `qfrc_actuator`.

    q, v      (n,) or (B, n): rad, m; rad/s, m/s
    controls  (nu,) or (B, nu), in the order of `model.actuators`
    returns   (nv,) or (B, nv): N m, N
    errors    `StateError`: arrays of the wrong shape, or not finite; `UnsupportedError`: a model without actuators

    >>> text = "<mujoco><worldbody><body><joint name='hip'/><geom size='.1'/></body></worldbody>"
    >>> robot = sarrus.load(text + "<actuator><motor joint='hip' gear='6'/></actuator></mujoco>")
    >>> sarrus.actuator_forces(robot, q=[0.0], v=[0.0], controls=[0.5])
    array([3.])
    """
    needs_actuators(model)
    inputs = (Input("q", False), Input("v", False), Input("controls", False, (model.nu,)))
    algorithm = Algorithm("actuator_forces", limited_torques, inputs, "tau", ("actuators", "borne"))
    return algorithm(model, model.actuators, model.gravity_compensation, q, v, controls)


def needs_actuators(model: Model) -> None:
    """Raise an error if there is nothing that could follow controls."""
    if not model.nu:
        raise UnsupportedError(
            f"{model.name!r} has no actuators that could follow controls: give `tau`, or add some with "
            f"`ModelBuilder.add_actuator`"
        )


def limited_torques(
    model: Model, actuators: tuple[Actuator, ...], borne: GravityCompensation, q: Array, v: Array, controls: Array
) -> Array:
    """(nv,) what the joints get: `torques` cut at their effort limits (MJCF's `actuatorfrcrange`)."""
    return clamp_effort(model, torques(model, actuators, borne, q, v, controls, np.zeros(model.nv)))


def torques(
    model: Model,
    actuators: tuple[Actuator, ...],
    borne: GravityCompensation,
    q: Array,
    v: Array,
    controls: Array,
    lookahead: Array,
) -> Array:
    """(nv,), for floats and symbols alike, with the weights that motors bear. lookahead: seconds by which springs look
    ahead, per velocity.
    """
    tau: list[Scalar] = [0.0] * model.nv
    for actuator, u in zip(actuators, controls, strict=True):
        joints = [model.joint_index(name) for name, _ in actuator.joints]
        at = [model.layout.v[joint].start for joint in joints]
        moments = [actuator.gear * coefficient for _, coefficient in actuator.joints]  # its length per joint
        length = sum((c * q[model.layout.q[joint].start] for c, joint in zip(moments, joints, strict=True)), 0.0)
        speed = sum((c * v[k] for c, k in zip(moments, at, strict=True)), 0.0)
        seen = length + lookahead[at[0]] * speed if _implicit_gains(actuator)[0] else length
        command = clamp(vector(u), *actuator.control_range)[0]
        force = _affine(actuator.gain, length, speed) * command + _affine(actuator.bias, seen, speed)
        force = clamp(vector(force), *actuator.force_range)[0]
        for k, moment in zip(at, moments, strict=True):
            tau[k] = tau[k] + moment * force
    return vector(*tau) + bearing_forces(model, borne, q, by_motors=True)


def _affine(numbers: tuple[float, float, float], length: Scalar, speed: Scalar) -> Scalar:
    return numbers[0] + numbers[1] * length + numbers[2] * speed


class Servo(NamedTuple):
    """An actuator as a spring and a damper along some velocities, for stable steps."""

    name: str
    row: Array  # (nv,) the speed of its length
    stiffness: float
    damping: float
    implicit: bool  # whether implicit integration may have it


def servos_of(model: Model) -> list[Servo]:
    """The actuators that pull like springs or dampers."""
    found = []
    for actuator in model.actuators:
        row = np.zeros(model.nv)
        for name, coefficient in actuator.joints:
            row[model.layout.v_of(name).start] += actuator.gear * coefficient
        gains = max(0.0, -actuator.bias[1]), max(0.0, -actuator.bias[2])
        found.append(Servo(actuator.name, row, *gains, _may_be_implicit(actuator)))
    return [servo for servo in found if servo.stiffness > 0.0 or servo.damping > 0.0]


def _may_be_implicit(actuator: Actuator) -> bool:
    """Whether implicit integration may have its gains: of a servo on one joint whose force has no range."""
    return len(actuator.joints) == 1 and not actuator.has_force_range


def _implicit_gains(actuator: Actuator) -> tuple[float, float]:
    """Stiffness and damping of the joint that implicit integration has."""
    if not _may_be_implicit(actuator):
        return 0.0, 0.0
    squared = (actuator.gear * actuator.joints[0][1]) ** 2
    return max(0.0, -actuator.bias[1]) * squared, max(0.0, -actuator.bias[2]) * squared


@dataclass(frozen=True)
class Actuated(AbstractController):
    """Actuators as a controller that is compiled in. Controls are an input of the kernel, or what a policy says."""

    actuators: tuple[Actuator, ...]
    borne: GravityCompensation
    controls: Any = field(default=None, repr=False, compare=False)
    policy: CasadiController | None = None

    @property
    def uses_time(self) -> bool:
        return self.policy is not None and self.policy.uses_time

    def inputs(self, model: Model) -> dict[str, tuple[int, Any]]:
        return {"controls": (len(self.actuators), self.controls)} if self.policy is None else {}

    def gains(self, model: Model) -> tuple[Array, Array]:
        kp, kd = np.zeros((2, model.nv))
        for actuator in self.actuators:
            k = model.layout.v_of(actuator.joints[0][0]).start
            stiffness, damping = _implicit_gains(actuator)
            kp[k], kd[k] = kp[k] + stiffness, kd[k] + damping
        return kp, kd

    def torque(self, model: Model, q: Array, v: Array, t: Scalar, inputs: dict[str, Array]) -> Array:
        if self.policy is None:
            controls = inputs["controls"]
        else:
            controls = self.policy.evaluate(model, q, v, t, ("controls", len(self.actuators)))
        lookahead = np.array(self.lookahead or np.zeros(model.nv))
        return torques(model, self.actuators, self.borne, q, v, controls, lookahead)


def actuated(model: Model, controls: Any) -> Actuated:
    """The model's actuators under controls: an array, or what `sarrus.controller` made of a CasADi function."""
    needs_actuators(model)
    if isinstance(controls, CasadiController):
        return Actuated(model.actuators, model.gravity_compensation, policy=controls)
    if isinstance(controls, AbstractController):
        raise UnsupportedError(
            f"controls is {type(controls).__name__}, which computes joint forces. Valid: an array, a function "
            f"(t, q, v) -> controls, sarrus.controller(casadi_function)"
        )
    return Actuated(model.actuators, model.gravity_compensation, controls)
