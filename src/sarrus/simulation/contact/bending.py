"""Paths that bend into the ground: gaps close in a step by more than their rates say."""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.mechanics.contact.contact_rows import Bend, Poses, Twist
from sarrus.mechanics.contact.contact_set import Candidate, ContactSet
from sarrus.mechanics.contact.rolling import radii_of_touch, sinking
from sarrus.model.geometries import Plane
from sarrus.simulation.contact.penetrations import DEEP
from sarrus.spatial.arrays import Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import smaller

FASTEST_BEND = 4.0  # m/s: what a path that bends towards the ground may add to the opening
MORE_BEND = 0.12  # of what is more than is deep: by which velocities after a step bend paths more than those before


def bends_of(
    contacts: ContactSet, found: Sequence[Candidate], poses: Poses, bends: Sequence[Bend], dt: Scalar
) -> list[Scalar]:
    """Metres by which gaps close in a step beyond what their rates say: those of a hand that whips around, of a rim.

    Where a point bends away instead, it may be one of many in a row, as on a wheel: nothing is gained.
    """
    part = 0.5 * dt * dt
    return [closing(part * c.bending(bends) - sinking_of(contacts, c, poses, bends[c.a].twist, dt), dt) for c in found]


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
