"""Whether two geometries of one robot can meet within the limits of the joints between them: proved, or not known.

Around each geometry is a capsule. In the middle of a box of joint ranges its distance to the other is known; a joint
that turns by d moves what hangs on it by no more than d times its distance from the axis. Where this leaves a gap,
nothing in the box meets. Else the box is halved, along the joint that moves most, until all is clear or has been tried
often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.bodies import WORLD, Body
from sarrus.model.geometries import ContactShape, ConvexMesh, Geometry
from sarrus.model.joints import Prismatic, Revolute
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.arrays import Array

_MOST_BOXES = 4000  # of joint ranges that are looked at
_TINY = 1e-12


class Hull(NamedTuple):
    """A capsule around a shape, in the frame of its body."""

    ends: Array  # (2, 3)
    radius: float


def may_meet_within_limits(model: Model, a: Geometry, b: Geometry) -> bool:
    """False only if no configuration within the limits lets them come as near as their margins."""
    paths = _paths(model, a.body, b.body)
    hulls = _hull(a), _hull(b)
    if paths is None or hulls[0] is None or hulls[1] is None:
        return True
    joints = [k for path in paths for k in path]
    bodies = [model.bodies[k] for k in joints]
    ranges = [_range(body) for body in bodies]
    if not joints or not all(isinstance(body.joint.type, Revolute | Prismatic) for body in bodies):
        return True
    if not np.isfinite(ranges).all():
        return True
    near = hulls[0].radius + hulls[1].radius + a.margin + b.margin
    low, high = (np.array(x)[None] for x in zip(*ranges, strict=True))
    looked, split = 0, len(paths[0])
    while len(low):
        looked += len(low)
        if looked > _MOST_BOXES:
            return True
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        ends_a, moves_a = _placed(model, paths[0], middle[:, :split], half[:, :split], hulls[0])
        ends_b, moves_b = _placed(model, paths[1], middle[:, split:], half[:, split:], hulls[1])
        apart = _segment_distance(ends_a, ends_b) - near
        if (apart <= 0.0).any():
            return True  # there they do
        moves = np.concatenate([moves_a, moves_b], axis=1)
        unclear = apart <= moves.sum(axis=1)
        low, high = _halved(low[unclear], high[unclear], moves[unclear])
    return False


def _halved(low: Array, high: Array, moves: Array) -> tuple[Array, Array]:
    """Every box as two, along the joint that moves most."""
    rows, k = np.arange(len(low)), moves.argmax(axis=1) if len(low) else np.zeros(0, int)
    middle = 0.5 * (low[rows, k] + high[rows, k])
    upper, lower = low.copy(), high.copy()
    upper[rows, k], lower[rows, k] = middle, middle
    return np.concatenate([low, upper]), np.concatenate([lower, high])


def _paths(model: Model, a: int, b: int) -> tuple[list[int], list[int]] | None:
    """The bodies whose joints move a and b in the body that both hang on, from there outwards."""
    chains = []
    for body in (a, b):
        chain = []
        while body != WORLD:
            chain.append(body)
            body = model.bodies[body].parent
        chains.append(chain[::-1])
    shared = 0
    while shared < min(map(len, chains)) and chains[0][shared] == chains[1][shared]:
        shared += 1
    return chains[0][shared:], chains[1][shared:]


def _range(body: Body) -> tuple[float, float]:
    """Of a joint's coordinate. An angle without limits is any."""
    if body.joint.type.nv != 1:
        return -np.inf, np.inf
    lower, upper = float(body.joint.lower[0]), float(body.joint.upper[0])
    if isinstance(body.joint.type, Revolute) and upper - lower > 2.0 * np.pi:
        return -np.pi, np.pi
    return lower, upper


def _placed(model: Model, path: list[int], q: Array, half: Array, hull: Hull) -> tuple[Array, Array]:
    """(B, 2, 3) the ends of a hull in the body that the path begins at; (B, k) how far each joint can move them.

    half  of the ranges about q: what turns by that moves by no more than that times its distance from the axis
    """
    points = np.broadcast_to(hull.ends, (len(q), 2, 3))
    moves, moved = np.zeros(q.shape), np.zeros(len(q))
    for number in reversed(range(len(path))):
        body = model.bodies[path[number]]
        axis, x = np.asarray(body.joint.axes[0], dtype=float), q[:, number, None, None]
        if isinstance(body.joint.type, Prismatic):
            moves[:, number] = half[:, number]
            points = points + x * axis
        else:  # Rodrigues
            along = (points @ axis)[..., None] * axis
            far = np.linalg.norm(points - along, axis=2).max(axis=1) + moved
            moves[:, number] = half[:, number] * far
            across = np.cross(np.broadcast_to(axis, points.shape), points)
            points = along + np.cos(x) * (points - along) + np.sin(x) * across
        moved = moved + moves[:, number]
        points = points @ body.placement.R.T + body.placement.p
    return points, moves


def _segment_distance(a: Array, b: Array) -> Array:
    """(B,) between segments (B, 2, 3)."""
    u, w, r = a[:, 1] - a[:, 0], b[:, 1] - b[:, 0], a[:, 0] - b[:, 0]
    uu, ww, uw = (np.sum(x * y, axis=1) for x, y in ((u, u), (w, w), (u, w)))
    ur, wr = np.sum(u * r, axis=1), np.sum(w * r, axis=1)
    determinant = uu * ww - uw * uw
    s = np.where(determinant > _TINY, (uw * wr - ww * ur) / np.maximum(determinant, _TINY), 0.0)
    best = np.full(len(a), np.inf)
    for first in (np.clip(s, 0.0, 1.0), np.zeros(len(a)), np.ones(len(a))):
        t = np.clip((uw * first + wr) / np.maximum(ww, _TINY), 0.0, 1.0)
        again = np.clip((uw * t - ur) / np.maximum(uu, _TINY), 0.0, 1.0)
        gap = r + again[:, None] * u - t[:, None] * w
        best = np.minimum(best, np.linalg.norm(gap, axis=1))
    return best


def _hull(geometry: Geometry) -> Hull | None:
    """A capsule around a geometry; None around what has no end."""
    found = _capsule(geometry.shape)
    if found is None:
        return None
    R, p = geometry.placement.R, geometry.placement.p
    return Hull(p + found.ends @ R.T, found.radius)


def _capsule(shape: ContactShape) -> Hull | None:
    if isinstance(shape, Sphere):
        return Hull(np.zeros((2, 3)), shape.radius)
    if isinstance(shape, Capsule | Cylinder):
        return Hull(np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * shape.length, shape.radius)
    if isinstance(shape, Box | Ellipsoid):
        half = 0.5 * np.array(shape.size) if isinstance(shape, Box) else np.array(shape.radii)
        return _around(np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half)
    if isinstance(shape, ConvexMesh):
        return _around(np.asarray(shape.vertices, dtype=float))
    return None


def _around(points: Array) -> Hull:
    """A capsule around points: along their longest extent, as thick as it takes, its ends drawn in by that."""
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    _, _, axes = np.linalg.svd(points - middle, full_matrices=False)
    along = (points - middle) @ axes[0]
    across = np.linalg.norm(points - middle - np.outer(along, axes[0]), axis=1)
    radius = float(across.max())
    ends = []
    for s in (-1.0, 1.0):
        beyond = s * along - np.sqrt(np.maximum(radius**2 - across**2, 0.0))
        ends.append(middle + s * max(float(beyond.max()), 0.0) * axes[0])
    return Hull(np.array(ends), radius)
