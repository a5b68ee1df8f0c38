"""Paths that bend: in a step, gaps close by more than their rates say, and what touches slides by more.

Rows are those of the beginning of a step. What they say of a path that bends is the velocity at its beginning; what
counts is the way that it takes: a hand that rolls over the ground, or a box over its edge, sticks if it has not slid at
the end. With rows of the beginning alone, friction gives energy to what rolls about a point that sticks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.contact.contact_rows import Bend, Poses, Twist
from sarrus.mechanics.contact.contact_set import Candidate, ContactSet, of_same_nodes
from sarrus.mechanics.contact.rolling import radii_of_touch, sinking
from sarrus.model.bodies import WORLD
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Capsule, Sphere
from sarrus.simulation.contact.penetrations import DEEP
from sarrus.simulation.contact.slots import Bent
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, smaller
from sarrus.spatial.rotations import cross

FASTEST_BEND = 4.0  # m/s: what a path that bends towards the ground may add to the opening
MORE_BEND = 0.12  # of what is more than is deep: by which velocities after a step bend paths more than those before


def bends_of(
    contacts: ContactSet,
    found: Sequence[Candidate],
    poses: Poses,
    bends: Sequence[Bend],
    rates: Sequence[Scalar],
    dt: Scalar,
) -> list[Bent]:
    """Of all candidates, with motions of nodes that bend as `bends` say.

    rates  at which gaps open
    """
    closes = _closes(contacts, found, poses, bends, dt)
    ahead = [c.gap + dt * rate + x for c, rate, x in zip(found, rates, closes, strict=True)]
    slides = _slides(contacts, found, bends, ahead, dt)
    return [Bent(x, y) for x, y in zip(closes, slides, strict=True)]


def _closes(
    contacts: ContactSet, found: Sequence[Candidate], poses: Poses, bends: Sequence[Bend], dt: Scalar
) -> list[Scalar]:
    """Metres by which gaps close beyond what their rates say: those of a hand that whips around, of a rim.

    Where a point bends away instead, it may be one of many in a row, as on a wheel: nothing is gained.
    """
    part = 0.5 * dt * dt
    return [closing(part * c.bending(bends) - sinking_of(contacts, c, poses, bends[c.a].twist, dt), dt) for c in found]


def _slides(
    contacts: ContactSet, found: Sequence[Candidate], bends: Sequence[Bend], ahead: Sequence[Scalar], dt: Scalar
) -> list[Array]:
    """(3,) metres in the world by which what touches slides beyond what its velocity says.

    Points of a body that turns about one of them cannot all stick: of things that touch in several points, it is a
    motion of rigid bodies that has the right one at the point which is the lowest after the step.

    ahead  gaps after the step
    """
    part, slides = 0.5 * dt * dt, [np.zeros(3)] * len(found)
    for (a, b), mine in of_same_nodes(found).items():
        lowest, *others = mine
        least, point, sliding = ahead[lowest], found[lowest].point, _sliding(contacts, found[lowest], bends)
        for k in others:
            point = choose_vector(ahead[k], least, found[k].point, point)
            sliding = choose_vector(ahead[k], least, _sliding(contacts, found[k], bends), sliding)
            least = smaller(ahead[k], least)
        turning = bends[a].angular if b == WORLD else bends[a].angular - bends[b].angular
        for k in mine:
            slides[k] = part * (sliding + cross(turning, found[k].point - point))
    return slides


def _sliding(contacts: ContactSet, c: Candidate, bends: Sequence[Bend]) -> Array:
    """(3,) how the velocity changes with which two bodies slide where they touch; velocities of joints do not.

    The lowest point of a ball is another one as it turns: it slides as the centre does, and by what makes it turn
    faster. Of other round things it depends on how they are curved: what their velocity says is all that counts.
    """
    pair, touch = contacts.pair_and_touch(c.number)
    at = bends[c.a].at(c.point)
    if isinstance(pair.a.shape, Sphere | Capsule):
        arm = -pair.a.shape.radius * c.normal
        at = at - cross(bends[c.a].twist.angular, cross(bends[c.a].twist.angular, arm))
    elif radii_of_touch(pair.a.shape, touch) is not None and isinstance(pair.b.shape, Plane):
        at = np.zeros(3)
    return at if c.b == WORLD else at - bends[c.b].at(c.point)


def closing(bend: Scalar, dt: Scalar) -> Scalar:
    """What counts of that. Where it is much, impulses of this very step make it more."""
    least = -FASTEST_BEND * dt
    bend = smaller(bend, bend + MORE_BEND * (bend + DEEP))
    return choose(bend, least, least, choose(bend, 0.0, bend, 0.0))


def sinking_of(contacts: ContactSet, c: Candidate, poses: Poses, twist: Twist, dt: Scalar) -> Scalar:
    """Of a round shape on a plane."""
    pair, touch = contacts.pair_and_touch(c.number)
    radii = radii_of_touch(pair.a.shape, touch) if isinstance(pair.b.shape, Plane) else None
    return 0.0 if radii is None else sinking(radii, pair.a.pose(poses)[0], c.normal, twist, dt)
