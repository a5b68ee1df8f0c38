"""A ball against an ellipsoid: the point of the surface that is nearest to the ball's centre."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.touch import Pose, Touch, ball_at
from sarrus.model.visuals import Ellipsoid, Sphere
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import direction, larger, sign
from sarrus.spatial.norms import dot, root, total

_STEPS = 8  # of Newton's method
_THINNEST = 1e-9  # metres: the least radius
_ASIDE = 1e-9  # of the smallest radius: so far beside a plane of symmetry is on one side of it


def sphere_ellipsoid(a: Sphere, pose_a: Pose, b: Ellipsoid, pose_b: Pose) -> list[Touch]:
    """At the nearest point of the surface, from outside and from inside."""
    R, p = pose_b
    radii = np.maximum(np.asarray(b.radii), _THINNEST)
    scale = float(radii.min())
    normal, distance = _distance(R.T @ (pose_a[1] - p) * (1.0 / scale), radii / scale)
    return [ball_at(pose_a[1], a.radius, R @ normal, distance * scale)]


def _distance(x: Array, radii: Array) -> tuple[Array, Scalar]:
    """The outward normal at the nearest point of the surface and the distance, negative inside.

    radii  the smallest one is 1

    The nearest point is y = radii^2 x / (t + excess) with excess = radii^2 - 1 and the largest t for which it is on
    the surface, |radii x / (t + excess)| = 1. Newton's method on the reciprocal of that length, which is nearly linear
    in t, comes from below without passing the root.
    """
    # On a plane of symmetry inside, the nearest points are two: one side is chosen.
    x = vector(*[choose(abs(x[k]), _ASIDE, sign(x[k]) * _ASIDE, x[k]) for k in range(3)])
    excess = radii * radii - 1.0
    t = radii[0] * abs(x[0]) - excess[0]
    for k in (1, 2):
        t = larger(t, radii[k] * abs(x[k]) - excess[k])
    for _ in range(_STEPS):
        inverse = [1.0 / (t + excess[k]) for k in range(3)]
        terms = vector(*[radii[k] * x[k] * inverse[k] for k in range(3)])
        length2 = dot(terms, terms)
        slope = total([terms[k] * terms[k] * inverse[k] for k in range(3)])
        t = t + (length2 * root(length2) - length2) / slope
    along = vector(*[x[k] / (t + excess[k]) for k in range(3)])
    normal, _ = direction(along, np.array([0.0, 0.0, 1.0]))
    return normal, dot(normal, x - radii * radii * along)
