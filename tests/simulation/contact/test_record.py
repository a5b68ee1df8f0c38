"""What is recorded of contacts: what they do, how fast they move, and how far they are from Coulomb's law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import ContactState
from sarrus.errors import StateError
from sarrus.model.visuals import Box
from sarrus.simulation.contact.record import SLOT_NUMBERS, ContactRecord

MU, G, DT = 0.5, 9.81, 1e-3
START = [0.0, 0.0, 0.11, 0.0, 0.0, 0.0, 1.0]  # 1 cm above the ground
THROWN = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def block(mu: float = MU) -> sarrus.Model:
    builder = sarrus.ModelBuilder("block").add_body("block", joint="free", mass=1.0, inertia=np.eye(3) / 150.0)
    builder.add_geometry("block", Box((0.2, 0.2, 0.2)), name="block", friction=mu)
    return builder.build().with_ground(friction=0.2)


def slid(**options: float | bool) -> sarrus.Trajectory:
    """Thrown along the ground: it lands, slides and stops."""
    simulation = sarrus.Simulation(block(), DT, contacts=sarrus.ContactOptions(**options))  # type: ignore[arg-type]
    return simulation.run(START, THROWN, duration=0.5)


@pytest.fixture(scope="module")
def motion() -> sarrus.Trajectory:
    return slid()


def test_what_flies_is_open_what_slides_slips_and_what_stands_sticks(motion):
    for step, state in ((10, ContactState.OPEN), (100, ContactState.SLIPS), (450, ContactState.STICKS)):
        found = motion.contacts[step]
        assert found.touching.any() == (state is not ContactState.OPEN)
        assert set(found.states[found.touching]) <= {state}
        assert (found.states[~found.touching] == ContactState.OPEN).all()


def test_velocities_are_those_of_the_points_at_the_end_of_the_step(motion):
    """Contacts of a state are those of the step that leads away from it."""
    for step in (80, 100, 120):
        found, v = motion.contacts[step], motion.v[step + 1]
        assert found.touching.any()
        lever = found.points[found.touching] - motion.q[step, :3]
        expected = v[:3] + np.cross(v[3:], lever)
        np.testing.assert_allclose(found.slip_velocities[found.touching], expected * [1, 1, 0], atol=1e-8)


def test_friction_is_against_the_sliding_as_large_as_it_may_be(motion):
    found = motion.contacts[100]
    t = found.touching
    np.testing.assert_allclose(found.friction[t], MU)
    np.testing.assert_allclose(found.friction_forces[t], MU * found.normal_forces[t], rtol=1e-9)
    np.testing.assert_allclose(
        np.sum(found.forces * found.slip_velocities, axis=-1)[t].sum(), -MU * G * motion.v[101, 0], rtol=1e-2
    )


def test_residuals_are_what_the_solver_leaves(motion):
    found = motion.contacts
    cone, entering, complementarity, dissipation = found.residuals
    assert found.residual.shape == found.touching.shape[:-1]
    assert found.residual.max() < 1e-6
    assert found.touching.any()
    # The solver's residual is relative to the larger one of impulse and velocity, both as velocities of the row.
    power = 1e-6 * (np.linalg.norm(found.forces, axis=-1).max() + 1.0 / DT)  # of 1 kg at 1 m/s
    for left, most in ((cone, 1e-9), (entering, 1e-6), (complementarity, power), (np.abs(dissipation), power)):
        assert left.shape == found.touching.shape
        assert (left[~found.touching] == 0.0).all()
        assert left.max() < most


def test_what_is_wrong_shows(motion):
    found = motion.contacts[100]
    t = found.touching
    half, double = (replace(found, forces=found.forces * [x, x, 1.0]) for x in (0.5, 2.0))
    speed = np.linalg.norm(found.slip_velocities, axis=-1)
    np.testing.assert_allclose(half.residuals.dissipation[t], (0.5 * MU * found.normal_forces * speed)[t], rtol=1e-6)
    assert half.residuals.cone[t].max() == 0.0
    np.testing.assert_allclose(double.residuals.cone[t], (MU * found.normal_forces)[t], rtol=1e-6)


def test_of_the_relaxed_problem_residuals_say_how_far_it_is_from_coulomb():
    """What slides lifts off with mu times its speed."""
    found = slid(convex=True).contacts
    speed = np.linalg.norm(found.slip_velocities, axis=-1)
    expected = found.friction * speed * found.normal_forces
    t = found.states == ContactState.SLIPS
    assert t.sum() > 100
    np.testing.assert_allclose(found.residuals.complementarity[t], expected[t], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "options", [{"restitution": 0.5}, {"stiffness": 1e5, "damping": 50.0}], ids=["bounces", "soft"]
)
def test_contacts_that_bounce_or_give_way_obey_their_law(options):
    found = slid(**options).contacts
    assert found.touching.any()
    assert found.residuals.complementarity.max() < 1e-4
    assert found.residuals.entering.max() < 1e-6


def test_impulses_and_inverse_dynamics_have_them():
    model = block()
    q = np.array(START) - [0, 0, 0.01, 0, 0, 0, 0]
    struck = sarrus.impulse(model, q, [1.0, 0.0, -1.0, 0.0, 0.0, 0.0]).contacts
    assert set(struck.states[struck.touching]) == {ContactState.SLIPS}
    assert struck.residuals.complementarity.max() < 1e-6
    at_rest = sarrus.inverse_dynamics(model, q, np.zeros(6), np.zeros(6)).contacts
    assert set(at_rest.states[at_rest.touching]) == {ContactState.STICKS}
    assert at_rest.residuals.cone.max() < 1e-9


def test_of_a_batch_and_over_time_shapes_agree():
    simulation = sarrus.Simulation(block(), DT)
    found = simulation.run(np.tile(START, (3, 1)), np.tile(THROWN, (3, 1)), duration=0.1).contacts
    slots = found.numbers.shape[-1]
    assert found.velocities.shape == (3, 101, slots, 3)
    assert found.states.shape == found.friction.shape == (3, 101, slots)
    assert found.residual.shape == (3, 101)
    assert found[1, ::10].states.shape == (11, slots)
    assert found[1, 50].residual.shape == ()


def test_numbers_of_another_version_are_refused():
    with pytest.raises(StateError, match="another version"):
        ContactRecord.of(np.zeros((5, 14 * 8)), [])
    assert ContactRecord.of(np.zeros((5, 8 * SLOT_NUMBERS + 1)), []).numbers.shape == (5, 8)


def test_after_divergence_slots_are_empty():
    """They had the number 0, which is that of a pair of geometries."""
    far_too_hard = np.array([[1e300, 0.0, 0.0, 0.0, 0.0, 0.0]])
    for q in (START, np.tile(START, (2, 1))):
        lost = sarrus.Simulation(block(), DT).run(q, duration=0.01, external_forces=far_too_hard)
        assert set(lost.statuses) == {sarrus.Status.DIVERGED.words}
        assert lost.contacts is not None
        assert (lost.contacts.numbers == -1).all()
        assert not lost.contacts.touching.any()
        assert (lost.contacts.states == ContactState.OPEN).all()
