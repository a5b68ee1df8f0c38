"""Contacts that give way: a spring and a damper along the normal, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError
from sarrus.model.geometries import Friction, Plane
from sarrus.model.visuals import Box, Capsule, Sphere

G, RADIUS, MASS = 9.81, 0.1, 2.0


def thing(shape, mu: float = 0.5, gravity=(0.0, 0.0, -G)) -> sarrus.Model:
    builder = sarrus.ModelBuilder("thing", gravity=gravity)
    builder.add_body("body", joint="free", mass=MASS, inertia=0.01 * np.eye(3))
    builder.add_geometry("body", shape, name="shape", friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=Friction(mu, 0.02), dimensions=4)
    return builder.build()


def at(z: float) -> np.ndarray:
    return np.array([0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize(("stiffness", "damping", "dt"), [(1e3, 20.0, 2e-3), (1e7, 0.0, 1e-4)])
def test_it_sinks_in_by_its_weight_over_the_stiffness(stiffness, damping, dt):
    """Whatever the step is: the spring is taken at its end. A box shares its weight among four."""
    options = sarrus.ContactOptions(stiffness=stiffness, damping=damping, tolerance=1e-10)
    for shape, height, springs in ((Sphere(RADIUS), RADIUS, 1), (Box((0.2, 0.2, 0.1)), 0.05, 4)):
        sunk = MASS * G / (springs * stiffness)
        found = sarrus.Simulation(thing(shape), dt, contacts=options).run(at(height - sunk), duration=0.1)
        assert not np.any(found.status)
        np.testing.assert_allclose(found.q[-1, 2], height - sunk, atol=1e-9 + 1e-6 * sunk)
        np.testing.assert_allclose(found.contacts.total_force[-1], [0.0, 0.0, MASS * G], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ratio", [0.05, 0.5])
def test_it_bounces_as_a_spring_and_a_damper_that_do_not_pull(ratio):
    stiffness, speed = 2e4, 1.0
    damping = 2.0 * ratio * np.sqrt(stiffness * MASS)
    gap, v, h = 0.0, -speed, 1e-6
    while True:  # by small steps of our own, until it leaves
        force = -stiffness * gap - damping * v
        if force < 0.0 and gap > -1.0 and v > 0.0:
            break
        v += h * force / MASS
        gap += h * v
    options = sarrus.ContactOptions(stiffness=stiffness, damping=damping)
    model = thing(Sphere(RADIUS), gravity=(0.0, 0.0, 0.0))
    found = sarrus.Simulation(model, 2e-5, contacts=options).run(at(RADIUS), [0, 0, -speed, 0, 0, 0], duration=0.05)
    assert found.v[-1, 2] == pytest.approx(v, abs=4e-3)
    assert not np.any(found.status)


def test_friction_is_that_of_the_force_that_the_spring_has():
    """It slides down a slope with g (sin a - mu cos a), however soft the ground is, and sticks on a flatter one."""
    angle, options = 0.4, sarrus.ContactOptions(stiffness=1e4, damping=100.0, tolerance=1e-10)
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    for mu, speed in ((0.2, G * (np.sin(angle) - 0.2 * np.cos(angle)) * 0.2), (0.5, 0.0)):
        sunk = MASS * G * np.cos(angle) / 4e4
        model = thing(Box((0.4, 0.4, 0.02)), mu, gravity)
        found = sarrus.Simulation(model, 1e-3, contacts=options).run(at(0.01 - sunk), duration=0.2)
        assert found.v[-1, 0] == pytest.approx(speed, abs=2e-3)


def test_stiffer_and_stiffer_it_becomes_the_rigid_one():
    model, q = thing(Box((0.2, 0.2, 0.1))), at(0.06)
    slides = [0.3, 0, 0, 0, 0, 0]
    rigid = sarrus.Simulation(model, 1e-3).run(q, slides, duration=0.2)
    errors = []
    for stiffness in (1e5, 1e9):
        options = sarrus.ContactOptions(stiffness=stiffness, damping=1e-3 * stiffness)
        soft = sarrus.Simulation(model, 1e-3, contacts=options).run(q, slides, duration=0.2)
        errors.append(np.abs(soft.q[-1] - rigid.q[-1]).max())
    assert errors[1] < 1e-2 * errors[0]
    assert errors[1] < 1e-5


def test_with_dry_friction_and_resistance_to_turning():
    """All at once: a limp leg that rubs stands on soft ground, sunk in by its weight."""
    builder = sarrus.ModelBuilder("leg")
    builder.add_body("trunk", joint="prismatic", axis=(0, 0, 1), mass=5.0, inertia=0.1 * np.eye(3))
    builder.add_body(
        "shank", parent="trunk", joint="revolute", axis=(0, 1, 0), mass=1.0, inertia=0.01 * np.eye(3), friction=20.0
    )
    builder.add_geometry("shank", Sphere(0.05), name="foot", position=(0.1, 0.0, -0.3), friction=0.0)
    ground = Friction(0.8, 0.02, 0.01)
    builder.add_geometry("world", Plane(), name="ground", friction=ground, dimensions=6)
    options = sarrus.ContactOptions(stiffness=1e4, damping=500.0, turning=True)
    found = sarrus.Simulation(builder.build(), 1e-3, contacts=options).run([0.35, 0.0], duration=1.0)
    assert not np.any(found.status)
    assert found.q[-1, 0] == pytest.approx(0.35 - 6.0 * G / 1e4, abs=1e-6)
    assert np.abs(found.v[-1]).max() < 1e-6


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"damping": 3.0}, "give a stiffness"),
        ({"stiffness": -1.0}, "stiffness"),
        ({"stiffness": 1e4, "damping": -1.0}, "damping"),
        ({"stiffness": np.nan}, "stiffness"),
        ({"stiffness": 1e4, "restitution": 0.5}, "restitution"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(numbers, words):
    with pytest.raises(StateError, match=words):
        sarrus.ContactOptions(**numbers)


def test_what_sinks_in_has_its_slot():
    """A capsule that falls onto soft ground closes further while it touches: no contact was left out."""
    builder = sarrus.ModelBuilder("capsule").add_body("capsule", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry("capsule", Capsule(0.05, 0.2), name="shape")
    model = builder.build().with_ground()
    rng = np.random.default_rng(0)
    q, _ = sarrus.random_state(model, rng, 32)
    q[:, :3] = [0.0, 0.0, 0.5]
    simulation = sarrus.Simulation(model, 1e-3, contacts=sarrus.ContactOptions(stiffness=1e4, damping=30.0))
    motion = simulation.run(q, rng.normal(size=(32, 6)), duration=0.6)
    assert motion.contacts is not None
    assert motion.contacts.gaps.min() < -5e-3
    assert motion.statuses == {"ok": 32 * 601}
