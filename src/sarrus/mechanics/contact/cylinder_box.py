"""A cylinder against a box: the normal that separates them best, then where the cylinder's end or wall meets a face."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.cylinder_features import END, Support, cylinder_support, end_and_wall, finished, side
from sarrus.mechanics.contact.difference import Difference, Discs
from sarrus.mechanics.contact.separation import best_normal
from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch
from sarrus.model.visuals import Box, Cylinder
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, clamp, direction, larger, sign, smaller
from sarrus.spatial.norms import dot, root
from sarrus.spatial.rotations import cross

_WINDOW = 1e-9  # metres by which a point may be beside a face and is above it
_STEEP = 1e-12
_TRIANGLE = ((1.0, 0.0), (-0.5, 0.5 * np.sqrt(3.0)), (-0.5, -0.5 * np.sqrt(3.0)))  # on a rim, the deepest first


class _Face(NamedTuple):
    """Of the box, the one that is nearest to being normal to n."""

    middle: Array  # (3,)
    axes: list[Array]  # two unit vectors in it, and its normal
    half: list[Scalar]  # of its lengths

    def below(self, p: Array, n: Array) -> tuple[Scalar, Scalar, Scalar]:
        """Where p is above the face, seen along n, and how high."""
        height = dot(p - self.middle, self.axes[2]) / dot(n, self.axes[2])
        foot = p - n * height - self.middle
        return dot(foot, self.axes[0]), dot(foot, self.axes[1]), height

    def is_above(self, x: Scalar, y: Scalar) -> Scalar:
        """1 where a point at these coordinates is above the face, else 0."""
        outside = larger(abs(x) - self.half[0], abs(y) - self.half[1])
        return choose(outside, _WINDOW, 1.0, 0.0)


def cylinder_box(a: Cylinder, pose_a: Pose, b: Box, pose_b: Pose) -> list[Touch]:
    """An end on a face: three points of the rim and four where edges of the face come in. A wall: two."""
    (Ra, pa), (Rb, pb) = pose_a, pose_b
    z, half = Ra[:, 2], [0.5 * x for x in b.size]
    edges = [Rb[:, k] for k in range(3)]
    segments = [z * (0.5 * a.length), *(edge * h for edge, h in zip(edges, half, strict=True))]
    difference = Difference(pa - pb, segments, Discs([z], [a.radius]))
    crossings = [direction(cross(z, edge), Ra[:, 0])[0] for edge in edges]
    bases = [(Ra[:, 0], Ra[:, 1]), *((edges[(k + 1) % 3], edges[(k + 2) % 3]) for k in range(3))]
    n, apart = best_normal(difference, [*edges, z, *crossings], bases)
    face = _facing(n, edges, half, pb)
    on_end, on_wall = _end_on_face(a, pose_a, face, n), _wall_on_face(a, pose_a, face, n)
    where = (END, abs(dot(n, z)))
    found = []
    for k, touch in enumerate(on_end):
        wall = on_wall[k] if k < len(on_wall) else touch._replace(gap=ABSENT)
        found.append(Touch(choose_vector(*where, touch.point, wall.point), n, choose(*where, touch.gap, wall.gap)))
    corner = pb + sum((edge * (h * side(dot(n, edge))) for edge, h in zip(edges, half, strict=True)), np.zeros(3))
    return finished(found, n, apart, cylinder_support(a, pose_a, -n), Support(corner, 1.0), a.radius + a.length)


def _facing(n: Array, edges: list[Array], half: list[float], middle: Array) -> _Face:
    """The face of a box that looks most along n."""
    sizes = [abs(dot(n, edge)) for edge in edges]
    axes, lengths, most = [edges[1], edges[2], edges[0]], [half[1], half[2], half[0]], sizes[0]
    for k in (1, 2):
        better = (most, sizes[k])
        order = [(k + 1) % 3, (k + 2) % 3, k]
        axes = [choose_vector(*better, edges[i], old) for i, old in zip(order, axes, strict=True)]
        lengths = [choose(*better, half[i], old) for i, old in zip(order, lengths, strict=True)]
        most = larger(most, sizes[k])
    outward = axes[2] * sign(dot(n, axes[2]))
    return _Face(middle + outward * lengths[2], [axes[0], axes[1], outward], lengths[:2])


def _wall_on_face(a: Cylinder, pose: Pose, face: _Face, n: Array) -> list[Touch]:
    """Both ends of the part of the wall's lowest line that is above the face."""
    _, line = end_and_wall(a, pose, -n)
    x, y, height = face.below(line.middle, n)
    rise = dot(line.along, face.axes[2]) / dot(n, face.axes[2])
    along = line.along - n * rise
    low, high = -line.half, line.half
    for at, axis, half in zip((x, y), face.axes[:2], face.half, strict=True):
        speed = dot(along, axis)
        inverse = 1.0 / choose(abs(speed), _STEEP, _STEEP, speed)
        middle, width = -at * inverse, abs(inverse) * (half + _WINDOW)
        low, high = larger(low, middle - width), smaller(high, middle + width)
    there = choose(high, low, 0.0, 1.0)
    found = []
    for t in (low, high):
        t = clamp(t, line.half)
        gap = height + rise * t
        found.append(Touch(line.middle + line.along * t - n * (0.5 * gap), n, choose(0.5, there, gap, ABSENT)))
    return found


def _end_on_face(a: Cylinder, pose: Pose, face: _Face, n: Array) -> list[Touch]:
    """Three points of the rim, those that are above the face; and where its edges come in below the disc."""
    R, _ = pose
    disc, _ = end_and_wall(a, pose, -n)
    down, _ = direction(disc.axis * dot(n, disc.axis) - n, R[:, 0])
    aside = cross(disc.axis, down)
    found = []
    for c, s in _TRIANGLE:
        p = disc.middle + (down * c + aside * s) * a.radius
        x, y, gap = face.below(p, n)
        found.append(Touch(p - n * (0.5 * gap), n, choose(0.5, face.is_above(x, y), gap, ABSENT)))
    upright = dot(n, disc.axis)
    upright = choose(abs(upright), 0.1, 0.1, upright)

    def above(q: Array) -> tuple[Array, Scalar]:
        """The place in the disc's plane above a point of the face, from the disc's middle, and how high it is."""
        height = dot(disc.middle - q, disc.axis) / upright
        return q + n * height - disc.middle, height

    first, second = face.axes[0] * face.half[0], face.axes[1] * face.half[1]
    around = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
    corners = [above(face.middle + first * s + second * t) for s, t in around]
    for k in range(4):
        (q, height), (following, other) = corners[k], corners[(k + 1) % 4]
        way = following - q
        squared = dot(way, way)
        inverse = 1.0 / choose(_STEEP, squared, squared, 1.0)
        middle = -dot(q, way) * inverse
        nearest = q + way * middle
        inside = a.radius * a.radius - dot(nearest, nearest)
        reach = root(choose(0.0, inside, inside, 0.0) * inverse)
        t = larger(middle - reach, 0.0)
        there = choose(0.0, inside, choose(t, 1.0, choose(0.0, middle + reach, 1.0, 0.0), 0.0), 0.0)
        t = smaller(t, 1.0)
        gap = height + (other - height) * t
        point = disc.middle + q + way * t - n * (0.5 * gap)
        found.append(Touch(point, n, choose(0.5, there, gap, ABSENT)))
    return found
