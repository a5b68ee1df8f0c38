"""A point that whips around close to the ground bends into it faster than its velocity says; so does a rim."""

from __future__ import annotations

import numpy as np

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Cylinder, Sphere

LENGTH, RADIUS = 0.3, 0.02


def whip() -> sarrus.Model:
    """A heavy body that slides up and down, with a light arm that turns below it."""
    builder = sarrus.ModelBuilder("whip")
    builder.add_body("slide", joint="prismatic", axis=(0, 0, 1), mass=50.0, inertia=np.eye(3))
    builder.add_body(
        "arm", parent="slide", joint="revolute", axis=(0, 1, 0), mass=0.2, com=(LENGTH, 0, 0), inertia=1e-4 * np.eye(3)
    )
    builder.add_geometry("arm", Sphere(RADIUS), name="tip", position=(LENGTH, 0, 0))
    builder.add_geometry("slide", Sphere(0.05), name="weight", position=(0, 0, 2.0))
    builder.add_geometry("world", Plane(), name="ground", friction=0.0)
    return builder.build()


def test_it_does_not_sink_in():
    """The tip lies on the ground above its hinge and turns at up to 110 rad/s: 0.6 mm a step by curvature alone."""
    speeds = np.array([20.0, 40.0, 80.0, 110.0])
    q, v = np.zeros((4, 2)), np.zeros((4, 2))
    angle = -0.3  # the tip is above the hinge: its path bends down
    q[:, 0], q[:, 1], v[:, 1] = RADIUS + 1e-4 - LENGTH * np.sin(-angle), angle, -speeds
    v[:, 0] = -LENGTH * np.cos(angle) * speeds  # so that it moves along the ground
    found = sarrus.Simulation(whip(), 1e-3, record=("status", "contacts")).run(q, v, duration=0.005)
    tip = found.q[..., 0] - LENGTH * np.sin(found.q[..., 1]) - RADIUS
    assert found.contacts.touching.any(axis=(1, 2)).all()
    assert tip.min() > -8e-4  # -1.4 mm where what is missed is undone by a fifth in each step
    assert not found.status.any()


def test_a_coin_that_wobbles_does_not_sink_in():
    """Its lowest point runs around the rim: what was the lowest at the beginning of a step says little of its end."""
    radius, height, count = 0.06, 0.02, 16
    builder = sarrus.ModelBuilder("coin")
    inertia = 0.3 * np.diag([(3 * radius**2 + height**2) / 12] * 2 + [radius**2 / 2])
    builder.add_body("coin", joint="free", mass=0.3, inertia=inertia)
    builder.add_geometry("coin", Cylinder(radius, height), name="coin", friction=0.3)
    builder.add_geometry("world", Plane(), name="ground", friction=0.3)
    rng = np.random.default_rng(0)
    tilt, azimuth = rng.uniform(0.02, 0.3, count), rng.uniform(0.0, 2.0 * np.pi, count)
    q, v = np.zeros((count, 7)), np.zeros((count, 6))
    q[:, 2] = radius * np.sin(tilt) + 0.5 * height * np.cos(tilt) + 1e-3
    q[:, 3:5] = np.sin(0.5 * tilt)[:, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    q[:, 6], v[:, 3:] = np.cos(0.5 * tilt), 30.0 * rng.normal(size=(count, 3))
    found = sarrus.Simulation(builder.build(), 1e-3, record=("status",)).run(q, v, duration=0.3)
    upright = 1.0 - 2.0 * (found.q[..., 3] ** 2 + found.q[..., 4] ** 2)
    lowest = found.q[..., 2] - radius * np.sqrt(1.0 - np.minimum(upright**2, 1.0)) - 0.5 * height * np.abs(upright)
    assert np.median(lowest.min(axis=1)) > -1e-4  # -0.5 mm without what rims do, and the worst -1.1 mm
    assert lowest.min() > -8e-4
    assert not found.status.any()
