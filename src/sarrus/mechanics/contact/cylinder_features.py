"""What cylinders and capsules meet others with, seen along a normal: discs and lines, and where these overlap."""

from __future__ import annotations

from typing import NamedTuple

from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch
from sarrus.model.visuals import Cylinder
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, clamp, direction, larger, sign, smaller
from sarrus.spatial.norms import dot, root
from sarrus.spatial.rotations import cross

END = 0.7  # the cosine between a normal and the axis from which on a cylinder's end is met, not its wall
_PARALLEL = 1e-8  # sin^2 of two lines below which they have no crossing
_NEARLY = 0.05**2  # sin^2 below which two lines meet at two points: at 3 degrees, as capsules do
_SAME = 1e-4  # of the size: touches that are nearer to each other are one
_ACROSS = 1e-8  # a cosine below which a normal is across a line
_REACHED = 1e-7  # metres: a touch that is so much less deep than the shapes are is not the deepest


class Line(NamedTuple):
    """A feature of no width."""

    middle: Array  # (3,)
    along: Array  # (3,) unit
    half: float  # its length


class Support(NamedTuple):
    """What is farthest along a normal."""

    point: Array
    is_one: Scalar  # 1 where it is one point, else 0


class Disc(NamedTuple):
    middle: Array
    axis: Array  # (3,) unit
    radius: float


def side(x: Scalar) -> Scalar:
    """The sign of a cosine; 0 where it is nearly 0."""
    return choose(abs(x), _ACROSS, 0.0, sign(x))


def cylinder_support(cylinder: Cylinder, pose: Pose, n: Array) -> Support:
    """A point of its rim; not the only one where n is along or across its axis."""
    R, p = pose
    z = R[:, 2]
    end = side(dot(n, z))
    outward, length = direction(n - z * dot(n, z), R[:, 0])
    return Support(
        p + z * (end * 0.5 * cylinder.length) + outward * cylinder.radius, choose(length, _ACROSS, 0.0, abs(end))
    )


def end_and_wall(cylinder: Cylinder, pose: Pose, n: Array) -> tuple[Disc, Line]:
    """What is farthest along n."""
    R, p = pose
    z, half = R[:, 2], 0.5 * cylinder.length
    outward, _ = direction(n - z * dot(n, z), R[:, 0])
    disc = Disc(p + z * (half * sign(dot(n, z))), z, cylinder.radius)
    return disc, Line(p + outward * cylinder.radius, z, half)


def line_on_disc(line: Line, disc: Disc, n: Array) -> list[tuple[Array, Scalar]]:
    """Both ends of the part of a line that is above a disc, seen along n, and their heights above it."""
    upright = dot(n, disc.axis)
    upright = choose(abs(upright), 0.1, 0.1, upright)
    to_disc = line.middle - disc.middle
    height, rise = dot(to_disc, disc.axis) / upright, dot(line.along, disc.axis) / upright
    q, d = to_disc - n * height, line.along - n * rise  # in the plane of the disc
    a = dot(d, d)
    flat = choose(_PARALLEL, a, a, 1.0)
    middle = -dot(q, d) / flat
    nearest = q + d * middle
    squared = disc.radius * disc.radius - dot(nearest, nearest)
    reach = root(choose(0.0, squared, squared, 0.0) / flat)
    reach = choose(_PARALLEL, a, reach, line.half)
    ends = [clamp(middle - reach, line.half), clamp(middle + reach, line.half)]
    return [(line.middle + line.along * t, height + rise * t) for t in ends]


