"""One step of a simulation on the ground: it compiles into one kernel, as a step without contacts does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model
from sarrus.simulation.contact.contact_motion import contact_motion
from sarrus.simulation.contact.free_motion import free_motion
from sarrus.simulation.contact.straight_motion import moved_straight
from sarrus.simulation.step import StepSettings, forces_of, keep_finite, scalar, select, worse
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose
from sarrus.status import Status


class ContactStepOutputs(NamedTuple):
    """The state after the step, the dynamics of the step, and its contacts."""

    q: Array
    v: Array
    alive: Array  # () 1; 0 once diverged
    worst_status: Array  # () since this was 0
    step: Array  # () steps so far
    qdd: Array  # the change of velocities over the step, per time
    forces: Array  # of loops
    residual: Array  # of loops
    iterations: Array  # Newton steps of the contact problem
    status: Array
    tau: Array
    contacts: Array  # (11 s,) see `ContactRecord.of`
    contact_numbers: Array  # (s,)
    contact_impulses: Array  # (3 s,) along two tangents and the normal


def contact_step(model: Model, settings: StepSettings, **inputs: Array) -> ContactStepOutputs:
    """One step of a simulation on the ground."""
    assert settings.contact is not None
    q, v = inputs["q"], inputs["v"]
    count = inputs["step"].item() if "step" in inputs else 0.0
    dt = inputs["dt"].item() if settings.dt is None else settings.dt
    tau, tau_all = forces_of(model, settings, inputs, lambda c: (count + c) * dt)(q, v, 0.0)
    free = free_motion(mechanism(model, q, v, tau_all, inputs.get("external_forces")))
    before = inputs["contact_numbers0"], inputs["contact_impulses0"].reshape(-1, 3)
    motion = contact_motion(model, settings.contact, free, q, v, dt, before)
    found = motion.contacts
    q_end, v_end = moved_straight(model, q, motion.v, dt)
    alive, (q_end, v_end) = keep_finite(inputs["alive"].item(), (q_end, q), (v_end, v))
    status = choose(0.5, alive, motion.status, Status.DIVERGED)
    qdd = select(alive, (1.0 / dt) * (v_end - v), np.zeros(model.nv))
    impulses = found.impulses.reshape(-1)
    impulses = select(alive, impulses, np.zeros(len(impulses)))
    rows = []
    for slot in range(len(found.numbers)):
        force = (1.0 / dt) * (found.directions[slot].T @ found.impulses[slot])
        rows += [found.numbers[slot], found.gaps[slot], *found.points[slot], *found.directions[slot][2], *force]
    contacts = vector(*rows)
    return ContactStepOutputs(
        q=q_end, v=v_end, alive=scalar(alive), worst_status=scalar(worse(inputs["worst_status"].item(), status)),
        step=scalar(count + 1.0), qdd=qdd, forces=free.forces, residual=free.residual,
        iterations=scalar(motion.iterations), status=scalar(status), tau=tau,
        contacts=select(alive, contacts, np.zeros(len(contacts))), contact_numbers=found.numbers,
        contact_impulses=impulses,
    )  # fmt: skip
