"""Springs, dampers, friction and limits of MJCF's fixed tendons act; what does not act is reported as lost."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sarrus
from sarrus.simulation.joint_forces import JointForces, joint_force_parameters, joint_forces

INERTIAL = '<inertial pos="0.1 0.02 -0.1" mass="1.5" diaginertia="0.3 0.4 0.5"/>'


def pulled(tendon: str = "", option: str = "") -> str:
    return f"""<mujoco><compiler angle="radian" autolimits="true"/><option gravity="0 0 0">{option}</option><worldbody>
      <body name="a"><joint name="j1" axis="0 1 0" ref="0.2"/>{INERTIAL}
        <body name="b" pos="0.3 0 0"><joint name="j2" axis="0 1 0"/>{INERTIAL}</body></body></worldbody>
      <tendon><fixed name="t" {tendon}><joint joint="j1" coef="1"/><joint joint="j2" coef="-2"/></fixed></tendon>
      </mujoco>"""


@pytest.mark.parametrize("tendon", [
    'stiffness="500"', 'stiffness="500" springlength="0.1"', 'stiffness="500" springlength="-0.3 0.2"', 'damping="3"',
    'stiffness="50" damping="2"',
])  # fmt: skip
def test_springs_and_dampers_are_mujocos(tendon):
    text = pulled(tendon)
    peer, model = mujoco.MjModel.from_xml_string(text), sarrus.load(text)
    data = mujoco.MjData(peer)
    numbers = joint_force_parameters(model, JointForces(), 1e-3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        data.qpos[:], data.qvel[:] = rng.normal(size=2), rng.normal(size=2)
        mujoco.mj_forward(peer, data)
        np.testing.assert_allclose(joint_forces(model, numbers, data.qpos, data.qvel), data.qfrc_passive, atol=1e-12)


def test_a_tendon_swings_in_a_compiled_simulation():
    model = sarrus.load(pulled('stiffness="20" springlength="-0.1 0.1"'))
    found = sarrus.simulate(model, [0.5, -0.4], duration=1.0, dt=1e-3, integrator="rk4")
    assert np.ptp(found.energy.elastic) > 0.1
    assert found.drift.energy < 1e-4  # the spring has kinks
    free = sarrus.simulate(model, [0.5, -0.4], duration=1.0, joint_forces=False)
    assert np.abs(free.v).max() == 0.0


def test_friction_and_limits_of_a_tendon_hold():
    held = sarrus.simulate(sarrus.load(pulled('frictionloss="5"')), [0.2, 0.0], tau=[0.5, -1.0], duration=0.5, dt=1e-3)
    assert np.abs(held.v @ [1.0, -2.0]).max() < 0.05
    stopped = sarrus.simulate(sarrus.load(pulled('range="-1 0.4"')), [0.2, 0.0], tau=[0.5, -1.0], duration=3.0)
    length = stopped.q @ [1.0, -2.0]
    assert 0.35 < length.max() < 0.45


def test_the_armature_of_a_tendon_is_lost_and_said():
    assert sarrus.load(pulled('armature="0.5"')).lost_physics == ("tendon 't': armature 0.5: not represented",)
    assert sarrus.load(pulled('stiffness="500" damping="1"')).lost_physics == ()


@pytest.mark.parametrize("flag", ["spring", "damper", "frictionloss", "limit", "constraint"])
def test_what_a_file_disables_does_not_act(flag):
    tendon = 'stiffness="500" damping="3" frictionloss="2" range="-1 0.1"'
    disabled = sarrus.load(pulled(tendon, f'<flag {flag}="disable"/>'))
    numbers = joint_force_parameters(disabled, JointForces(), 1e-3).tendons
    acts = {
        "spring": any(numbers.stiffness),
        "damper": any(numbers.damping),
        "frictionloss": any(numbers.friction),
        "limit": np.isfinite([numbers.lower, numbers.upper]).any(),
    }
    off = {"frictionloss", "limit"} if flag == "constraint" else {flag}
    assert {name for name, value in acts.items() if not value} == off
