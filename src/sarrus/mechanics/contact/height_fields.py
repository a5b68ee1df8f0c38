"""Points of a shape against the triangle of a height field below each: ball, ends of a capsule, corners, vertices.

What the shape touches beside these points (a ridge below the middle of a box, the next triangle of a valley beside a
ball) is not seen. Beyond the field's rectangle there is no ground.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.outer_hull import outer_hull
from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch, ball_at
from sarrus.model.geometries import ConvexMesh, HeightField
from sarrus.model.visuals import Box, Capsule, Sphere
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import dot
from sarrus.spatial.picking import pick

# Which points of a shape are tested: all that a field's ridges can touch of it.
TESTED: dict[type, str] = {
    Sphere: "centres of spheres",
    Capsule: "ends of capsules",
    Box: "corners of boxes",
    ConvexMesh: "vertices of meshes",
}


class _Triangles(NamedTuple):
    """Planes n x = offset, two to a cell, row by row: below the diagonal from (0, 0) to (1, 1), then above it."""

    normals: Array  # (3, 2 rows columns)
    offsets: Array  # (2 rows columns,)


@lru_cache(maxsize=64)
def _triangles(field: HeightField) -> _Triangles:
    z = np.asarray(field.heights, float)
    rows, columns = z.shape
    dx, dy = 2.0 * field.size[0] / (columns - 1), 2.0 * field.size[1] / (rows - 1)
    slope_x, slope_y = np.diff(z, axis=1) / dx, np.diff(z, axis=0) / dy
    below = np.stack([-slope_x[:-1], -slope_y[:, 1:], np.ones((rows - 1, columns - 1))])
    above = np.stack([-slope_x[1:], -slope_y[:, :-1], np.ones((rows - 1, columns - 1))])
    normals = np.stack([below, above], axis=-1)
    normals /= np.linalg.norm(normals, axis=0)
    y, x = np.mgrid[: rows - 1, : columns - 1]
    corners = np.stack([x * dx - field.size[0], y * dy - field.size[1], z[:-1, :-1]])  # common to both triangles
    offsets = np.sum(normals * corners[..., None], axis=0)
    return _Triangles(normals.reshape(3, -1), offsets.ravel())


def _ball_on_field(x: Array, radius: float, field: HeightField, pose: Pose) -> Touch:
    R, p = pose
    at = R.T @ (x - p)
    rows, columns = np.shape(field.heights)
    (sx, sy), planes = field.size, _triangles(field)
    u = (at[0] + sx) * ((columns - 1) / (2.0 * sx))
    v = (at[1] + sy) * ((rows - 1) / (2.0 * sy))
    column, row = pick(np.arange(columns - 1.0).tolist(), u), pick(np.arange(rows - 1.0).tolist(), v)
    triangle = (row * (columns - 1.0) + column) * 2.0 + choose(u - column, v - row, 1.0, 0.0)
    normal = vector(*[pick(part.tolist(), triangle) for part in planes.normals])
    touch = ball_at(x, radius, R @ normal, dot(normal, at) - pick(planes.offsets.tolist(), triangle))
    gap = choose(sx, abs(at[0]), ABSENT, choose(sy, abs(at[1]), ABSENT, touch.gap))
    return touch._replace(gap=gap)


def sphere_field(a: Sphere, pose_a: Pose, b: HeightField, pose_b: Pose) -> list[Touch]:
    return [_ball_on_field(pose_a[1], a.radius, b, pose_b)]


def capsule_field(a: Capsule, pose_a: Pose, b: HeightField, pose_b: Pose) -> list[Touch]:
    R, p = pose_a
    axis = R[:, 2] * (0.5 * a.length)
    return [_ball_on_field(x, a.radius, b, pose_b) for x in (p + axis, p - axis)]


def box_field(a: Box, pose_a: Pose, b: HeightField, pose_b: Pose) -> list[Touch]:
    R, p = pose_a
    halves = [0.5 * R[:, k] * a.size[k] for k in range(3)]
    corners = [p + halves[0] * i + halves[1] * j + halves[2] * k for i, j, k in product((1.0, -1.0), repeat=3)]
    return [_ball_on_field(x, 0.0, b, pose_b) for x in corners]


def mesh_field(a: ConvexMesh, pose_a: Pose, b: HeightField, pose_b: Pose) -> list[Touch]:
    """The mesh's vertices; those of the `outer_hull` if there are many."""
    R, p = pose_a
    return [_ball_on_field(p + R @ x, 0.0, b, pose_b) for x in outer_hull(a).vertices]
