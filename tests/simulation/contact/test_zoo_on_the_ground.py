"""The zoo's legged robots have feet that stand on the ground of `with_ground`."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.state import home_or_neutral
from sarrus.simulation.contact.options import ContactOptions
from sarrus.simulation.contact.settings import contact_settings

ROBOTS = {
    "biped": (sarrus.zoo.biped, 8),
    "geared_quadruped": (sarrus.zoo.geared_quadruped, 4),
    "humanoid_leg": (lambda: sarrus.zoo.humanoid_leg(floating=True), 4),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_its_feet_touch_the_ground_where_it_stands(name):
    make, count = ROBOTS[name]
    robot = make().with_ground()
    settings = contact_settings(robot, ContactOptions())
    assert settings is not None
    assert len(settings.contacts.usual) == count


def test_without_a_ground_nothing_touches():
    assert contact_settings(sarrus.zoo.biped(), ContactOptions()) is None


def test_a_quadruped_under_pd_stands_on_its_feet():
    robot = sarrus.zoo.geared_quadruped().with_ground(friction=0.8)
    driven = np.array([b.joint.independent is True for b in robot.bodies for _ in range(b.joint.type.nv)])
    control = sarrus.pd(400.0 * driven, 8.0 * driven, home_or_neutral(robot))
    found = sarrus.Simulation(sarrus.embed(robot), 1e-3, controller=control).run(duration=0.5)
    assert set(found.statuses) == {"ok"}
    contacts = found.contacts
    assert contacts is not None
    end = contacts[-1]
    assert end.touching.sum() == 4
    assert {contacts.names[k][0] for k in end.numbers[end.touching]} == {
        f"{leg}_foot_ball" for leg in ("front_left", "front_right", "hind_left", "hind_right")
    }
    np.testing.assert_allclose(end.total_force[2], 9.81 * float(robot.mass), rtol=0.02)
    assert np.array_equal(end.forces, contacts.forces[-1])
