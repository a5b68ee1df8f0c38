"""What the size of a step decides, as docs/contact.md says: which impacts are one, and what is passed by."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.visuals import Box, Sphere

R = 0.005


def row_of_balls(gap: float) -> sarrus.Model:
    builder = sarrus.ModelBuilder("row", gravity=(0.0, 0.0, 0.0))
    for k in range(5):
        name = f"ball_{k}"
        builder.add_body(name, axis=(1, 0, 0), joint="prismatic", mass=1.0, inertia=1e-3 * np.eye(3))
        builder.add_geometry(name, Sphere(0.05), position=(k * (0.1 + gap), 0.0, 0.0))
    return builder.build()


@pytest.mark.parametrize("dt", [1e-3, 1e-4, 1e-5])
def test_impacts_within_a_step_are_simultaneous(dt):
    """Newton's law for all four contacts at once: every distance opens as fast as it closed, and momentum is kept.

    The first one closed at 1 m/s, the others not at all: v1 - v0 = 1, v2 - v1 = v3 - v2 = v4 - v3 = 0, sum v = 1.
    """
    simulation = sarrus.Simulation(row_of_balls(0.0), dt, contacts=sarrus.ContactOptions(restitution=1.0))
    struck = simulation.run(np.zeros(5), [1.0, 0.0, 0.0, 0.0, 0.0], steps=3)
    np.testing.assert_allclose(struck.v[-1], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-5)


@pytest.mark.parametrize("gap", [1e-4, 1e-3])
def test_in_steps_shorter_than_the_gaps_balls_strike_one_after_the_other(gap):
    simulation = sarrus.Simulation(row_of_balls(gap), 0.9 * gap, contacts=sarrus.ContactOptions(restitution=1.0))
    struck = simulation.run(np.zeros(5), [1.0, 0.0, 0.0, 0.0, 0.0], steps=20)
    np.testing.assert_allclose(struck.v[-1], [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-5)


def deflection(obstacle: Sphere | Box, above: float, speed: float, dt: float, radius: float = R) -> float:
    """m/s by which a ball is deflected that flies past, wherever its steps begin, at most."""
    builder = sarrus.ModelBuilder("passing", gravity=(0.0, 0.0, 0.0))
    builder.add_body("ball", joint="free", mass=1e-3, inertia=1e-8 * np.eye(3)).add_geometry("ball", Sphere(radius))
    model = builder.add_geometry("world", obstacle, position=(0.0, 0.0, above)).build()
    q = np.tile([-0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (41, 1))
    q[:, 0] += np.linspace(0.0, speed * dt, 41)
    v = np.tile([speed, 0.0, 0.0, 0.0, 0.0, 0.0], (41, 1))
    passed = sarrus.Simulation(model, dt).run(q, v, duration=0.22 / speed)
    assert (passed.q[:, -1, 0] > 0.05).all()
    velocity = (passed.q[:, -1, :3] - passed.q[:, -2, :3]) / dt
    return float(np.linalg.norm(velocity - [speed, 0.0, 0.0], axis=1).max())


@pytest.mark.parametrize(
    ("obstacle", "clearance", "speed", "too_long"),
    [(Sphere(R), 4e-3, 20.0, 1e-3), (Box((0.1, 0.1, 0.1)), 5e-4, 3.0, 1e-3)],
)
def test_what_passes_is_left_alone_in_steps_that_are_short_enough(obstacle, clearance, speed, too_long):
    half = obstacle.radius if isinstance(obstacle, Sphere) else 0.5 * obstacle.size[2]
    above = R + half + clearance
    assert deflection(obstacle, above, speed, 0.5 * too_long) < 1e-9
    assert 0.05 * speed < deflection(obstacle, above, speed, too_long) < 0.3 * speed  # then the page may be corrected


@pytest.mark.parametrize("radius", [1e-5, 1e-3, 1e-2])
@pytest.mark.parametrize("obstacle", [Sphere(1e-5), Sphere(0.02), Box((0.05, 0.05, 0.05))])
def test_steps_of_twice_the_clearance_are_short_enough(obstacle, radius):
    """With distances g (r + g) >= 2 c sqrt((r + g)^2 - (r + c)^2) for all gaps g >= c and radii r: it cannot close."""
    half = obstacle.radius if isinstance(obstacle, Sphere) else 0.5 * obstacle.size[2]
    for clearance in (5e-4, 5e-3):
        assert deflection(obstacle, radius + half + clearance, 2.0, 0.99 * clearance, radius) < 1e-9
