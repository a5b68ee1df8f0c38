"""The contact problem of a step at a state: which velocities contacts and limits leave a robot.

Rows and openings are made here, impulses are found by `mechanics/contact/solve.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.body_rows import ContactRows, contact_rows
from sarrus.mechanics.contact.contact_rows import Poses, node_twists
from sarrus.mechanics.contact.delassus import AbstractDelassus
from sarrus.mechanics.contact.joint_rows import JointRowsDelassus
from sarrus.mechanics.contact.problem import ContactProblem, ContactSolution, row_spans
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.contact.tree_delassus import TreeDelassus, rows_on_tree
from sarrus.mechanics.contact.world_tree import world_tree
from sarrus.mechanics.mechanism import Mechanism
from sarrus.model.model import Model
from sarrus.model.unconstrained import free_of_loops
from sarrus.simulation.contact import bouncing
from sarrus.simulation.contact.dry_friction import NOTHING_RUBS, BoundedRow, DryFriction
from sarrus.simulation.contact.free_motion import FreeMotion, JointInertia
from sarrus.simulation.contact.limits import Limit
from sarrus.simulation.contact.motion import ContactMotion, Contacts, of_size
from sarrus.simulation.contact.operators import SWEEPS, Tied, operator_of
from sarrus.simulation.contact.penetrations import BENT, GENTLE, PART, Response, Room, moved_apart, undone
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.contact.slots import Contact
from sarrus.simulation.contact.straight_motion import without_flight
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import AbstractScalar, choose
from sarrus.spatial.extremes import larger
from sarrus.spatial.norms import if_finite
from sarrus.spatial.replacement import replace_where
from sarrus.status import Status

BOUNCE_SPEED = 1e-2  # m/s below which nothing bounces
_FAR = 1e10  # metres or radians from a limit that is not looked at


class Delassus(NamedTuple):
    """What impulses along rows do to these, and which velocities they have where joints have some (nv,)."""

    G: AbstractDelassus
    along: Callable[[Array], Array]


class ContactProblemAtState(NamedTuple):
    """What all contact problems at a state share."""

    model: Model
    settings: ContactSettings
    free: FreeMotion
    poses: Poses
    v: Array
    v_free: Array
    dt: Scalar
    friction: DryFriction = NOTHING_RUBS
    joints_are_rows: bool = False  # of friction: the free motion has none
    with_rows: Callable[[], ContactProblemAtState] | None = None  # the problem in which they are, where both exist
    moving: Callable[[Array], Mechanism] | None = None  # see `StepStart`

    @property
    def bounded(self) -> list[BoundedRow]:
        return self.friction.rows(self.model.nv, self.joints_are_rows)

    def in_joint_space(self, contacts: Sequence[Contact]) -> bool:
        """Whether G is never written out, as rows are many. (Then contacts do not give way.)"""
        turn = any(contact.at.turns for contact in contacts)
        many = turn and sum(contact.at.size for contact in contacts) > len(self.free.M)
        return (self.joints_are_rows or many) and self.settings.softness is None

    def rows(self, contacts: Sequence[Contact], limits: Sequence[Limit]) -> ContactRows:
        """Of friction, limits and contacts. What gives way does it each by itself, not together with its body."""
        together = self.settings.softness is None and not self.in_joint_space(contacts)
        single = [x.row for x in (*self.bounded, *limits)]
        return contact_rows(self.free.at, self.poses, single, [c.at for c in contacts], together)

    def _operator(self, contacts: Sequence[Contact], limits: Sequence[Limit]) -> str:
        bodies = [None if c.at.on is None else tuple(c.at.on) for c in contacts]
        joints = [Tied(_moving(x.row)) for x in self.bounded]
        joints += [Tied(_moving(x.row), only_one=True) for x in limits]
        return operator_of(self.model, self.settings, bodies, joints, self.in_joint_space(contacts)).operator

    def _delassus(self, contacts: Sequence[Contact], limits: Sequence[Limit]) -> tuple[Delassus, Response]:
        """G with what velocities make of its rows, and what its wrenches do."""
        free, inertia = self.free, JointInertia(self.free)
        if self._operator(contacts, limits) == SWEEPS:
            single = [x.row for x in (*self.bounded, *limits)]
            rows = list(free.independent(np.stack(single))) if single else []
            touched = {b for c in contacts for b in c.at.on or ()}
            with_rows = {k for row in rows for k in _moving(row)}
            tree = world_tree(free.at, self.poses, free.added, touched, with_rows)
            tree_G = TreeDelassus(tree, inertia.moved_by, rows_on_tree(tree, rows, [c.at for c in contacts]))

            def along(v: Array) -> Array:
                twists = enumerate(node_twists(free.at, self.poses, v))
                of_contacts = tree_G.along_contacts({b: twist.about(tree.origin) for b, twist in twists})
                return np.concatenate([vector(*(row @ v for row in single)), of_contacts])

            return Delassus(tree_G, along), inertia.all_moved_by
        rows = self.rows(contacts, limits)
        J = free.independent(rows.J)
        if self.in_joint_space(contacts):
            of_joints = JointRowsDelassus(J, inertia)
            return Delassus(of_joints, lambda v: rows.J @ v), lambda x: inertia.all_moved_by(J.T @ x)
        response = free.response(J)
        G = rows.delassus(response.G)
        return Delassus(G, lambda v: G.along_rows(rows.J @ v)), response.moved_by

    def posed(
        self, contacts: Sequence[Contact], limits: Sequence[Limit], restitution: float | None = None
    ) -> tuple[ContactProblem, Response]:
        """The problem with these contacts and limits, and what their impulses do; restitution: None: as it is."""
        bounded = self.bounded
        (G, along), response = self._delassus(contacts, limits)
        before, after = (along(v) for v in (self.v, self.v_free))
        openings = [x.row @ (self.rates(self.v_free) - self.v_free) for x in bounded]
        openings += [self._opening(limit.gap) for limit in limits]
        first = len(openings)
        sizes = tuple(contact.at.size for contact in contacts)
        for normal, contact in zip(accumulate(sizes, initial=first), contacts, strict=False):
            normal += contact.at.size
            opening = self._normal_velocity(contact, before[normal - 1], restitution)
            slides = (1.0 / self.dt) * (contact.at.directions[:2] @ contact.bend.slides)
            own = [*slides, opening + (contact.bend.by_velocities / self.dt) * contact.bend.closes]
            # Of a slot that nothing is in: its gap may be that of a touch which is not there, 1e10.
            *across, opening = (choose(0.5, contact.active, x, 0.0) for x in own)
            openings += [*across, *[0.0] * (contact.at.size - 3), opening]
        active = vector(*(x.active for x in (*limits, *contacts)))
        frictions = vector(*(c.friction for c in contacts))
        softness = self._softness(first, sizes)
        bounds = vector(*(x.bound for x in bounded))
        g, freedoms = after + vector(*openings), len(self.free.M)
        return ContactProblem(G, g, bounds, frictions, active, softness, sizes, freedoms), response

    def struck(self, change: Array) -> ContactProblemAtState:
        """The same after impulses that change velocities (nv,) by so much.

        Of an impact in the middle of a step, half of the step has the velocity products of the motion before it, and
        half those of the motion after it.
        """
        assert self.moving is not None
        free = self.free.with_products_of(self.moving(without_flight(self.model, self.free.turning + 0.5 * change)))
        return self._replace(free=free, v_free=free.velocity(self.v, self.dt))

    def rates(self, v: Array) -> Array:
        """Velocities after the step as joints have them: v is in axes that do not turn (`straight_motion.py`)."""
        return v - self.v_free + (self.v + self.dt * self.free.qdd)

    def solved(
        self,
        contacts: Sequence[Contact],
        limits: Sequence[Limit],
        start: Array,
        pushed: Array,
        entry: Scalar = 1.0,
        sweeps: int | None = None,
        fallback: bool = True,
    ) -> ContactMotion:
        """The motion with these contacts and limits, where the entry is greater than 0.

        start             impulses (3 contacts,) of the step before
        pushed            see `Before`
        sweeps, fallback  see `solve`
        """
        settings, bounded = self.settings, self.bounded
        problem, response = self.posed(contacts, limits)
        assert isinstance(problem.G, AbstractDelassus)
        limited = list(settings.limited)[: len(pushed)]
        held = vector(*(limit.row[limited] @ pushed for limit in limits))
        start = np.concatenate([vector(*(x.start for x in bounded)), held, start])

        def found_in(problem: ContactProblem, entry: Scalar) -> ContactSolution:
            return solve(
                problem, start, tolerance=settings.tolerance, convex=settings.convex, entry=entry,
                sweeps=0 if self.in_joint_space(contacts) else sweeps, fallback=fallback,
            )  # fmt: skip

        found = found_in(problem, entry)
        if settings.restitution > 0.0:
            found = self._taking_energy(found_in, problem, found, contacts, limits)
        moved = response(problem.G.wrenches(found.impulses))
        v, loops = self.v_free + moved.velocity, self.free.least_forces + (1.0 / self.dt) * moved.loops
        status = if_finite(found.status, Status.NOT_FINITE, v)
        slots = settings.contacts.slots
        rubbing, pushing, impulses = np.split(found.impulses, [len(bounded), len(bounded) + len(limits)])
        rubbed, unexpected = (
            (list(rubbing), 0.0) if self.joints_are_rows else self.friction.impulses(self.rates(v), rubbing)
        )
        turns = settings.contacts.turns
        each = [impulses[rows] for rows in row_spans(0, problem.sizes or ())]
        gives_way = 0.0 if problem.compliance is None else problem.compliance * found.impulses
        moving = [(found.velocities + gives_way)[rows] for rows in problem.contacts]
        pushes = sum((x * limit.row[limited] for x, limit in zip(pushing, limits, strict=True)), np.zeros(len(limited)))
        kept = Contacts(
            _padded([choose(0.5, c.active, c.number, -1.0) for c in contacts], slots, -1.0),
            _padded_rows([_widened(x, 3 + turns) for x in each], slots, 3 + turns),
            _padded_rows([c.at.point for c in contacts], slots),
            _padded_rows([row for c in contacts for row in c.at.directions], 3 * slots).reshape(slots, 3, 3),
            _padded_rows([row for c in contacts for row in _turns(c, turns)], turns * slots).reshape(slots, turns, 3),
            _padded([c.gap for c in contacts], slots, 0.0),
            _padded_rows([of_size(c, 3) for c in moving], slots),
            _padded([c.friction for c in contacts], slots, 0.0),
        )
        parts = self.friction.parts(rubbed)
        shift = self.shift(lambda: (problem, response), found.velocities, contacts, limits)
        return ContactMotion(v, shift, loops, kept, pushes, parts, unexpected, found.iterations, found.residual, status)

    def _taking_energy(
        self,
        found_in: Callable[[ContactProblem, Scalar], ContactSolution],
        problem: ContactProblem,
        full: ContactSolution,
        contacts: Sequence[Contact],
        limits: Sequence[Limit],
    ) -> ContactSolution:
        """What was found with restitution, or as much of it as takes energy (`bouncing.py`)."""
        still, _ = self.posed(contacts, limits, 0.0)
        v = self._delassus(contacts, limits)[0].along(self.v_free)

        def less() -> tuple[Array, ...]:
            return bouncing.flat(bouncing.between(problem, found_in(still, 1.0), full, v))

        gained = bouncing.work(problem, full.impulses, v)
        return bouncing.of_flat(replace_where(gained, bouncing.flat(full), less))

    def shift(
        self,
        posed: Callable[[], tuple[ContactProblem, Response]],
        velocities: Array,
        contacts: Sequence[Contact],
        limits: Sequence[Limit],
    ) -> Array:
        """(nv,) by which the step undoes penetrations, beside its motion; it is the same for joints that are rows.

        posed       the problem, and what impulses do
        velocities  of all rows, at its end
        """
        rigid = contacts if self.settings.softness is None else []  # springs undo the others
        first, with_rows = len(self.bounded), self.with_rows
        rows = [*range(first, first + len(limits))]
        rows += [span.stop - 1 for span in row_spans(first + len(limits), [c.at.size for c in rigid])]
        bends = [*[0.0] * len(limits), *((1.0 - c.bend.by_velocities) * c.bend.closes for c in rigid)]
        wanted = [
            undone(x.gap, self.dt, self.dt * velocities[k] + bend, x.active)
            for k, x, bend in zip(rows, (*limits, *rigid), bends, strict=True)
        ]
        alone = free_of_loops(self.model)
        rooms = [
            Room(limit.row * alone, choose(limit.gap, -BENT, choose(0.5, limit.active, -x, _FAR), _FAR))
            for limit, x in zip(limits, wanted, strict=False)
        ]
        posed = posed if with_rows is None else lambda: with_rows().posed(contacts, limits)
        return moved_apart(wanted, posed, len(self.v), rooms)

    def _opening(self, gap: Scalar) -> Scalar:
        """What is added to a velocity that opens a gap so that it need not be less than zero.

        An open gap may close within the step. A penetration opens, but so slowly that its energy does not matter: what
        rests on many points does so in one way. (`penetrations.py` undoes what is deeper.)
        """
        rate = 1.0 / self.dt
        push = larger(PART * rate * gap, -GENTLE)
        return choose(gap, 0.0, push, rate * gap)

    def _normal_velocity(self, contact: Contact, speed: Scalar, restitution: float | None) -> Scalar:
        """The same of a contact, where it does not bounce; there, e times the speed before the step.

        One that gives way is a spring and a damper at the end of the step, k (gap + dt v) + d v = -force, which is a
        velocity of dt k / (dt k + d) gap / dt, and a softness.
        """
        opening = self._opening(contact.gap)
        e = self.settings.restitution if restitution is None else restitution
        if self.settings.softness is not None:
            k, d = self.settings.softness
            opening = choose(contact.gap, 0.0, (k / (self.dt * k + d)) * contact.gap, opening)
        if e == 0.0:
            return opening
        hits = choose(contact.gap + self.dt * speed, 0.0, 1.0, 0.0)
        bounces = choose(speed, -BOUNCE_SPEED, hits, 0.0)
        return choose(0.5, bounces, e * speed, opening)

    def _softness(self, others: int, sizes: Sequence[int]) -> Array | None:
        """Velocity per impulse by which rows give way: the normals of contacts."""
        if self.settings.softness is None:
            return None
        k, d = self.settings.softness
        normal = 1.0 / (self.dt * (self.dt * k + d))
        return vector(*[0.0] * others, *(x for size in sizes for x in (*[0.0] * (size - 1), normal)))


def _moving(row: Array) -> list[int]:
    """The velocities that a row may be on."""
    return [k for k, x in enumerate(row) if isinstance(x, AbstractScalar) or x != 0.0]


def slot_numbers(contacts: Contacts, dt: Scalar, residual: Scalar = 0.0) -> Array:
    """(18 s + 1,) what is recorded of contacts (`ContactRecord.of`); dt: the time in which their impulses acted."""
    rows: list[Scalar] = []
    for number, impulse, point, directions, turns, gap, velocity, friction in zip(*contacts, strict=True):
        pushed = directions.T @ of_size(impulse, 3)
        turned = turns.T @ impulse[2:-1] if len(turns) else np.zeros(3)
        rows += [number, gap, *point, *directions[2], *((1.0 / dt) * pushed), *((1.0 / dt) * turned)]
        rows += [*(directions.T @ velocity), friction]
    return vector(*rows, residual)


def _padded(values: Sequence[Scalar], count: int, rest: float) -> Array:
    return vector(*values, *[rest] * (count - len(values)))


def _padded_rows(rows: Sequence[Array], count: int, width: int = 3) -> Array:
    flat = [x for row in rows for x in row]
    return vector(*flat, *[0.0] * (width * count - len(flat))).reshape(count, width)


def _widened(impulse: Array, width: int) -> Array:
    """An impulse of a slot that has room for more rows."""
    return vector(*impulse[:-1], *[0.0] * (width - len(impulse)), impulse[-1])


def _turns(contact: Contact, count: int) -> list[Array]:
    return [*contact.at.turns, *[np.zeros(3)] * (count - len(contact.at.turns))]
