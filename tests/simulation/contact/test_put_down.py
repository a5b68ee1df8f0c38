"""Putting robots down: on what is below them, whatever stands beside them; a refusal where there is nothing below."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.geometries import ContactShape, HeightField, Plane
from sarrus.model.visuals import Box, Sphere

R = 0.1
PYRAMID = HeightField(np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]), (1.0, 1.0))


def ball_over(*world: tuple[ContactShape, dict]) -> sarrus.Model:
    builder = sarrus.ModelBuilder("ball").add_body("ball", joint="free", mass=1.0, inertia=np.eye(3))
    builder.add_geometry("ball", Sphere(R), name="ball")
    for shape, placed in world:
        builder.add_geometry("world", shape, **placed)
    return builder.build()


def at(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z, 0.0, 0.0, 0.0, 1.0])


FLOOR = Plane(), {}
WALL = Plane(), {"rotation": (0.0, 0.5 * np.pi, 0.0), "position": (-0.05, 0.0, 0.0)}  # nearer than the ball is large


@pytest.mark.parametrize("z", [-0.3, 0.02, 1.0, 30.0])
def test_walls_carry_nothing(z):
    """The ball is inside of the wall wherever it is, and was moved up again and again."""
    assert sarrus.put_down(ball_over(FLOOR, WALL), at(0.0, 0.0, z))[2] == pytest.approx(R, abs=1e-5)


@pytest.mark.parametrize("slope", [0.3, 1.0, 1.4])
@pytest.mark.parametrize("z", [-0.5, 2.0])
def test_slopes_carry_however_steep(slope, z):
    model = ball_over((Plane(), {"rotation": (0.0, slope, 0.0)}))
    assert sarrus.put_down(model, at(0.0, 0.0, z))[2] == pytest.approx(R / np.cos(slope), abs=1e-4)


def test_down_to_the_ground_past_a_table():
    """It passes the edge of the table, and lands beside it."""
    table = Box((1.0, 1.0, 0.5)), {"position": (0.65, 0.0, 0.25)}
    for x, z in ((0.0, R), (0.2, 0.5 + R)):
        found = sarrus.put_down(ball_over(FLOOR, table), at(x, 0.0, 2.0))
        assert found[2] == pytest.approx(z, abs=1e-5)


def test_beyond_a_height_field_there_is_no_ground():
    """It fell by 3e11 m there."""
    model = ball_over((PYRAMID, {}))
    on, beyond = at(0.0, 0.0, 3.0), at(3.0, 0.0, 3.0)
    assert 0.5 + R < sarrus.put_down(model, on)[2] < 0.5 + 2.0 * R
    with pytest.raises(UnsupportedError, match=r"'ball' has no ground below it.*a height field ends"):
        sarrus.put_down(model, beyond)
    with pytest.raises(UnsupportedError, match="'ball', robot 1 of the batch, has no ground below it"):
        sarrus.put_down(model, np.stack([on, beyond]))
    with pytest.raises(UnsupportedError, match="walls carry nothing"):
        sarrus.put_down(ball_over(WALL), on)


def test_what_is_bolted_to_the_world_does_not_count():
    """An arm whose foot is sunk into the floor: only the ball can move."""
    builder = sarrus.ModelBuilder("cell").add_body("arm", mass=1.0, inertia=np.eye(3), position=(1.0, 0.0, -0.2))
    builder.add_geometry("arm", Sphere(0.3))
    builder.add_body("ball", joint="free", mass=1.0, inertia=np.eye(3)).add_geometry("ball", Sphere(R))
    model = builder.build().with_ground()
    found = sarrus.put_down(model, np.concatenate([[0.7], at(0.0, 0.0, 1.0)]))
    np.testing.assert_allclose(found, np.concatenate([[0.7], at(0.0, 0.0, R)]), atol=1e-5)


def test_down_is_along_gravity_whatever_the_axes_of_the_joint():
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("ball", joint="free", mass=1.0, inertia=np.eye(3), rotation=(0.5 * np.pi, 0.0, 0.0))
    model = builder.add_geometry("ball", Sphere(R)).build().with_ground()
    found = sarrus.put_down(model, at(0.3, 2.0, 0.0))  # 2 m up along its y
    np.testing.assert_allclose(found[:3], [0.3, R, 0.0], atol=1e-5)


def test_what_is_missing_is_named():
    ball, shapeless = at(0.0, 0.0, 1.0), sarrus.ModelBuilder("thing")
    shapeless.add_body("thing", joint="free", mass=1.0, inertia=np.eye(3))
    for model, q, words in (
        (sarrus.zoo.chain(2).with_ground(), np.zeros(2), "no free joint that could move"),
        (ball_over(), ball, "no ground: `model.with_ground"),
        (shapeless.build().with_ground(), ball, "no shapes that could stand on the ground"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            sarrus.put_down(model, q)


@pytest.mark.parametrize("height", [np.nan, np.inf, "high", None, [0.0, 1.0]])
def test_a_height_is_a_finite_number(height):
    with pytest.raises(StateError, match="height"):
        sarrus.put_down(ball_over(FLOOR), at(0.0, 0.0, 1.0), height)


def test_heights_are_above_the_ground_or_in_it():
    for height in (0.5, -0.01):
        assert sarrus.put_down(ball_over(FLOOR), at(0.0, 0.0, 1.0), height)[2] == pytest.approx(R + height, abs=1e-5)
