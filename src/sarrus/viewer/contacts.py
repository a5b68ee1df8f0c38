"""What touches while a trajectory is played: points, forces and friction cones; what slips has another colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sarrus.model.bodies import WORLD
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.model import Model
from sarrus.simulation.contact.record import ContactRecord
from sarrus.spatial.arrays import Array
from sarrus.viewer.mechanism import Poses

STICKS, SLIPS = (20, 150, 80), (240, 120, 20)  # colours
_SLOW = 1e-3  # m/s below which nothing slips
_SIDES = 12  # of a cone as it is drawn


class Touching(NamedTuple):
    """The contacts of a moment that carry something."""

    points: Array  # (k, 3)
    normals: Array  # (k, 3)
    forces: Array  # (k, 3) newtons, on the first of two geometries
    friction: Array  # (k,) coefficients; not a number where the model does not know the pair
    slips: Array  # (k,) whether one surface moves along the other


class ContactHistory:
    """The contacts of a recording (B, T), with what the model knows about those who touch."""

    def __init__(self, model: Model, record: ContactRecord, time: Array) -> None:
        self.record, self.time = record, time
        bodies = {geometry.name: geometry.body for geometry in model.geometries}
        self._bodies = [(bodies.get(a, WORLD), bodies.get(b, WORLD)) for a, b in record.names]
        names = [geometry.name for geometry in model.geometries]
        sliding = {frozenset((names[x.a], names[x.b])): x.friction.sliding for x in meeting_pairs(model)}
        self._friction = np.array([sliding.get(frozenset(pair), np.nan) for pair in record.names])

    def at(self, rollout: int, step: int, poses_of: Callable[[int], Poses]) -> Touching:
        """At a step; `poses_of` gives the bodies' poses at any step of that rollout."""
        found = self.record[rollout, step]
        touching = found.touching
        numbers, points, normals = found.numbers[touching], found.points[touching], found.normals[touching]
        after = min(step + 1, len(self.time) - 1)
        slips = np.zeros(len(numbers), bool)
        if len(numbers) and after > step:
            here, there = poses_of(step), poses_of(after)
            span = self.time[after] - self.time[step]
            for k, (number, point, normal) in enumerate(zip(numbers, points, normals, strict=True)):
                a, b = (_moved(here, there, body, point) for body in self._bodies[number])
                apart = (a - b) / span
                slips[k] = np.linalg.norm(apart - (apart @ normal) * normal) > _SLOW
        return Touching(points, normals, found.forces[touching], self._friction[numbers], slips)


def _moved(here: Poses, there: Poses, body: int, point: Array) -> Array:
    """Where a point of a body is, a moment later."""
    if body == WORLD:
        return point
    return there.p[body] + there.R[body] @ (here.R[body].T @ (point - here.p[body]))


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
        known = seen & np.isfinite(found.friction)
        if cones and known.any():
            along = np.sum(arrows * found.normals, axis=1)
            each = zip(found.points[known], found.normals[known], found.friction[known], along[known], strict=True)
            self._add_lines(np.stack([cone(*one) for one in each]), colors[known])

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
