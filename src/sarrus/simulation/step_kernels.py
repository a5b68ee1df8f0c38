"""The kernels of a step: the step itself and, every so often, the projection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.codegen.runtime.kernel import Kernel, compile
from sarrus.model.model import Model
from sarrus.simulation.joint_forces import effort_limits
from sarrus.simulation.step import PROJECTION, StepSettings, step_algorithm
from sarrus.spatial.arrays import Array

Carry = dict[str, Array]  # what states carry from one step to the next, by the name of the kernel's input

# What a step hands to the next one: output, input.
_CARRIED = {"q": "q", "v": "v", "alive": "alive", "worst_status": "worst_status", "step": "step", "forces": "forces0"}


class StepKernels:
    """A compiled step with its projection."""

    def __init__(self, model: Model, settings: StepSettings, with_tau: bool, project_every: int | None) -> None:
        stepped, explicit = implicit_step(model, settings) if settings.integrator == "implicit" else (model, settings)
        self.step: Kernel = compile(stepped, step_algorithm(stepped, explicit, with_tau), settings=explicit)
        self.projection: Kernel | None = compile(model, PROJECTION) if project_every else None
        self.project_every = project_every or 0
        self.dt = settings.dt
        self.shapes = {port.name: port.shape for port in self.step.tape.inputs + self.step.tape.outputs}
        self.carried = {output: name for output, name in _CARRIED.items() if name in self.step.input_names}

    def begin(self, q: Array, v: Array, step: int = 0) -> Carry:
        """What states (B, n) carry at first."""
        batch = len(q)
        first = {"q": q, "v": v, "alive": np.ones(batch), "worst_status": np.zeros(batch)}
        first |= {"step": np.full(batch, float(step)), "forces0": np.zeros((batch, *self.shapes["forces"]))}
        return {name: np.array(first[name], dtype=float, order="C") for name in self.carried.values()}

    def project(self, carry: Carry) -> Carry:
        """The arrays that the projection changes."""
        assert self.projection is not None
        return self.projection(*(carry[name] for name in self.projection.input_names))._asdict()


def implicit_step(model: Model, settings: StepSettings) -> tuple[Model, StepSettings]:
    """The model and settings whose explicit step is the step with damping, stiffness and a controller's gains implicit.

    M a = f - D (v + dt a) - K (q + dt (v + dt a) - rest): D and K belong to joints, as armature does, so the whole
    effect is an armature of dt D + dt^2 K and springs that look ahead. Every method of dynamics serves.
    """
    dt, parameters, controller = settings.dt, settings.joint_forces, settings.controller
    K, D = np.array(parameters.stiffness), np.array(parameters.damping)
    if controller is not None:  # a motor at its limit is no spring
        free = np.where(np.isfinite(effort_limits(model)) & parameters.effort, 0.0, 1.0)
        kp, kd = controller.gains(model)
        K, D = free * kp + K, free * kd + D
        controller = controller.with_lookahead(dt * free)
    added = dt * D + dt**2 * K
    bodies = []
    for body, at in zip(model.bodies, model.layout.v, strict=True):
        armature = body.joint.armature + added[at]
        armature.flags.writeable = False
        bodies.append(replace(body, joint=replace(body.joint, armature=armature)))
    changed = replace(settings, joint_forces=replace(parameters, lookahead=dt), controller=controller)
    return replace(model, bodies=tuple(bodies)), changed
