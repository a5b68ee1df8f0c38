"""Dry friction of joints in a step on the ground.

A joint slips, against a friction of constant size, or it sticks: then a damper holds it, so strong that at the speed
of creeping it has just that size. The damper acts at the end of the step, so it may be as strong as it likes. A joint
that is slower than creeping sticks; so does, for a step, one that its friction has just turned back, which it cannot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose

CREEP = 1e-3  # rad/s or m/s: the speed of a joint that is about to slip


class DryFriction(NamedTuple):
    """Of all joints that have some, at the beginning of a step."""

    sizes: tuple[float, ...]  # one per velocity, or none at all
    turned: Array  # per joint with friction: 1 where the step before turned it back, else 0
    v: Array  # (nv,)

    def forces(self) -> Array:
        """(nv,)"""
        forces: list[Scalar] = [0.0] * len(self.v)
        for k, slips in self._slipping:
            size, v = self.sizes[k], self.v[k]
            forces[k] = choose(0.5, slips, choose(0.0, v, -size, size), -(size / CREEP) * v)
        return vector(*forces)

    def damping(self) -> Array:
        """(nv,) of joints that stick."""
        damping: list[Scalar] = [0.0] * len(self.v)
        for k, slips in self._slipping:
            damping[k] = choose(0.5, slips, 0.0, self.sizes[k] / CREEP)
        return vector(*damping)

    def turns(self, v: Array) -> Array:
        """Which joints slipped and were turned back, this step having ended with velocities v."""
        return vector(*(choose(v[k] * self.v[k], 0.0, slips, 0.0) for k, slips in self._slipping))

    @property
    def _slipping(self) -> list[tuple[int, Scalar]]:
        """Joints with friction, and 1 where they slip, else 0."""
        acting = np.flatnonzero(self.sizes).tolist()
        return [
            (k, choose(CREEP, abs(self.v[k]), choose(turned, 0.5, 1.0, 0.0), 0.0))
            for turned, k in zip(self.turned, acting, strict=True)
        ]
