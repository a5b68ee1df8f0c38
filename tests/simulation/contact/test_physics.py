"""Motion on the ground against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Sphere

G = 9.81
EXACT = sarrus.ContactOptions(tolerance=1e-12)


def thing(shape, mass=1.0, inertia=None, *, mu=1.0, gravity=(0.0, 0.0, -G), name="thing") -> sarrus.ModelBuilder:
    """A free body above the ground."""
    builder = sarrus.ModelBuilder(name, gravity=gravity)
    builder.add_body(
        "body", joint="free", mass=mass, inertia=0.4 * mass * 0.01 * np.eye(3) if inertia is None else inertia
    )
    builder.add_geometry("body", shape, name="shape", friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=mu)
    return builder


def at(*position: float) -> np.ndarray:
    return np.array([*position, 0.0, 0.0, 0.0, 1.0])


class TestBlockOnASlope:
    """Gravity is turned instead of the plane."""

    angle = 0.4

    def simulate(self, mu: float) -> sarrus.Trajectory:
        gravity = (G * np.sin(self.angle), 0.0, -G * np.cos(self.angle))
        model = thing(Box((0.2, 0.2, 0.1)), mu=mu, gravity=gravity).build()
        return sarrus.Simulation(model, 1e-3, contacts=EXACT).run(at(0, 0, 0.05), duration=0.5)

    def test_it_sticks_just_below_the_friction_angle(self):
        found = self.simulate(np.tan(self.angle) * (1.0 + 1e-6))
        assert np.abs(found.v).max() < 1e-9  # a step of slipping would add 4e-9
        assert not found.status.any()

    def test_it_slips_just_above_it(self):
        mu = np.tan(self.angle) * (1.0 - 1e-6)
        found = self.simulate(mu)
        expected = G * (np.sin(self.angle) - mu * np.cos(self.angle)) * found.time
        np.testing.assert_allclose(found.v[:, 0], expected, atol=1e-10)
        assert found.v[-1, 0] > 1e-7

    def test_it_slides_with_the_acceleration_of_the_textbook(self):
        found = self.simulate(0.2)
        expected = G * (np.sin(self.angle) - 0.2 * np.cos(self.angle)) * found.time
        np.testing.assert_allclose(found.v[:, 0], expected, atol=1e-9)


def test_a_sliding_ball_ends_up_rolling_at_five_sevenths_of_its_speed():
    radius, mu, speed = 0.1, 0.3, 2.0
    model = thing(Sphere(radius), inertia=0.4 * radius**2 * np.eye(3), mu=mu).build()
    found = sarrus.Simulation(model, 1e-3, contacts=EXACT).run(at(0, 0, radius), [speed, 0, 0, 0, 0, 0], duration=1.0)
    rolling = 2.0 * speed / (7.0 * mu * G)
    world = np.diff(found.q[:, 0]) / 1e-3
    sliding = found.time[1:] < rolling
    np.testing.assert_allclose(world[sliding], speed - mu * G * found.time[1:][sliding], atol=1e-9)
    np.testing.assert_allclose(world[found.time[1:] > rolling + 2e-3], 5.0 / 7.0 * speed, atol=2e-3)


@pytest.mark.parametrize("e", [0.0, 0.5, 0.8, 1.0])
def test_a_ball_bounces_as_often_as_its_restitution_lets_it(e):
    radius, height, dt = 0.05, 0.5, 1e-4
    model = thing(Sphere(radius)).build()
    options = sarrus.ContactOptions(restitution=e)
    found = sarrus.Simulation(model, dt, contacts=options).run(at(0, 0, radius + height), duration=0.8)
    hit = np.sqrt(2.0 * height / G)
    after = found.time > hit + 2 * dt
    top = found.q[after, 2].max() - radius
    assert top == pytest.approx(e**2 * height, abs=6 * dt)
    assert found.q[:, 2].min() > radius - 1e-4
    assert not found.status.any()


def test_energy_never_grows():
    rng = np.random.default_rng(0)
    shapes = [Box((0.3, 0.2, 0.1)), Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.1, 0.2)]
    for shape in shapes:
        model = thing(shape, inertia=np.diag([0.02, 0.015, 0.01]), mu=0.6).build()
        q = np.zeros((8, 7))
        q[:, 2] = 0.4
        q[:, 3:] = rng.normal(size=(8, 4))
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
        found = sarrus.Simulation(model, 1e-3).run(q, rng.normal(size=(8, 6)), duration=1.5)
        energy = found.energy.total
        # Free flight by the explicit method changes it by the order of the step; impacts only ever take.
        growth = np.maximum.accumulate(energy[:, ::-1], axis=1)[:, ::-1] - energy
        assert growth.max() < 0.02, type(shape).__name__
        assert (energy[:, -1] < energy[:, 0]).all()
        assert np.abs(found.v[:, -1]).max() < 20.0
        assert (found.status == 0).mean() > 0.999


def test_a_box_dropped_on_a_corner_comes_to_rest_on_a_face():
    model = thing(Box((0.2, 0.2, 0.2)), inertia=np.eye(3) / 150.0, mu=0.5).build()
    rng = np.random.default_rng(3)
    q = np.tile(at(0, 0, 0.4), (16, 1))
    q[:, 3:] = rng.normal(size=(16, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    found = sarrus.Simulation(model, 1e-3, record_every=10).run(q, duration=4.0)
    np.testing.assert_allclose(found.q[:, -1, 2], 0.1, atol=1e-4)
    assert np.abs(found.v[:, -1]).max() < 1e-3
    np.testing.assert_allclose(found.contacts.total_force[:, -1, 2], G, rtol=1e-3)


def test_momentum_balances_at_every_step():
    model = thing(Box((0.3, 0.2, 0.1)), mass=2.0, inertia=np.diag([0.02, 0.015, 0.01]), mu=0.6).build()
    dt = 1e-3
    q = at(0, 0, 0.3)
    q[3:] = [0.3, 0.5, 0.1, 0.8]
    q[3:] /= np.linalg.norm(q[3:])
    found = sarrus.Simulation(model, dt).run(q, [0.5, 0.2, -1.0, 1.0, 2.0, 0.5], duration=1.0)
    change = np.diff(found.momentum.linear, axis=0)
    impulse = dt * (found.contacts.total_force[:-1] + np.array([0.0, 0.0, -2.0 * G]))
    np.testing.assert_allclose(change, impulse, atol=5e-3)


def test_friction_forces_stay_in_the_cone():
    model = thing(Box((0.3, 0.2, 0.1)), inertia=np.diag([0.02, 0.015, 0.01]), mu=0.3).build()
    found = sarrus.Simulation(model, 1e-3).run(at(0, 0, 0.1), [3.0, 0.0, 0, 0, 0, 5.0], duration=1.0)
    contacts = found.contacts
    assert (contacts.normal_forces > -1e-9).all()
    assert (contacts.friction_forces <= 0.3 * contacts.normal_forces + 1e-6).all()
    assert set(contacts.names) == {("shape", "ground")}


class TestContactsThatGiveWay:
    def test_a_ball_sinks_in_by_its_weight_over_the_stiffness(self):
        model = thing(Sphere(0.1), mass=2.0).build()
        options = sarrus.ContactOptions(stiffness=1e4, damping=200.0)
        found = sarrus.Simulation(model, 1e-3, contacts=options).run(at(0, 0, 0.1), duration=2.0)
        assert 0.1 - found.q[-1, 2] == pytest.approx(2.0 * G / 1e4, rel=1e-5)

    def test_it_swings_at_its_own_frequency(self):
        model = thing(Sphere(0.1), mass=2.0).build()
        options = sarrus.ContactOptions(stiffness=1e4)
        dt = 1e-5
        rest = 2.0 * G / 1e4
        found = sarrus.Simulation(model, dt, contacts=options).run(at(0, 0, 0.1 - 1.5 * rest), duration=0.2)
        height = found.q[:, 2] - (0.1 - rest)
        crossings = found.time[1:][np.diff(np.sign(height)) != 0]
        assert np.mean(np.diff(crossings)) == pytest.approx(np.pi / np.sqrt(1e4 / 2.0), rel=1e-3)

    def test_it_becomes_rigid_as_it_gets_stiff(self):
        model = thing(Box((0.3, 0.2, 0.1)), inertia=np.diag([0.02, 0.015, 0.01]), mu=0.5).build()
        start = at(0, 0, 0.12), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        rigid = sarrus.Simulation(model, 1e-3).run(*start, duration=0.5)
        errors = []
        for stiffness in (1e4, 1e5, 1e6, 1e7):
            options = sarrus.ContactOptions(stiffness=stiffness, damping=2.0 * np.sqrt(stiffness))
            soft = sarrus.Simulation(model, 1e-3, contacts=options).run(*start, duration=0.5)
            errors.append(np.abs(soft.q[-1] - rigid.q[-1]).max())
        assert errors[-1] < 1e-3
        assert errors[-1] < 0.1 * errors[0]
