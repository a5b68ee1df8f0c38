"""What a step on the ground begins with: its inputs, what acts, and the motion without contacts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import Mechanism, mechanism
from sarrus.model.model import Model
from sarrus.simulation.contact.dry_friction import DryFriction
from sarrus.simulation.contact.free_motion import FreeMotion, free_motion
from sarrus.simulation.contact.straight_motion import without_flight
from sarrus.simulation.step import forces_of
from sarrus.spatial.arrays import Array, Scalar


class StepStart(NamedTuple):
    """The state, and everything that acts but contacts and limits."""

    q: Array
    v: Array
    dt: Scalar
    count: Scalar  # steps before this one
    tau: Array  # (nv,) of motors
    moving: Callable[[Array], Mechanism]  # under all that acts, with velocities (nv,)
    at: Mechanism
    midway: Mechanism  # with the velocities in the middle of the step
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
        held = friction.inertia(model.nv)
        # Where friction is exact, nothing may depend on what is expected of it.
        both = v, velocity_midway(model, q, v, dt, np.zeros(model.nv) if contact.exact_friction else held)

        def moving(velocities: Array) -> Mechanism:
            return mechanism(model, q, velocities, tau_all, inputs.get("external_forces"))

        at, midway = (moving(x) for x in both)
        ahead = v if at.embedded is None else v + dt * at.embedded.bias()
        free = free_motion(at, held, dt, (1.0 / dt) * friction.impulses_on(ahead), midway)
        return StepStart(q, v, dt, count, tau, moving, at, midway, friction, free)

    def unrubbed(self) -> FreeMotion:
        """The motion without dry friction of joints."""
        return free_motion(self.at, np.zeros(len(self.v)), self.dt, midway=self.midway)


def velocity_midway(model: Model, q: Array, v: Array, dt: Scalar, added: Array) -> Array:
    """(nv,) in the middle of a step, by velocity products alone.

    With products of the velocities at its beginning, a step adds energy to limbs that whirl: a robot whose elbow does
    60 rad/s gains one per cent of all that it has in 15 ms. Velocities change at whole steps and stay in between, so
    that those at a configuration are half of what came before it and half of what comes after it; with these, energy
    does not grow. What else acts is left out: a robot that stands has no velocities midway, either, whatever its motors
    and the ground do.

    added  (nv,) to the inertia of joints
    """
    coasting = mechanism(model.with_gravity(np.zeros(3)), q, v, np.zeros(model.nv))
    return without_flight(model, free_motion(coasting, added).velocity(v, 0.5 * dt))
