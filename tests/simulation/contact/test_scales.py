"""Numbers that are very small or very large: a box lands, rests and weighs what it weighs."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box

G = 9.81


def box(mass: float = 1.0, size: float = 0.2, mu: float = 0.8, gravity=(0.0, 0.0, -G)) -> sarrus.Model:
    builder = sarrus.ModelBuilder("box", gravity=gravity)
    builder.add_body("box", joint="free", mass=mass, inertia=mass * size**2 / 6.0 * np.eye(3))
    builder.add_geometry("box", Box((size, size, size)), name="shape", friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=mu)
    return builder.build()


def at(*position: float) -> np.ndarray:
    return np.array([*position, 0.0, 0.0, 0.0, 1.0])


def check_rest(found: sarrus.Trajectory, mass: float, size: float) -> None:
    assert found.q[:, 2].min() > 0.5 * size - 1e-5 * max(1.0, size)
    assert found.q[-1, 2] == pytest.approx(0.5 * size, abs=1e-5)
    assert np.abs(found.v[-1, :3]).max() < 1e-4
    assert found.contacts.total_force[-2, 2] == pytest.approx(mass * G, rel=1e-3)
    assert not found.status.any()


@pytest.mark.parametrize("mass", [1e-6, 1e-3, 1e3, 1e6])
def test_masses(mass):
    check_rest(sarrus.Simulation(box(mass), 1e-3).run(at(0, 0, 0.2), duration=0.6), mass, 0.2)


@pytest.mark.parametrize("size", [1e-4, 1e-2, 10.0, 1e3])
def test_sizes(size):
    check_rest(sarrus.Simulation(box(1.0, size), 1e-3).run(at(0, 0, 0.5 * size + 0.05), duration=0.6), 1.0, size)


@pytest.mark.parametrize("dt", [1e-5, 1e-4, 5e-3, 2e-2])
def test_steps(dt):
    # In steps of 1e-5 s weight makes 1e-4 m/s: the usual tolerance of 1e-6 would be a hundredth of it.
    simulation = sarrus.Simulation(box(), dt, contacts=sarrus.ContactOptions(tolerance=min(1e-6, 1e-4 * G * dt)))
    check_rest(simulation.run(at(0, 0, 0.2), [0, 0, 0, 1.0, 2.0, 0], duration=1.5), 1.0, 0.2)


@pytest.mark.parametrize("x", [1e2, 1e4, 1e6])
def test_far_from_the_origin(x):
    found = sarrus.Simulation(box(), 1e-3).run(at(x, -x, 0.2), [1.0, 0, 0, 0, 0, 0], duration=0.8)
    check_rest(found, 1.0, 0.2)


@pytest.mark.parametrize("mu", [0.0, 1e-6, 1e3])
def test_friction(mu):
    found = sarrus.Simulation(box(mu=mu), 1e-3).run(at(0, 0, 0.101), [0.5, 0, 0, 0, 0, 0], duration=0.5)
    contacts = found.contacts
    assert (contacts.friction_forces <= mu * contacts.normal_forces + 1e-6).all()
    speed = (found.q[-1, 0] - found.q[-2, 0]) / 1e-3
    if mu < 1.0:
        assert speed == pytest.approx(0.5 - mu * G * 0.5, abs=1e-5)
    else:
        assert abs(speed) < 0.5
    assert (np.diff(found.energy.total)[found.status[:-1] == 0] < 1e-5).all()  # else it is told


def test_without_gravity_and_with_gravity_along_the_ground():
    found = sarrus.Simulation(box(gravity=(0, 0, 0)), 1e-3).run(at(0, 0, 0.2), [0.3, 0, -1.0, 0, 0, 0], duration=0.5)
    assert found.q[:, 2].min() > 0.1 - 1e-6
    assert (np.diff(found.energy.kinetic) < 1e-9).all()
    found = sarrus.Simulation(box(gravity=(G, 0, 0)), 1e-3).run(at(0, 0, 0.1), duration=0.5)
    assert found.v[-1, 0] == pytest.approx(G * 0.5, rel=1e-6)  # nothing presses it on the ground


@pytest.mark.parametrize("depth", [1e-3, 1e-2, 0.1])
def test_what_begins_in_the_ground_is_pushed_out_and_no_more(depth):
    found = sarrus.Simulation(box(), 1e-3).run(at(0, 0, 0.1 - depth), duration=1.5)
    assert np.abs(found.v).max() < 0.51
    assert found.q[:, 2].max() < 0.1 + 0.013  # 0.5 m/s carry it that high
    assert np.abs(found.q[:, 3:6]).max() < 1e-4
    assert found.q[-1, 2] == pytest.approx(0.1, abs=1e-5)


def test_more_contacts_than_slots_hold_as_well_as_they_can():
    """Of four corners two are kept: the box tips about them, and it is told when a third goes in."""
    options = sarrus.ContactOptions(slots=2)
    found = sarrus.Simulation(box(), 1e-3, contacts=options).run(at(0, 0, 0.11), duration=1.0)
    assert np.isfinite(found.q).all()
    lowest = found.q[:, 2] - 0.1 * np.sqrt(3.0)
    assert lowest.min() > -0.1
    assert found.energy.total.max() < found.energy.total[0] + 1e-3
