"""What is left out cannot meet: against random states, and examples by hand."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.contact.broad_phase import bounding_sphere, can_meet
from sarrus.model.bodies import WORLD, Placement
from sarrus.model.geometries import ContactShape, ConvexMesh, Geometry, Plane
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from tests.mechanics.contact.shapes import FIELD, MESH, random_rotations


def geometry(body: int, shape: ContactShape, position: tuple[float, ...] = (0.0, 0.0, 0.0), **given) -> Geometry:
    return Geometry(f"on {body}", body, Placement(np.eye(3), np.array(position)), shape, **given)


@pytest.mark.parametrize("shape", [Sphere(0.2), Capsule(0.1, 0.5), Cylinder(0.3, 0.2), Box((1, 2, 3)), MESH, FIELD])
def test_the_ball_is_around_the_shape(shape: ContactShape) -> None:
    ball = bounding_sphere(shape)
    assert ball is not None
    center, radius = ball
    d = random_rotations(np.random.default_rng(1), 200)[:, 0]
    if isinstance(shape, ConvexMesh):
        support = (d @ shape.vertices.T).max(axis=1)
    elif shape is FIELD:
        y, x = np.meshgrid(np.linspace(-0.8, 0.8, 7), np.linspace(-1.0, 1.0, 9), indexing="ij")
        support = (d @ np.stack([x, y, FIELD.heights]).reshape(3, -1)).max(axis=1)
    elif isinstance(shape, Box):
        support = np.abs(d) @ (0.5 * np.array(shape.size))
    elif isinstance(shape, Sphere):
        support = np.full(200, shape.radius)
    elif isinstance(shape, Capsule):
        support = np.abs(d[:, 2]) * 0.5 * shape.length + shape.radius
    else:
        assert isinstance(shape, Cylinder)
        support = np.abs(d[:, 2]) * 0.5 * shape.length + np.hypot(d[:, 0], d[:, 1]) * shape.radius
    assert (support <= d @ center + radius + 1e-12).all()
    assert bounding_sphere(Plane()) is None
    assert bounding_sphere(Ellipsoid((0.1, 0.4, 0.2))) == (pytest.approx(np.zeros(3)), 0.4)


@pytest.mark.parametrize("seed", range(12))
def test_what_meets_in_a_random_state_can_meet(seed: int) -> None:
    kinds = ("revolute", "spherical", "universal", "prismatic", "free", "continuous")
    model = sarrus.zoo.random_tree(seed, 6, joints=kinds[: 3 + seed % 4])
    rng = np.random.default_rng(seed)
    shapes = [
        geometry(k, Sphere(rng.uniform(0.02, 0.2)), tuple(rng.normal(size=3) * 0.15))
        for k in range(-1, 6)
        for _ in "ab"
    ]
    plane = Geometry("plane", WORLD, Placement(random_rotations(rng, 1)[0], rng.normal(size=3)), Plane())
    q, _ = sarrus.random_state(model, rng=seed, batch=400)
    poses = sarrus.forward_kinematics(model, q)
    centers = [
        poses.position[:, x.body] + poses.rotation[:, x.body] @ x.placement.p
        if x.body != WORLD
        else np.tile(x.placement.p, (400, 1))
        for x in shapes
    ]
    for i, a in enumerate(shapes):
        for j, b in enumerate(shapes[:i]):
            gap = np.linalg.norm(centers[i] - centers[j], axis=1) - a.shape.radius - b.shape.radius
            if a.body != b.body and gap.min() < 0.0:
                assert can_meet(model, a, b)
                assert can_meet(model, b, a)
        height = (centers[i] - plane.placement.p) @ plane.placement.R[:, 2] - a.shape.radius
        if a.body != WORLD and height.min() < 0.0:
            assert can_meet(model, a, plane)
            assert can_meet(model, plane, a)


def chain() -> Model:
    """Rods of 0.3 m that hang along -z from turning joints."""
    return sarrus.zoo.chain(4)


def test_neighbours_that_keep_their_distance_are_left_out() -> None:
    """A ball at the far end of each of two rods: 0.3 m apart whatever the angle, or at most 0.6 m."""
    model = chain()
    near, far = geometry(0, Sphere(0.05), (0.0, 0.0, 0.0)), geometry(1, Sphere(0.05), (0.0, 0.0, 0.0))
    assert not can_meet(model, near, far)  # the length of a rod
    assert can_meet(model, geometry(0, Sphere(0.2)), geometry(1, Sphere(0.2)))
    assert not can_meet(model, near, near)  # of one body
    assert can_meet(model, near, geometry(1, Sphere(0.05), (0.0, 0.0, -0.3)))  # folded back
    assert not can_meet(model, near, geometry(1, Sphere(0.05), (0.0, 0.0, -0.5)))
    assert can_meet(model, near, geometry(1, Sphere(0.05), (0.0, 0.0, -0.5), margin=0.1))


def test_ground_that_is_out_of_reach_is_left_out() -> None:
    model = chain()
    tip = geometry(3, Sphere(0.05), (0.0, 0.0, -0.3))

    def ground(height: float) -> Geometry:
        return geometry(WORLD, Plane(), (0.0, 0.0, height))

    assert can_meet(model, tip, ground(-1.24))
    assert not can_meet(model, tip, ground(-1.26))
    assert can_meet(sarrus.zoo.chain(4, floating=True), geometry(4, Sphere(0.05)), ground(-50.0))
    assert not can_meet(model, ground(0.0), ground(1.0))


def test_sliding_joints_reach_as_far_as_their_limits() -> None:
    def slide(limit: float) -> Model:
        builder = sarrus.ModelBuilder("slide").add_body("a", mass=1.0, inertia=np.eye(3))
        return builder.add_body(
            "b",
            "a",
            joint="prismatic",
            position=(1.0, 0.0, 0.0),
            mass=1.0,
            inertia=np.eye(3),
            lower=-limit,
            upper=limit,
        ).build()

    a, b = geometry(0, Sphere(0.1)), geometry(1, Sphere(0.1))
    assert not can_meet(slide(0.5), a, b)
    assert can_meet(slide(0.9), a, b)
    assert can_meet(slide(np.inf), a, b)
