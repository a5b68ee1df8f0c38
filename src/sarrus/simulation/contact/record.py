"""The contacts of a step or of a trajectory, as arrays with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError
from sarrus.spatial.arrays import Array

# Of a slot in what a step records: candidate (-1: none), gap, point, normal, force and torque on a, velocity, friction.
SLOT_NUMBERS = 18
CREEP = 1e-5  # m/s: what is slower than that, and than what the solver left, sticks


def slot_count(recorded: Array) -> int:
    """How many slots a step or a trajectory recorded, (..., 18 s + 1)."""
    slots, rest = divmod(recorded.shape[-1], SLOT_NUMBERS)
    if rest != 1:
        raise StateError(
            f"contacts: expected {SLOT_NUMBERS} numbers for each slot and the residual, got {recorded.shape[-1]}. "
            "Were they recorded by another version?"
        )
    return slots


def nothing_recorded(slots: int) -> Array:
    """(18 s + 1,) what is recorded where all slots are empty."""
    recorded = np.zeros(SLOT_NUMBERS * slots + 1)
    recorded[:-1:SLOT_NUMBERS] = -1.0
    return recorded


class ContactState(IntEnum):
    """What a contact does in a step.

    >>> sarrus.ContactState(2).name
    'SLIPS'
    """

    OPEN = 0  # nothing pushes there
    STICKS = 1  # it is held, within its cone of friction
    SLIPS = 2  # it is braked by all the friction that there is


class ContactResiduals(NamedTuple):
    """How far contacts are from Coulomb's law, each (..., s), in SI units; 0 where nothing touches.

    Of a contact that resists turning, torques have their part of the friction: `dissipation` is what they leave.
    """

    cone: Array  # N by which a force is outside of its cone of friction
    entering: Array  # m/s by which a contact closes further than it may
    complementarity: Array  # W: the normal force times the velocity with which the contact parts
    dissipation: Array  # W by which friction dissipates less than it could


@dataclass(frozen=True, eq=False)
class ContactRecord:
    """Contacts in s slots, over a batch or over time (...).

    A slot is empty where its number is -1. Forces act on the first of the two geometries, in the axes of the world; the
    force of an impact is its impulse divided by the length of the step. `contacts[-1]` are those of the last state.

    >>> ball = "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body>"
    >>> robot = sarrus.load(f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>")
    >>> motion = sarrus.simulate(robot, duration=0.002)
    >>> motion.contacts[-1].touching.sum(), sarrus.ContactState(motion.contacts[-1].states[0]).name
    (np.int64(1), 'STICKS')
    """

    numbers: Array  # (..., s) of a place where two geometries may touch; -1: nothing
    gaps: Array  # (..., s) metres, at the beginning of the step
    points: Array  # (..., s, 3)
    normals: Array  # (..., s, 3) from the second geometry to the first
    forces: Array  # (..., s, 3) newtons
    torques: Array  # (..., s, 3) newton metres about the points, of contacts that resist spinning and rolling
    velocities: Array  # (..., s, 3) m/s of the first relative to the second, at the end of the step; along the normal
    # beyond what is allowed: an open gap may close within the step, and what bounces has to part
    friction: Array  # (..., s) coefficients
    residual: Array  # (...) m/s, of all contacts, joint limits and dry friction together, as the solver measures it
    names: tuple[tuple[str, str], ...]  # of the two geometries, by number

    @staticmethod
    def of(recorded: Array, names: Sequence[Sequence[str]]) -> ContactRecord:
        """From what a step or a trajectory recorded.

        recorded  (..., 18 s + 1) numbers of s slots, and the solver's residual
        names     of the two geometries of every place where two may touch
        returns   a `ContactRecord`
        errors    `StateError`: another count of numbers
        """
        numbers = np.asarray(recorded, float)
        slots = numbers[..., :-1].reshape(*numbers.shape[:-1], slot_count(numbers), SLOT_NUMBERS)
        points, normals, forces, torques, velocities = (slots[..., k : k + 3] for k in (2, 5, 8, 11, 14))
        which = slots[..., 0].astype(int)
        velocities = np.where((which >= 0)[..., None], velocities, 0.0)  # those of an empty slot mean nothing
        pairs = tuple((a, b) for a, b in names)
        gaps, friction, residual = slots[..., 1], slots[..., 17], numbers[..., -1]
        return ContactRecord(which, gaps, points, normals, forces, torques, velocities, friction, residual, pairs)

    def __getitem__(self, part: Any) -> ContactRecord:
        """Those of a part in time, or of one robot: `contacts[-1]`, `contacts[3, ::10]`."""
        *arrays, names = (getattr(self, name) for name in self.__dataclass_fields__)
        return ContactRecord(*[x[part] for x in arrays], names=names)

    @property
    def touching(self) -> Array:
        """(..., s) where a force acts."""
        return (self.numbers >= 0) & (self.forces != 0.0).any(axis=-1)

    @property
    def states(self) -> Array:
        """(..., s) what each does, by the numbers of `ContactState`."""
        least = np.maximum(CREEP, self.residual)[..., None]
        slips = np.linalg.norm(self.slip_velocities, axis=-1) > least
        return np.where(self.touching, np.where(slips, ContactState.SLIPS, ContactState.STICKS), ContactState.OPEN)

    @property
    def normal_forces(self) -> Array:
        """(..., s) newtons, of what holds two bodies apart."""
        return np.sum(self.forces * self.normals, axis=-1)

    @property
    def friction_forces(self) -> Array:
        """(..., s) newtons, across the normal."""
        return np.linalg.norm(self._across(self.forces), axis=-1)

    @property
    def slip_velocities(self) -> Array:
        """(..., s, 3) m/s of the first geometry relative to the second, across the normal."""
        return self._across(self.velocities)

    @property
    def total_force(self) -> Array:
        """(..., 3) newtons on everything that is the first of two geometries."""
        return np.sum(self.forces, axis=-2)

    @property
    def residuals(self) -> ContactResiduals:
        """How far each is from Coulomb's law, (..., s) each: `cone` (N), `entering` (m/s), `complementarity` and
        `dissipation` (W); 0 where nothing touches.
        """
        push, rubs, slips = self.normal_forces, self._across(self.forces), self.slip_velocities
        parting = np.sum(self.velocities * self.normals, axis=-1)
        most = self.friction * np.maximum(push, 0.0)
        outside = np.maximum(np.linalg.norm(rubs, axis=-1) - most, -push)
        dissipation = most * np.linalg.norm(slips, axis=-1) + np.sum(rubs * slips, axis=-1)
        found = (np.maximum(outside, 0.0), np.maximum(-parting, 0.0), np.abs(push * parting), dissipation)
        return ContactResiduals(*(np.where(self.touching, x, 0.0) for x in found))

    def _across(self, vectors: Array) -> Array:
        """The part of vectors (..., s, 3) that is across the normals."""
        return vectors - np.sum(vectors * self.normals, axis=-1)[..., None] * self.normals
