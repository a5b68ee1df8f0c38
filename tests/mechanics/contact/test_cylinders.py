"""Cylinders against capsules, boxes and each other: the shortest way out, and where faces meet."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.mechanics.contact.touch import ABSENT
from sarrus.model.visuals import Box, Capsule, Cylinder
from tests.mechanics.contact.shapes import SHAPES, MujocoPair, Poses, Touches, random_poses, touches_of

PAIRS = [("capsule", "cylinder"), ("cylinder", "cylinder"), ("cylinder", "box")]


def reach(shape: Capsule | Cylinder | Box, R: np.ndarray, n: np.ndarray) -> np.ndarray:
    """How far it reaches along normals n (..., 3), from its middle."""
    local = n @ R
    if isinstance(shape, Box):
        return np.abs(local) @ (0.5 * np.array(shape.size))
    if isinstance(shape, Cylinder):
        return shape.radius * np.hypot(local[..., 0], local[..., 1]) + 0.5 * shape.length * np.abs(local[..., 2])
    return shape.radius + 0.5 * shape.length * np.abs(local[..., 2])


def separation(a: str, b: str, poses: Poses, k: int, n: np.ndarray) -> np.ndarray:
    x = poses.pa[k] - poses.pb[k]
    return n @ x - reach(SHAPES[a], poses.Ra[k], n) - reach(SHAPES[b], poses.Rb[k], n)


def deepest(found: Touches, k: int) -> tuple[np.ndarray, float]:
    first = int(found.gap[k].argmin())
    return found.normal[k, first], float(found.gap[k, first])


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("spread", [0.5, 0.2])
def test_no_normal_separates_them_better(a: str, b: str, spread: float) -> None:
    """Of thousands anywhere and near the one that is found; which does separate them by the gap.

    Boxes apart are exempt: the normals of corners and rims are not looked at.
    """
    rng = np.random.default_rng(41)
    anywhere = rng.normal(size=(3000, 3))
    near = np.concatenate([10.0**-k * rng.normal(size=(300, 3)) for k in range(1, 9)])
    poses = random_poses(300, spread=spread, seed=42)
    found = touches_of(SHAPES[a], SHAPES[b], poses)
    for k in range(300):
        n, gap = deepest(found, k)
        assert abs(separation(a, b, poses, k, n) - gap) < 1e-12
        if b == "box" and gap > 0.0:
            continue
        others = np.concatenate([anywhere, n + near])
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        assert separation(a, b, poses, k, others).max() < gap + 1e-8


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_distance_is_mujocos(a: str, b: str) -> None:
    """As exact as its iterations are: to micrometres. (Boxes: where they penetrate, and never more apart.)"""
    poses = random_poses(1000, seed=43)
    pair, found = MujocoPair(SHAPES[a], SHAPES[b]), touches_of(SHAPES[a], SHAPES[b], poses)
    theirs = np.array([pair.distance(poses, k) for k in range(1000)])
    ours = found.gap.min(axis=1)
    exact = (theirs < 0.0) | (b != "box")
    assert np.percentile(np.abs(ours - theirs)[exact], 99) < 2e-6
    assert (ours < theirs + 2e-6).mean() > 0.99


def flat(p: tuple[float, float, float], turn: float = 0.0) -> Poses:
    c, s = np.cos(turn), np.sin(turn)
    Ra = np.array([[[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]])
    return Poses(Ra, np.array([p]), np.eye(3)[None], np.zeros((1, 3)))


def there(found: Touches) -> tuple[np.ndarray, np.ndarray]:
    """Points and gaps of the touches that are there; all along z."""
    here = found.gap[0] < 0.5 * ABSENT
    np.testing.assert_allclose(found.normal[0][here], np.tile([0.0, 0.0, 1.0], (here.sum(), 1)), atol=1e-9)
    return found.point[0][here], found.gap[0][here]


def test_a_cylinder_stands_on_a_box_on_three_points_of_its_rim() -> None:
    points, gaps = there(touches_of(Cylinder(0.1, 0.3), Box((1.0, 1.0, 0.2)), flat((0.1, 0.2, 0.249), 0.3)))
    np.testing.assert_allclose(gaps, -1e-3, atol=1e-12)
    assert len(points) == 3
    np.testing.assert_allclose(np.hypot(*(points[:, :2] - [0.1, 0.2]).T), 0.1, atol=1e-9)
    np.testing.assert_allclose(points[:, :2].mean(axis=0), [0.1, 0.2], atol=1e-9)


def test_a_cylinder_stands_on_a_narrow_box_on_its_corners() -> None:
    points, gaps = there(touches_of(Cylinder(0.3, 0.2), Box((0.1, 0.2, 0.4)), flat((0.0, 0.0, 0.299))))
    np.testing.assert_allclose(gaps, -1e-3, atol=1e-12)
    expected = {(x, y) for x in (-0.05, 0.05) for y in (-0.1, 0.1)}
    assert {(round(x, 9), round(y, 9)) for x, y, _ in points} >= expected


def test_a_cylinder_lies_on_a_box_on_both_ends_of_its_wall() -> None:
    """Or on the edges of a box that is shorter than it."""
    for length, end in ((1.0, 0.3), (0.4, 0.2)):
        lying = flat((0.0, 0.0, 0.149))._replace(Ra=np.array([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]]))
        points, gaps = there(touches_of(Cylinder(0.1, 0.6), Box((length, 1.0, 0.1)), lying))
        np.testing.assert_allclose(gaps, -1e-3, atol=1e-9)
        np.testing.assert_allclose(sorted(points[:, 0]), [-end, end], atol=1e-8)
        np.testing.assert_allclose(points[:, 1], 0.0, atol=1e-8)


def test_cylinders_on_each_other_touch_at_the_ends_of_the_overlap() -> None:
    points, gaps = there(touches_of(Cylinder(0.1, 0.2), Cylinder(0.1, 0.2), flat((0.12, 0.0, 0.199))))
    np.testing.assert_allclose(gaps, -1e-3, atol=1e-9)
    assert np.allclose(sorted(points[:, 0]), [0.02, 0.06, 0.06, 0.1], atol=1e-9)
    np.testing.assert_allclose(sorted(points[:, 1]), [-0.08, 0.0, 0.0, 0.08], atol=1e-9)
    points, _ = there(touches_of(Cylinder(0.05, 0.2), Cylinder(0.1, 0.2), flat((0.02, 0.0, 0.199))))
    np.testing.assert_allclose(np.hypot(*(points[:, :2] - [0.02, 0.0]).T), 0.05, atol=1e-9)


def test_walls_side_by_side_touch_at_two_points() -> None:
    beside = Poses(np.eye(3)[None], np.array([[0.199, 0.0, 0.1]]), np.eye(3)[None], np.zeros((1, 3)))
    for a in (Cylinder(0.1, 0.4), Capsule(0.1, 0.4)):
        found = touches_of(a, Cylinder(0.1, 0.4), beside)
        here = found.gap[0] < 0.5 * ABSENT
        np.testing.assert_allclose(found.gap[0][here], -1e-3, atol=1e-9)
        np.testing.assert_allclose(sorted(found.point[0][here][:, 2]), [-0.1, 0.2], atol=1e-8)


def test_a_capsule_lies_across_the_end_of_a_cylinder() -> None:
    lying = flat((0.05, 0.0, 0.149))._replace(Ra=np.array([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]]))
    points, gaps = there(touches_of(Capsule(0.05, 0.5), Cylinder(0.1, 0.2), lying))
    np.testing.assert_allclose(gaps, -1e-3, atol=1e-9)
    np.testing.assert_allclose(sorted(points[:, 0]), [-0.1, 0.1], atol=1e-8)
