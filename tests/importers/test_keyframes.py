"""Keyframes, time step and integrator of an MJCF, in Sarrus' conventions."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest

import sarrus
from sarrus.importers.mujoco_state import to_mujoco_state
from tests.importers.shared_robots import shared_file

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
ROBOT = f"""<mujoco><option timestep="0.004" integrator="implicitfast"/><worldbody>
  <body name="base" pos="0 0 1"><freejoint/>{INERTIAL}
    <body name="arm"><joint name="j" ref="0.5"/>{INERTIAL}</body></body>
  </worldbody><actuator><muscle joint="j" lengthrange="-1 1"/><position name="servo" joint="j"/></actuator>
  <keyframe>
    <key name="moving" time="2" qpos="1 2 3 0 2 0 0 0.1" qvel="1 2 3 4 5 6 7" ctrl="8 9"/>
    <key/><key name="low" qpos="0 0 0.2 1 0 0 0 0"/></keyframe></mujoco>"""


@pytest.mark.parametrize("compiled", [False, True])
def test_keyframes_are_states(compiled):
    peer = mujoco.MjModel.from_xml_string(ROBOT)
    model = sarrus.from_mujoco(peer) if compiled else sarrus.load(ROBOT)
    assert list(model.keyframes) == ["moving", "keyframe_1", "low"]
    moving = model.keyframes["moving"]
    np.testing.assert_allclose(moving.q, [1, 2, 3, 1, 0, 0, 0, 0.1], atol=1e-15)  # x y z w, of length one
    assert (moving.time, moving.controls.tolist()) == (2.0, [9.0])  # the muscle is not represented
    for k, frame in enumerate(model.keyframes.values()):
        qpos, qvel = to_mujoco_state(model, frame.q, frame.v)
        np.testing.assert_allclose(qpos, peer.key_qpos[k], atol=1e-15)
        np.testing.assert_allclose(qvel, peer.key_qvel[k], atol=1e-14)
    np.testing.assert_array_equal(model.keyframes["keyframe_1"].q, model.home)
    assert (model.time_step, model.integrator_hint) == (0.004, "implicit")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.keyframes["low"].q, model.keyframes["low"].q)
    assert not any("keyframe" in line for line in model.import_report)


def test_keyframes_of_another_base_are_reported():
    model = sarrus.load(ROBOT, floating_base=False)
    assert list(model.keyframes) == ["keyframe_0"]  # the one without numbers fits any robot
    assert "2 keyframes (moving, low) do not fit the robot: not represented" in model.import_report


@pytest.mark.parametrize(
    ("integrator", "hint"), [("Euler", "semi_implicit_euler"), ("RK4", "rk4"), ("implicit", "implicit")]
)
def test_hints_of_integrators(integrator, hint):
    model = sarrus.load(f'<mujoco><option integrator="{integrator}"/></mujoco>')
    assert (model.integrator_hint, model.time_step) == (hint, 0.002)
    assert model.import_report == ()


def test_other_models_have_none():
    model = sarrus.zoo.chain(2)
    assert (dict(model.keyframes), model.time_step, model.integrator_hint) == ({}, None, None)


@pytest.mark.parametrize(
    ("file", "name"), [("go1/scene.xml", "home"), ("h1/scene.xml", "home"), ("cassie/scene.xml", "home")]
)
def test_robots_have_theirs(file, name):
    model = sarrus.load(shared_file(file))
    frame = model.keyframes[name]
    assert frame.q.shape == (model.nq,)
    assert frame.controls.shape == (model.nu,)
