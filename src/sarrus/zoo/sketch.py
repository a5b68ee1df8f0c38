"""What mechanisms are made of: bodies drawn where they stand, in the world at q = 0, and parts with made-up inertias.

A loop that is drawn closes at the neutral configuration because both of its frames are put at the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import loop
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule, rotation_to
from sarrus.spatial.arrays import Array

_AXES: Any = np.eye(3)
X, Y, Z = _AXES
_RADIUS = 0.02  # of rods
_DENSITY = 2.0  # kg per metre of rod or link
_SHORTEST = 0.02  # no rod is lighter than one of this length
_LENGTH = 0.3  # of a link


class Sketch:
    """Bodies whose frames are parallel to the world's at q = 0, with their origins at their joints."""

    def __init__(self, name: str) -> None:
        self.builder = ModelBuilder(name)
        self._origin: dict[str, Array] = {WORLD_NAME: np.zeros(3)}

    def rod(
        self, name: str, parent: str, start: Any, end: Any, joint: str = "revolute", axis: Any = Y, *,
        mass: float | None = None, radius: float = _RADIUS, drawn: float = 0.5 * _RADIUS, **more: Any,
    ) -> str:  # fmt: skip
        """A thin rod from `start`, where its joint is, to `end`. Drawn thinner than it is, it leaves joints visible."""
        start, end = np.array(start, float), np.array(end, float)
        length = max(float(np.linalg.norm(end - start)), _SHORTEST)
        mass = _DENSITY * length if mass is None else mass
        u, com = (end - start) / length, 0.5 * (end - start)
        lengthwise, across = 0.5 * mass * radius**2, mass * (length**2 / 12.0 + radius**2 / 4.0)
        inertia = across * np.eye(3) + (lengthwise - across) * np.outer(u, u)
        self.body(name, parent, start, joint, mass=mass, com=com, inertia=inertia, axis=axis, **more)
        self.builder.add_visual(name, Capsule(drawn, length), position=com, rotation=rotation_to(u))
        return name

    def rods(self, name: str, parent: str, points: Sequence[Any], axes: Iterable[Any]) -> str:
        """Rods `name_0`, `name_1`, ... with revolute joints, from point to point. Returns the last one's name."""
        for k, ((start, end), axis) in enumerate(zip(pairwise(points), axes, strict=False)):
            parent = self.rod(f"{name}_{k}", parent, start, end, axis=axis)
        return parent

    def box(
        self, name: str, parent: str, at: Any, sides: Sequence[float], mass: float, joint: str = "free", **more: Any
    ) -> str:
        """A box with its joint in its middle."""
        squares = np.square(sides)
        inertia = np.diag(mass / 12.0 * (squares.sum() - squares))
        self.body(name, parent, np.array(at, float), joint, mass=mass, com=np.zeros(3), inertia=inertia, **more)
        self.builder.add_visual(name, Box((float(sides[0]), float(sides[1]), float(sides[2]))))
        return name

    def body(self, name: str, parent: str, at: Array, joint: str, **more: Any) -> str:
        """A body with its joint at a point; `more`: as of `ModelBuilder.add_body`."""
        self.builder.add_body(name, parent, joint=joint, position=at - self._origin[parent], **more)
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


def around(degrees: float) -> Array:
    """A unit vector of the xy plane."""
    return np.cos(np.radians(degrees)) * X + np.sin(np.radians(degrees)) * Y


def universal(u: Array, across: Array) -> dict[str, Any]:
    """The axes of a universal joint at the end of a rod along u: across it, and across both."""
    return {"axis": across, "second_axis": np.cross(u, across)}


class Parts:
    """Inertias and lengths of made-up parts, from a seed: no two are alike, so that nothing cancels by accident."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def length(self, nominal: float = _LENGTH) -> float:
        return nominal * float(self.rng.uniform(0.85, 1.15))

    def link(self, to: Any, density: float = _DENSITY) -> dict[str, Any]:
        """A bar from the origin to a point, with lumps on it: no product of inertia is zero."""
        end = np.asarray(to, float)
        size = float(np.linalg.norm(end))
        lumps = np.linspace(0.1, 0.9, 6)[:, None] * end + 0.08 * size * self.rng.normal(size=(6, 3))
        return _cloud(lumps, density * size * float(self.rng.uniform(0.8, 1.2)) / 6.0)

    def box(self, size: Any, mass: float) -> dict[str, Any]:
        """A box about the origin, its load not quite in the middle."""
        lumps = 0.5 * np.asarray(size, float) * self.rng.uniform(-1.0, 1.0, size=(12, 3))
        return _cloud(lumps, mass / 12.0)

    def rotor(self, axis: Any = Y, mass: float = 0.1, radius: float = 0.03, symmetric: bool = True) -> dict[str, Any]:
        """A disc on its axis; not symmetric: with a lump on its rim, which moves its centre of mass off the axis."""
        m, r = mass * float(self.rng.uniform(0.8, 1.2)), radius * float(self.rng.uniform(0.9, 1.1))
        u = np.asarray(axis, float)
        inertia = 0.26 * m * r * r * (np.eye(3) + np.outer(u, u))  # 0.52 about the axis, 0.26 across
        if symmetric:
            return {"mass": m, "com": np.zeros(3), "inertia": inertia}
        rim = np.cross(u, self.rng.normal(size=3))
        lump = 0.1 * m
        com = lump / (m + lump) * (r * rim / np.linalg.norm(rim) + 0.2 * r * u)
        apart = com * (m + lump) / lump  # of the lump from the disc's centre
        reduced = m * lump / (m + lump)
        inertia = inertia + reduced * (apart @ apart * np.eye(3) - np.outer(apart, apart))
        return {"mass": m + lump, "com": com, "inertia": inertia}


def _cloud(points: Array, mass: float) -> dict[str, Any]:
    """Inertial arguments of equal point masses."""
    com = points.mean(axis=0)
    r = points - com
    return {"mass": mass * len(points), "com": com, "inertia": mass * (np.sum(r * r) * np.eye(3) - r.T @ r)}


def at_least(minimum: int, **numbers: int) -> None:
    """An error that names the first of the numbers that is not whole, or smaller."""
    for name, value in numbers.items():
        if int(value) != value or value < minimum:
            raise ModelError(f"{name} is {value!r}: expected a whole number of at least {minimum}")
