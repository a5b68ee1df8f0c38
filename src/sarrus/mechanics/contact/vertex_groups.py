"""A mesh of many vertices on a plane: of each group of neighbours, the lowest vertex is a candidate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sarrus.mechanics.contact.outer_hull import MOST_VERTICES, outer_hull
from sarrus.model.geometries import ConvexMesh
from sarrus.spatial.arrays import Array
from sarrus.spatial.extremes import choose_vector, smaller
from sarrus.spatial.norms import dot

GROUPS = 8
MOST_EXACT = 512  # vertices that are compared with each other, at about ten operations each


def lowest(vertices: Array, up: Array) -> Array:
    """The lowest one along the direction `up`; of several, the first."""
    found, least = vertices[0], dot(up, vertices[0])
    for x in vertices[1:]:
        height = dot(up, x)
        found, least = choose_vector(height, least, x, found), smaller(height, least)
    return found


@lru_cache(maxsize=256)
def vertex_groups(mesh: ConvexMesh) -> list[Array]:
    """(n, 3) each: one per vertex of a small mesh; else `GROUPS`, around vertices that are far from each other.

    A mesh with more than `MOST_EXACT` vertices is replaced by its `outer_hull` first.
    """
    points = np.asarray(mesh.vertices, float)
    if len(points) > MOST_EXACT:
        points = outer_hull(mesh).vertices
    if len(points) <= MOST_VERTICES:
        return [x[None] for x in points]
    away = np.linalg.norm(points - 0.5 * (points.min(axis=0) + points.max(axis=0)), axis=1)
    distances = np.zeros((0, len(points)))
    for _ in range(GROUPS):
        seed = int(np.argmax(away))
        distances = np.vstack([distances, np.linalg.norm(points - points[seed], axis=1)])
        away = distances.min(axis=0)
    nearest = distances.argmin(axis=0)
    groups = []
    for g in range(GROUPS):
        mine = np.flatnonzero(nearest == g)
        mine = mine[np.argsort(distances[g, mine], kind="stable")]  # the outermost wins on a flat sole
        groups.append(points[mine])
    return [group for group in groups if len(group)]
