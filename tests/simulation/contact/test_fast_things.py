"""However fast something comes, it does not go through the ground."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Sphere
from sarrus.spatial.rotations import rotation_from_quaternion


def thing(shape) -> sarrus.Model:
    builder = sarrus.ModelBuilder("thing")
    builder.add_body("body", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry("body", shape, name="shape")
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


@pytest.mark.parametrize("shape", [Sphere(0.05), Box((0.2, 0.2, 0.1))])
def test_it_stops_at_the_ground(shape):
    simulation = sarrus.Simulation(thing(shape), 1e-3)
    speeds = np.array([5.0, 7.9, 8.1, 20.0, 100.0, 1000.0])
    q, v = np.zeros((6, 7)), np.zeros((6, 6))
    q[:, 2], q[:, 6], v[:, 2] = 1.05, 1.0, -speeds
    found = simulation.run(q, v, duration=0.4)
    assert found.q[..., 2].min() > 0.05 - 1e-6
    assert np.abs(found.v[:, -1]).max() < 1e-4
    assert not found.status.any()


def dumbbell() -> sarrus.Model:
    """Two balls on a rod of 1 m that stands: only one of them touches the ground where it does."""
    builder = sarrus.ModelBuilder("dumbbell")
    builder.add_body("rod", joint="free", mass=1.0, inertia=np.diag([1.0, 1.0, 0.01]) / 12.0)
    for name, at in (("low", -0.5), ("high", 0.5)):
        builder.add_geometry("rod", Sphere(0.05), name=name, position=(0, 0, at))
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


def test_the_other_end_that_an_impact_drives_down_stops_at_the_ground_in_the_same_step():
    """It falls at 20 m/s, nearly flat. As one end strikes, the other becomes half as fast again, 30 mm in a step, while
    it was too high to come down without that.
    """
    heights = np.linspace(0.005, 0.045, 41)
    q, v = np.zeros((41, 7)), np.zeros((41, 6))
    tilt = 0.5 * np.pi - np.arcsin(heights - 1e-3)
    q[:, 2], q[:, 4], q[:, 6] = 0.05 + 0.5 * (heights + 1e-3), np.sin(0.5 * tilt), np.cos(0.5 * tilt)
    v[:, 0], v[:, 2] = 20.0 * np.sin(tilt), -20.0 * np.cos(tilt)
    found = sarrus.Simulation(dumbbell(), 1e-3, record=("status",)).run(q, v, duration=0.01)
    x, y = found.q[..., 3], found.q[..., 4]
    lowest = found.q[..., 2] - 0.05 - 0.5 * np.abs(1.0 - 2.0 * (x * x + y * y))
    assert np.ptp(lowest[:, 0]) < 1e-12  # one end is 1 mm above the ground, the other anywhere
    assert lowest.min() > -2e-4
    assert not found.status.any()


@pytest.mark.parametrize(
    ("size", "dt"),
    [((0.3, 0.2, 0.0005), 1e-3), ((0.3, 0.03, 0.001), 1e-3), ((1e-4, 1e-4, 0.5), 1e-3), ((0.3, 0.2, 0.01), 5e-3)],
    ids=["foil", "ruler", "needle", "board"],
)
def test_plates_and_rods_that_fall_flat_stop_at_the_ground_with_both_ends(size, dt):
    """Their four lowest corners are at one end, which drives the other one into the ground: by 1 to 7 mm, and it said
    that all was well.
    """
    sides = np.array(size)
    builder = sarrus.ModelBuilder("plate")
    builder.add_body("plate", joint="free", mass=0.1, inertia=0.1 * np.diag(np.sum(sides**2) - sides**2 + 1e-4) / 12.0)
    builder.add_geometry("plate", Box(size), name="shape", friction=0.5)
    model = builder.build().with_ground(friction=0.5)
    q, v = sarrus.random_state(model, 0, batch=16)
    q[:, :3] = 0.0, 0.0, 0.4
    found = sarrus.Simulation(model, dt).run(q, v, duration=1.0)
    turns = np.array([rotation_from_quaternion(x)[2] for x in found.q[..., 3:].reshape(-1, 4)])
    lowest = found.q[..., 2].ravel() - 0.5 * np.abs(turns) @ sides
    assert not found.status.any()
    assert lowest.min() > -1e-4
