"""Mechanisms drawn where they stand: every joint and point is given in the world, at q = 0.

A loop then closes at the neutral configuration because both of its frames are put at the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import loop
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule, along
from sarrus.spatial.arrays import Array

_RADIUS = 0.02  # of rods
_DENSITY = 2.0  # kg per metre of rod
_SHORTEST = 0.02  # no rod is lighter than one of this length


class Sketch:
    """Bodies whose frames are parallel to the world's at q = 0, with their origins at their joints."""

    def __init__(self, name: str) -> None:
        self.builder = ModelBuilder(name)
        self._origin: dict[str, Array] = {WORLD_NAME: np.zeros(3)}

    def rod(
        self,
        name: str,
        parent: str,
        start: Any,
        end: Any,
        joint: str = "revolute",
        axis: Any = (0.0, 1.0, 0.0),
        **more: Any,
    ) -> str:
        """A thin rod from `start`, where its joint is, to `end`."""
        start, end = np.array(start, float), np.array(end, float)
        length = max(float(np.linalg.norm(end - start)), _SHORTEST)
        mass = _DENSITY * length
        u = (end - start) / length
        lengthwise, across = 0.5 * mass * _RADIUS**2, mass * (length**2 / 12.0 + _RADIUS**2 / 4.0)
        inertia = across * np.eye(3) + (lengthwise - across) * np.outer(u, u)
        self.body(name, parent, start, joint, mass, 0.5 * (end - start), inertia, axis=axis, **more)
        looks = Capsule(0.5 * _RADIUS, length)  # thinner than it weighs: joints stay visible
        self.builder.add_visual(name, looks, position=0.5 * (end - start), rotation=along(u))
        return name

    def box(
        self, name: str, parent: str, at: Any, sides: Sequence[float], mass: float, joint: str = "free", **more: Any
    ) -> str:
        """A box with its joint in its middle."""
        squares = np.square(sides)
        inertia = np.diag(mass / 12.0 * (squares.sum() - squares))
        self.body(name, parent, np.array(at, float), joint, mass, np.zeros(3), inertia, **more)
        self.builder.add_visual(name, Box((float(sides[0]), float(sides[1]), float(sides[2]))))
        return name

    def body(
        self, name: str, parent: str, at: Array, joint: str, mass: float, com: Array, inertia: Array, **more: Any
    ) -> str:
        self.builder.add_body(
            name, parent, joint=joint, position=at - self._origin[parent], mass=mass, com=com, inertia=inertia, **more
        )
        self._origin[name] = at
        return name

    def frame(self, name: str, body: str, at: Any) -> str:
        self.builder.add_frame(name, body, position=np.array(at, float) - self._origin[body])
        return name

    def close(self, name: str, body_a: str, body_b: str, at: Any, joint: str, axis: Any = None) -> None:
        """Close a loop by a joint between two bodies, at a point."""
        a, b = self.frame(f"{name}_a", body_a, at), self.frame(f"{name}_b", body_b, at)
        self.builder.add_constraint(loop(a, b, joint, axis=axis, name=name))

    def build(self) -> Model:
        return self.builder.build()
