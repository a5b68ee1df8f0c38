"""What touches while a trajectory is played: points, forces and friction cones; what slips has another colour."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.simulation.contact.record import ContactRecord, ContactState
from sarrus.spatial.arrays import Array

STICKS, SLIPS = (20, 150, 80), (240, 120, 20)  # colours
_SIDES = 12  # of a cone as it is drawn


class Touching(NamedTuple):
    """The contacts of a moment that carry something."""

    points: Array  # (k, 3)
    normals: Array  # (k, 3)
    forces: Array  # (k, 3) newtons, on the first of two geometries
    friction: Array  # (k,) coefficients
    slips: Array  # (k,) whether one surface moves along the other

    @staticmethod
    def of(found: ContactRecord) -> Touching:
        """The contacts of one robot at one time."""
        touching = found.touching
        slips = found.states == ContactState.SLIPS
        return Touching(*(x[touching] for x in (found.points, found.normals, found.forces, found.friction, slips)))


class ContactLayer:
    """Contacts as nodes of a scene, drawn anew for every moment; a robot's weight is an arrow three bodies long."""

    def __init__(self, scene: Any, size: float, weight: float) -> None:
        self.scene, self.size, self.unit = scene, size, 3.0 * size / max(weight, 1e-9)
        self._nodes: list[Any] = []

    def draw(self, found: Touching | None, *, forces: bool = True, cones: bool = False, scale: float = 1.0) -> None:
        """Points always; arrows and cones if wanted. None: nothing."""
        for node in self._nodes:
            node.remove()
        self._nodes = []
        if found is None or not len(found.points):
            return
        colors = np.where(found.slips[:, None], SLIPS, STICKS).astype(np.uint8)
        arrows = scale * self.unit * found.forces
        lengths = np.linalg.norm(arrows, axis=1)
        arrows *= np.minimum(1.0, 6.0 * self.size / np.maximum(lengths, 1e-12))[:, None]  # impacts are off the scale
        seen = lengths > 0.02 * self.size
        self._add_points(found.points, colors)
        if forces and seen.any():
            self._add_arrows(found.points[seen], arrows[seen], colors[seen])
        if cones and seen.any():
            along = np.sum(arrows * found.normals, axis=1)
            each = zip(*(x[seen] for x in (found.points, found.normals, found.friction, along)), strict=True)
            self._add_lines(np.stack([cone(*one) for one in each]), colors[seen])

    def _add_points(self, points: Array, colors: Array) -> None:
        node = self.scene.add_point_cloud(
            "/touching/points", points.astype(np.float32), colors, point_size=0.05 * self.size, point_shape="circle",
            precision="float32",
        )  # fmt: skip
        self._nodes.append(node)

    def _add_arrows(self, starts: Array, arrows: Array, colors: Array) -> None:
        ends, thick = np.stack([starts, starts + arrows], axis=1).astype(np.float32), 0.03 * self.size
        node = self.scene.add_arrows(
            "/touching/forces", ends, colors, shaft_radius=thick, head_radius=2.5 * thick, head_length=5.0 * thick
        )
        self._nodes.append(node)

    def _add_lines(self, lines: Array, colors: Array) -> None:
        """(k, n, 2, 3), of k colours."""
        both = np.broadcast_to(colors[:, None, None], lines.shape).reshape(-1, 2, 3)
        ends = lines.reshape(-1, 2, 3).astype(np.float32)
        self._nodes.append(self.scene.add_line_segments("/touching/cones", ends, both, thickness=0.006 * self.size))


def cone(point: Array, normal: Array, friction: float, height: float) -> Array:
    """(2 sides, 2, 3) lines of a friction cone: rays from the point, and the circle where they end."""
    across = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    across = across / np.linalg.norm(across)
    angles = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    around = np.cos(angles)[:, None] * across + np.sin(angles)[:, None] * np.cross(normal, across)
    rim = point + height * normal + friction * height * around
    rays = np.stack([np.broadcast_to(point, rim.shape), rim], axis=1)
    return np.concatenate([rays, np.stack([rim, np.roll(rim, -1, axis=0)], axis=1)])
