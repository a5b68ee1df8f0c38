"""A step on the ground whose impulses are inputs: straight text, with derivatives of its own.

Which impulses are right is said by equations of them and of the velocities of their rows (`contact_modes.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import node_bends, node_twists
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Input
from sarrus.simulation.contact.bending import bends_of
from sarrus.simulation.contact.contact_motion import contacts_where_it_stands
from sarrus.simulation.contact.contact_problem import ContactProblemAtState
from sarrus.simulation.contact.limits import JointLimit, limits_of, usual_limit
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.contact.step_start import StepStart
from sarrus.simulation.contact.straight_motion import moved_straight
from sarrus.simulation.step import StepSettings
from sarrus.spatial.arrays import Array, vector


class OpenContactStep(NamedTuple):
    """The state after a step with given impulses, and the velocities of their rows."""

    q: Array
    v: Array
    changed: Array  # (nv,) velocities by impulses
    rubbed: Array  # (f,) dry friction, as parts of its size
    rows: Array  # (m,) of what rubs, of limits, then of contacts tangents and the normal
    gaps: Array  # (limits + contacts,)
    speeds: Array  # (contacts,) along the normals, before the step
    loops: Array  # (l,) what is left of the loops' accelerations
    asked: Array  # (l,) what they ask for


def open_contact_step(
    model: Model, settings: StepSettings, numbers: tuple[int, ...], bent: bool, struck: bool, **inputs: Array
) -> OpenContactStep:
    """A step on the ground with impulses of all limits, and of the contacts of these numbers.

    bent    whether paths that bend count, as in steps that look at every contact (`every_contact.py`)
    struck  whether they did so twice: paths and velocity products are then those of the first motion that they found,
            in which impulses changed velocities by the input `change`
    """
    contact = settings.contact
    assert contact is not None
    start = StepStart.of(model, settings, inputs, inputs.get("rubbed", np.zeros(len(contact.rubs))))
    (q, v, dt, *_), free, x = start, start.free, inputs["impulses"]
    if are_rows(contact):
        free = start.unrubbed()
    poses = world_poses(tree_of(model), free.at.joints)
    v_free = first = free.velocity(v, dt)
    step = ContactProblemAtState(
        model, contact, free, poses, v, v_free, dt, start.friction, are_rows(contact), moving=start.moving
    )
    if struck:
        step, first = step.struck(inputs["change"]), v_free + inputs["change"]
    some = replace(contact.contacts, usual=numbers)
    twists, candidates = node_twists(free.at, poses, first), some.candidates(poses, numbers)
    contacts = contacts_where_it_stands(step, some, twists)
    if bent:
        rates = [c.closing(twists) for c in candidates]
        bends = bends_of(some, candidates, poses, node_bends(free.at, poses, first, twists), rates, dt)
        contacts = [c._replace(bend=bend) for c, bend in zip(contacts, bends, strict=True)]
    limits = [usual_limit(limit, q, v_free, dt) for limit in limits_in_step(model, contact)]
    # Whether it is looked at is decided by the step itself: impulses of what is not are zero.
    contacts = [c._replace(active=1.0) for c in contacts]
    problem, response = step.posed(contacts, limits)
    v_end = step.v_free + response(problem.G.wrenches(x)).velocity  # type: ignore[union-attr]
    rows = problem.G @ x + problem.g
    rows = rows if problem.compliance is None else rows + problem.compliance * x
    shift = step.shift(lambda: (problem, response), rows, contacts, limits)
    rubbing = x[: problem.nb]
    rubbed = list(rubbing) if are_rows(contact) else start.friction.impulses(step.rates(v_end), rubbing)[0]
    before = node_twists(free.at, poses, v)
    asked = np.zeros(0) if free.loops is None else free.residual + free.loops.G @ free.forces
    return OpenContactStep(
        *moved_straight(model, q, v_end, dt, shift),
        v_end - v_free,
        start.friction.parts(rubbed),
        rows,
        vector(*(x.gap for x in (*limits, *contacts))),
        vector(*(c.closing(before) for c in candidates)),
        free.residual,
        asked,
    )


def open_contact_step_algorithm(
    model: Model, settings: StepSettings, inputs: dict[str, tuple[int, ...]], impulses: int
) -> AnyAlgorithm:
    """As an entry that `compile` takes; inputs: shapes of what the step takes beside the state."""
    contact = settings.contact
    assert contact is not None
    shapes: dict[str, tuple[int, ...] | None] = {"q": None, "v": None}
    shapes |= {} if settings.dt is not None else {"dt": ()}
    shapes |= {"step": ()} if any(controller.uses_time for controller in settings.controllers) else {}
    shapes |= {"rubbed": (len(contact.rubs),)} if remembers(contact) else {}
    shapes |= inputs | {"impulses": (impulses,)}
    takes = tuple(Input(name, False, shape) for name, shape in shapes.items())
    return Algorithm("open_contact_step", open_contact_step, takes, None, ("settings", "numbers", "bent", "struck"))


def are_rows(contact: ContactSettings) -> bool:
    """Whether joints that rub are rows of the problem; else only tendons are."""
    return contact.exact_friction and bool(contact.rubs)


def remembers(contact: ContactSettings) -> bool:
    """Whether a step varies with the friction of the step before: a joint that sticks is held by that."""
    return bool(contact.rubs) and not contact.exact_friction


def limits_in_step(model: Model, settings: ContactSettings) -> list[JointLimit]:
    """As a step has them: those at which a robot does not stand are a little further out."""
    limits = limits_of(model) if settings.limits else []
    return [limit if k in settings.usual_limits else limit.loose() for k, limit in enumerate(limits)]
