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


def on_a_table(lower, upper) -> sarrus.Model:
    """A disc that slides on a table without friction, with limits of x, y and its angle."""
    builder = sarrus.ModelBuilder("disc")
    builder.add_body("disc", joint="planar", mass=1.0, inertia=0.01 * np.eye(3), lower=lower, upper=upper)
    builder.add_geometry("disc", Sphere(0.1), name="shape")
    return builder.build().with_ground(height=-1.0)


@pytest.mark.parametrize("contacts", [True, False], ids=["rows", "springs"])
@pytest.mark.parametrize("angle", [0.5 * np.pi, 0.7, -2.5], ids=str)
def test_limits_of_a_planar_joint_are_in_the_plane_whichever_way_it_is_turned(angle, contacts):
    """Velocities of the joint are in axes that turn with it: a limit of y did not stop what moved along y."""
    model = on_a_table([-np.inf, -0.3, -np.inf], [np.inf, 0.3, np.inf])
    c, s = np.cos(angle), np.sin(angle)
    found = sarrus.Simulation(model, 1e-3, contacts=contacts).run(
        [0.0, 0.0, angle], [c + 2.0 * s, 2.0 * c - s, 0.0], duration=0.5
    )
    assert not found.status.any()
    assert np.abs(found.q[:, 1]).max() < (0.301 if contacts else 0.35)
    np.testing.assert_allclose(found.q[:, 0], found.time, atol=1e-9)  # nothing holds it along x
    assert (np.diff(found.energy.kinetic) < 1e-9).all() or not contacts


def test_a_step_against_a_limit_of_a_planar_joint_has_the_derivatives_of_its_differences():
    model = on_a_table([-0.3, -0.3, -np.inf], [0.3, 0.3, np.inf])
    simulation = sarrus.Simulation(model, 1e-3, contacts=sarrus.ContactOptions(tolerance=1e-13))
    q, v = np.array([0.30025, 0.1, 0.7]), np.array([0.4, -0.2, 0.5])
    state = simulation.start(q, v)
    found = simulation.linearize(state)
    assert found.unique == 1.0

    def stepped(x):
        end = simulation.step(simulation.start(sarrus.integrate(model, q, x[:3]), v + x[3:]))
        return np.concatenate([sarrus.difference(model, simulation.step(state).q, end.q), end.v])

    differences = np.stack([(stepped(x) - stepped(-x)) / 2e-6 for x in 1e-6 * np.eye(6)], axis=1)
    np.testing.assert_allclose(found.A, differences, atol=1e-6)


def test_an_impact_on_the_limit_of_a_planar_joint_stops_it_along_that():
    model = on_a_table([-0.3, -0.3, -np.inf], [0.3, 0.3, np.inf])
    c, s = np.cos(0.7), np.sin(0.7)
    after = sarrus.impulse(model, [0.3, 0.1, 0.7], [c + 2.0 * s, 2.0 * c - s, 0.0]).v
    np.testing.assert_allclose(after, [2.0 * s, 2.0 * c, 0.0], atol=1e-9)
