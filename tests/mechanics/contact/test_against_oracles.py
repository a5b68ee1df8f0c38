"""Depths and distances of capsules, boxes and ellipsoids against oracles that share no code with them."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np
import pytest

from sarrus.mechanics.contact.narrow_phase import touch_count, touches
from sarrus.mechanics.contact.outer_hull import MOST_VERTICES, outer_hull
from sarrus.mechanics.contact.touch import ABSENT
from sarrus.mechanics.contact.vertex_groups import GROUPS, MOST_EXACT
from sarrus.model.geometries import ConvexMesh, Plane
from sarrus.model.visuals import Box, Capsule, Ellipsoid, Sphere
from sarrus.spatial.rotations import rotation_about
from tests.mechanics.contact.oracles import distance_from_ellipsoid, nearest_of_hull, signed_distance
from tests.mechanics.contact.shapes import FIELD, MESH, SHAPES, WORLD, Poses, random_poses, random_rotations, touches_of

CAPSULE, BOX = Capsule(0.12, 0.7), Box((0.5, 0.8, 0.3))


@pytest.mark.parametrize("spread", [0.02, 0.25, 0.6])
def test_a_capsule_and_a_box(spread: float) -> None:
    """Exact, apart and through each other, and with the right normal."""
    poses = random_poses(1500, spread, seed=21)
    found = touches_of(CAPSULE, BOX, poses)
    for k in range(1500):
        pose_a, pose_b = poses.one(k)
        distance, normal = signed_distance(CAPSULE, pose_a, BOX, pose_b)
        first = found.gap[k].argmin()
        assert abs(found.gap[k, first] - distance) < 1e-9
        assert found.normal[k, first] @ normal > 1.0 - 1e-6 or spread < 0.1  # in the middle, two ways are equal
        n, gap = found.normal[k, first], found.gap[k, first]
        on_axis = found.point[k, first] + n * (0.5 * gap + CAPSULE.radius)
        t = pose_a[0][:, 2] @ (on_axis - pose_a[1])
        assert np.linalg.norm(pose_a[1] + pose_a[0][:, 2] * t - on_axis) < 1e-9
        assert abs(t) < 0.35 + 1e-9
        on_box = pose_b[0].T @ (found.point[k, first] - 0.5 * gap * n - pose_b[1])
        np.testing.assert_allclose(np.maximum(np.abs(on_box) - 0.5 * np.array(BOX.size), 0.0), 0.0, atol=1e-9)


@pytest.mark.parametrize("spread", [0.02, 0.25, 0.6])
def test_the_depth_of_boxes(spread: float) -> None:
    """Exact where they penetrate, up to a thousandth where a face is taken for edges; apart, positive."""
    poses = random_poses(1500, spread, seed=22)
    found = touches_of(BOX, BOX, poses)
    for k in range(1500):
        pose_a, pose_b = poses.one(k)
        distance, normal = signed_distance(BOX, pose_a, BOX, pose_b)
        first = found.gap[k].argmin()
        if distance < 0.0:
            assert 1.0011 * distance - 1e-9 < found.gap[k, first] < distance + 1e-9
            if abs(found.gap[k, first] - distance) < 1e-9 and spread > 0.1:
                assert found.normal[k, first] @ normal > 1.0 - 1e-6
        else:
            assert 0.0 < found.gap[k, first] < 0.5 * ABSENT


def test_boxes_that_hardly_touch() -> None:
    """Moved along the normal until they are a micrometre apart or inside: the gap is that."""
    poses = random_poses(400, 0.6, seed=23)
    rng = np.random.default_rng(24)
    for _ in range(40):  # come closer by the distance until they touch
        for k in range(400):
            distance, normal = signed_distance(BOX, poses.one(k)[0], BOX, poses.one(k)[1])
            poses.pa[k] -= (distance + 1e-6) * normal
        if all(abs(signed_distance(BOX, *_pair(poses, k))[0] + 1e-6) < 1e-9 for k in rng.integers(0, 400, 20)):
            break
    found = touches_of(BOX, BOX, poses)
    for k in range(400):
        distance, _ = signed_distance(BOX, poses.one(k)[0], BOX, poses.one(k)[1])
        assert abs(found.gap[k].min() - distance) < 2e-9


def test_boxes_apart_are_not_taken_for_touching() -> None:
    """The gap is that of the best of the fifteen axes, or a thousandth of their size less, nearly flat or not."""
    rng, cube, count = np.random.default_rng(36), Box((0.2, 0.2, 0.2)), 3000
    turns = rng.normal(size=(count, 3)) * np.array([0.06, 0.06, 1.0])
    angle = np.linalg.norm(turns, axis=1)
    R = np.array([rotation_about(x / t, t) for x, t in zip(turns, angle, strict=True)])
    p = np.column_stack([rng.uniform(-0.25, 0.25, (count, 2)), rng.uniform(0.2, 0.215, count)])
    poses = Poses(R, p, *(np.tile(x, (count, *[1] * x.ndim)) for x in WORLD))
    found = touches_of(cube, cube, poses)
    best = np.array([_best_of_fifteen(R[k], p[k]) for k in range(count)])
    assert (found.gap.min(axis=1) > np.where(best > 0.0, best - 1.01e-4, -1.0)).all()


def test_cubes_apart_whose_edges_lie_beside_a_face_are_not_taken_for_touching() -> None:
    """A face of the second looks along the edges' normal, but it is beside the first: that they overlap along its own
    says nothing. (About a pose in which two thrown boxes were taken for 1.5 mm deep, 5.6 mm apart.)
    """
    rng, cube, count = np.random.default_rng(7), Box((0.2, 0.2, 0.2)), 2000
    C = np.array([[0.98873, 0.01086, -0.14929], [0.00557, -0.99934, -0.03585], [-0.14958, 0.03461, -0.98814]])
    noise = 0.03 * rng.normal(size=(count, 3))
    R = np.array([C @ rotation_about(x / np.linalg.norm(x), np.linalg.norm(x)) for x in noise])
    p = np.array([0.0149, 0.2064, 0.2158]) + 0.004 * rng.normal(size=(count, 3))
    poses = Poses(R, p, *(np.tile(x, (count, *[1] * x.ndim)) for x in WORLD))
    for found in (touches_of(cube, cube, poses), touches_of(cube, cube, poses.swapped())):
        best = np.array([_best_of_fifteen(R[k], p[k]) for k in range(count)])
        assert (found.gap.min(axis=1) > np.where(best > 0.0, best - 1.01e-4, -1.0)).all()


def _best_of_fifteen(R: np.ndarray, p: np.ndarray) -> float:
    """How far a cube of 0.2 m turned by R at p is from one at the origin, along the axis that separates them best."""
    crossed = np.array([np.cross(R[:, i], np.eye(3)[j]) for i in range(3) for j in range(3)])
    axes = np.concatenate([R.T, np.eye(3), crossed])
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    return (np.abs(axes @ p) - 0.1 * np.abs(axes @ R).sum(axis=1) - 0.1 * np.abs(axes).sum(axis=1)).max()


def _pair(poses: Poses, k: int):
    pose_a, pose_b = poses.one(k)
    return pose_a, BOX, pose_b


@pytest.mark.parametrize("tilt", [1e-8, 1e-4, 0.02])
@pytest.mark.parametrize("yaw", [0.0, 1e-3, 1.0])
def test_a_box_that_rests_on_another_a_little_askew_keeps_all_corners(tilt: float, yaw: float) -> None:
    rng, cube, count = np.random.default_rng(35), Box((0.2, 0.2, 0.2)), 500
    w = rng.uniform(-tilt, tilt, (count, 3))
    w[:, 2] = rng.uniform(-yaw, yaw, count)
    angle = np.linalg.norm(w, axis=1) + 1e-300
    R = np.array([rotation_about(x / t, t) for x, t in zip(w, angle, strict=True)])
    p = np.column_stack([rng.uniform(-0.03, 0.03, (count, 2)), np.full(count, 0.2 - 1e-5)])
    found = touches_of(cube, cube, Poses(R, p, *(np.tile(x, (count, *[1] * x.ndim)) for x in WORLD)))
    assert ((found.gap < 0.5 * ABSENT).sum(axis=1) >= 4).all()
    assert (found.normal[..., 2] > 0.999).all()


def test_the_far_end_of_an_edge_that_touches_is_there_too() -> None:
    """A box on another, a little tilted and turned, so that two edges touch: what may come down next is there, too."""
    cube, w, p = Box((0.2, 0.2, 0.2)), np.array([-0.0442, -0.0536, -0.0651]), np.array([-0.0197, -0.1449, 0.209])
    R = rotation_about(w / np.linalg.norm(w), float(np.linalg.norm(w)))
    edges, *others = touches(cube, (R, p), cube, WORLD)
    assert -3e-4 < edges.gap < 0.0
    there = [touch for touch in others if touch.gap < 0.5 * ABSENT]
    corners = np.array([(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]) @ R.T + p
    above = corners[(np.abs(corners[:, :2]) < 0.1).all(axis=1)]
    assert len(above)
    for corner in above:
        assert any(abs(touch.point - corner).max() < abs(touch.gap) + 1e-4 for touch in there)


def test_a_capsule_lying_on_a_box_touches_at_both_ends() -> None:
    lying = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    rng = np.random.default_rng(25)
    count = 200
    p = np.zeros((count, 3))
    p[:, :2] = rng.uniform(-0.2, 0.2, (count, 2))
    p[:, 2] = 0.15 + 0.12 - 1e-4
    poses = Poses(np.tile(lying, (count, 1, 1)), p, np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))
    found = touches_of(CAPSULE, BOX, poses)
    np.testing.assert_allclose(found.gap, -1e-4, atol=1e-12)
    low, high = np.maximum(p[:, 0] - 0.35, -0.25), np.minimum(p[:, 0] + 0.35, 0.25)
    np.testing.assert_allclose(np.sort(found.point[..., 0], axis=1), np.stack([low, high], axis=1), atol=1e-9)


@pytest.mark.parametrize("radii", [(0.2, 0.45, 0.3), (1.0, 1.0, 1.0), (0.05, 1.0, 1.0), (0.3, 0.3, 2.0)])
def test_a_ball_and_an_ellipsoid(radii: tuple[float, float, float]) -> None:
    shape, ball = Ellipsoid(radii), Sphere(0.1)
    for spread in (0.01, 0.3, 3.0):
        poses = random_poses(400, spread, seed=26)
        found = touches_of(ball, shape, poses)
        for k in range(400):
            x = poses.Rb[k].T @ (poses.pa[k] - poses.pb[k])
            expected = distance_from_ellipsoid(x, np.array(radii)) - 0.1
            assert abs(found.gap[k, 0] - expected) < 1e-6 * max(radii)


def test_the_lowest_vertex_is_among_the_candidates() -> None:
    poses = random_poses(500, seed=27)
    for shape, points in ((MESH, MESH.vertices), (BOX, np.array(list(product((-0.5, 0.5), repeat=3))) * BOX.size)):
        found = touches_of(shape, Plane(), poses)
        heights = np.einsum("bi,bni->bn", poses.Rb[:, :, 2], _placed(points, poses) - poses.pb[:, None])
        lowest = np.sort(heights, axis=1)[:, : 4 if shape is BOX else None]
        np.testing.assert_allclose(np.sort(found.gap, axis=1), lowest, atol=1e-12)


def _placed(points: np.ndarray, poses: Poses) -> np.ndarray:
    return poses.pa[:, None] + np.einsum("bij,nj->bni", poses.Ra, points)


def foot(count: int) -> ConvexMesh:
    """An ellipsoid with a flat sole."""
    points = np.random.default_rng(28).normal(size=(count, 3))
    points *= [0.1, 0.2, 0.05] / np.linalg.norm(points, axis=1, keepdims=True)
    points[:, 2] = np.maximum(points[:, 2], -0.03)
    return ConvexMesh(points)


@pytest.mark.parametrize("count", [33, 150, MOST_EXACT])
def test_the_lowest_vertex_of_many_is_among_eight_candidates(count: int) -> None:
    mesh, poses = foot(count), random_poses(1000, seed=32)
    found = touches_of(mesh, Plane(), poses)
    assert found.gap.shape[1] == touch_count(mesh, Plane()) == GROUPS
    placed = _placed(mesh.vertices, poses)
    heights = np.einsum("bi,bni->bn", poses.Rb[:, :, 2], placed - poses.pb[:, None])
    np.testing.assert_allclose(found.gap.min(axis=1), heights.min(axis=1), atol=1e-12)
    surface = found.point + 0.5 * found.gap[..., None] * found.normal
    for k in range(0, 1000, 50):  # vertices, all of them
        assert np.linalg.norm(surface[k][:, None] - placed[k][None], axis=2).min(axis=1).max() < 1e-12


def test_a_foot_stands_on_vertices_far_from_each_other() -> None:
    mesh = foot(300)
    pose = np.eye(3)[None], np.array([[0.0, 0.0, 0.03]])
    found = touches_of(mesh, Plane(), Poses(*pose, np.eye(3)[None], np.zeros((1, 3))))
    down = np.abs(found.gap[0]) < 1e-12
    assert down.sum() >= 4
    sole = mesh.vertices[mesh.vertices[:, 2] == -0.03]
    assert (np.ptp(found.point[0, down], axis=0)[:2] > 0.6 * np.ptp(sole, axis=0)[:2]).all()


def test_a_mesh_of_too_many_vertices_is_put_into_a_hull_of_few() -> None:
    mesh = foot(MOST_EXACT + 1)
    points, hull = mesh.vertices, outer_hull(mesh)
    assert len(hull.vertices) <= MOST_VERTICES
    assert touch_count(mesh, Plane()) == touch_count(mesh, FIELD) == len(hull.vertices)
    assert 0.0 < hull.excess < 0.04
    directions = random_rotations(np.random.default_rng(34), 500)[:, 0]
    beyond = (hull.vertices @ directions.T).max(axis=0) - (points @ directions.T).max(axis=0)
    assert beyond.min() > -1e-9
    assert beyond.max() < hull.excess + 1e-9
    assert abs(hull.vertices[:, 2].min() + 0.03) < 1e-9  # it stands as high as the mesh does
    furthest = max(np.linalg.norm(nearest_of_hull(points - x)) for x in hull.vertices)
    assert abs(furthest - hull.excess) < 1e-6
    assert outer_hull(MESH).excess == 0.0


def test_a_ball_on_a_height_field_is_above_the_triangle_that_mujocos_ray_meets() -> None:
    """The height, and the normal by differences of heights."""
    rows, columns = FIELD.heights.shape
    low, high = FIELD.heights.min(), FIELD.heights.max()
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><hfield name="f" nrow="{rows}" ncol="{columns}" size="1.0 0.8 {high - low} 0.1"/></asset>'
        f'<worldbody><geom type="hfield" hfield="f" pos="0 0 {low}"/></worldbody></mujoco>'
    )
    model.hfield_data[:] = ((FIELD.heights - low) / (high - low)).ravel()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)

    def height(x: float, y: float) -> float:
        start, down, geom = np.array([x, y, 2.0]), np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
        return 2.0 - mujoco.mj_ray(model, data, start, down, None, 1, -1, geom)

    rng = np.random.default_rng(29)
    count = 500
    p = np.column_stack([rng.uniform(-0.99, 0.99, count), rng.uniform(-0.79, 0.79, count), rng.uniform(-1, 1, count)])
    poses = Poses(np.tile(np.eye(3), (count, 1, 1)), p, *(np.tile(x, (count, *[1] * x.ndim)) for x in WORLD))
    found = touches_of(Sphere(0.05), FIELD, poses)
    for k in range(count):
        normal = found.normal[k, 0]
        below = height(p[k, 0], p[k, 1])
        assert abs((p[k, 2] - below) * normal[2] - 0.05 - found.gap[k, 0]) < 1e-6  # MuJoCo's heights: single precision
    outside = poses._replace(pa=p + np.array([2.5, 0.0, 0.0]))
    assert (touches_of(Sphere(0.05), FIELD, outside).gap == ABSENT).all()


def test_corners_and_vertices_and_ends_are_balls_on_the_field() -> None:
    poses = random_poses(200, 0.3, seed=30)
    ends = {
        "box": (np.array(list(product((0.5, -0.5), repeat=3))) * BOX.size, 0.0),
        "mesh": (MESH.vertices, 0.0),
        "capsule": (np.array([[0, 0, 0.35], [0, 0, -0.35]]), 0.12),
    }
    for name, (points, radius) in ends.items():
        found = touches_of(SHAPES[name], FIELD, poses)
        for n, x in enumerate(_placed(points, poses).transpose(1, 0, 2)):
            alone = touches_of(Sphere(radius), FIELD, poses._replace(pa=x))
            np.testing.assert_allclose(found.gap[:, n], alone.gap[:, 0], atol=1e-10)
