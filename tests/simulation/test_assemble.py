"""`assemble`: some joints where they are wanted, loops closed, on the branch of the reference."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml

import sarrus
from sarrus import zoo
from sarrus.errors import AssemblyError, StateError, UnknownNameError
from tests.importers.shared_robots import shared_file


def closure_error(model: sarrus.Model, q: np.ndarray) -> float:
    return float(np.abs(sarrus.closure(model, q).position).max())


def test_a_crank_goes_all_the_way_round_on_one_branch():
    """Continuously: neighbours in a sweep of the crank are neighbours in all joints."""
    model = zoo.four_bar()
    found = sarrus.assemble(model, {"crank_joint": np.linspace(-3.0, 3.0, 121)})
    assert (found.status == 0.0).all()
    assert found.q.shape == (121, 3)
    assert closure_error(model, found.q) < 1e-10
    assert np.array_equal(found.q[:, 0], np.linspace(-3.0, 3.0, 121))
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.2


def test_the_branch_is_that_of_the_reference():
    """A five-bar's tip is above or below the line of its elbows: each reference keeps its own."""
    model = zoo.five_bar()
    home = sarrus.neutral(model)
    where = {"left_crank_joint": 0.1, "right_crank_joint": -0.2}
    up = sarrus.assemble(model, where)
    height = sarrus.forward_kinematics(model, up.q, frames=("tool",)).position[0][2]
    below = home.copy()
    below[model.layout.q_of("left_forearm_joint")] = 2.0
    below[model.layout.q_of("right_forearm_joint")] = -2.0
    for start in (below, -below):
        other = sarrus.project(model, start, held=np.array([1.0, 0.0, 1.0, 0.0]))
        if other.status == 0.0 and np.abs(other.q - home).max() > 1.0:
            break
    else:
        pytest.fail("the other branch was not found")
    down = sarrus.assemble(model, where, near=other.q)
    low = sarrus.forward_kinematics(model, down.q, frames=("tool",)).position[0][2]
    assert closure_error(model, up.q) < 1e-10
    assert closure_error(model, down.q) < 1e-10
    assert height > low + 0.1


def test_a_stewart_platform_is_posed():
    """The inverse kinematics of a parallel robot: the plate is known, the legs follow."""
    model = zoo.stewart()
    pose = [0.02, -0.03, 0.05, 0.0, 0.0, np.sin(0.1), np.cos(0.1)]
    found = sarrus.assemble(model, {"platform_joint": pose})
    assert found.in_words() == ["ok"]
    assert np.allclose(found.q[:7], pose, rtol=0.0, atol=1e-15)
    assert closure_error(model, found.q) < 1e-10


def test_nothing_known_closes_the_loops():
    model = zoo.four_bar()
    found = sarrus.assemble(model, near=np.array([0.3, -0.2, 0.1]))
    assert closure_error(model, found.q) < 1e-10


def test_the_impossible_is_said_to_be():
    """A crank-rocker's rocker does not go round."""
    model = zoo.four_bar()
    with pytest.raises(AssemblyError, match=r"cannot be assembled with rocker_joint = \[1.5\]: .*'coupler_rocker'"):
        sarrus.assemble(model, {"rocker_joint": 1.5})
    found = sarrus.assemble(model, {"rocker_joint": [0.0, 1.5, 0.1]}, strict=False)
    assert found.status.tolist() == [0, sarrus.Status.NO_ASSEMBLY, 0]
    assert found.error[1] > 0.01
    assert "not found" in found.in_words()[1]
    with pytest.raises(AssemblyError, match=r"for 1 of 3 \(first: number 1\)"):
        sarrus.assemble(model, {"rocker_joint": [0.0, 1.5, 0.1]})


def test_where_the_way_is_blocked_another_branch_is_taken():
    """Beyond a dead point the reference's branch ends; the status tells that this is another one."""
    model = zoo.slider_crank()
    crank = sarrus.assemble(model, {"crank_joint": np.linspace(-6.0, 6.0, 9)})
    assert (crank.status == 0.0).all()
    piston = crank.q[:, model.layout.q_of("piston_joint")][:, 0]
    reached = sarrus.assemble(model, {"piston_joint": piston}, strict=False)
    assert (reached.error < 1e-10).all()


def test_limits():
    builder = sarrus.ModelBuilder("limited")
    builder.add_body("a", axis=(0, 1, 0), mass=1.0, inertia=np.eye(3), lower=-0.5, upper=0.5)
    builder.add_body("b", "a", axis=(0, 1, 0), position=(1.0, 0, 0), mass=1.0, inertia=np.eye(3))
    model = builder.build()
    name = model.joint_names[0]
    with pytest.raises(StateError, match=r"wanted at 0.7, outside its limits \[-0.5\] to \[0.5\]"):
        sarrus.assemble(model, {name: 0.7})
    assert sarrus.assemble(model, {name: 0.3}).q[0] == 0.3


def test_bad_input_in_words():
    model = zoo.four_bar()
    with pytest.raises(UnknownNameError, match="Did you mean 'crank_joint'"):
        sarrus.assemble(model, {"crank": 0.3})
    with pytest.raises(StateError, match="has 1 coordinates"):
        sarrus.assemble(model, {"crank_joint": np.zeros((2, 2))})
    with pytest.raises(StateError, match="every number must be finite"):
        sarrus.assemble(model, {"crank_joint": np.nan})
    with pytest.raises(StateError, match="batches of different sizes"):
        sarrus.assemble(model, {"crank_joint": np.zeros(2), "rocker_joint": np.zeros(3)})


def test_cassie_bends_its_knees():
    model = sarrus.load(shared_file("cassie/cassie.xml"))
    found = sarrus.assemble(model, {"left-knee": -1.5, "right-knee": -1.2})
    assert found.in_words() == ["ok"]
    assert closure_error(model, found.q) < 1e-10


def test_a_kangaroo_needs_its_ball_joints(tmp_path):
    """Its YAML leaves joints called `spherical` as hinges, with which the loops cannot close; the report says so."""
    folder = shared_file("parallel_robots/kangaroo_like_2legs")
    path = folder / "robot.urdf"
    assert any(
        "called spherical" in line for line in sarrus.load_urdf(path, extended=folder / "robot.yaml").import_report
    )
    content = yaml.safe_load((folder / "robot.yaml").read_text())
    named = re.findall(r'<joint name="([^"]*spherical[^"]*)" type="revolute"', path.read_text())
    content |= {"joint_name": named, "joint_type": ["SPHERICAL"] * len(named)}
    (tmp_path / "robot.yaml").write_text(yaml.safe_dump(content))
    model = sarrus.load_urdf(path, extended=tmp_path / "robot.yaml")
    assert sarrus.project(model, sarrus.neutral(model)).error < 1e-12


def test_a_way_of_thousands_of_turns_is_refused_at_once():
    with pytest.raises(StateError, match=r"'crank_joint' is wanted 1e\+09 from the reference.*near"):
        sarrus.assemble(sarrus.zoo.four_bar(), {"crank_joint": 1e9})
