"""`load` of several files makes one world; `extended` says what closes the loops of a URDF."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import ImportFileError, UnknownNameError
from sarrus.importers.load import example_robots

ARM = """<robot name="arm"><link name="base"/><link name="link"><inertial><mass value="1"/><origin xyz="0 0 0.5"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="link"/><axis xyz="0 1 0"/></joint></robot>"""
FLOOR = """<mujoco model="room"><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 1"><freejoint name="ball_free"/><geom name="skin" size="0.1" mass="2"/></body></worldbody>
</mujoco>"""


def test_two_files_are_one_world():
    both = sarrus.load([FLOOR, ARM])
    alone, floor = sarrus.load(ARM), sarrus.load(FLOOR)
    assert both.nv == alone.nv + floor.nv
    assert both.joint_names == (*floor.joint_names, *alone.joint_names)
    assert {g.name for g in both.geometries} == {"floor", "skin"}
    q, v = sarrus.random_state(both, 0)
    expected = sarrus.aba(alone, q[-1:], v[-1:], [0.0])
    assert np.allclose(sarrus.aba(both, q, v, np.zeros(both.nv))[-1:], expected)


@pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")
def test_robots_of_the_package_by_name():
    assert sarrus.load("example:solo12", floating_base=True).nv == 18
    with pytest.raises(UnknownNameError, match="Valid"):
        sarrus.load("example:no_such_robot")
    with pytest.raises(sarrus.errors.UnknownNameError, match="Did you mean 'hyq_no_sensors'"):
        sarrus.load("example:hyq")  # a part of a name is a hint, too


def test_names_that_clash_get_the_robots_name():
    twice = sarrus.load([ARM, ARM])
    assert twice.joint_names == ("hinge", "arm/hinge")
    with pytest.raises(ImportFileError, match="no file"):
        sarrus.load([])


def test_extended(tmp_path):
    robot = ARM.replace(
        "</robot>",
        """<link name="end"/><joint name="end_joint" type="fixed"><parent link="link"/>
<child link="end"/><origin xyz="0 0 1"/></joint></robot>""",
    )
    loops = tmp_path / "robot.yaml"
    loops.write_text("closed_loop: [[base, end]]\ntype: [3d]\n")
    model = sarrus.load(robot, extended=loops)
    assert [c.name for c in model.constraints] == ["loop_0"]
    assert sarrus.load_urdf(robot, extended=loops).digest == model.digest
    with pytest.raises(ImportFileError, match="for URDF"):
        sarrus.load(FLOOR, extended=loops)
    with pytest.raises(ImportFileError, match="alone"):
        sarrus.load([ARM, FLOOR], extended=loops)
