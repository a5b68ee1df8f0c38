"""Joint limits as rows that push and do not pull, in the same problem as contacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.simulation.contact.slots import nearest
from sarrus.simulation.manifold import joints_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.picking import pick

NEAR = 2e-2  # radians or metres left after the step without contacts: an impact may take that, too
HELD = 5e-3  # radians or metres by which a limit that pushed in the step before is nearer than it is
_PLANE = 2  # coordinates of a planar joint that are in axes which do not turn with it
LOOSE = 1e-4  # by which a limit may be passed before it is looked at, if it is not one of the usual ones


class Turned(NamedTuple):
    """A joint whose velocities are in axes that turn, while its coordinates are in axes that do not."""

    joint: AbstractJointType
    coordinates: slice
    velocities: range  # that move it along


class JointLimit(NamedTuple):
    """A joint's coordinate that must not pass a bound: sign (q - bound) >= 0."""

    q: int
    v: int
    bound: float
    sign: float
    turned: Turned | None = None  # x and y of a planar joint

    def gap(self, q: Array) -> Scalar:
        return self.sign * (q[self.q] - self.bound)

    @property
    def velocities(self) -> tuple[int, ...]:
        """Those that the gap may change with."""
        return (self.v,) if self.turned is None else tuple(self.turned.velocities)

    def moves(self, q: Array) -> dict[int, Scalar]:
        """How fast velocities open the gap."""
        if self.turned is None:
            return {self.v: self.sign}
        rates = self.turned.joint.rate_map(q[self.turned.coordinates])[self.q - self.turned.coordinates.start]
        return {k: self.sign * x for k, x in zip(self.velocities, rates, strict=False)}

    def rate(self, q: Array, v: Array) -> Scalar:
        """How fast the gap opens."""
        first, *others = (x * v[k] for k, x in self.moves(q).items())
        return sum(others, first)

    def pushed_before(self, q: Array, limited: Sequence[int], pushed: Array) -> Scalar:
        """The impulse by which it pushed in the step before; less than zero: the limit on the other side did.

        pushed  impulses on the velocities that are `limited`
        """
        first, *others = (x * pushed[limited.index(k)] for k, x in self.moves(q).items())
        return sum(others, first)

    def loose(self) -> JointLimit:
        """The same a little further out: a joint that a servo holds at its limit does not touch it by rounding.

        Where it is pressed against its limit it comes to rest there: the bound itself is moved.
        """
        return self._replace(bound=self.bound - self.sign * LOOSE)


class Limit(NamedTuple):
    """A limit that is looked at."""

    row: Array  # (nv,)
    gap: Scalar
    active: Scalar


def limits_of(model: Model) -> list[JointLimit]:
    """All limits of joints, lower ones and upper ones."""
    found = []
    for joint, of_q, of_v in joints_of(model):
        if joint.type.nq != joint.type.nv:
            continue
        for k in range(joint.type.nv):
            for bound, sign in ((joint.lower[k], 1.0), (joint.upper[k], -1.0)):
                if np.isfinite(bound):
                    along = _turned(joint.type, of_q, of_v.start) if k < _PLANE else None
                    found.append(JointLimit(of_q.start + k, of_v.start + k, float(bound), sign, along))
    return found


def _turned(joint: AbstractJointType, coordinates: slice, first: int) -> Turned | None:
    """How x and y of a planar joint move; None of other joints."""
    return Turned(joint, coordinates, range(first, first + _PLANE)) if joint.name == "planar" else None


def violated(limit: JointLimit, q: Array, v: Array, dt: Scalar) -> Scalar:
    """1 where the step would pass the limit, else -1."""
    return choose(limit.gap(q) + dt * limit.rate(q, v), 0.0, 1.0, -1.0)


def usual_limit(limit: JointLimit, q: Array, v: Array, dt: Scalar) -> Limit:
    """One that is looked at in every step."""
    moves = limit.moves(q)
    row = vector(*(moves.get(k, 0.0) for k in range(len(v))))
    return Limit(row, limit.gap(q), choose(limit.gap(q) + dt * limit.rate(q, v), NEAR, 1.0, 0.0))


def limits_in_slots(
    limits: Sequence[JointLimit], q: Array, v: Array, dt: Scalar, slots: int, pushed: Sequence[Scalar] | None = None
) -> list[Limit]:
    """The limits that the step would come nearest to or pass, as many as there are slots.

    pushed  of each: the impulse by which it pushed in the step before. Those that pushed keep their slots
    """
    if not limits:
        return []
    slots = min(slots, len(limits))
    ahead = [limit.gap(q) + dt * limit.rate(q, v) for limit in limits]
    for k, impulse in enumerate(pushed or ()):
        ahead[k] = ahead[k] - choose(0.0, impulse, HELD, 0.0)
    numbers, count, _ = nearest(ahead, NEAR, slots)
    moves = [limit.moves(q) for limit in limits]
    limited = {k for limit in limits for k in limit.velocities}
    turned = {k for limit in limits if limit.turned is not None for k in limit.velocities}
    found = []
    for slot, number in enumerate(numbers):
        gap = pick([limit.gap(q) for limit in limits], number)
        which = pick([float(limit.v) for limit in limits], number)
        sign = pick([limit.sign for limit in limits], number)
        row = [choose(abs(which - k), 0.5, sign, 0.0) if k in limited else 0.0 for k in range(len(v))]
        for k in turned:
            row[k] = pick([move.get(k, 0.0) for move in moves], number)
        found.append(Limit(vector(*row), gap, choose(float(slot), count - 0.5, 1.0, 0.0)))
    return found
