"""Touches against MuJoCo's contacts and distances, on thousands of poses per pair."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.mechanics.contact.touch import ABSENT
from sarrus.model.visuals import Box
from tests.mechanics.contact.shapes import SHAPES, MujocoPair, Poses, Touches, random_poses, special_poses, touches_of

EVERY_CONTACT = [
    ("sphere", "plane"),
    ("capsule", "plane"),
    ("cylinder", "plane"),
    ("box", "plane"),
    ("ellipsoid", "plane"),
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "cylinder"),
    ("sphere", "box"),
    ("capsule", "capsule"),
]


def misses(found: Touches, k: int, contact: tuple[np.ndarray, np.ndarray, float]) -> float:
    """How far the most similar touch is from a contact: point, normal and gap."""
    point, normal, gap = contact
    off = np.abs(found.point[k] - point).max(axis=1) + np.abs(found.normal[k] - normal).max(axis=1)
    return float((off + np.abs(found.gap[k] - gap)).min())


@pytest.mark.parametrize(("a", "b"), EVERY_CONTACT)
def test_every_contact_of_mujoco_is_among_the_touches(a: str, b: str) -> None:
    poses = random_poses(3000, seed=11)
    pair, found = MujocoPair(SHAPES[a], SHAPES[b]), touches_of(SHAPES[a], SHAPES[b], poses)
    contacts = [(k, contact) for k in range(3000) for contact in pair.contacts(poses, k)]
    assert len(contacts) > 2500
    assert max(misses(found, k, contact) for k, contact in contacts) < 1e-9


@pytest.mark.parametrize("b", ["sphere", "capsule", "cylinder", "box"])
def test_the_distance_of_a_ball_is_mujocos(b: str) -> None:
    _check_distance("sphere", b, random_poses(3000, seed=12), 1e-9)


def test_the_distance_of_capsules_is_mujocos() -> None:
    _check_distance("capsule", "capsule", random_poses(3000, seed=13), 1e-9)
    _check_distance("capsule", "capsule", nearly_parallel(1000), 1e-7)


def _check_distance(a: str, b: str, poses: Poses, tolerance: float) -> None:
    pair, found = MujocoPair(SHAPES[a], SHAPES[b]), touches_of(SHAPES[a], SHAPES[b], poses)
    off = [abs(pair.distance(poses, k) - found.gap[k].min()) for k in range(len(poses.pa))]
    assert max(off) < tolerance


def nearly_parallel(count: int) -> Poses:
    """Axes with angles from 1e-12 on, side by side."""
    poses = random_poses(count, spread=0.2, seed=14)
    rng = np.random.default_rng(15)
    angle = 10.0 ** rng.uniform(-12.0, -1.0, count)
    tilt = np.tile(np.eye(3), (count, 1, 1))
    tilt[:, 1, 1] = tilt[:, 2, 2] = np.cos(angle)
    tilt[:, 1, 2], tilt[:, 2, 1] = -np.sin(angle), np.sin(angle)
    return poses._replace(Ra=poses.Rb @ tilt)


def test_parallel_capsules_touch_at_both_ends() -> None:
    """As MuJoCo's do, at exactly parallel axes."""
    rng = np.random.default_rng(16)
    poses = random_poses(500, seed=17)
    poses = poses._replace(Ra=np.tile(np.eye(3), (500, 1, 1)), Rb=np.tile(np.eye(3), (500, 1, 1)))
    poses = poses._replace(pa=poses.pb + np.array([0.2, 0.0, 1.0]) * rng.uniform(-0.6, 0.6, (500, 3)))
    pair, found = (
        MujocoPair(SHAPES["capsule"], SHAPES["capsule"]),
        touches_of(SHAPES["capsule"], SHAPES["capsule"], poses),
    )
    contacts = [(k, contact) for k in range(500) for contact in pair.contacts(poses, k)]
    assert len(contacts) > 900
    assert max(misses(found, k, contact) for k, contact in contacts) < 1e-9


def test_boxes_in_each_other_touch_where_mujocos_do() -> None:
    """Every contact of MuJoCo's is among ours, wherever its normal is ours: that of the shortest way out."""
    poses = random_poses(3000, spread=0.3, seed=18)
    pair, found = MujocoPair(SHAPES["box"], SHAPES["box"], margin=0.0), touches_of(SHAPES["box"], SHAPES["box"], poses)
    contacts = [(k, contact) for k in range(3000) for contact in pair.contacts(poses, k)]
    alike = [(k, contact) for k, contact in contacts if found.normal[k, found.gap[k].argmin()] @ contact[1] > 1 - 1e-9]
    assert len(alike) > 4500
    assert len(alike) > 0.75 * len(contacts)
    assert max(misses(found, k, contact) for k, contact in alike) < 1e-6


@pytest.mark.parametrize("size", [(0.5, 0.8, 0.3), (0.4, 0.4, 0.4)])
def test_a_box_on_a_box_has_the_corners_of_the_overlap(size: tuple[float, float, float]) -> None:
    """Flat on each other, turned by any angle, or exactly in line: area and centroid by clipping polygons."""
    rng = np.random.default_rng(19)
    angle = np.concatenate([rng.uniform(-np.pi, np.pi, 300), np.zeros(100), np.full(50, 0.5 * np.pi)])
    count = len(angle)
    R = np.tile(np.eye(3), (count, 1, 1))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(angle)
    R[:, 0, 1], R[:, 1, 0] = -np.sin(angle), np.sin(angle)
    p = np.zeros((count, 3))
    p[:, :2] = 0.3 * rng.uniform(-1.0, 1.0, (count, 2)) * np.array(size)[:2]
    p[330:, :2] = 0.0
    p[:, 2] = size[2] - 1e-3
    poses = Poses(R, p, np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3)))
    found = touches_of(Box(size), Box(size), poses)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * 0.5 * np.array(size)[:2]
    for k in range(count):
        there = found.gap[k] < 0.5 * ABSENT
        np.testing.assert_allclose(found.gap[k][there], -1e-3, atol=1e-9)
        np.testing.assert_allclose(found.normal[k][there], np.tile([0, 0, 1.0], (there.sum(), 1)), atol=1e-9)
        polygon = clipped(square @ R[k, :2, :2].T + p[k, :2], 0.5 * np.array(size)[:2])
        mine = found.point[k][there][:, :2]
        away = np.linalg.norm(mine[:, None] - polygon[None], axis=2)
        assert away.min(axis=0).max() < 1e-6  # every corner is found
        assert away.min(axis=1).max() < 1e-6  # and nothing else


def clipped(polygon: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Sutherland and Hodgman's algorithm: the part of a polygon in a rectangle."""
    for axis in range(2):
        for side in (1.0, -1.0):
            inside = half[axis] - side * polygon[:, axis]
            kept = []
            for i in range(len(polygon)):
                j = (i + 1) % len(polygon)
                if inside[i] >= 0.0:
                    kept.append(polygon[i])
                if inside[i] * inside[j] < 0.0:
                    kept.append(polygon[i] + (polygon[j] - polygon[i]) * inside[i] / (inside[i] - inside[j]))
            polygon = np.array(kept)
    return polygon


def test_degenerate_poses_have_mujocos_distance() -> None:
    """Parallel, upright, concentric."""
    for a, b in (("sphere", "sphere"), ("sphere", "capsule"), ("sphere", "box"), ("capsule", "capsule")):
        _check_distance(a, b, special_poses(), 1e-9)
