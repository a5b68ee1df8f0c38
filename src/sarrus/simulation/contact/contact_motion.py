"""Velocities at the end of a step on the ground, by impulses (Moreau's time stepping).

    M (v+ - v) = dt (tau - h) + J^T impulses,      q+ = q exp(dt v+)

where the impulses of contacts and of joint limits solve Coulomb's problem for velocities at the end of the step: a gap
that is open may close within the step and no more, one that is closed does not open by itself, and what slides is
braked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import (
    Bend,
    ContactPoint,
    Poses,
    Twist,
    contact_jacobian,
    frame_of_normal,
    node_bends,
    node_twists,
    static_moves,
)
from sarrus.mechanics.contact.contact_set import Bound, Candidate, ContactSet
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.mechanics.contact.solve import solve
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.free_motion import FreeMotion
from sarrus.simulation.contact.limits import JointLimit, Limit, limits_in_slots, limits_of, usual_limit, violated
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.contact.slots import Contact, contacts_in_slots
from sarrus.simulation.contact.straight_motion import acceleration_in_fixed_axes
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import if_finite
from sarrus.spatial.replacement import replace_where
from sarrus.status import Status

NEAR = 2e-3  # metres: all is looked at if something unusual would be that near after the step without contacts
SPEED = 8.0  # m/s: what is looked at is a contact if it could close in a step at that speed
UNNOTICED = 1e-4  # metres or radians by which something may pass in a step without its being told
PUSH = 0.2  # of a penetration that is undone in a step ...
FASTEST_PUSH = 0.5  # ... but no faster than this, in m/s
FAST = 2e-2  # radians or metres in a step: where a joint does more, paths are looked at that bend into the ground
FASTEST_BEND = 2.0  # m/s: what a path that bends towards the ground may add to the opening
BOUNCE_SPEED = 1e-2  # m/s below which nothing bounces


class Contacts(NamedTuple):
    """Of all slots, at the end of a step."""

    numbers: Array  # (s,) of candidates; -1: nothing
    impulses: Array  # (s, 3) newton seconds along two tangents and the normal
    points: Array  # (s, 3) in the world
    directions: Array  # (s, 3, 3) rows: two tangents and the normal
    gaps: Array  # (s,) at the beginning of the step


class ContactMotion(NamedTuple):
    """The velocities after a step, and how they came about."""

    v: Array
    contacts: Contacts
    iterations: Scalar
    residual: Scalar
    status: Scalar


def contact_motion(
    model: Model,
    settings: ContactSettings,
    free: FreeMotion,
    q: Array,
    v: Array,
    dt: Scalar,
    before: tuple[Array, Array],
) -> ContactMotion:
    """The velocities at the end of a step. before: numbers (s,) and impulses (s, 3) of the step before."""
    contacts = settings.contacts
    poses = world_poses(tree_of(model), free.at.joints)
    v_free = v + dt * acceleration_in_fixed_axes(model, v, free.qdd)
    limits = limits_of(model) if settings.limits else []
    limits = [limit if k in settings.usual_limits else limit.loose() for k, limit in enumerate(limits)]
    problem = ContactProblemAtState(model, settings, free, poses, v, v_free, dt)
    usual = _usual_contacts(problem, contacts)
    usual_limits = [usual_limit(limits[k], q, v_free, dt) for k in settings.usual_limits]
    simple = problem.solved(usual, usual_limits, _matched(usual, before))
    whips = any(parent != WORLD for parent in model.parents)  # one body alone never bends into the ground
    if contacts.count <= len(contacts.usual) and len(limits) <= len(usual_limits) and not whips:
        return simple
    twists = node_twists(free.at, poses, v_free)
    more: Scalar = -1.0
    for bound in contacts.bounds(poses, twists):
        more = choose(bound.after(dt), NEAR, 1.0, more)
    for k, limit in enumerate(limits):
        if k not in settings.usual_limits:
            more = choose(0.0, more, more, violated(limit, q, v_free, dt))

    for speed in v_free if whips else ():
        more = choose(FAST, dt * abs(speed), 1.0, more)

    def with_everything() -> tuple[Array, ...]:
        found = contacts.candidates(poses)
        ahead = [Bound(c.gap, c.closing(twists), c.a).after(dt) for c in found]
        bends = _bends(found, node_bends(free.at, poses, v_free, twists), dt)
        in_slots = contacts_in_slots(found, ahead, bends, model.parents, SPEED * dt, contacts.slots)
        held = limits_in_slots(limits, q, v_free, dt, settings.limit_slots)
        motion = problem.solved(in_slots, held, _searched(in_slots, before))
        passed = _passed(found, node_twists(free.at, poses, motion.v), limits, q, motion.v, dt)
        told = choose(motion.status, Status.CONTACTS_LEFT_OUT - 0.5, Status.CONTACTS_LEFT_OUT, motion.status)
        return _flat(motion._replace(status=choose(0.5, passed, told, motion.status)))

    return _unflat(replace_where(more, _flat(simple), with_everything))


def _bends(found: Sequence[Candidate], bends: Sequence[Bend], dt: Scalar) -> list[Scalar]:
    """Metres by which gaps close in a step beyond what their rates say: those of a hand that whips around.

    Where a point bends away instead, it may be one of many in a row, as on a wheel: nothing is gained.
    """
    part, least = 0.5 * dt * dt, -FASTEST_BEND * dt
    closing = [part * c.bending(bends) for c in found]
    return [choose(x, least, least, choose(x, 0.0, x, 0.0)) for x in closing]


def _passed(
    found: Sequence[Candidate],
    twists: Sequence[Twist],
    limits: Sequence[JointLimit],
    q: Array,
    v: Array,
    dt: Scalar,
) -> Scalar:
    """1 where something closes in this step that is closed already: it has found no slot. Else 0."""
    ways = [(c.gap, c.closing(twists)) for c in found] + [(x.gap(q), x.sign * v[x.v]) for x in limits]
    passed: Scalar = 0.0
    for gap, rate in ways:
        least = choose(gap, 0.0, gap, 0.0) - UNNOTICED
        passed = choose(gap + dt * rate, least, 1.0, passed)
    return passed


def _flat(m: ContactMotion) -> tuple[Array, ...]:
    return (m.v, *m.contacts, vector(m.iterations, m.residual, m.status))


def _unflat(arrays: tuple[Array, ...]) -> ContactMotion:
    return ContactMotion(arrays[0], Contacts(*arrays[1:6]), *arrays[6])


def _usual_contacts(step: ContactProblemAtState, contacts: ContactSet) -> list[Contact]:
    """Those that are near, or that would close in the step without contacts, however fast that is."""
    tree = tree_of(step.model)
    found = contacts.candidates(step.poses, contacts.usual)
    points = [ContactPoint(c.point, frame_of_normal(c.normal), static_moves(tree, c.a, c.b)) for c in found]
    J, _ = contact_jacobian(step.free.at, step.poses, points)
    out = []
    for k, (c, at) in enumerate(zip(found, points, strict=True)):
        near = choose(c.gap, SPEED * step.dt, 1.0, 0.0)
        active = choose(c.gap + step.dt * (J[3 * k + 2] @ step.v_free), 0.0, 1.0, near)
        out.append(Contact(float(c.number), active, c.gap, c.friction, at))
    return out


def _matched(contacts: Sequence[Contact], before: tuple[Array, Array]) -> Array:
    """Impulses of the step before, where the same contacts were in the same slots."""
    numbers, impulses = before
    parts = [np.zeros(0)]
    for slot, contact in enumerate(contacts):
        same = choose(abs(numbers[slot] - contact.number), 0.5, 1.0, 0.0)
        parts.append(vector(*(choose(0.5, same, x, 0.0) for x in impulses[slot])))
    return np.concatenate(parts)


def _searched(contacts: Sequence[Contact], before: tuple[Array, Array]) -> Array:
    """Impulses of the step before, wherever the same contacts were."""
    parts = [np.zeros(0)]
    for contact in contacts:
        found: list[Scalar] = [0.0, 0.0, 0.0]
        for number, impulse in zip(*before, strict=True):
            same = choose(abs(number - contact.number), 0.5, 1.0, 0.0)
            found = [choose(0.5, same, x, y) for x, y in zip(impulse, found, strict=True)]
        parts.append(vector(*found))
    return np.concatenate(parts)


class ContactProblemAtState(NamedTuple):
    """What all contact problems at a state share."""

    model: Model
    settings: ContactSettings
    free: FreeMotion
    poses: Poses
    v: Array
    v_free: Array
    dt: Scalar

    def solved(self, contacts: Sequence[Contact], limits: Sequence[Limit], start: Array) -> ContactMotion:
        """The motion with these contacts and limits."""
        model, free, settings = self.model, self.free, self.settings
        J_contacts, _ = contact_jacobian(free.at, self.poses, [c.at for c in contacts])
        J = np.concatenate([np.zeros((0, model.nv)), *(limit.row[None] for limit in limits), J_contacts])
        response = free.response(free.independent(J))
        openings = [self._opening(limit.gap) for limit in limits]
        for k, contact in enumerate(contacts):
            opening = self._normal_velocity(contact, J_contacts[3 * k + 2])
            # Of a slot that nothing is in: its gap may be that of a touch which is not there, 1e10.
            opening = choose(0.5, contact.active, opening + contact.bend * (1.0 / self.dt), 0.0)
            openings += [0.0, 0.0, opening]
        g = J @ self.v_free + vector(*openings)
        active = vector(*(x.active for x in (*limits, *contacts)))
        frictions = vector(*(c.friction for c in contacts))
        softness = self._softness(len(limits), len(contacts))
        problem = ContactProblem(response.G, g, np.zeros(0), frictions, active, softness)
        start = np.concatenate([np.zeros(len(limits)), start])
        found = solve(problem, start, tolerance=settings.tolerance, convex=settings.convex)
        v = self.v_free + response.velocity(found.impulses)
        status = if_finite(found.status, Status.NOT_FINITE, v)
        slots = settings.contacts.slots
        impulses = found.impulses[len(limits) :].reshape(-1, 3)
        kept = Contacts(
            _padded([choose(0.5, c.active, c.number, -1.0) for c in contacts], slots, -1.0),
            _padded_rows(list(impulses), slots),
            _padded_rows([c.at.point for c in contacts], slots),
            _padded_rows([row for c in contacts for row in c.at.directions], 3 * slots).reshape(slots, 3, 3),
            _padded([c.gap for c in contacts], slots, 0.0),
        )
        return ContactMotion(v, kept, found.iterations, found.residual, status)

    def _opening(self, gap: Scalar) -> Scalar:
        """What is added to a velocity that opens a gap so that it need not be less than zero.

        An open gap may close within the step; of a penetration a part is undone.
        """
        rate = 1.0 / self.dt
        push = PUSH * rate * gap
        push = choose(push, -FASTEST_PUSH, -FASTEST_PUSH, push)
        return choose(gap, 0.0, push, rate * gap)

    def _normal_velocity(self, contact: Contact, row: Array) -> Scalar:
        """The same of a contact, where it does not bounce; there, e times the velocity before the step.

        One that gives way is a spring and a damper at the end of the step, k (gap + dt v) + d v = -force, which is a
        velocity of dt k / (dt k + d) gap / dt, and a softness.
        """
        opening, e = self._opening(contact.gap), self.settings.restitution
        if self.settings.softness is not None:
            k, d = self.settings.softness
            opening = choose(contact.gap, 0.0, (k / (self.dt * k + d)) * contact.gap, opening)
        if e == 0.0:
            return opening
        speed = row @ self.v
        hits = choose(contact.gap + self.dt * speed, 0.0, 1.0, 0.0)
        bounces = choose(speed, -BOUNCE_SPEED, hits, 0.0)
        return choose(0.5, bounces, e * speed, opening)

    def _softness(self, limits: int, contacts: int) -> Array | None:
        """Velocity per impulse by which rows give way: the normals of contacts."""
        if self.settings.softness is None:
            return None
        k, d = self.settings.softness
        normal = 1.0 / (self.dt * (self.dt * k + d))
        return vector(*[0.0] * limits, *[0.0, 0.0, normal] * contacts)


def slot_numbers(contacts: Contacts, dt: Scalar) -> Array:
    """(11 s,) what is recorded of contacts (`ContactRecord.of`); dt: the time in which their impulses acted."""
    rows: list[Scalar] = []
    for number, gap, point, directions, impulse in zip(
        contacts.numbers, contacts.gaps, contacts.points, contacts.directions, contacts.impulses, strict=True
    ):
        rows += [number, gap, *point, *directions[2], *((1.0 / dt) * (directions.T @ impulse))]
    return vector(*rows)


def _padded(values: Sequence[Scalar], count: int, rest: float) -> Array:
    return vector(*values, *[rest] * (count - len(values)))


def _padded_rows(rows: Sequence[Array], count: int) -> Array:
    flat = [x for row in rows for x in row]
    return vector(*flat, *[0.0] * (3 * count - len(flat))).reshape(count, 3)
