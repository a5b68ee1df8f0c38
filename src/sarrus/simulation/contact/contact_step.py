"""One step of a simulation on the ground: it compiles into one kernel, as a step without contacts does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.model import Model
from sarrus.simulation.contact.contact_motion import contact_motion
from sarrus.simulation.contact.contact_problem import slot_numbers
from sarrus.simulation.contact.motion import Before
from sarrus.simulation.contact.record import nothing_recorded
from sarrus.simulation.contact.step_start import StepStart
from sarrus.simulation.contact.straight_motion import moved_straight
from sarrus.simulation.step import StepSettings, keep_finite, scalar, select, worse
from sarrus.simulation.variation import varied_step
from sarrus.spatial.arrays import Array
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
    forces: Array  # of loops, over the step
    residual: Array  # of loops
    iterations: Array  # Newton steps of the contact problem
    status: Array
    tau: Array
    contacts: Array  # (18 s + 1,) see `ContactRecord.of`
    warm: Array  # what the next step begins with: see `ContactSettings.cold`


def contact_step(model: Model, settings: StepSettings, **inputs: Array) -> ContactStepOutputs:
    """One step of a simulation on the ground."""
    model, settings = varied_step(model, settings, inputs)
    contact = settings.contact
    assert contact is not None
    slots, width = contact.contacts.slots, contact.contacts.width
    ends = np.cumsum([slots, width * slots, contact.limit_count])
    numbers, impulses, pushed, rubbed = np.split(inputs["warm0"], ends)
    start = StepStart.of(model, settings, inputs, rubbed)
    q, v, dt, free = start.q, start.v, start.dt, start.free
    before = Before(numbers, impulses.reshape(-1, width), pushed, rubbed)
    motion = contact_motion(model, contact, start, before)
    found = motion.contacts
    q_end, v_end = moved_straight(model, q, motion.v, dt, motion.shift)
    alive, (q_end, v_end) = keep_finite(inputs["alive"].item(), (q_end, q), (v_end, v))
    status = choose(0.5, alive, worse(motion.status, free.status), Status.DIVERGED)
    qdd = select(alive, (1.0 / dt) * (v_end - v), np.zeros(model.nv))
    contacts = slot_numbers(found, dt, motion.residual)
    forces, residual = free.declared(motion.loops)
    left = np.concatenate([found.numbers, found.impulses.reshape(-1), motion.pushed, motion.rubbed])
    return ContactStepOutputs(
        q=q_end, v=v_end, alive=scalar(alive), worst_status=scalar(worse(inputs["worst_status"].item(), status)),
        step=scalar(start.count + 1.0), qdd=qdd, forces=forces, residual=residual,
        iterations=scalar(motion.iterations), status=scalar(status), tau=start.tau,
        contacts=select(alive, contacts, nothing_recorded(slots)), warm=select(alive, left, np.array(contact.cold)),
    )  # fmt: skip
