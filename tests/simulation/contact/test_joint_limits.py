"""Joint limits as rows that push: what hits one stops, what is pressed against one rests."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Sphere

G, MASS, LENGTH, LIMIT = 9.81, 1.3, 0.4, 0.5


def pendulum(gravity: float = G) -> sarrus.Model:
    """A point on a rod, level at zero, falling with positive angles, far above the ground."""
    builder = sarrus.ModelBuilder("pendulum", gravity=(0.0, 0.0, -gravity))
    builder.add_body(
        "rod", joint="revolute", axis=(0, 1, 0), mass=MASS, com=(LENGTH, 0, 0), inertia=1e-9 * np.eye(3),
        lower=-LIMIT, upper=LIMIT,
    )  # fmt: skip
    builder.add_geometry("rod", Sphere(0.02), position=(LENGTH, 0, 0))
    builder.add_geometry("world", Plane(), name="ground", position=(0, 0, -3))
    return builder.build()


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 5e-3])
def test_a_pendulum_that_hits_its_limit_stops_there_and_loses_its_energy(dt):
    found = sarrus.Simulation(pendulum(), dt).run([0.0], duration=1.5)
    falling = found.q[:, 0] < LIMIT
    fastest = np.sqrt(2.0 * G * np.sin(LIMIT) / LENGTH)
    assert found.v[falling].max() == pytest.approx(fastest, rel=0.02 + 10 * dt)
    assert found.q.max() < LIMIT + 1e-3
    at_rest = found.time > 1.2
    assert np.abs(found.v[at_rest]).max() < 1e-9
    assert np.abs(found.q[at_rest] - LIMIT).max() < 1e-3
    assert not found.status.any()
    # A point holds to the weight alone: the momentum that the limit takes is nobody's.
    assert (np.diff(found.energy.total) < 1e-3 * MASS * G).all()


def test_it_leaves_the_limit_when_it_is_pulled_away():
    model, dt = pendulum(gravity=0.0), 1e-3
    found = sarrus.Simulation(model, dt).run([LIMIT], tau=[-0.1], duration=0.2)
    expected = LIMIT - 0.5 * 0.1 / (MASS * LENGTH**2) * found.time * (found.time + dt)
    np.testing.assert_allclose(found.q[:, 0], expected, atol=1e-8)


def comb() -> sarrus.Model:
    """Eight rods side by side that fall onto their limits."""
    builder = sarrus.ModelBuilder("comb")
    for k in range(8):
        builder.add_body(
            f"rod_{k}", joint="revolute", axis=(0, 1, 0), position=(0, 0.2 * k, 0), mass=MASS, com=(LENGTH, 0, 0),
            inertia=1e-3 * np.eye(3), lower=-LIMIT, upper=LIMIT,
        )  # fmt: skip
        builder.add_geometry(f"rod_{k}", Sphere(0.02), position=(LENGTH, 0, 0))
    builder.add_geometry("world", Plane(), name="ground", position=(0, 0, -3))
    return builder.build()


def test_more_joints_than_there_are_slots_for_rest_at_their_limits_or_it_is_told():
    found = sarrus.Simulation(comb(), 1e-3).run(np.linspace(0.0, 0.2, 8), duration=1.0)
    told = found.status == sarrus.Status.CONTACTS_LEFT_OUT
    further = np.maximum(np.diff(np.maximum(np.abs(found.q) - LIMIT - 5e-4, 0.0), axis=0), 0.0).max(axis=1)
    assert told[:-1][further > 2e-4].all()
    assert np.abs(found.q).max() < LIMIT + 0.05


def test_with_a_slot_for_every_limit_that_is_reached_all_joints_rest_and_nothing_is_left_out():
    default, enough = (
        sarrus.Simulation(comb(), 1e-3, contacts=sarrus.ContactOptions(limit_slots=slots)).run(
            np.linspace(0.0, 0.2, 8), duration=1.0
        )
        for slots in (None, 8)
    )
    assert sarrus.Status.CONTACTS_LEFT_OUT in default.status
    assert enough.statuses == {"ok": 1001}
    assert np.abs(enough.q).max() < LIMIT + 1e-3
    np.testing.assert_allclose(enough.q[-1], LIMIT, atol=1e-3)


def test_what_raises_a_robot_does_not_bend_it_past_its_limits():
    """A chain on a box that begins 2 cm in the ground: raising it left joints 0.29 rad beyond their limits.

    Where they are by more than 0.01 rad, limits come first.
    """
    builder = sarrus.ModelBuilder("chain")
    builder.add_body("box", joint="free", mass=8.0, inertia=0.05 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.2, 0.2)), name="box")
    for k in range(12):
        builder.add_body(
            f"link_{k}", f"link_{k - 1}" if k else "box", joint="revolute", axis=(0.0, 1.0, 0.0), mass=0.1,
            position=(0.0, 0.0, 0.2), com=(0.0, 0.0, 0.05), inertia=4e-5 * np.eye(3), lower=-0.01, upper=0.01,
        )  # fmt: skip
    model = builder.build().with_ground()
    q = sarrus.neutral(model)
    q[2:7] = [0.11, 0.0, 0.2, 0.0, 0.98]
    q[3:7] /= np.linalg.norm(q[3:7])
    motion = sarrus.Simulation(model, 1e-3, contacts=sarrus.ContactOptions(limit_slots=24)).run(q, duration=0.6)
    beyond = np.abs(motion.q[:, 7:]).max(axis=1) - 0.01
    assert motion.statuses == {"ok": 601}
    assert beyond.max() < 0.02
    assert beyond[-1] < 0.8 * beyond.max()
    assert motion.contacts is not None
    assert motion.contacts.gaps[100:].min() > -1e-3
