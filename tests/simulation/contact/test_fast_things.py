"""However fast something comes, it does not go through the ground."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Sphere


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
