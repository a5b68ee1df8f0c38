"""A convex polytope of few vertices around a mesh of many: planes that touch the mesh where it sticks out least."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from sarrus.model.geometries import ConvexMesh
from sarrus.spatial.arrays import Array

MOST_VERTICES = 32  # each is a candidate for a contact
_ROUNDING = 1e-9  # of lengths, relative to the size of the mesh


@dataclass(frozen=True, eq=False)
class OuterHull:
    """Points whose convex hull contains a mesh.

    excess  how far it reaches beyond the mesh, in metres; 0: it is the mesh itself
    """

    vertices: Array  # (n, 3), at most `MOST_VERTICES`
    excess: float


@lru_cache(maxsize=256)
def outer_hull(mesh: ConvexMesh) -> OuterHull:
    """The mesh's own vertices; of a mesh with many, those of a polytope around it.

    Starting from the box around the mesh, the vertex that is farthest from the mesh is cut off by the plane that
    touches the mesh at the point nearest to it, as long as few vertices remain.
    """
    points = np.asarray(mesh.vertices, float)
    if len(points) <= MOST_VERTICES:
        return OuterHull(points, 0.0)
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    scale = float(np.abs(points - center).max()) or 1.0
    points = (points - center) / scale
    normals = np.concatenate([np.eye(3), -np.eye(3)])
    vertices = _corners(normals, (points @ normals.T).max(axis=0))
    known: dict[bytes, Array] = {}  # from the mesh to a vertex
    while True:
        away = np.array([_from_hull(points, x, known) for x in vertices])
        lengths = np.linalg.norm(away, axis=1)
        worst = int(np.argmax(lengths))
        if lengths[worst] < _ROUNDING:
            break
        normals = np.concatenate([normals, away[worst : worst + 1] / lengths[worst]])
        cut = _corners(normals, (points @ normals.T).max(axis=0))
        if len(cut) > MOST_VERTICES:
            break
        vertices = cut
    return OuterHull(center + scale * vertices, scale * float(lengths.max()))


def _corners(normals: Array, offsets: Array) -> Array:
    """The vertices of {x: normals x <= offsets}: all meeting points of three planes that are inside of the others."""
    triples = np.array(list(combinations(range(len(normals)), 3)))
    A, b = normals[triples], offsets[triples]
    regular = np.abs(np.linalg.det(A)) > 1e-6
    x = np.linalg.solve(A[regular], b[regular][..., None])[..., 0]
    x = x[(x @ normals.T <= offsets + _ROUNDING).all(axis=1)]
    _, first = np.unique(np.round(x, 7), axis=0, return_index=True)
    return x[np.sort(first)]


def _from_hull(points: Array, x: Array, known: dict[bytes, Array]) -> Array:
    key = x.tobytes()
    if key not in known:
        known[key] = -nearest_to_origin(points - x)
    return known[key]


def nearest_to_origin(points: Array) -> Array:
    """The point of their convex hull that is nearest to the origin (Wolfe, Finding the nearest point in a polytope)."""
    kept = [int(np.argmin(np.sum(points * points, axis=1)))]
    weights = np.ones(1)
    for _ in range(10 * len(points)):
        x = weights @ points[kept]
        new = int(np.argmin(points @ x))
        if points[new] @ x > x @ x - 1e-12 or new in kept:
            break
        kept.append(new)
        weights = np.append(weights, 0.0)
        while True:
            n = len(kept)
            K = np.ones((n + 1, n + 1))
            K[0, 0], K[1:, 1:] = 0.0, points[kept] @ points[kept].T
            affine = np.linalg.lstsq(K, np.eye(n + 1)[0], rcond=None)[0][1:]
            if (affine > 1e-12).all():
                weights = affine
                break
            shrinking = affine <= 1e-12
            step = min(1.0, float((weights / np.where(shrinking, weights - affine, np.inf))[shrinking].min()))
            weights = weights + step * (affine - weights)
            stays = weights > 1e-12
            if stays.all():
                stays[int(np.argmin(weights))] = False
            kept, weights = [k for k, stay in zip(kept, stays, strict=True) if stay], weights[stays]
    return weights @ points[kept]
