"""How far the geometries of a robot are from each other, at one configuration: meshes against meshes, too.

What steps compile finds most pairs. Convex meshes and ellipsoids against each other have no such text: for these the
collision library coal is asked, state by state. A simulation does not do that, so such pairs never touch there.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import MissingDependencyError, StateError, UnsupportedError, check_name
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.mechanics.contact.narrow_phase import is_supported, touches
from sarrus.model.arguments import as_numbers, pairs_of_names
from sarrus.model.bodies import WORLD
from sarrus.model.geometries import ContactShape, ConvexMesh, Geometry
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.model import Model, check_is_model
from sarrus.model.state import check_configuration
from sarrus.model.tree import tree_of
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.arrays import Array

Pose = tuple[Array, Array]
_TOLERANCE = 1e-10  # of coal; the error of a normal is its root


class Distance(NamedTuple):
    """Of two geometries."""

    names: tuple[str, str]
    gap: float  # metres; negative: how deep they penetrate
    point: Array  # (3,) in the world, midway between the surfaces
    normal: Array  # (3,) in the world, from the second to the first
    in_steps: bool  # whether they touch in a simulation; else coal was asked


def distances(model: Model, q: Any, pairs: Iterable[tuple[str, str]] | None = None) -> list[Distance]:
    """Distances between geometries that may meet, at a configuration (nq,), nearest first.

    pairs    the only pairs of geometries, by name, to consider; default: all that may meet in this model
    q        (nq,)
    returns  for each pair: names, gap (m), point (3,) and normal (3,) in the world, and whether they can touch in a
             simulation
    errors   `UnknownNameError`: no such geometry; `MissingDependencyError`: meshes that need coal (`sarrus[coal]`)

    >>> robot = sarrus.zoo.geared_quadruped().with_ground()
    >>> len(sarrus.distances(robot, robot.home)) > 0
    True
    """
    check_is_model("distances", model)
    expected = f"q: expected ({model.nq},), all numbers finite"
    shape = as_numbers(expected, q).shape
    if shape != (model.nq,):
        raise StateError(f"{expected}, got {shape}")
    q = check_configuration(model, q)
    by_name = {geometry.name: geometry for geometry in model.geometries}
    wanted = None if pairs is None else pairs_of_names(pairs)
    for name in (x for pair in wanted or () for x in pair):
        check_name("geometry", name, by_name)
    shapes = model.geometries
    chosen = (
        [(shapes[pair.a], shapes[pair.b]) for pair in meeting_pairs(model)]
        if wanted is None
        else [(by_name[a], by_name[b]) for a, b in wanted]
    )
    tree = tree_of(model)
    poses = world_poses(tree, joint_kinematics(tree, q))
    placed = {geometry.name: _pose(model, geometry, poses) for pair in chosen for geometry in pair}
    found = [_distance(a, placed[a.name], b, placed[b.name]) for a, b in chosen]
    return sorted(found, key=lambda distance: distance.gap)


def _pose(model: Model, geometry: Geometry, poses: Sequence[Pose]) -> Pose:
    """In the world. Bodies are computed in frames of their own."""
    where = geometry.placement
    if geometry.body == WORLD:
        return where.R, where.p
    (R, p), X = poses[geometry.body], tree_of(model).nodes[geometry.body].body
    return (R @ X.R @ where.R).astype(float), (p + R @ (X.p + X.R @ where.p)).astype(float)


def _distance(a: Geometry, pose_a: Pose, b: Geometry, pose_b: Pose) -> Distance:
    names = a.name, b.name
    if is_supported(a.shape, b.shape):
        first = min(touches(a.shape, pose_a, b.shape, pose_b), key=lambda touch: float(touch.gap))
        return Distance(names, float(first.gap), np.asarray(first.point, float), np.asarray(first.normal, float), True)
    coal = _coal()
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = request.epa_tolerance = _TOLERANCE
    placed = [coal.Transform3s(R, p) for R, p in (pose_a, pose_b)]
    gap = coal.distance(_shape(coal, a), placed[0], _shape(coal, b), placed[1], request, result)
    point = 0.5 * (result.getNearestPoint1() + result.getNearestPoint2())
    return Distance(names, float(gap), np.array(point), -np.array(result.normal), False)


def _coal() -> Any:
    try:
        return importlib.import_module("coal")
    except ImportError:
        raise MissingDependencyError(
            'distances of meshes and ellipsoids from each other need coal: pip install "sarrus[coal]"'
        ) from None


def _shape(coal: Any, geometry: Geometry) -> Any:
    """The same for coal."""
    shape: ContactShape = geometry.shape
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Box):
        return coal.Box(*map(float, shape.size))
    if isinstance(shape, Ellipsoid):
        return coal.Ellipsoid(*map(float, shape.radii))
    if isinstance(shape, ConvexMesh):
        points = coal.StdVec_Vec3s()
        for vertex in np.asarray(shape.vertices, dtype=float):
            points.append(vertex)
        return coal.ConvexBase.convexHull(points, False, None)
    raise UnsupportedError(
        f"geometry {geometry.name!r}: distances from a {type(shape).__name__} to this shape are not supported"
    )
