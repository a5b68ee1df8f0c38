"""What a step on the ground begins with: its inputs, what acts, and the motion without contacts."""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.mechanics.mechanism import Mechanism, mechanism
from sarrus.model.model import Model
from sarrus.simulation.contact.dry_friction import DryFriction
from sarrus.simulation.contact.free_motion import FreeMotion, free_motion
from sarrus.simulation.step import forces_of
from sarrus.spatial.arrays import Array, Scalar


class StepStart(NamedTuple):
    """The state, and everything that acts but contacts and limits."""

    q: Array
    v: Array
    dt: Scalar
    count: Scalar  # steps before this one
    tau: Array  # (nv,) of motors
    at: Mechanism
    friction: DryFriction  # what joints that rub are expected to do ...
    free: FreeMotion  # ... with which this is

    @staticmethod
    def of(model: Model, settings: Any, inputs: dict[str, Array], rubbed: Array) -> StepStart:
        """settings: `StepSettings`; rubbed: dry friction of the step before, as parts of its size"""
        contact, q, v = settings.contact, inputs["q"], inputs["v"]
        count = inputs["step"].item() if "step" in inputs else 0.0
        dt = inputs["dt"].item() if settings.dt is None else settings.dt
        tau, tau_all = forces_of(model, settings, inputs, lambda c: (count + c) * dt)(q, v, 0.0)
        friction = DryFriction.expected(contact.rubs, rubbed, v, dt, contact.tolerance, contact.exact_friction)
        at = mechanism(model, q, v, tau_all, inputs.get("external_forces"))
        ahead = v if at.embedded is None else v + dt * at.embedded.bias()
        free = free_motion(at, friction.inertia(model.nv), dt, (1.0 / dt) * friction.impulses_on(ahead))
        return StepStart(q, v, dt, count, tau, at, friction, free)
