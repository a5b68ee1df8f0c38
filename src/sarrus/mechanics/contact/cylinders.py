"""A cylinder against a capsule, another cylinder or a box: the normal that separates them best, then where they meet.

Seen along the normal each shape has a feature: a cylinder its end, a disc, or a line of its wall; a capsule its axis; a
box a face. Touches are where lines lie on the other's feature, or discs overlap, each with its own gap along the
normal; the first one is the deepest, with the exact gap. Apart, gaps of cylinders and boxes are those along the best of
the normals that faces, edges, walls and rims have with each other: exact as they come to touch.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.cylinder_features import (
    END,
    Line,
    Support,
    cylinder_support,
    end_and_wall,
    finished,
    line_on_disc,
    line_on_line,
    overlapping_discs,
    side,
)
from sarrus.mechanics.contact.difference import Difference, Discs
from sarrus.mechanics.contact.separation import best_normal
from sarrus.mechanics.contact.touch import ABSENT, Pose, Touch
from sarrus.model.visuals import Capsule, Cylinder
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, direction, sign, smaller
from sarrus.spatial.norms import dot
from sarrus.spatial.rotations import cross


def capsule_cylinder(a: Capsule, pose_a: Pose, b: Cylinder, pose_b: Pose) -> list[Touch]:
    """Where the capsule's axis is nearest, and at the other end of where it lies on the cylinder."""
    (Ra, pa), (Rb, pb) = pose_a, pose_b
    x, u, z = pa - pb, Ra[:, 2], Rb[:, 2]
    line = Line(pa, u, 0.5 * a.length)
    difference = Difference(x, [u * line.half, z * (0.5 * b.length)], Discs([z], [b.radius]))
    ends = [_from_cylinder(x + u * s, b, Rb) for s in (-line.half, line.half)]
    n, apart = best_normal(difference, [z, *ends], [(Rb[:, 0], Rb[:, 1]), (Ra[:, 0], Ra[:, 1])])
    disc, wall = end_and_wall(b, pose_b, n)
    on_end = line_on_disc(line, disc, n)
    on_wall = line_on_line(line, wall, n)
    points = [choose_vector(END, abs(dot(n, z)), p, q) for (p, _), (q, _) in zip(on_end, on_wall, strict=True)]
    gaps = [choose(END, abs(dot(n, z)), g, h) for (_, g), (_, h) in zip(on_end, on_wall, strict=True)]
    found = [Touch(p - n * (0.5 * (g + a.radius)), n, g - a.radius) for p, g in zip(points, gaps, strict=True)]
    tip = Support(pa - u * (side(dot(n, u)) * line.half) - n * a.radius, abs(side(dot(n, u))))
    return finished(found, n, apart - a.radius, tip, cylinder_support(b, pose_b, n), b.radius + b.length)


def cylinder_cylinder(a: Cylinder, pose_a: Pose, b: Cylinder, pose_b: Pose) -> list[Touch]:
    """Two ends: the four ends of where the discs overlap. A wall: both ends of where it lies on the other."""
    (Ra, pa), (Rb, pb) = pose_a, pose_b
    za, zb = Ra[:, 2], Rb[:, 2]
    segments = [za * (0.5 * a.length), zb * (0.5 * b.length)]
    difference = Difference(pa - pb, segments, Discs([za, zb], [a.radius, b.radius]))
    bases = [(R[:, 0], R[:, 1]) for R in (Ra, Rb)]
    crossing, _ = direction(cross(za, zb), Ra[:, 0])
    n, apart = best_normal(difference, [za, zb, crossing], bases, rims=True)
    disc_a, wall_a = end_and_wall(a, pose_a, -n)
    disc_b, wall_b = end_and_wall(b, pose_b, n)
    end_a, end_b = choose(END, abs(dot(n, za)), 1.0, 0.0), choose(END, abs(dot(n, zb)), 1.0, 0.0)
    found = overlapping_discs(disc_a, disc_b, n)
    lines = [
        (line_on_disc(wall_a, disc_b, n), (end_a, 0.5 * end_b)),  # a's wall on b's end
        ([(p + n * g, g) for p, g in line_on_disc(wall_b, disc_a, -n)], (end_b, 0.5 * end_a)),
        (line_on_line(wall_a, wall_b, n), (end_a + end_b, 0.5)),
    ]
    for pair, (less, more) in lines:
        for k, old in enumerate(found):
            p, g = pair[k] if k < 2 else (old.point, ABSENT)
            point = p - n * (0.5 * smaller(g, 1.0))
            found[k] = Touch(choose_vector(less, more, point, old.point), n, choose(less, more, g, old.gap))
    supports = cylinder_support(a, pose_a, -n), cylinder_support(b, pose_b, n)
    return finished(found, n, apart, *supports, a.radius + b.radius)


def _from_cylinder(x: Array, b: Cylinder, R: Array) -> Array:
    """The direction in which a point outside is away from it."""
    local = R.T @ x
    outward, rho = direction(vector(local[0], local[1]), np.array([1.0, 0.0]))
    wall, end = rho - b.radius, abs(local[2]) - 0.5 * b.length
    wall, end = choose(0.0, wall, wall, 0.0), choose(0.0, end, end, 0.0)
    n, _ = direction(vector(outward[0] * wall, outward[1] * wall, end * sign(local[2])), np.array([0.0, 0.0, 1.0]))
    return R @ n
