"""The motion with the nearest of all contacts, as many as there are slots.

Which of them matter is not known before the impulses are: a leg that strikes the ground with its knee swings its foot
down within the same step. So where something then closes that has no slot, or whose path the impulses have bent into
the ground, the problem is solved once more. What pushed keeps its slot, and the others are given to what is nearest
after the motion that was found. Where these are too few for what then closes, it takes those of the contacts that
share the load of their body with others and bear the least of it. A problem that Newton's method has not solved is
tried again as it is, with the fallback behind it.

So it is, too, where impulses change velocities by much, and their products with them: limbs that strike something while
they whirl gain or lose energy by the products of a motion that they no longer have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.mechanics.contact.cone import either, largest, tiny
from sarrus.mechanics.contact.contact_rows import Twist, node_bends, node_twists
from sarrus.mechanics.contact.contact_set import Bound, Candidate, of_same_nodes
from sarrus.simulation.contact.bending import bends_of
from sarrus.simulation.contact.contact_problem import ContactProblemAtState
from sarrus.simulation.contact.limits import JointLimit, limits_in_slots
from sarrus.simulation.contact.motion import Before, ContactMotion, of_size
from sarrus.simulation.contact.slots import Bent, Contact, by_importance, contacts_in_slots, held_by_slots
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger, smaller
from sarrus.spatial.replacement import replace_where

SPEED = 8.0  # m/s: what is looked at is a contact if it could close in a step at that speed
STRUCK = 2e-3  # rad/s: where impulses may change by more what velocity products give in the step, these count anew
UNNOTICED = 1e-4  # metres or radians by which something may pass in a step without its being told
_SLIGHTLY = 0.1  # of that


class Ways(NamedTuple):
    """How gaps of all candidates change in a step with some velocities."""

    rates: list[Scalar]
    bends: list[Bent]

    @staticmethod
    def of(step: ContactProblemAtState, found: Sequence[Candidate], v: Array, twists: Sequence[Twist]) -> Ways:
        bends = node_bends(step.free.at, step.poses, v, twists)
        rates = [c.closing(twists) for c in found]
        return Ways(rates, bends_of(step.settings.contacts, found, step.poses, bends, rates, step.dt))


def every_contact(
    step: ContactProblemAtState,
    limits: Sequence[JointLimit],
    q: Array,
    twists: Sequence[Twist],
    before: Before,
    whips: Array,
) -> ContactMotion:
    """The motion of a step in which anything may touch.

    twists  of nodes, without contacts
    before  what the step before left
    whips   velocities of joints that move something which may touch
    """
    contacts, dt = step.settings.contacts, step.dt
    found, reach = contacts.candidates(step.poses), SPEED * dt

    def attempt(
        step: ContactProblemAtState,
        v: Array,
        bends: Sequence[Bent],
        distances: Sequence[Scalar] | Array,
        before: Before,
        **how: Any,
    ) -> ContactMotion:
        """The motion with what is nearest by these distances, beginning with impulses of the one before.

        v    by which limits are looked for
        how  it is solved
        """
        in_slots = contacts_in_slots(found, list(distances), bends, step.model.parents, reach, contacts.slots)
        pushed = [limit.pushed_before(q, step.settings.limited, before.pushed) for limit in limits]
        held = limits_in_slots(limits, q, v, dt, step.settings.limit_slots, pushed)
        return step.solved(in_slots, held, _searched(in_slots, before), before.pushed, **how)

    ways = Ways.of(step, found, step.v_free, twists)
    ahead = [Bound(c.gap, rate, c.a).after(dt) for c, rate in zip(found, ways.rates, strict=True)]
    importance = by_importance(found, ahead, reach, contacts.slots)
    first = attempt(step, step.v_free, ways.bends, importance, before, fallback=False)
    after = Ways.of(step, found, first.v, node_twists(step.free.at, step.poses, first.v))

    def again() -> tuple[Array, ...]:
        left = Before(first.contacts.numbers, first.contacts.impulses, first.pushed, first.rubbed)
        pushes = held_by_slots(len(found), list(left.numbers), list(left.impulses[:, -1]))
        shares = shares_of_bodies(found, pushes)
        distances = []
        for c, rate, bend, share in zip(found, *after, shares, strict=True):
            end = c.gap + dt * rate + bend.closes
            closes = choose(end, smaller(c.gap, 0.0) - UNNOTICED, 2.0, 0.0)
            distances.append(end - reach * choose(0.0, share, 1.0 + share, closes))
        # What was not solved says nothing about where things go: the same problem again, for the fallback.
        unsolved = choose(0.5, first.status, 1.0, -1.0)
        v, distances = (
            either(unsolved, vector(*as_it_was), vector(*now))
            for as_it_was, now in ((step.v_free, first.v), (importance, distances))
        )
        bends = [now.unless(unsolved, as_it_was) for now, as_it_was in zip(after.bends, ways.bends, strict=True)]
        following = step.struck(either(unsolved, np.zeros(len(v)), changed(first))) if len(whips) else step
        second = attempt(following, v, bends, distances, left, sweeps=0)  # sweeps have found out already what sticks
        moved = node_twists(step.free.at, step.poses, second.v)
        second = second._replace(iterations=first.iterations + second.iterations)
        rates = [c.closing(moved) for c in found]
        second = second.told(passed(found, rates, limits, q, second.v, dt, sinks=sinking(second)))
        # What was found first is good enough where it only was to become more exact.
        fails = choose(0.5, lacks, -1.0, second.status - 0.5)
        pairs = zip(first.flat, second.flat, strict=True)
        return tuple(either(fails, x.reshape(-1), y.reshape(-1)).reshape(y.shape) for x, y in pairs)

    def changed(motion: ContactMotion) -> Array:
        """Velocities by impulses."""
        return motion.v - step.v_free

    def sinking(motion: ContactMotion) -> list[Scalar] | None:
        """Contacts that give way sink in where they have a slot."""
        if step.settings.softness is None:
            return None
        return held_by_slots(len(found), list(motion.contacts.numbers), [1.0] * contacts.slots)

    lacks = passed(found, after.rates, limits, q, first.v, dt, [x.closes for x in after.bends], sinking(first))
    lacks = choose(0.5, first.status, 1.0, lacks)  # not solved: the fallback is there
    struck = choose(dt * largest(step.v_free[whips]) * largest(changed(first)[whips]), STRUCK, -1.0, 1.0)
    return ContactMotion.of(replace_where(larger(lacks, struck), first.flat, again))


def shares_of_bodies(found: Sequence[Candidate], pushes: Sequence[Scalar]) -> list[Scalar]:
    """Of every candidate: its push as a part of the largest one on the same body; 0 where it does not push."""
    shares: list[Scalar] = [0.0] * len(found)
    for mine in of_same_nodes(found).values():
        most: Scalar = 0.0
        for k in mine:
            most = larger(most, pushes[k])
        over = choose(0.0, most, 1.0 / larger(most, tiny()), 0.0)
        for k in mine:
            shares[k] = larger(pushes[k], 0.0) * over
    return shares


def passed(
    found: Sequence[Candidate],
    rates: Sequence[Scalar],
    limits: Sequence[JointLimit],
    q: Array,
    v: Array,
    dt: Scalar,
    bends: Sequence[Scalar] | None = None,
    sinks: Sequence[Scalar] | None = None,
) -> Scalar:
    """1 where something closes in this step that is closed already: it has found no slot. Else 0.

    By more than what goes unnoticed, or at all where it is deeper than that. With bends, it may have one.

    sinks  of contacts: 1 where they may close further
    """
    more = [0.0] * len(found) if bends is None else bends
    may = [0.0] * len(found) if sinks is None else sinks
    ways = [(c.gap, dt * rate + bend, yes) for c, rate, bend, yes in zip(found, rates, more, may, strict=True)]
    ways += [(x.gap(q), dt * x.rate(q, v), 0.0) for x in limits]
    is_passed: Scalar = 0.0
    for gap, way, sinks_in in ways:
        least = choose(gap, 0.0, gap, 0.0) - choose(gap, -UNNOTICED, _SLIGHTLY * UNNOTICED, UNNOTICED)
        is_passed = choose(gap + way, least, choose(0.5, sinks_in, is_passed, 1.0), is_passed)
    return is_passed


def _searched(contacts: Sequence[Contact], before: Before) -> Array:
    """Impulses of the step before, wherever the same contacts were."""
    parts = [np.zeros(0)]
    for contact in contacts:
        found: list[Scalar] = [0.0] * contact.at.size
        for number, impulse in zip(before.numbers, before.impulses, strict=True):
            same = choose(abs(number - contact.number), 0.5, 1.0, 0.0)
            found = [choose(0.5, same, x, y) for x, y in zip(of_size(impulse, len(found)), found, strict=True)]
        parts.append(vector(*found))
    return np.concatenate(parts)
