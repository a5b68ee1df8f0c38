"""Actuators as data: what they are called, what is checked, and that they stay with the robot."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import ModelError, NameClashError, UnknownNameError

LINK = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": 0.01 * np.eye(3)}


def builder() -> sarrus.ModelBuilder:
    b = sarrus.ModelBuilder("arm")
    b.add_body("a", joint="revolute", **LINK)
    b.add_body("b", "a", joint="prismatic", **LINK)
    b.add_body("c", "b", joint="spherical", **LINK)
    return b


def test_kinds_are_told_by_the_numbers():
    b = builder()
    b.add_actuator("m", "a_joint", gear=50.0, control_range=(-1, 2))
    b.add_actuator("p", "a_joint", gain=10.0, bias=(0, -10.0, -1.0))
    b.add_actuator("v", "b_joint", gain=3.0, bias=(0, 0, -3.0))
    b.add_actuator("d", "b_joint", gain=(0, 0, -4.0))
    b.add_actuator("g", "b_joint", gain=(1, 2, 3), bias=(4, 5, 6))
    b.add_actuator("t", {"a_joint": 1.0, "b_joint": -2.0}, force_range=(-5, 5))
    model = b.build()
    assert [x.kind for x in model.actuators] == ["motor", "position", "velocity", "damper", "general", "motor"]
    assert (model.nu, model.actuators[0].joint, model.actuators[5].joint) == (6, "a_joint", "+1 a_joint -2 b_joint")
    assert model.actuators[0].control_range == (-1.0, 2.0)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("m", "elbow"), UnknownNameError, "joint of actuator 'm'.*'elbow'.*a_joint"),
        (("m", "c_joint"), ModelError, "'m' acts on 'c_joint', a spherical joint"),
        (("m", {}), ModelError, "does not act on any joint"),
        (("m", "a_joint", {"gear": "big"}), ModelError, "gear of actuator 'm' is 'big': expected a number"),
        (("m", "a_joint", {"gain": np.inf}), ModelError, "gain of actuator 'm'"),
        (("m", "a_joint", {"bias": (1, 2)}), ModelError, "bias of actuator 'm' .*expected 3 numbers"),
        (("m", "a_joint", {"control_range": (2, 1)}), ModelError, "control_range of actuator 'm': 2 exceeds 1"),
    ],
)
def test_mistakes_are_named(arguments, error, words):
    name, joint, *more = arguments
    with pytest.raises(error, match=words):
        builder().add_actuator(name, joint, **(more[0] if more else {})).build()


def test_names_are_taken_once():
    with pytest.raises(NameClashError, match="there is already an actuator 'm'"):
        builder().add_actuator("m", "a_joint").add_actuator("m", "b_joint")


def test_actuators_stay_with_the_robot_and_are_no_part_of_its_digest():
    plain, model = builder().build(), builder().add_actuator("m", "a_joint", gear=3.0).build()
    assert model.digest == plain.digest
    for changed in (
        model.with_constraints(sarrus.contact("b")), model.without_constraints(), model.with_gravity(np.zeros(3)),
    ):  # fmt: skip
        assert changed.actuators == model.actuators
    joined = sarrus.attach(model, model, "b", prefix="second_")
    assert [(a.name, a.joint, a.gear) for a in joined.actuators] == [
        ("m", "a_joint", 3.0), ("second_m", "second_a_joint", 3.0),
    ]  # fmt: skip


def test_actuated_coordinates_are_independent():
    """Of a four-bar, the one velocity that does not follow is that of the joint with a motor, whichever it is."""
    model = sarrus.zoo.four_bar()
    chosen = []
    for joint in model.joint_names:
        motor = sarrus.Actuator("motor", ((joint, 1.0),))
        embedded = sarrus.embed(sarrus.model.model.replace(model, actuators=(motor,)))
        (k,) = embedded.embedding.clusters[0].independent
        chosen.append(model.joint_names[k])
        assert embedded.actuators == (motor,)
    assert chosen == list(model.joint_names)
