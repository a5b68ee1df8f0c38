"""Balls and capsules against each other, and a ball against a cylinder or an ellipsoid."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch, ball_at, between_balls
from sarrus.model.visuals import Capsule, Cylinder, Sphere
from sarrus.spatial.arrays import vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, clamp, direction, sign
from sarrus.spatial.norms import dot

_PARALLEL = 1e-12  # sin^2 below which the nearest points of two axes are not told apart
_NEARLY = 0.05**2  # sin^2 below which capsules touch at two points: at 3 degrees


def sphere_sphere(a: Sphere, pose_a: Pose, b: Sphere, pose_b: Pose) -> list[Touch]:
    return [between_balls(pose_a[1], a.radius, pose_b[1], b.radius)]


def sphere_capsule(a: Sphere, pose_a: Pose, b: Capsule, pose_b: Pose) -> list[Touch]:
    """At the point of the capsule's axis that is nearest to the centre."""
    R, p = pose_b
    z = R[:, 2]
    t = clamp(dot(z, pose_a[1] - p), 0.5 * b.length)
    return [between_balls(pose_a[1], a.radius, p + z * t, b.radius)]


def capsule_capsule(a: Capsule, pose_a: Pose, b: Capsule, pose_b: Pose) -> list[Touch]:
    """Where the axes are nearest; if they are nearly parallel, also at the far end of where they are side by side.

    That second point is one of a and its nearest one of b, so that its gap is true, too; and never the smaller one.
    """
    (Ra, pa), (Rb, pb) = pose_a, pose_b
    za, zb, r = Ra[:, 2], Rb[:, 2], pa - pb
    half_a, half_b = 0.5 * a.length, 0.5 * b.length
    cosine, on_a, on_b = dot(za, zb), dot(za, r), dot(zb, r)
    # The nearest points of two segments (Ericson, Real-Time Collision Detection, 5.1.9). `across` rather than
    # 1 - cosine^2, which has lost half its digits when they are nearly parallel.
    across = za - zb * cosine
    sine2 = dot(across, across)
    reach = abs(cosine) * half_b
    low, high = clamp(-on_a - reach, half_a), clamp(reach - on_a, half_a)  # of a, beside b
    crossing = clamp(-dot(across, r) / choose(_PARALLEL, sine2, sine2, 1.0), half_a)
    s = choose(_PARALLEL, sine2, crossing, low)
    t = clamp(cosine * s + on_b, half_b)
    s = clamp(cosine * t - on_a, half_a)
    nearest = between_balls(pa + za * s, a.radius, pb + zb * t, b.radius)
    s = choose(abs(s - low), abs(s - high), high, low)
    t = clamp(cosine * s + on_b, half_b)
    far = between_balls(pa + za * s, a.radius, pb + zb * t, b.radius)
    return [nearest, far._replace(gap=choose(sine2, _NEARLY, far.gap, ABSENT))]


def sphere_cylinder(a: Sphere, pose_a: Pose, b: Cylinder, pose_b: Pose) -> list[Touch]:
    """At the nearest point of the surface; with its centre inside the cylinder, of the wall or of an end."""
    R, p = pose_b
    x, y, z = R.T @ (pose_a[1] - p)
    outward, rho = direction(vector(x, y), np.array([1.0, 0.0]))
    half = 0.5 * b.length
    wall, end = rho - b.radius, abs(z) - half
    upward = sign(z)
    beyond = vector(choose(0.0, wall, wall, 0.0), choose(0.0, end, end, 0.0) * upward)  # radial, axial
    inside = choose_vector(wall, end, vector(0.0, upward), vector(1.0, 0.0))
    (radial, axial), outside = direction(beyond, inside)
    distance = choose(0.0, outside, outside, choose(wall, end, end, wall))
    normal = R @ vector(outward[0] * radial, outward[1] * radial, axial)
    return [ball_at(pose_a[1], a.radius, normal, distance)]
