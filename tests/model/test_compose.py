"""`attach`: one robot out of two."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import ModelError, NameClashError, UnknownNameError
from sarrus.model.builder import ModelBuilder
from sarrus.model.compose import attach
from sarrus.model.constraints import Coupling, contact
from sarrus.zoo.chains import LINK_LENGTH


def gripper() -> sarrus.Model:
    builder = ModelBuilder("gripper")
    for side in ("left", "right"):
        builder.add_body(
            side, joint="prismatic", axis=(1.0, 0.0, 0.0), position=(0.0, 0.0, -0.1), mass=0.1, inertia=1e-4 * np.eye(3)
        )
    builder.add_constraint(Coupling("mirror", (("left_joint", 1.0), ("right_joint", 1.0))))
    return builder.build().with_constraints(contact("left", 3))


def arm_with_gripper() -> sarrus.Model:
    """The same robot, built in one go."""
    builder = ModelBuilder("whole")
    arm = zoo.chain(3)
    for body in arm.bodies:
        parent = "world" if body.parent < 0 else arm.bodies[body.parent].name
        mass = body.inertia.mass
        com = body.inertia.h / mass
        Sigma = body.inertia.Sigma - mass * np.outer(com, com)
        builder.add_body(
            body.name, parent, axis=body.joint.axes[0], position=body.placement.p, rotation=body.placement.R,
            mass=mass, com=com, inertia=np.trace(Sigma) * np.eye(3) - Sigma,
        )  # fmt: skip
    for side in ("left", "right"):
        builder.add_body(
            f"g_{side}", "link_2", joint="prismatic", axis=(1.0, 0.0, 0.0), position=(0.0, 0.0, -0.1 - LINK_LENGTH),
            mass=0.1, inertia=1e-4 * np.eye(3),
        )  # fmt: skip
    return builder.build()


def test_the_whole_moves_as_if_built_in_one_go():
    joined, whole = attach(zoo.chain(3), gripper(), "tip", prefix="g_"), arm_with_gripper()
    assert joined.joint_names[3:] == ("g_left_joint", "g_right_joint")
    q, v = sarrus.random_state(whole, rng=0)
    np.testing.assert_allclose(sarrus.crba(joined, q), sarrus.crba(whole, q), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sarrus.rnea(joined, q, v, v), sarrus.rnea(whole, q, v, v), rtol=1e-10, atol=1e-12)


def test_frames_and_constraints_come_along():
    joined = attach(zoo.chain(3), gripper(), "tip", prefix="g_")
    assert {"tip", "g_left", "g_world"} <= set(joined.frame_names)
    coupling, touch = joined.constraints
    assert coupling.name == "g_mirror"
    assert coupling.ratios == (("g_left_joint", 1.0), ("g_right_joint", 1.0))
    assert (touch.name, touch.frame) == ("g_contact_left", "g_left")
    two = attach(joined, gripper(), "link_0", prefix="h_")
    assert two.nv == 7
    assert two.bodies[5].parent == 0


def test_a_floating_robot_and_the_world_as_mount():
    joined = attach(zoo.chain(2, floating=True), zoo.chain(2), "world", prefix="second_")
    assert joined.parents == (-1, 0, 1, -1, 3)


def test_clashes_and_unknown_frames_are_named():
    with pytest.raises(NameClashError, match=r"'link_0'.*prefix"):
        attach(zoo.chain(2), zoo.chain(2), "tip")
    with pytest.raises(UnknownNameError, match=r"tip"):
        attach(zoo.chain(2), gripper(), "tipp", prefix="g_")


def test_a_centre_of_mass_is_not_that_of_the_joined_robot():
    held = zoo.chain(2).with_constraints(sarrus.center_of_mass_constraint())
    for pair in ((held, zoo.chain(3)), (zoo.chain(3), held)):
        with pytest.raises(ModelError, match="Declare it afterwards"):
            sarrus.attach(*pair, "world", prefix="other_")
