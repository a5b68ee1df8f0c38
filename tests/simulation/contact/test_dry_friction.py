"""Dry friction of joints in a step on the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus.model.bodies import Placement
from sarrus.model.geometries import Geometry, Plane
from sarrus.model.visuals import Sphere


def slider(friction: float) -> sarrus.Model:
    """A mass on a horizontal rail, high above a ground that it can touch in principle."""
    builder = sarrus.ModelBuilder("slider")
    builder.add_body("mass", joint="prismatic", axis=(1, 0, 0), position=(0, 0, 5), mass=2.0, friction=friction)
    builder.add_geometry("mass", Sphere(0.1), name="ball")
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


def test_a_push_below_the_friction_moves_nothing_but_by_creeping():
    found = sarrus.Simulation(slider(3.0), 1e-3).run([0.0], tau=[2.9], duration=1.0)
    assert np.abs(found.v).max() <= 1e-3
    assert found.settings["method"] == "contact"


def test_a_push_above_it_accelerates_by_what_is_left():
    found = sarrus.Simulation(slider(3.0), 1e-3).run([0.0], tau=[4.0], duration=1.0)
    np.testing.assert_allclose(found.v[-1], (4.0 - 3.0) / 2.0 * 1.0, atol=5e-3)


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_what_slides_stops_where_it_should_and_stays(dt):
    found = sarrus.Simulation(slider(3.0), dt).run([0.0], [1.5], duration=2.0)
    stop = 1.5**2 / (2.0 * 3.0 / 2.0)
    assert found.q[-1, 0] == pytest.approx(stop, abs=2.0 * dt)
    assert np.abs(found.v[-10:]).max() < 1e-6
    assert (np.diff(np.abs(found.v[:, 0])) < 1e-9).all()  # never faster: friction only takes


def test_it_is_the_same_where_velocities_are_embedded():
    """A four-bar whose joints rub, high above the ground: its loop as rows, and embedded."""
    model = sarrus.zoo.four_bar()
    joints = [replace(body.joint, friction=np.full(body.joint.type.nv, 0.05)) for body in model.bodies]
    bodies = tuple(replace(body, joint=joint) for body, joint in zip(model.bodies, joints, strict=True))
    ball = Geometry("ball", 0, Placement.identity(), Sphere(0.01))
    ground = Geometry("ground", -1, Placement(np.eye(3), np.array([0.0, 0.0, -50.0])), Plane())
    rows = replace(model, bodies=bodies, geometries=(ball, ground))
    q, _ = sarrus.random_state(rows, 0)
    a = sarrus.Simulation(rows, 1e-3).run(q, duration=0.3)
    b = sarrus.Simulation(sarrus.embed(rows), 1e-3).run(q, duration=0.3)
    np.testing.assert_allclose(a.q, b.q, atol=1e-3)
    assert np.ptp(a.q, axis=0).max() > 0.05
