"""What a step on the ground hands on: its motion, its contacts, and what the next step begins with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.status import Status


class Contacts(NamedTuple):
    """Of all slots, at the end of a step."""

    numbers: Array  # (s,) of candidates; -1: nothing
    impulses: Array  # (s, 3) newton seconds along two tangents and the normal; between them what resists turning
    points: Array  # (s, 3) in the world
    directions: Array  # (s, 3, 3) rows: two tangents and the normal
    turns: Array  # (s, t, 3) see `ContactPoint`
    gaps: Array  # (s,) at the beginning of the step
    velocities: Array  # (s, 3) of the rows of a contact, at the end of the step
    frictions: Array  # (s,) coefficients


class Before(NamedTuple):
    """What the step before left, with which this one begins."""

    numbers: Array  # (s,) of candidates
    impulses: Array  # (s, 3) or more
    pushed: Array  # (l,) impulses of limits on the velocities that have some
    rubbed: Array  # (f,) dry friction, as parts of its size


class ContactMotion(NamedTuple):
    """The velocities after a step, and how they came about."""

    v: Array
    shift: Array  # (nv,) by which penetrations are undone: positions change by it, velocities do not
    loops: Array  # (m,) forces of loops, with what contacts and limits call forth
    contacts: Contacts
    pushed: Array  # (l,) impulses of limits on the velocities that have some
    rubbed: Array  # (f,) dry friction, as parts of its size
    unexpected: Scalar  # 1 where a joint sticks or slips that was expected not to: this is no solution, then; else 0
    iterations: Scalar
    residual: Scalar
    status: Scalar

    @property
    def flat(self) -> tuple[Array, ...]:
        """As arrays alone."""
        numbers = vector(self.unexpected, self.iterations, self.residual, self.status)
        return (self.v, self.shift, self.loops, *self.contacts, self.pushed, self.rubbed, numbers)

    @staticmethod
    def of(arrays: tuple[Array, ...]) -> ContactMotion:
        """From `flat`."""
        v, shift, loops, *of_slots, pushed, rubbed, numbers = arrays
        return ContactMotion(v, shift, loops, Contacts(*of_slots), pushed, rubbed, *numbers)

    def told(self, passed: Scalar) -> ContactMotion:
        """The same with a status that says so where something passed."""
        told = choose(self.status, Status.CONTACTS_LEFT_OUT - 0.5, Status.CONTACTS_LEFT_OUT, self.status)
        return self._replace(status=choose(0.5, passed, told, self.status))


def of_size(impulse: Array, size: int) -> Array:
    """The rows of a contact that has so many; slots may have more, the last of which is along the normal."""
    return np.concatenate([impulse[: size - 1], impulse[-1:]])
