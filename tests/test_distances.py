"""Gaps of all pairs at a configuration: those of steps, and those that only coal finds."""

from __future__ import annotations

import sys

import mujoco
import numpy as np
import pytest

import sarrus
from sarrus.errors import MissingDependencyError, StateError, UnknownNameError, UnsupportedError
from sarrus.model.geometries import ConvexMesh, HeightField
from sarrus.model.visuals import Box, Ellipsoid, Sphere
from tests.mechanics.contact.oracles import signed_distance
from tests.mechanics.contact.shapes import random_poses

SIZE = (0.4, 0.3, 0.2)
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * SIZE


def two(*shapes, ground: bool = False) -> sarrus.Model:
    b = sarrus.ModelBuilder("two")
    for k, shape in enumerate(shapes):
        b.add_body(f"body_{k}", joint="free", mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.eye(3))
        b.add_geometry(f"body_{k}", shape, name=f"shape_{k}")
    model = b.build()
    return model.with_ground() if ground else model


def configuration(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Of a free joint."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, R.ravel())
    return np.array([*p, *quaternion[1:], quaternion[0]])


def test_meshes_are_as_far_from_each_other_as_the_hull_of_differences_says() -> None:
    pytest.importorskip("coal")
    model, poses, box = two(ConvexMesh(CORNERS), ConvexMesh(CORNERS)), random_poses(60, 0.3, seed=1), Box(SIZE)
    for k in range(60):
        pose_a, pose_b = poses.one(k)
        (found,) = sarrus.distances(model, np.concatenate([configuration(*pose_a), configuration(*pose_b)]))
        a, b = (pose_a, pose_b) if found.names[0] == "shape_0" else (pose_b, pose_a)
        gap, normal = signed_distance(box, a, box, b)
        assert abs(found.gap - gap) < 1e-5
        assert gap < 1e-3 or found.normal @ normal > 0.999  # inside, two ways out may be as short
        assert not found.in_steps


def test_what_steps_find_needs_no_library(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "coal", None)
    model = two(Sphere(0.1), Box(SIZE), ground=True)
    q = np.concatenate([[0.0, 0.0, 1.0, 0, 0, 0, 1], [0.0, 0.0, 0.15, 0, 0, 0, 1]])
    found = sarrus.distances(model, q)
    assert [round(x.gap, 9) for x in found] == [0.05, 0.65, 0.9]
    assert all(x.in_steps for x in found)
    with pytest.raises(MissingDependencyError, match=r"sarrus\[coal\]"):
        sarrus.distances(two(Ellipsoid((0.1, 0.2, 0.3)), Box(SIZE)), q)


def test_ellipsoids_and_chosen_pairs() -> None:
    pytest.importorskip("coal")
    model = two(Ellipsoid((0.1, 0.2, 0.3)), Ellipsoid((0.2, 0.2, 0.1)), ground=True)
    q = np.concatenate([[0.0, 0.0, 1.0, 0, 0, 0, 1], [0.0, 0.0, 0.5, 0, 0, 0, 1]])
    (found,) = sarrus.distances(model, q, [("shape_0", "shape_1")])
    assert abs(found.gap - 0.1) < 1e-6
    np.testing.assert_allclose(found.point, [0.0, 0.0, 0.65], atol=1e-3)
    np.testing.assert_allclose(found.normal, [0.0, 0.0, 1.0], atol=1e-3)


def test_pairs_may_come_one_by_one_and_are_checked() -> None:
    model = two(Sphere(0.1), Box(SIZE), ground=True)
    q = sarrus.neutral(model)
    (found,) = sarrus.distances(model, q, (pair for pair in [("shape_0", "ground")]))
    assert found.names == ("shape_0", "ground")
    for pairs in ("ground", 5, [("shape_0",)], [("shape_0", "shape_1", "ground")]):
        with pytest.raises(StateError, match="pairs"):
            sarrus.distances(model, q, pairs)  # type: ignore[arg-type]


def test_bad_input_is_told() -> None:
    pytest.importorskip("coal")
    model = two(Sphere(0.1), Box(SIZE))
    with pytest.raises(StateError, match=r"expected \(14,\)"):
        sarrus.distances(model, np.zeros(3))
    with pytest.raises(UnknownNameError, match="shape_0"):
        sarrus.distances(model, sarrus.neutral(model), [("shape_0", "nobody")])
    b = sarrus.ModelBuilder("hills")
    b.add_body("egg", joint="free", mass=1.0, inertia=np.eye(3))
    b.add_geometry("egg", Ellipsoid((0.1, 0.2, 0.3)))
    b.add_geometry("world", HeightField(np.zeros((3, 3)), (1.0, 1.0)))
    hills = b.build()
    with pytest.raises(UnsupportedError, match="HeightField"):
        sarrus.distances(hills, sarrus.neutral(hills))


@pytest.mark.parametrize("length", [0.0, 2.0])
def test_quaternions_have_length_one(length):
    """Gaps of shapes that were stretched by it were returned as if nothing was wrong."""
    robot = sarrus.zoo.geared_quadruped().with_ground()
    q = np.array(robot.home)
    q[3:7] *= length
    with pytest.raises(sarrus.errors.StateError, match="quaternion"):
        sarrus.distances(robot, q)


@pytest.mark.parametrize("q", [[[1.0], [2.0, 3.0]], "home", None, 1j], ids=str)
def test_what_is_no_configuration_is_refused_in_words(q):
    with pytest.raises(sarrus.errors.StateError, match="q: expected"):
        sarrus.distances(sarrus.zoo.geared_quadruped().with_ground(), q)
