"""Cylinders on boxes and on each other: they stand, roll and bear a bar, as statics and the textbook say."""

from __future__ import annotations

import numpy as np

import sarrus
from sarrus.model.visuals import Box, Capsule, Cylinder

G, RADIUS, HEIGHT, MASS = 9.81, 0.05, 0.12, 0.3
INERTIA = np.diag([MASS * (3 * RADIUS**2 + HEIGHT**2) / 12] * 2 + [0.5 * MASS * RADIUS**2])


def can(builder: sarrus.ModelBuilder, name: str) -> None:
    builder.add_body(name, joint="free", mass=MASS, inertia=INERTIA)
    builder.add_geometry(name, Cylinder(RADIUS, HEIGHT), name=name, friction=0.6)


def borne(found: sarrus.Trajectory, a: str, b: str) -> float:
    """Newtons between two geometries in the end."""
    end = found.contacts[-1]
    pairs = zip(end.numbers, end.normal_forces, strict=True)
    return sum(f for number, f in pairs if number >= 0 and set(end.names[number]) == {a, b})


def test_a_can_stands_on_a_can_on_a_table():
    b = sarrus.ModelBuilder("cans")
    b.add_geometry("world", Box((1.0, 1.0, 0.2)), name="table", friction=0.6)
    can(b, "lower")
    can(b, "upper")
    start = [0, 0, 0.1 + 0.5 * HEIGHT + 0.002, 0, 0, 0, 1, 0.01, 0, 0.1 + 1.5 * HEIGHT + 0.004, 0, 0, 0.6, 0.8]
    found = sarrus.Simulation(b.build(), 1e-3).run(np.array(start), duration=0.6)
    np.testing.assert_allclose(found.q[-1, [2, 9]], 0.1 + np.array([0.5, 1.5]) * HEIGHT, atol=1e-6)
    np.testing.assert_allclose(found.q[-1, 7:9], [0.01, 0.0], atol=1e-5)
    assert np.abs(found.v[-100:]).max() < 1e-3
    np.testing.assert_allclose(borne(found, "lower", "table"), 2 * MASS * G, rtol=0.01)
    np.testing.assert_allclose(borne(found, "lower", "upper"), MASS * G, rtol=0.01)
    assert set(found.statuses) == {"ok"}


def test_a_can_rolls_down_a_board_with_two_thirds_of_the_slope():
    tilt, dt = 0.2, 1e-3
    b = sarrus.ModelBuilder("slope")
    b.add_geometry("world", Box((4.0, 1.0, 0.2)), name="board", rotation=(0, tilt, 0), friction=0.6)
    can(b, "can")
    up, down = np.array([np.sin(tilt), 0, np.cos(tilt)]), np.array([np.cos(tilt), 0, -np.sin(tilt)])
    start = up * (0.1 + RADIUS)
    found = sarrus.Simulation(b.build(), dt).run(np.array([*start, *np.sqrt([0.5, 0, 0, 0.5])]), duration=0.8)
    moved = found.q[:, :3] - start
    np.testing.assert_allclose(moved @ down, G * np.sin(tilt) / 3.0 * found.time * (found.time + dt), atol=1e-6)
    np.testing.assert_allclose(moved @ up, 0.0, atol=1e-7)


def test_a_bar_across_two_posts_weighs_on_them_as_levers_say():
    b = sarrus.ModelBuilder("bridge")
    for k, x in enumerate((-0.15, 0.15)):
        b.add_geometry("world", Cylinder(1e-3, 0.2), name=f"post_{k}", position=(x, 0, 0.1), friction=0.6)
    b.add_body("bar", joint="free", mass=MASS, inertia=np.diag([0.01, 0.01, 0.001]))
    b.add_geometry("bar", Capsule(0.02, 0.5), name="bar", friction=0.6)
    start = np.array([0.05, 0, 0.22, 0, *np.sqrt([0.5, 0.0, 0.5])])
    found = sarrus.Simulation(b.build(), 1e-3).run(start, duration=0.3)
    np.testing.assert_allclose(borne(found, "bar", "post_0"), MASS * G / 3.0, rtol=0.02)
    np.testing.assert_allclose(borne(found, "bar", "post_1"), MASS * G * 2.0 / 3.0, rtol=0.02)