def line_on_line(line: Line, other: Line, n: Array) -> list[tuple[Array, Scalar]]:
    """Where two lines cross, seen along n, with the height of the first above the other; if they are nearly parallel,
    both ends of where they are side by side.
    """
    r = line.middle - other.middle
    r = r - n * dot(r, n)
    u, w = line.along - n * dot(line.along, n), other.along - n * dot(other.along, n)
    (u, length_u), (w, length_w) = direction(u, line.along), direction(w, other.along)
    cosine, on_u, on_w = dot(u, w), dot(u, r), dot(w, r)
    half_u, half_w = line.half * length_u, other.half * length_w
    across = u - w * cosine
    sine2 = dot(across, across)
    s = clamp(-dot(across, r) / choose(_PARALLEL, sine2, sine2, 1.0), half_u)
    reach = abs(cosine) * half_w
    low, high = clamp(-on_u - reach, half_u), clamp(reach - on_u, half_u)
    s = clamp(cosine * clamp(cosine * s + on_w, half_w) - on_u, half_u)
    found = []
    for end in (low, high):
        at = choose(_NEARLY, sine2, s, end)
        t = clamp(cosine * at + on_w, half_w)
        p = line.middle + line.along * (at / choose(1e-3, length_u, length_u, 1.0))
        below = other.middle + other.along * (t / choose(1e-3, length_w, length_w, 1.0))
        found.append((p, dot(p - below, n)))
    return found


def overlapping_discs(a: Disc, b: Disc, n: Array) -> list[Touch]:
    """The ends of where two discs overlap, seen along n: towards each other's middle, and across that."""
    upright = [dot(n, disc.axis) for disc in (a, b)]
    upright = [choose(abs(x), 0.1, 0.1, x) for x in upright]
    height = dot(a.middle - b.middle, b.axis) / upright[1]
    offset = a.middle - n * height - b.middle  # in the plane of b
    towards, distance = direction(offset, cross(b.axis, _aside(b.axis)))
    across = cross(b.axis, towards)
    low, high = larger(-b.radius, distance - a.radius), smaller(b.radius, distance + a.radius)
    # Where the circles cross; if one is in the other, at the middle of the smaller one.
    apart = choose(1e-9, distance, distance, 1.0)
    x = 0.5 * (distance * distance + b.radius * b.radius - a.radius * a.radius) / apart
    inside = choose(distance, abs(a.radius - b.radius), 1.0, 0.0)
    x = choose(0.5, inside, distance if a.radius <= b.radius else 0.0, x)
    squared = b.radius * b.radius - x * x
    y = choose(0.5, inside, min(a.radius, b.radius), root(choose(0.0, squared, squared, 0.0)))
    there = choose(distance, a.radius + b.radius, 1.0, 0.0)
    found = []
    for s, t in ((low, 0.0), (high, 0.0), (x, y), (x, -1.0 * y)):
        on_b = b.middle + towards * s + across * t
        gap = dot(a.middle - on_b, a.axis) / upright[0]
        found.append(Touch(on_b + n * (0.5 * gap), n, choose(0.5, there, gap, ABSENT)))
    return found


def _aside(z: Array) -> Array:
    """A vector that is not along z."""
    small = choose(abs(z[0]), 0.6, 1.0, 0.0)
    return vector(small, 1.0 - small, 0.0)


def finished(found: list[Touch], n: Array, apart: Scalar, a: Support, b: Support, size: float) -> list[Touch]:
    """The touches, none deeper than the shapes are and none twice; and one more where none is as deep as that.

    a, b  what of each shape is farthest towards the other
    """
    out: list[Touch] = []
    least: Scalar = ABSENT
    for touch in found:
        gap = choose(touch.gap, apart + _REACHED, apart, touch.gap)
        for other in out:
            away = touch.point - other.point
            gap = choose(dot(away, away), (_SAME * size) ** 2, choose(other.gap, 0.5 * ABSENT, ABSENT, gap), gap)
        least = smaller(least, gap)
        out.append(Touch(touch.point, n, gap))
    half = n * (0.5 * apart)
    point = choose_vector(0.5, a.is_one, a.point - half, b.point + half)
    return [*out, Touch(point, n, choose(apart + _REACHED, least, apart, ABSENT))]
