"""Velocities at the end of a step on the ground, by impulses (Moreau's time stepping).

    M (v+ - v) = dt (tau - h) + J^T impulses,      q+ = q exp(dt v+)

where the impulses of contacts and of joint limits solve Coulomb's problem for velocities at the end of the step: a gap
that is open may close within the step and no more, one that is closed does not open by itself, and what slides is
braked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import (
    Bend,
    ContactPoint,
    Poses,
    Twist,
    frame_of_normal,
    node_bends,
    node_twists,
    static_moves,
    turns_about,
)
from sarrus.mechanics.contact.contact_set import Bound, Candidate, ContactSet, turns_of
from sarrus.mechanics.contact.rolling import radii_of_touch, sinking
from sarrus.model.bodies import WORLD
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.model.visuals import Cylinder, Ellipsoid
from sarrus.simulation.contact.contact_problem import DEEP, Before, ContactMotion, ContactProblemAtState, Contacts
from sarrus.simulation.contact.dry_friction import DryFriction
from sarrus.simulation.contact.free_motion import FreeMotion
from sarrus.simulation.contact.limits import JointLimit, Limit, limits_in_slots, limits_of, usual_limit, violated
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.contact.slots import Contact, by_importance, contacts_in_slots
from sarrus.simulation.contact.straight_motion import acceleration_in_fixed_axes
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import smaller
from sarrus.spatial.replacement import replace_where
from sarrus.status import Status

NEAR = 2e-3  # metres: all is looked at if something unusual would be that near after the step without contacts
SPEED = 8.0  # m/s: what is looked at is a contact if it could close in a step at that speed
UNNOTICED = 1e-4  # metres or radians by which something may pass in a step without its being told
_SLIGHTLY = 0.1  # of that
FAST = 2e-2  # radians or metres in a step: where a joint does more, paths are looked at that bend into the ground
FASTEST_BEND = 4.0  # m/s: what a path that bends towards the ground may add to the opening
MORE_BEND = 0.12  # of what is more than is deep: by which velocities after a step bend paths more than those before


def contact_motion(
    model: Model,
    settings: ContactSettings,
    free: FreeMotion,
    q: Array,
    v: Array,
    dt: Scalar,
    before: Before,
    friction: DryFriction,
    unrubbed: Callable[[], FreeMotion],
) -> ContactMotion:
    """The velocities at the end of a step.

    before    what the step before left
    friction  what joints that rub are expected to do, as the free motion has it
    unrubbed  the free motion without it
    """
    contacts = settings.contacts
    poses = world_poses(tree_of(model), free.at.joints)
    v_free = v + dt * acceleration_in_fixed_axes(model, v, free.qdd)
    limits = limits_of(model) if settings.limits else []
    limits = [limit if k in settings.usual_limits else limit.loose() for k, limit in enumerate(limits)]
    problem = ContactProblemAtState(model, settings, free, poses, v, v_free, dt, friction)

    rows_for_joints = settings.exact_friction and bool(friction.rubs)

    def of_rows(rubbed: Array) -> ContactProblemAtState:
        """The problem in which all that rubs is a row, beginning with friction of these parts."""
        free = unrubbed()
        v_free = v + dt * acceleration_in_fixed_axes(model, v, free.qdd)
        begun = friction.beginning_with(rubbed)
        return problem._replace(free=free, v_free=v_free, friction=begun, joints_are_rows=True)

    def as_expected(motion: tuple[Array, ...], held: Sequence[Limit], unless: Scalar) -> tuple[Array, ...]:
        """The motion, or where joints do not stick and slip as expected, the exact one with the same contacts."""
        if not rows_for_joints:
            return motion
        found = _unflat(motion)

        def with_rows() -> tuple[Array, ...]:
            kept = zip(found.contacts.impulses, usual, strict=False)
            start = np.concatenate([np.zeros(0), *(_of_size(x, c.at.size) for x, c in kept)])
            return _flat(of_rows(found.rubbed).solved(usual, held, start, found.pushed))

        return replace_where(choose(0.0, unless, -1.0, found.unexpected), motion, with_rows)

    twists = node_twists(free.at, poses, v_free)
    usual = contacts_where_it_stands(problem, contacts, twists)
    usual_limits = [usual_limit(limits[k], q, v_free, dt) for k in settings.usual_limits]
    whips = _whipping(model, contacts)
    start = _matched(usual, before)
    if contacts.count <= len(contacts.usual) and len(limits) <= len(usual_limits) and not len(whips):
        motion = problem.solved(usual, usual_limits, start, before.pushed)
        return _unflat(as_expected(_flat(motion), usual_limits, -1.0))
    limited, more = _unusual(settings, problem, limits, q, twists, whips)
    pushed = [before.pushed[settings.limited.index(limit.v)] for limit in limits]

    def whole() -> ContactProblemAtState:
        return of_rows(before.rubbed) if rows_for_joints else problem

    def with_limits() -> tuple[Array, ...]:
        held = limits_in_slots(limits, q, v_free, dt, settings.limit_slots, pushed)
        motion = whole().solved(usual, held, start, before.pushed)
        return _flat(_told(motion, _passed([], [], limits, q, motion.v, dt)))

    def with_everything() -> tuple[Array, ...]:
        found = contacts.candidates(poses)
        ahead = [Bound(c.gap, c.closing(twists), c.a).after(dt) for c in found]
        ahead = by_importance(found, ahead, SPEED * dt, contacts.slots)
        bends = _bends(contacts, found, poses, node_bends(free.at, poses, v_free, twists), dt)
        in_slots = contacts_in_slots(found, ahead, bends, model.parents, SPEED * dt, contacts.slots)
        held = limits_in_slots(limits, q, v_free, dt, settings.limit_slots, pushed)
        motion = whole().solved(in_slots, held, _searched(in_slots, before), before.pushed)
        passed = _passed(found, node_twists(free.at, poses, motion.v), limits, q, motion.v, dt)
        return _flat(_told(motion, passed))

    is_usual = choose(0.0, more, -1.0, choose(0.0, limited, -1.0, 1.0))
    motion = _flat(problem.solved(usual, usual_limits, start, before.pushed, is_usual))
    motion = as_expected(motion, usual_limits, -is_usual)
    if _limits_apart(settings, len(problem.rows(usual, []).J)):
        motion = replace_where(choose(0.0, more, -1.0, limited), motion, with_limits)
    else:
        more = choose(0.0, more, more, limited)
    return _unflat(replace_where(more, motion, with_everything))


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
        more = choose(bound.after(step.dt), NEAR, 1.0, more)
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


def _told(motion: ContactMotion, passed: Scalar) -> ContactMotion:
    """The motion, with a status that says so where something passed."""
    told = choose(motion.status, Status.CONTACTS_LEFT_OUT - 0.5, Status.CONTACTS_LEFT_OUT, motion.status)
    return motion._replace(status=choose(0.5, passed, told, motion.status))


def _bends(
    contacts: ContactSet, found: Sequence[Candidate], poses: Poses, bends: Sequence[Bend], dt: Scalar
) -> list[Scalar]:
    """Metres by which gaps close in a step beyond what their rates say: those of a hand that whips around, of a rim.

    Where a point bends away instead, it may be one of many in a row, as on a wheel: nothing is gained.
    """
    part = 0.5 * dt * dt
    return [_closing(part * c.bending(bends) - _sinking(contacts, c, poses, bends[c.a].twist, dt), dt) for c in found]


def _closing(bend: Scalar, dt: Scalar) -> Scalar:
    """What counts of that. Where it is much, impulses of this very step make it more."""
    least = -FASTEST_BEND * dt
    bend = smaller(bend, bend + MORE_BEND * (bend + DEEP))
    return choose(bend, least, least, choose(bend, 0.0, bend, 0.0))


def _sinking(contacts: ContactSet, c: Candidate, poses: Poses, twist: Twist, dt: Scalar) -> Scalar:
    """Of a round shape on a plane."""
    pair, touch = contacts.pair_and_touch(c.number)
    radii = radii_of_touch(pair.a.shape, touch) if isinstance(pair.b.shape, Plane) else None
    return 0.0 if radii is None else sinking(radii, pair.a.pose(poses)[0], c.normal, twist, dt)


def _passed(
    found: Sequence[Candidate],
    twists: Sequence[Twist],
    limits: Sequence[JointLimit],
    q: Array,
    v: Array,
    dt: Scalar,
) -> Scalar:
    """1 where something closes in this step that is closed already: it has found no slot. Else 0.

    By more than what goes unnoticed, or at all where it is deeper than that.
    """
    ways = [(c.gap, c.closing(twists)) for c in found] + [(x.gap(q), x.sign * v[x.v]) for x in limits]
    passed: Scalar = 0.0
    for gap, rate in ways:
        least = choose(gap, 0.0, gap, 0.0) - choose(gap, -UNNOTICED, _SLIGHTLY * UNNOTICED, UNNOTICED)
        passed = choose(gap + dt * rate, least, 1.0, passed)
    return passed


def _flat(m: ContactMotion) -> tuple[Array, ...]:
    return (m.v, *m.contacts, m.pushed, m.rubbed, vector(m.unexpected, m.iterations, m.residual, m.status))


def _unflat(arrays: tuple[Array, ...]) -> ContactMotion:
    return ContactMotion(arrays[0], Contacts(*arrays[1:7]), *arrays[7:9], *arrays[9])


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
        active = choose(c.gap + step.dt * c.closing(twists), 0.0, 1.0, near)
        is_rim = isinstance(contacts.pair_of(c.number).a.shape, Cylinder | Ellipsoid)
        bend = _closing(-_sinking(contacts, c, step.poses, twists[c.a], step.dt), step.dt) if is_rim else 0.0
        out.append(Contact(float(c.number), active, c.gap, c.friction, at, bend))
    return out


def _matched(contacts: Sequence[Contact], before: Before) -> Array:
    """Impulses of the step before, where the same contacts were in the same slots."""
    parts = [np.zeros(0)]
    for slot, contact in enumerate(contacts):
        same = choose(abs(before.numbers[slot] - contact.number), 0.5, 1.0, 0.0)
        kept = _of_size(before.impulses[slot], contact.at.size)
        parts.append(vector(*(choose(0.5, same, x, 0.0) for x in kept)))
    return np.concatenate(parts)


def _searched(contacts: Sequence[Contact], before: Before) -> Array:
    """Impulses of the step before, wherever the same contacts were."""
    parts = [np.zeros(0)]
    for contact in contacts:
        found: list[Scalar] = [0.0] * contact.at.size
        for number, impulse in zip(before.numbers, before.impulses, strict=True):
            same = choose(abs(number - contact.number), 0.5, 1.0, 0.0)
            found = [choose(0.5, same, x, y) for x, y in zip(_of_size(impulse, len(found)), found, strict=True)]
        parts.append(vector(*found))
    return np.concatenate(parts)


def _of_size(impulse: Array, size: int) -> Array:
    """The rows of a contact that has so many; slots may have more, the last of which is along the normal."""
    return np.concatenate([impulse[: size - 1], impulse[-1:]])
