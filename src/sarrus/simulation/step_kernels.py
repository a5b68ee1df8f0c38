"""The kernels of a step: the step itself and, every so often, the projection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.model.model import Model
from sarrus.simulation.adaptive import SCALARS, attempt
from sarrus.simulation.contact.contact_step import contact_step
from sarrus.simulation.joint_forces import effort_limits
from sarrus.simulation.step import PROJECTION, StepSettings, step, step_algorithm
from sarrus.spatial.arrays import Array

Carry = dict[str, Array]  # what states carry from one step to the next, by the name of the kernel's input

# What a step, or an attempt at one, hands to the next: output, input.
_CARRIED = {x: x for x in ("q", "v", "alive", "worst_status", "step", "time", "h", "accepted", "rejected")}
_CARRIED |= {x: f"{x}0" for x in ("forces", "warm")}


class StepKernels:
    """A compiled step with its projection. With the adaptive integrator, `stepped` is an attempt at a step."""

    def __init__(
        self,
        model: Model,
        settings: StepSettings,
        takes: tuple[str, ...],
        project_every: int | None,
        dt: float,
        dtype: str,
        symbols: tuple[Any, ...] = (),
    ) -> None:
        """symbols: of the model, in the order in which the input `parameters` has their values"""
        self._made_of = model, settings, takes, project_every, dt, dtype, symbols
        self.settings = settings
        how: dict[str, Any] = {"dtype": dtype, "parameters": symbols or None}
        explicit_model, explicit, attempted = model, settings, None
        if settings.integrator == "implicit":
            explicit_model, explicit = implicit_step(model, settings)
        elif settings.integrator == "adaptive":  # a plain step evaluates the dynamics at recorded states
            explicit = replace(settings, integrator="semi_implicit_euler", accuracy=0.0)
            attempted = compile(
                model, step_algorithm(model, settings, takes, attempt, SCALARS), settings=settings, **how
            )
        algorithm = step_algorithm(explicit_model, explicit, takes, step if settings.contact is None else contact_step)
        self.step: Kernel = compile(explicit_model, algorithm, settings=explicit, **how)
        self.asked = explicit_model, algorithm, self.step, {"settings": explicit}  # what the step was compiled of
        self.stepped: Kernel = attempted or self.step
        self.projection: Kernel | None = compile(model, PROJECTION, **how) if project_every else None
        self.project_every = project_every or 0
        self._cold = 0.0 if settings.contact is None else np.array(settings.contact.cold)
        self.dt = dt
        self.inputs = self.step.input_names
        self.input_shapes = {port.name: port.shape for port in self.step.tape.inputs}
        self.shapes = {port.name: port.shape for port in self.step.tape.outputs}
        inputs, outputs = self.stepped.input_names, self.stepped.output_names
        self.carried = {output: name for output, name in _CARRIED.items() if output in outputs and name in inputs}
        self._begun = [*self.carried.values(), *(x for x in inputs if x == "dt")]

    def varied(self, varied: tuple[str, ...]) -> StepKernels:
        """The same step with factors on these as inputs."""
        model, settings, takes, project_every, dt, dtype, symbols = self._made_of
        return StepKernels(model, replace(settings, varied=varied), takes, project_every, dt, dtype, symbols)

    def begin(self, q: Array, v: Array, first_step: int = 0) -> Carry:
        """What states (B, n) carry at first."""
        first = {"q": q, "v": v, "alive": 1.0, "step": first_step, "h": self.dt, "dt": self.dt, "warm0": self._cold}
        shapes = {port.name: (len(q), *port.shape) for port in self.stepped.tape.inputs}
        kind = self.step.dtype
        return {x: np.array(np.broadcast_to(first.get(x, 0.0), shapes[x]), kind, order="C") for x in self._begun}

    def is_due(self, step: int) -> float:
        """1 where a projection is due after this step, however little constraints are open; else 0."""
        return float(step % self.project_every == self.project_every - 1)

    def project(self, carry: Carry, due: float, threads: int | None = None) -> Carry:
        """The arrays that the projection changes."""
        assert self.projection is not None
        given = carry | {"due": np.full(carry["alive"].shape, due, self.projection.dtype)}
        return self.projection(*(given[name] for name in self.projection.input_names), threads=threads)._asdict()


def implicit_step(model: Model, settings: StepSettings) -> tuple[Model, StepSettings]:
    """The model and settings whose explicit step is the step with damping, stiffness and a controller's gains implicit.

    M a = f - D (v + dt a) - K (q + dt (v + dt a) - rest): D and K belong to joints, as armature does, so the whole
    effect is an armature of dt D + dt^2 K and springs that look ahead. Every method of dynamics serves.
    """
    dt, parameters = settings.dt, settings.joint_forces
    assert dt is not None  # it is in the armature
    K, D = np.array(parameters.joints.stiffness), np.array(parameters.joints.damping)
    free = np.where(
        np.isfinite(effort_limits(model)) & parameters.effort, 0.0, 1.0
    )  # a motor at its limit is no spring
    for controller in settings.controllers:
        kp, kd = controller.gains(model)
        K, D = free * kp + K, free * kd + D
    added = dt * D + dt**2 * K
    bodies = []
    for body, at in zip(model.bodies, model.layout.v, strict=True):
        armature = body.joint.armature + added[at]
        armature.flags.writeable = False
        bodies.append(replace(body, joint=replace(body.joint, armature=armature)))
    controllers = tuple(controller.with_lookahead(dt * free) for controller in settings.controllers)
    changed = replace(settings, joint_forces=replace(parameters, lookahead=dt), controllers=controllers)
    return replace(model, bodies=tuple(bodies)), changed
