"""What actuators do with controls: on arrays (`actuator_forces`), and compiled into the step (`Actuated`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.trace import trace
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.actuators import Actuator
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.registry import table as registry
from sarrus.simulation.along import along
from sarrus.simulation.controllers import AbstractController, CasadiController
from sarrus.simulation.joint_forces import clamped, cut_effort
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.parameter import is_casadi


def actuator_forces(model: Model, q: Any, v: Any, controls: Any) -> Any:
    """The joint forces (nv,) or (B, nv) that the model's actuators make of controls (nu,) or (B, nu).

    Arrays, or CasADi symbols. Effort limits of joints cut what all motors of a joint do together.
    """
    entry = actuation(model)
    given = {"q": q, "v": v, "controls": controls}
    if any(is_casadi(x) for x in given.values()):
        return _symbolic(model, entry, given)
    arrays = {
        "q": check_configuration(model, q),
        "v": as_state_array("v", v, model.nv),
        "controls": as_state_array("controls", controls, model.nu),
    }
    sizes = {name: len(x) for name, x in arrays.items() if x.ndim == 2}
    if not sizes:
        return np.asarray(entry.text(model, model.actuators, **arrays), float)
    if len(set(sizes.values())) > 1:
        raise StateError(f"batches of different sizes: {', '.join(f'{k} has {n}' for k, n in sizes.items())}")
    batch = next(iter(sizes.values()))
    wide = {name: np.broadcast_to(x, (batch, x.shape[-1])) for name, x in arrays.items()}
    return along(model, entry, wide, actuators=model.actuators)["tau"]


def actuation(model: Model) -> registry.Algorithm:
    """`limited_torques` as an entry like those of the registry, for `trace` and `compile` (option `actuators`)."""
    needs_actuators(model)
    ports = (registry.Input("q", False), registry.Input("v", False), registry.Input("controls", False, (model.nu,)))
    return registry.Algorithm("actuator_forces", limited_torques, ports, "tau", ("actuators",), "O(n)")


def needs_actuators(model: Model) -> None:
    if not model.nu:
        raise UnsupportedError(
            f"{model.name!r} has no actuators that could follow controls: give `tau`, or add some with "
            f"`ModelBuilder.add_actuator`"
        )


def limited_torques(model: Model, actuators: tuple[Actuator, ...], q: Array, v: Array, controls: Array) -> Array:
    """(nv,) what the joints get: `torques` cut at their effort limits (MJCF's `actuatorfrcrange`)."""
    return cut_effort(model, torques(model, actuators, q, v, controls))


def torques(
    model: Model, actuators: tuple[Actuator, ...], q: Array, v: Array, controls: Array, ahead: Array | None = None
) -> Array:
    """(nv,), for floats and symbols alike. ahead: seconds by which springs look ahead, per velocity."""
    tau: list[Scalar] = [0.0] * model.nv
    for actuator, u in zip(actuators, controls, strict=True):
        u = clamped(vector(u), *actuator.control_range)[0]
        length: Scalar = 0.0
        speed: Scalar = 0.0
        moments = []  # (velocity, how far the motor moves per joint)
        for name, coefficient in actuator.joints:
            joint = model.joint_index(name)
            k, moment = model.layout.v[joint].start, actuator.gear * coefficient
            length = length + moment * q[model.layout.q[joint].start]
            speed = speed + moment * v[k]
            moments.append((k, moment))
        seen = length
        if ahead is not None and _stiffness(actuator):
            seen = length + ahead[moments[0][0]] * speed
        force = _affine(actuator.gain, length, speed) * u + _affine(actuator.bias, seen, speed)
        force = clamped(vector(force), *actuator.force_range)[0]
        for k, moment in moments:
            tau[k] = tau[k] + moment * force
    return vector(*tau)


def _affine(numbers: tuple[float, float, float], length: Scalar, speed: Scalar) -> Scalar:
    """What is not there leaves no trace."""
    total: Scalar = numbers[0]
    if numbers[1]:
        total = total + numbers[1] * length
    return total + numbers[2] * speed if numbers[2] else total


def _stiffness(actuator: Actuator) -> float:
    """Of the joint, where implicit integration may have it: of a servo on one joint whose force has no range."""
    return max(0.0, -actuator.bias[1]) * _moment(actuator) ** 2


def _damping(actuator: Actuator) -> float:
    return max(0.0, -actuator.bias[2]) * _moment(actuator) ** 2


def _moment(actuator: Actuator) -> float:
    """0 for an actuator that no implicit integration knows."""
    if len(actuator.joints) != 1 or actuator.has_force_range:
        return 0.0
    return actuator.gear * actuator.joints[0][1]


@dataclass(frozen=True)
class Actuated(AbstractController):
    """Actuators as a controller that is compiled in. Controls are an input of the kernel, or what a policy says."""

    actuators: tuple[Actuator, ...]
    controls: Any = field(default=None, repr=False, compare=False)
    policy: CasadiController | None = None
    ahead: tuple[float, ...] = ()  # seconds, per velocity

    @property
    def uses_time(self) -> bool:  # type: ignore[override]
        return self.policy is not None and self.policy.uses_time

    def ports(self, model: Model) -> dict[str, tuple[int, ...]]:
        return {"controls": (len(self.actuators),)} if self.policy is None else {}

    def arrays(self, model: Model) -> dict[str, Array]:
        return {"controls": self.controls} if self.policy is None else {}

    def gains(self, model: Model) -> tuple[Array, Array]:
        kp, kd = np.zeros(model.nv), np.zeros(model.nv)
        for actuator in self.actuators:
            k = model.layout.v[model.joint_index(actuator.joints[0][0])].start
            kp[k] += _stiffness(actuator)
            kd[k] += _damping(actuator)
        return kp, kd

    def looking_ahead(self, time: Array) -> Actuated:
        return replace(self, ahead=tuple(time.tolist()))

    def torque(self, model: Model, q: Array, v: Array, t: Scalar, inputs: dict[str, Array]) -> Array:
        if self.policy is None:
            controls = inputs["controls"]
        else:
            controls = self.policy.says(model, q, v, t, ("controls", len(self.actuators)))
        return torques(model, self.actuators, q, v, controls, np.array(self.ahead) if self.ahead else None)


def actuated(model: Model, controls: Any) -> Actuated:
    """The model's actuators under controls: an array, or what `sarrus.controller` made of a CasADi function."""
    needs_actuators(model)
    if isinstance(controls, CasadiController):
        return Actuated(model.actuators, policy=controls)
    if isinstance(controls, AbstractController):
        raise UnsupportedError(
            f"controls is {type(controls).__name__}, which gives joint forces. Valid: an array, a function "
            f"(t, q, v) -> controls, sarrus.controller(casadi_function)"
        )
    return Actuated(model.actuators, controls)


def _symbolic(model: Model, entry: registry.Algorithm, given: dict[str, Any]) -> Any:
    import casadi as ca

    tape = trace(model, entry, actuators=model.actuators)
    inputs = []
    for port in tape.inputs:
        value = ca.SX(given[port.name] if is_casadi(given[port.name]) else np.asarray(given[port.name], float))
        if value.numel() != port.size:
            raise StateError(f"{port.name}: expected {port.size} elements, got a CasADi matrix of {value.shape}")
        inputs.append([value[k] for k in range(port.size)])
    return ca.vertcat(*interpret.run(tape, inputs, symbolic=True)[0])
