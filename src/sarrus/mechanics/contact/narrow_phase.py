"""Where two shapes touch: a fixed number of candidates for each pair of types, each with its gap.

Text for floats and symbols: no branch on a number, nothing that is not finite for finite poses. What is not in the
table is not supported: an ellipsoid against anything but planes and balls, a mesh against anything but the ground, a
cylinder against a height field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.errors import UnsupportedError
from sarrus.mechanics.contact.against_plane import (
    box_plane,
    capsule_plane,
    cylinder_plane,
    ellipsoid_plane,
    mesh_plane,
    sphere_plane,
)
from sarrus.mechanics.contact.box_box import box_box
from sarrus.mechanics.contact.boxes import capsule_box, sphere_box
from sarrus.mechanics.contact.cylinder_box import cylinder_box
from sarrus.mechanics.contact.cylinders import capsule_cylinder, cylinder_cylinder
from sarrus.mechanics.contact.ellipsoids import sphere_ellipsoid
from sarrus.mechanics.contact.height_fields import box_field, capsule_field, mesh_field, sphere_field
from sarrus.mechanics.contact.outer_hull import outer_hull
from sarrus.mechanics.contact.round_shapes import capsule_capsule, sphere_capsule, sphere_cylinder, sphere_sphere
from sarrus.mechanics.contact.touch import Pose, Touch, seen_from_the_other
from sarrus.mechanics.contact.vertex_groups import vertex_groups
from sarrus.model.geometries import ContactShape, ConvexMesh, HeightField, Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere

Finder = Callable[[Any, Pose, Any, Pose], list[Touch]]
Count = int | Callable[[ConvexMesh], int]

# The types of a and b: how their touches are found, and how many these are.
PAIRS: dict[tuple[type, type], tuple[Finder, Count]] = {
    (Sphere, Plane): (sphere_plane, 1),
    (Capsule, Plane): (capsule_plane, 2),
    (Cylinder, Plane): (cylinder_plane, 4),
    (Box, Plane): (box_plane, 4),
    (Ellipsoid, Plane): (ellipsoid_plane, 1),
    (ConvexMesh, Plane): (mesh_plane, lambda mesh: len(vertex_groups(mesh))),
    (Sphere, Sphere): (sphere_sphere, 1),
    (Sphere, Capsule): (sphere_capsule, 1),
    (Sphere, Cylinder): (sphere_cylinder, 1),
    (Sphere, Ellipsoid): (sphere_ellipsoid, 1),
    (Sphere, Box): (sphere_box, 1),
    (Capsule, Capsule): (capsule_capsule, 2),
    (Capsule, Box): (capsule_box, 2),
    (Capsule, Cylinder): (capsule_cylinder, 3),
    (Cylinder, Cylinder): (cylinder_cylinder, 5),
    (Cylinder, Box): (cylinder_box, 8),
    (Box, Box): (box_box, 9),
    (Sphere, HeightField): (sphere_field, 1),
    (Capsule, HeightField): (capsule_field, 2),
    (Box, HeightField): (box_field, 8),
    (ConvexMesh, HeightField): (mesh_field, lambda mesh: len(outer_hull(mesh).vertices)),
}


def is_supported(shape_a: ContactShape, shape_b: ContactShape) -> bool:
    """Whether touches of these two can be found, in either order."""
    a, b = type(shape_a), type(shape_b)
    return (a, b) in PAIRS or (b, a) in PAIRS


def touch_count(shape_a: ContactShape, shape_b: ContactShape) -> int:
    """How many candidates `touches` returns for these two."""
    count = PAIRS[_in_order(shape_a, shape_b)][1]
    if isinstance(count, int):
        return count
    return next(count(shape) for shape in (shape_a, shape_b) if isinstance(shape, ConvexMesh))


def touches(shape_a: ContactShape, pose_a: Pose, shape_b: ContactShape, pose_b: Pose) -> list[Touch]:
    """Where they touch or would, with normals from b to a."""
    pair = _in_order(shape_a, shape_b)
    find, _ = PAIRS[pair]
    if pair == (type(shape_a), type(shape_b)):
        return find(shape_a, pose_a, shape_b, pose_b)
    return [seen_from_the_other(touch) for touch in find(shape_b, pose_b, shape_a, pose_a)]


def _in_order(shape_a: ContactShape, shape_b: ContactShape) -> tuple[type, type]:
    a, b = type(shape_a), type(shape_b)
    if (a, b) in PAIRS:
        return a, b
    if (b, a) in PAIRS:
        return b, a
    partners = sorted({y.__name__ for x, y in PAIRS if x is a} | {x.__name__ for x, y in PAIRS if y is a})
    raise UnsupportedError(
        f"contact between a {a.__name__} and a {b.__name__} is not supported. A {a.__name__} can touch: "
        f"{', '.join(partners)}"
    )
