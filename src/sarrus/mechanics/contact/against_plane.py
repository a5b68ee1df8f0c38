"""A convex shape against a plane: its lowest points. a is the shape, b the plane, whose normal is its z axis."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.touch import Pose, Touch, ball_at
from sarrus.mechanics.contact.vertex_groups import lowest, vertex_groups
from sarrus.model.geometries import ConvexMesh, Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, direction, larger, sign, smaller
from sarrus.spatial.norms import dot

_THIN = 0.02  # metres: an impact may drive something that far in a step
_FLAT = 4.0  # how much longer than thick a plate or rod is


def _above(x: Array, plane: Pose) -> Scalar:
    """The height of a point above the plane."""
    R, p = plane
    return dot(R[:, 2], x - p)


def _ball(center: Array, radius: float, plane: Pose) -> Touch:
    return ball_at(center, radius, plane[0][:, 2], _above(center, plane))


def sphere_plane(sphere: Sphere, pose: Pose, _: Plane, plane: Pose) -> list[Touch]:
    """The lowest point."""
    return [_ball(pose[1], sphere.radius, plane)]


def capsule_plane(capsule: Capsule, pose: Pose, _: Plane, plane: Pose) -> list[Touch]:
    """Both ends."""
    R, p = pose
    axis = R[:, 2] * (0.5 * capsule.length)
    return [_ball(p + axis, capsule.radius, plane), _ball(p - axis, capsule.radius, plane)]


def ellipsoid_plane(ellipsoid: Ellipsoid, pose: Pose, _: Plane, plane: Pose) -> list[Touch]:
    """The lowest point: where the surface is normal to n."""
    (R, p), n = pose, plane[0][:, 2]
    radii = np.asarray(ellipsoid.radii)
    along, _length = direction(radii * (R.T @ n), np.zeros(3))
    return [_ball(p - R @ (radii * along), 0.0, plane)]


def cylinder_plane(cylinder: Cylinder, pose: Pose, _: Plane, plane: Pose) -> list[Touch]:
    """The lowest point of the lower rim, the one above it on the other rim, and two that make a triangle of the first.

    As MuJoCo does: a cylinder stands on the triangle, lies on the first two points, and the first is always the lowest.
    """
    (R, p), n = pose, plane[0][:, 2]
    x, y, z = R.T
    # In the cylinder's own axes: what is small when it stands upright is not a difference of large numbers.
    (c, s), _tilt = direction(vector(dot(n, x), dot(n, y)), np.array([1.0, 0.0]))
    to_end = z * choose(dot(n, z), 0.0, 0.5 * cylinder.length, -0.5 * cylinder.length)
    r = cylinder.radius
    up, across = (x * c + y * s) * r, (y * c - x * s) * (0.5 * np.sqrt(3.0) * r)
    end = p + to_end
    behind = end + 0.5 * up
    return [_ball(x, 0.0, plane) for x in (end - up, p - to_end - up, behind + across, behind - across)]


def box_plane(box: Box, pose: Pose, _: Plane, plane: Pose) -> list[Touch]:
    """The four lowest corners.

    From the lowest one, the next are along the edges that rise least, a and b. The fourth is either the one across that
    face, or along the edge that rises most, c.
    """
    if min(box.size) < _THIN and max(box.size) > _FLAT * min(box.size):
        return _plate_plane(box, pose, plane)
    (R, p), n = pose, plane[0][:, 2]
    edges = [R[:, k] * box.size[k] for k in range(3)]
    rises = [dot(n, edge) for edge in edges]
    a, b, c = (edge * sign(rise) for edge, rise in zip(edges, rises, strict=True))  # upwards
    rise_a, rise_b, rise_c = (abs(rise) for rise in rises)
    lowest = p - 0.5 * (a + b + c)
    # The edge that rises most to the last place.
    a, c = choose_vector(rise_a, rise_c, a, c), choose_vector(rise_a, rise_c, c, a)
    rise_a, rise_c = smaller(rise_a, rise_c), larger(rise_a, rise_c)
    b, c = choose_vector(rise_b, rise_c, b, c), choose_vector(rise_b, rise_c, c, b)
    rise_b, rise_c = smaller(rise_b, rise_c), larger(rise_b, rise_c)
    fourth = choose_vector(rise_a + rise_b, rise_c, a + b, c)
    return [_ball(x, 0.0, plane) for x in (lowest, lowest + a, lowest + b, lowest + fourth)]


def _plate_plane(box: Box, pose: Pose, plane: Pose) -> list[Touch]:
    """The four corners of the face that looks down most, among which the lowest one is.

    The four lowest corners of a thin plate or rod that is about to fall flat are all at one end, and when that strikes
    the ground, it drives the other end into it.
    """
    (R, p), n = pose, plane[0][:, 2]
    slopes = [dot(n, R[:, k]) for k in range(3)]
    # Edges from the lowest corner upwards
    a, b, c = (R[:, k] * choose(slope, 0.0, -box.size[k], box.size[k]) for k, slope in enumerate(slopes))
    lowest = p - 0.5 * (a + b + c)
    # The steepest edge to the last place, where it is left out
    steep_a, steep_b, steep_c = (abs(slope) for slope in slopes)
    a, c = choose_vector(steep_a, steep_c, a, c), choose_vector(steep_a, steep_c, c, a)
    b = choose_vector(steep_b, larger(steep_a, steep_c), b, c)
    return [_ball(x, 0.0, plane) for x in (lowest, lowest + a, lowest + b, lowest + (a + b))]


def mesh_plane(mesh: ConvexMesh, pose: Pose, _: Plane, plane: Pose) -> list[Touch]:
    """All vertices; if there are many, the lowest one of each group of neighbours (`vertex_groups`)."""
    (R, p), n = pose, plane[0][:, 2]
    up = R.T @ n
    return [_ball(p + R @ lowest(group, up), 0.0, plane) for group in vertex_groups(mesh)]
