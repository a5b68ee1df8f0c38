"""The contacts of a step or of a trajectory, as arrays with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.spatial.arrays import Array

SLOT_NUMBERS = 14  # of a slot in what a step records: candidate (-1: none), gap, point, normal, force and torque on a


@dataclass(frozen=True, eq=False)
class ContactRecord:
    """Contacts in s slots, over a batch or over time (...).

    A slot is empty where its number is -1. Forces act on the first of the two geometries, in the axes of the world; the
    force of an impact is its impulse divided by the length of the step. `contacts[-1]` are those of the last state.

    >>> ball = "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body>"
    >>> robot = sarrus.load(f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>")
    >>> motion = sarrus.simulate(robot, duration=0.002)
    >>> motion.contacts[-1].touching.sum()
    np.int64(1)
    """

    numbers: Array  # (..., s) of a place where two geometries may touch; -1: nothing
    gaps: Array  # (..., s) metres, at the beginning of the step
    points: Array  # (..., s, 3)
    normals: Array  # (..., s, 3) from the second geometry to the first
    forces: Array  # (..., s, 3) newtons
    torques: Array  # (..., s, 3) newton metres about the points, of contacts that resist spinning and rolling
    names: tuple[tuple[str, str], ...]  # of the two geometries, by number

    @staticmethod
    def of(recorded: Array, names: Sequence[Sequence[str]]) -> ContactRecord:
        """From what a step or a trajectory recorded, (..., 14 s)."""
        slots = np.asarray(recorded, float)
        slots = slots.reshape(*slots.shape[:-1], -1, SLOT_NUMBERS)
        points, normals, forces, torques = (slots[..., k : k + 3] for k in (2, 5, 8, 11))
        numbers = slots[..., 0].astype(int)
        names = tuple((a, b) for a, b in names)
        return ContactRecord(numbers, slots[..., 1], points, normals, forces, torques, names)

    def __getitem__(self, part: Any) -> ContactRecord:
        """Those of a part in time, or of one robot: `contacts[-1]`, `contacts[3, ::10]`."""
        numbers, gaps = self.numbers[part], self.gaps[part]
        points, normals = self.points[part], self.normals[part]
        return ContactRecord(numbers, gaps, points, normals, self.forces[part], self.torques[part], self.names)

    @property
    def touching(self) -> Array:
        """(..., s) where a force acts."""
        return (self.numbers >= 0) & (self.forces != 0.0).any(axis=-1)

    @property
    def normal_forces(self) -> Array:
        """(..., s) newtons, of what holds two bodies apart."""
        return np.sum(self.forces * self.normals, axis=-1)

    @property
    def friction_forces(self) -> Array:
        """(..., s) newtons, across the normal."""
        along = self.forces - self.normal_forces[..., None] * self.normals
        return np.linalg.norm(along, axis=-1)

    @property
    def total_force(self) -> Array:
        """(..., 3) on everything that is the first of two geometries."""
        return np.sum(self.forces, axis=-2)
