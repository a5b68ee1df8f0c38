"""A ball or a capsule against a box."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.box_distance import box_distance
from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch, ball_at
from sarrus.model.visuals import Box, Capsule, Sphere
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, clamp, direction, larger, sign, smaller
from sarrus.spatial.norms import dot, total
from sarrus.spatial.precision import within

_INSIDE = 1e-12  # metres: an axis that comes so near to a box passes through it
_FLAT = 1e-9  # a slope below which an axis is parallel to what it is near to
_UPRIGHT = 1.0 - 1e-9  # the cosine between a normal and that of a face, from which on it is the same
_STEEP = 1e9  # the reciprocal of a direction's component that is zero
_FAR = 1e18  # beyond where a line along a slab enters it


def sphere_box(a: Sphere, pose_a: Pose, b: Box, pose_b: Pose) -> list[Touch]:
    """At the nearest point of the surface."""
    R, p = pose_b
    normal, distance = box_distance(R.T @ (pose_a[1] - p), 0.5 * np.asarray(b.size))
    return [ball_at(pose_a[1], a.radius, R @ normal, distance)]


def capsule_box(a: Capsule, pose_a: Pose, b: Box, pose_b: Pose) -> list[Touch]:
    """Where the capsule's axis is nearest to the box, and at the far end of where it is above that face.

    If the axis passes through the box, the normal is that of the shortest way out.
    """
    (Ra, pa), (R, p) = pose_a, pose_b
    x, u = R.T @ (pa - p), R.T @ Ra[:, 2]
    half, reach = 0.5 * np.asarray(b.size), 0.5 * a.length
    slabs = [_slab(x[k], u[k], half[k]) for k in range(3)]
    t = clamp(_nearest_on_line(u, slabs), reach)
    beside, outside = box_distance(x + u * t, half)
    inside = within(_INSIDE, 10.0)
    out, depth, across_edge, crossing = _way_out(x, u, half, reach)
    normal = choose_vector(inside, outside, beside, out)
    t = choose(inside, outside, t, crossing)
    low, high, upright = _above_face(normal, slabs)
    low, high = clamp(low, reach), clamp(high, reach)
    # Above a face, one of the ends is as near as any point; a parallel axis has both ends then.
    t = choose(upright, _UPRIGHT, t, choose(dot(normal, u), 0.0, high, low))
    other = choose(abs(t - low), abs(t - high), high, low)
    second, second_outside = box_distance(x + u * other, half)
    second_inside = dot(out, x + u * other) - total([half[k] * abs(out[k]) for k in range(3)])
    first = ball_at(pa + Ra[:, 2] * t, a.radius, R @ normal, choose(inside, outside, outside, -depth))
    last = ball_at(
        pa + Ra[:, 2] * other,
        a.radius,
        R @ choose_vector(inside, outside, second, out),
        choose(inside, outside, second_outside, second_inside),
    )
    missing = choose(inside, outside, 0.0, across_edge)
    return [first, last._replace(gap=choose(0.5, missing, ABSENT, last.gap))]


def _slab(x: Scalar, u: Scalar, half: float) -> tuple[Scalar, Scalar]:
    """From where to where x + t u is between -half and half."""
    inverse = 1.0 / choose(abs(u), 1.0 / _STEEP, 1.0 / _STEEP, u)
    middle, width = -x * inverse, abs(inverse) * half
    return middle - width, middle + width


def _nearest_on_line(u: Array, slabs: list[tuple[Scalar, Scalar]]) -> Scalar:
    """t where a line along u is nearest to the box: where the slope of the squared distance changes its sign.

    The slope is the sum of u_k^2 (t - the nearest number in slab k). It never falls, and is linear between the ends of
    slabs; at the first of these it is not positive, at the last one not negative.
    """
    weights = [u[k] * u[k] for k in range(3)]
    low, below, high, above = -_FAR, -_FAR, _FAR, _FAR
    for k in range(3):
        others = [(weights[j], *slabs[j]) for j in range(3) if j != k]
        for t in slabs[k]:
            slope = total([w * (t - smaller(larger(t, first), last)) for w, first, last in others])
            low, below = larger(low, choose(0.0, slope, -_FAR, t)), larger(below, choose(0.0, slope, -_FAR, slope))
            high, above = smaller(high, choose(slope, 0.0, _FAR, t)), smaller(above, choose(slope, 0.0, _FAR, slope))
    rise = above - below
    run = (high - low) / choose(_FLAT * _FLAT, rise, rise, 1.0)
    # From the nearer end: the other may be very far, on a line along a slab.
    between = choose(abs(high), abs(low), high - above * run, low - below * run)
    return choose(_FLAT * _FLAT, rise, between, 0.5 * (low + high))  # if many are as near: well inside of them


def _way_out(x: Array, u: Array, half: Array, reach: float) -> tuple[Array, Scalar, Scalar, Scalar]:
    """The shortest way for an axis that passes through: its direction and its length; 1 if it is across an edge, and t
    where the axis crosses that.

    Box and axis make a polytope, whose faces are those of the box, moved, and one along each edge and the axis.
    """
    eye = np.eye(3)
    normal, shortest = eye[0] * sign(x[0]), half[0] + abs(u[0]) * reach - abs(x[0])
    for k in (1, 2):
        depth = half[k] + abs(u[k]) * reach - abs(x[k])
        normal = choose_vector(depth, shortest, eye[k] * sign(x[k]), normal)
        shortest = smaller(depth, shortest)
    edge, crossing = 0.0, 0.0
    for k in range(3):  # edges along axis k, seen in the plane of the others
        i, j = (k + 1) % 3, (k + 2) % 3
        (across_i, across_j), length = direction(vector(-u[j], u[i]), np.array([1.0, 0.0]))
        offset = across_i * x[i] + across_j * x[j]
        depth = abs(across_i) * half[i] + abs(across_j) * half[j] - abs(offset)
        depth = choose(length, _FLAT, ABSENT, depth)
        parts: list[Scalar] = [0.0, 0.0, 0.0]
        parts[i], parts[j] = across_i * sign(offset), across_j * sign(offset)
        along = across_j * (sign(parts[i]) * half[i] - x[i]) - across_i * (sign(parts[j]) * half[j] - x[j])
        normal = choose_vector(depth, shortest, vector(*parts), normal)
        edge = choose(depth, shortest, 1.0, edge)
        crossing = choose(depth, shortest, along / larger(length, _FLAT), crossing)
        shortest = smaller(depth, shortest)
    return normal, shortest, edge, clamp(crossing, reach)


def _above_face(normal: Array, slabs: list[tuple[Scalar, Scalar]]) -> tuple[Scalar, Scalar, Scalar]:
    """From where to where the axis is above the face that the normal is nearest to: inside both other slabs.

    And the cosine between the normal and that of the face.
    """
    sizes = [abs(normal[k]) for k in range(3)]
    pairs = []
    for k in range(3):
        (low_i, high_i), (low_j, high_j) = slabs[(k + 1) % 3], slabs[(k + 2) % 3]
        pairs.append((larger(low_i, low_j), smaller(high_i, high_j)))
    low, high, most = *pairs[0], sizes[0]
    for k in (1, 2):
        low, high = choose(most, sizes[k], pairs[k][0], low), choose(most, sizes[k], pairs[k][1], high)
        most = larger(most, sizes[k])
    return low, high, most
