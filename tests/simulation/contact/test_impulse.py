"""Impacts without time."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import UnsupportedError
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Sphere
from tests.simulation.contact.test_joint_limits import LIMIT, comb


def ball(mu: float = 0.0) -> sarrus.Model:
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("ball", joint="free", mass=2.0, inertia=0.4 * 2.0 * 0.01 * np.eye(3))
    builder.add_geometry("ball", Sphere(0.1), name="ball", friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=mu)
    return builder.build()


AT = [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_a_ball_leaves_with_its_restitution(e):
    found = sarrus.impulse(ball(), AT, [1.0, 0, -3.0, 0, 0, 0], sarrus.ContactOptions(restitution=e))
    np.testing.assert_allclose(found.v, [1.0, 0, 3.0 * e, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found.contacts.total_force, [0, 0, 2.0 * 3.0 * (1.0 + e)], atol=1e-5)
    assert found.status == sarrus.Status.OK


def test_friction_spins_it():
    found = sarrus.impulse(ball(mu=0.1), AT, [1.0, 0, -2.0, 0, 0, 0])
    slide = 0.1 * 2.0  # what friction can take of the speed: mu times the change of the normal one
    np.testing.assert_allclose(found.v[[0, 4]], [1.0 - slide, slide * 0.1 / (0.4 * 0.01)], atol=1e-5)
    rolls = sarrus.impulse(ball(mu=5.0), AT, [1.0, 0, -2.0, 0, 0, 0]).v
    assert rolls[0] == pytest.approx(0.1 * rolls[4], abs=1e-5)
    assert rolls[0] == pytest.approx(5.0 / 7.0, abs=1e-5)


def test_what_does_not_touch_or_leaves_feels_nothing():
    v = [1.0, 0.5, -3.0, 0.1, 0.2, 0.3]
    np.testing.assert_array_equal(sarrus.impulse(ball(), [0, 0, 0.2, 0, 0, 0, 1], v).v, v)
    np.testing.assert_allclose(sarrus.impulse(ball(), AT, np.negative(v)).v, np.negative(v), atol=1e-12)


def test_a_batch_is_its_states():
    v = np.random.default_rng(0).normal(size=(5, 6))
    found = sarrus.impulse(ball(0.3), np.tile(AT, (5, 1)), v)
    for k in range(5):
        np.testing.assert_array_equal(sarrus.impulse(ball(0.3), AT, v[k]).v, found.v[k])


def test_a_box_on_its_face_stops():
    builder = sarrus.ModelBuilder("box")
    builder.add_body("box", joint="free", mass=3.0, inertia=0.02 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.2, 0.2)), name="box", friction=1.0)
    builder.add_geometry("world", Plane(), name="ground")
    found = sarrus.impulse(builder.build(), AT, [0.5, 0.2, -2.0, 0, 0, 0])
    np.testing.assert_allclose(found.v, 0.0, atol=1e-5)


def test_nothing_to_touch_is_said():
    with pytest.raises(UnsupportedError, match="nothing that can touch"):
        sarrus.impulse(sarrus.zoo.chain(2), [0.0, 0.0], [0.0, 0.0])


def test_what_finds_no_slot_is_told():
    builder = sarrus.ModelBuilder("box")
    builder.add_body("box", joint="free", mass=3.0, inertia=0.02 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.2, 0.2)), name="box")
    box = builder.build().with_ground()
    falling = [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]
    for slots, status in ((1, sarrus.Status.CONTACTS_LEFT_OUT), (4, sarrus.Status.OK)):
        assert sarrus.impulse(box, AT, falling, sarrus.ContactOptions(slots=slots)).status == status
    model, at_limits = comb(), np.full(8, LIMIT)
    default, enough = (
        sarrus.impulse(model, at_limits, np.ones(8), sarrus.ContactOptions(limit_slots=slots)) for slots in (None, 8)
    )
    assert (default.status, enough.status) == (sarrus.Status.CONTACTS_LEFT_OUT, sarrus.Status.OK)
    assert default.v.max() == pytest.approx(1.0)
    np.testing.assert_allclose(enough.v, 0.0, atol=1e-6)
    # Away from the limits, or in the air, nothing is left out.
    assert sarrus.impulse(model, at_limits, -np.ones(8)).status == sarrus.Status.OK
    assert sarrus.impulse(model, at_limits - 0.1, np.ones(8)).status == sarrus.Status.OK
