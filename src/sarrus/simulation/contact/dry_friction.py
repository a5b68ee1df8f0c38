"""Dry friction of joints and tendons in a step on the ground.

With b = dt tau_f, the impulse x of friction along a joint's velocity v at the end of the step is within [-b, b]; where
it is less than b, the joint sticks, v = 0, else it slips, and x is against v. These are bounded rows of the contact
problem (`mechanics/contact/problem.py`).

Most joints do what they did in the step before, and then it takes no row. Of a joint that slips, x is known. One that
sticks is held by an inertia, which is part of the joint's own,

    x = center - A v,      A = 2 b / creep

where the center is what x was in the step before: as x is within its bounds, |v| is not more than creep, and it is 0
where x does not change: nothing creeps for longer than a step or two. If the velocities that then come out agree with
what was assumed of every joint, they solve the whole problem. Where they do not, a joint begins or ceases to slip one
step late: what had to hold more than it can slips in the next step, and what was pushed on by its friction sticks. Or,
if friction is to be exact, all joints are rows of another problem (`mechanics/contact/joint_rows.py`), and creep is far
below what that is solved to. (A robot all of whose joints are held so hard is one rigid body on many points, which
takes many more of Newton's steps.)

A tendon over several joints is always a row: an inertia between joints would undo the sparsity of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.cone import clipped
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.precision import within

_SOFT_CREEP = 1e-3  # rad/s or m/s of a joint that may change a step late, at most, and for a moment
_CREEP = 1e-3  # of the tolerance of the contact problem ...
_LEAST_CREEP, _LEAST_ROUNDINGS = 1e-10, 2e3  # ... but not less: x would be rounding
_AT_BOUND = 1e-9  # of the bound: what counts as all of it
_TOO_MUCH = 1.5  # parts of the bound: 2 stands for anything that is too much
_FAST = 2.0  # times what friction takes from a joint in a step: it will not stop


class Rub(NamedTuple):
    """Dry friction along a joint's velocity or a tendon's speed."""

    moves: tuple[tuple[int, float], ...]  # velocities, and how much each counts
    size: float  # N m or N
    inertia: float  # the least that a robot has there

    @property
    def is_joint(self) -> bool:
        return len(self.moves) == 1

    def row(self, nv: int) -> Array:
        row = np.zeros(nv)
        for k, factor in self.moves:
            row[k] += factor
        return row


def rubs_of(rows: Array, sizes: Sequence[float], inertias: Sequence[float]) -> tuple[Rub, ...]:
    """Of rows (k, nv) of joints or tendons, those with friction."""
    found = zip(rows, sizes, inertias, strict=True)
    return tuple(
        Rub(tuple((int(k), float(row[k])) for k in np.flatnonzero(row)), float(size), float(inertia))
        for row, size, inertia in found
        if size > 0.0 and np.any(row)
    )


class BoundedRow(NamedTuple):
    """Friction as a row of the contact problem."""

    row: Array  # (nv,)
    bound: Scalar  # N s
    start: Scalar  # N s, to begin with


class DryFriction(NamedTuple):
    """All that rubs, at the beginning of a step, and what is expected of it."""

    rubs: tuple[Rub, ...]
    bounds: Sequence[Scalar]  # N s
    centers: Sequence[Scalar]  # N s, within the bounds
    slips: Sequence[Scalar]  # -1, 1: the sign of x of what is taken to slip; 0: it is taken to stick
    creep: float  # rad/s or m/s
    rest: float = 0.0  # rad/s or m/s: what is no faster than twice that has come to rest
    speeds: Sequence[Scalar] = ()  # at the beginning of the step

    @staticmethod
    def expected(
        rubs: tuple[Rub, ...], before: Array, v: Array, dt: Scalar, tolerance: float, exact: bool
    ) -> DryFriction:
        """before: parts of their sizes with which they rubbed in the step before; 2 of what was held by more."""
        rest = within(max(_CREEP * tolerance, _LEAST_CREEP), _LEAST_ROUNDINGS)
        bounds, slips = [dt * rub.size for rub in rubs], list[Scalar]()
        speeds = [rub.row(len(v)) @ v for rub in rubs]
        for rub, bound, part, speed in zip(rubs, bounds, before, speeds, strict=True):
            most = (_FAST / rub.inertia) * bound
            slipped = choose(part, -1.0 + _AT_BOUND, -1.0, choose(1.0 - _AT_BOUND, part, 1.0, 0.0))
            slipped = choose(slipped * speed, -2.0 * rest, slipped, 0.0)  # else it has just come to rest
            slipped = choose(part, -_TOO_MUCH, -1.0, choose(_TOO_MUCH, part, 1.0, slipped))
            slips.append(choose(speed, -most, 1.0, choose(most, speed, -1.0, slipped)))
        centers = [b * clipped(x, 1.0) for b, x in zip(bounds, before, strict=True)]
        return DryFriction(rubs, bounds, centers, slips, rest if exact else _SOFT_CREEP, rest, speeds)

    def beginning_with(self, parts: Array) -> DryFriction:
        """The same with other impulses to begin with, as parts of the bounds."""
        return self._replace(centers=[b * clipped(x, 1.0) for b, x in zip(self.bounds, parts, strict=True)])

    def inertia(self, nv: int) -> Array:
        """(nv,) that holds joints which stick."""
        out: list[Scalar] = [0.0] * nv
        for i, (k, factor) in self._joints:
            out[k] = out[k] + factor * factor * self._held(i)
        return vector(*out)

    def impulses_on(self, v: Array) -> Array:
        """(nv,) on joints whose velocities change from v; what the inertia does to the change comes on top."""
        out: list[Scalar] = [0.0] * len(v)
        for i, (k, factor) in self._joints:
            held = self.centers[i] - self._held(i) * (factor * v[k])
            x = choose(0.5, abs(self.slips[i]), self.slips[i] * self.bounds[i], held)
            out[k] = out[k] + factor * x
        return vector(*out)

    def rows(self, nv: int, joints: bool) -> list[BoundedRow]:
        """Of tendons; and of joints."""
        return [
            BoundedRow(rub.row(nv), bound, center)
            for rub, bound, center in zip(self.rubs, self.bounds, self.centers, strict=True)
            if joints or not rub.is_joint
        ]

    def impulses(self, v: Array, of_rows: Array) -> tuple[list[Scalar], Scalar]:
        """Of all that rubs, where velocities have become v, and 1 where that is not what was expected, else 0.

        of_rows  those of tendons
        """
        found, others, wrong = list[Scalar](), iter(of_rows), 0.0
        for i, rub in enumerate(self.rubs):
            if not rub.is_joint:
                found.append(next(others))
                continue
            ((k, factor),) = rub.moves
            speed, sign, bound = factor * v[k], self.slips[i], self.bounds[i]
            held = self.centers[i] - self._held(i) * speed
            slips = abs(sign)
            too_much = choose((1.0 + _AT_BOUND) * bound, abs(held), 1.0, 0.0)
            turned = choose(2.0 * self.creep, sign * speed, 1.0, 0.0)
            wrong = choose(0.5, choose(0.5, slips, turned, too_much), 1.0, wrong)
            found.append(choose(0.5, slips, self._slipping(i, speed), held))
        return found, wrong

    def _slipping(self, i: int, speed: Scalar) -> Scalar:
        """The impulse of a joint that slips; where it comes to rest, about what it takes to hold it there."""
        most = (1.0 - 2.0 * _AT_BOUND) * self.bounds[i]
        slips = self.slips[i] * self.bounds[i]
        hold = slips - self.rubs[i].inertia * (speed - self.speeds[i])
        return choose(self.slips[i] * speed, -2.0 * self.rest, slips, clipped(hold, most))

    def parts(self, impulses: Sequence[Scalar]) -> Array:
        """Of their bounds; 2 of what was held by more than that."""
        most = 1.0 + _AT_BOUND
        found = [x / bound for x, bound in zip(impulses, self.bounds, strict=True)]
        return vector(*(choose(x, -most, -2.0, choose(most, x, 2.0, clipped(x, 1.0))) for x in found))

    @property
    def _joints(self) -> list[tuple[int, tuple[int, float]]]:
        return [(i, rub.moves[0]) for i, rub in enumerate(self.rubs) if rub.is_joint]

    def _held(self, i: int) -> Scalar:
        """A; 0 where it slips."""
        return choose(0.5, abs(self.slips[i]), 0.0, (2.0 / self.creep) * self.bounds[i])


NOTHING_RUBS = DryFriction((), (), (), (), 1.0)
