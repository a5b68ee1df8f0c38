"""Inertias and lengths of made-up parts: no two are alike, so that nothing cancels by accident."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.spatial.arrays import Array

_AXES: Any = np.eye(3)
X, Y, Z = _AXES
_DENSITY = 2.0  # kg per metre of link
_LENGTH = 0.3


class Parts:
    """Inertias and lengths of made-up parts, from a seed."""

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
