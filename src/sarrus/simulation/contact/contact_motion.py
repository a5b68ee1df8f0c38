"""Velocities at the end of a step on the ground, by impulses (Moreau's time stepping).

    M (v+ - v) = dt (tau - h) + J^T impulses,      q+ = q exp(dt v+)

where the impulses of contacts and of joint limits solve Coulomb's problem for velocities at the end of the step: a gap
that is open may close within the step and no more, one that is closed does not open by itself, and what slides is
braked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import (
    ContactPoint,
    Twist,
    frame_of_normal,
    node_twists,
    static_moves,
    turns_about,
)
from sarrus.mechanics.contact.contact_set import ContactSet, turns_of
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.model.visuals import Cylinder, Ellipsoid
from sarrus.simulation.contact.bending import closing, sinking_of
from sarrus.simulation.contact.contact_problem import ContactProblemAtState
from sarrus.simulation.contact.every_contact import SPEED, every_contact, passed
from sarrus.simulation.contact.limits import JointLimit, Limit, limits_in_slots, limits_of, usual_limit, violated
from sarrus.simulation.contact.motion import Before, ContactMotion, of_size
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.contact.slots import OF_RIMS, STRAIGHT, Contact
from sarrus.simulation.contact.step_start import StepStart
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.replacement import replace_where

NEAR = 2e-3  # metres: all is looked at if something unusual would be that near after the step without contacts
LEVER = 2.0  # how much faster something may close by the impulses on its other end than it does without contacts
FAST = 2e-2  # radians or metres in a step: where a joint does more, paths are looked at that bend into the ground


def contact_motion(
    model: Model,
    settings: ContactSettings,
    start: StepStart,
    before: Before,
) -> ContactMotion:
    """The velocities at the end of a step; before: what the step before left."""
    (q, v, dt, *_), free, friction, contacts = start, start.free, start.friction, settings.contacts
    poses = world_poses(tree_of(model), free.at.joints)
    v_free = free.velocity(v, dt)
    limits = limits_of(model) if settings.limits else []
    limits = [limit if k in settings.usual_limits else limit.loose() for k, limit in enumerate(limits)]
    problem = ContactProblemAtState(model, settings, free, poses, v, v_free, dt, friction, moving=start.moving)

    rows_for_joints = settings.exact_friction and bool(friction.rubs)

    def of_rows(rubbed: Array) -> ContactProblemAtState:
        """The problem in which all that rubs is a row, beginning with friction of these parts."""
        free = start.unrubbed()
        v_free = free.velocity(v, dt)
        begun = friction.beginning_with(rubbed)
        return problem._replace(free=free, v_free=v_free, friction=begun, joints_are_rows=True, with_rows=None)

    if rows_for_joints:
        problem = problem._replace(with_rows=lambda: of_rows(before.rubbed))

    def as_expected(motion: tuple[Array, ...], held: Sequence[Limit], unless: Scalar) -> tuple[Array, ...]:
        """The motion, or where joints do not stick and slip as expected, the exact one with the same contacts."""
        if not rows_for_joints:
            return motion
        found = ContactMotion.of(motion)

        def with_rows() -> tuple[Array, ...]:
            kept = zip(found.contacts.impulses, usual, strict=False)
            begun = np.concatenate([np.zeros(0), *(of_size(x, c.at.size) for x, c in kept)])
            return of_rows(found.rubbed).solved(usual, held, begun, found.pushed).flat

        return replace_where(choose(0.0, unless, -1.0, found.unexpected), motion, with_rows)

    twists = node_twists(free.at, poses, v_free)
    usual = contacts_where_it_stands(problem, contacts, twists)
    usual_limits = [usual_limit(limits[k], q, v_free, dt) for k in settings.usual_limits]
    whips = _whipping(model, contacts)
    begun = _matched(usual, before)
    if contacts.count <= len(contacts.usual) and len(limits) <= len(usual_limits) and not len(whips):
        motion = problem.solved(usual, usual_limits, begun, before.pushed)
        return ContactMotion.of(as_expected(motion.flat, usual_limits, -1.0))
    limited, more = _unusual(settings, problem, limits, q, twists, whips)
    pushed = [limit.pushed_before(q, settings.limited, before.pushed) for limit in limits]

    def whole() -> ContactProblemAtState:
        return of_rows(before.rubbed) if rows_for_joints else problem

    def with_limits() -> tuple[Array, ...]:
        held = limits_in_slots(limits, q, v_free, dt, settings.limit_slots, pushed)
        motion = whole().solved(usual, held, begun, before.pushed)
        return motion.told(passed([], [], limits, q, motion.v, dt)).flat

    def with_everything() -> tuple[Array, ...]:
        return every_contact(whole(), limits, q, twists, before, whips).flat

    is_usual = choose(0.0, more, -1.0, choose(0.0, limited, -1.0, 1.0))
    motion = problem.solved(usual, usual_limits, begun, before.pushed, is_usual).flat
    motion = as_expected(motion, usual_limits, -is_usual)
    if _limits_apart(settings, len(problem.rows(usual, []).J)):
        motion = replace_where(choose(0.0, more, -1.0, limited), motion, with_limits)
    else:
        more = choose(0.0, more, more, limited)
    return ContactMotion.of(replace_where(more, motion, with_everything))


def _unusual(
    settings: ContactSettings,
    step: ContactProblemAtState,
    limits: Sequence[JointLimit],
    q: Array,
    twists: Sequence[Twist],
    whips: Array,
) -> tuple[Scalar, Scalar]:
    """Greater than 0: where a joint would pass a limit that is not usual, and where anything else may touch.

    whips  velocities that may make something bend into the ground
    """
    limited: Scalar = -1.0
    for k, limit in enumerate(limits):
        if k not in settings.usual_limits:
            limited = choose(0.0, limited, limited, violated(limit, q, step.v_free, step.dt))
    more: Scalar = -1.0
    for bound in settings.contacts.bounds(step.poses, twists):
        more = choose(bound.after(LEVER * step.dt), NEAR, 1.0, more)
    for speed in step.v_free[whips]:
        more = choose(FAST, step.dt * abs(speed), 1.0, more)
    return limited, more


def _whipping(model: Model, contacts: ContactSet) -> Array:
    """Velocities of joints that move something which may touch. One body alone never bends into the ground, and the
    rotor of a motor, however fast, moves nothing.
    """
    if all(parent == WORLD for parent in model.parents):
        return np.zeros(0, int)
    paths = tree_of(model).paths
    moving = {node for pair in contacts.pairs for end in (pair.a, pair.b) if end.node >= 0 for node in paths[end.node]}
    return np.array([k for node in sorted(moving) for k in range(model.nv)[model.layout.v[node]]], int)


def _limits_apart(settings: ContactSettings, rank: int) -> bool:
    """Whether limits with the usual contacts alone get code of their own: if that is half of everything, or less.

    rank  how many rows the usual contacts are
    """
    return 2 * (rank + settings.limit_slots) <= 3 * settings.contacts.slots + settings.limit_slots


def contacts_where_it_stands(
    step: ContactProblemAtState, contacts: ContactSet, twists: Sequence[Twist]
) -> list[Contact]:
    """Those that are near, or that would close in the step without contacts, however fast that is."""
    tree = tree_of(step.model)
    out = []
    for c in contacts.candidates(step.poses, contacts.usual):
        body = c.a if c.b == WORLD else None
        directions = frame_of_normal(c.normal)
        turns = turns_about(directions, c.lengths, turns_of(c.lengths))
        at = ContactPoint(
            c.point, directions, static_moves(tree, c.a, c.b), body, turns, None if body is None else {body: 1.0}
        )
        near = choose(c.gap, SPEED * step.dt, 1.0, 0.0)
        active = choose(c.gap + (LEVER * step.dt) * c.closing(twists), 0.0, 1.0, near)
        is_rim = isinstance(contacts.pair_of(c.number).a.shape, Cylinder | Ellipsoid)
        closes = closing(-sinking_of(contacts, c, step.poses, twists[c.a], step.dt), step.dt) if is_rim else 0.0
        bend = STRAIGHT._replace(closes=closes, by_velocities=OF_RIMS)
        out.append(Contact(float(c.number), active, c.gap, c.friction, at, bend))
    return out


def _matched(contacts: Sequence[Contact], before: Before) -> Array:
    """Impulses of the step before, where the same contacts were in the same slots."""
    parts = [np.zeros(0)]
    for slot, contact in enumerate(contacts):
        same = choose(abs(before.numbers[slot] - contact.number), 0.5, 1.0, 0.0)
        kept = of_size(before.impulses[slot], contact.at.size)
        parts.append(vector(*(choose(0.5, same, x, 0.0) for x in kept)))
    return np.concatenate(parts)
