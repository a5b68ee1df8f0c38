"""Actuators of files: the same forces as MuJoCo's, or a line of the report that says why not."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import ImportFileError
from sarrus.importers import to_mujoco_state
from sarrus.importers.document import read_document
from sarrus.importers.mjcf import compile_mjcf
from tests.importers.shared_robots import shared_file

INERTIAL = '<inertial pos="0.1 0.2 -0.1" mass="1.5" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>'

# Every kind on hinges, slides (with `ref`) and a fixed tendon, with and without ranges.
ARM = f"""
<mujoco model="arm">
  <compiler angle="radian"/>
  <worldbody>
    <body name="a"><joint name="x" axis="0 1 0" ref="0.3"/>{INERTIAL}
      <body name="b" pos="1 0 0"><joint name="y" type="slide" axis="1 0 0" actuatorfrcrange="-3 3"/>{INERTIAL}
        <body name="c" pos="0 0 1"><joint name="z" axis="1 0 0"/>{INERTIAL}
          <body name="d" pos="0 0 1"><joint name="ball" type="ball"/><site name="tip"/>{INERTIAL}</body>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum"><joint joint="x" coef="2"/><joint joint="z" coef="-1.5"/></fixed>
    <spatial name="rope"><site site="tip"/><site site="ground"/></spatial>
  </tendon>
  <actuator>{{actuators}}</actuator>
</mujoco>
""".replace("<worldbody>", '<worldbody><site name="ground" pos="2 2 2"/>')

KINDS = """
  <motor name="motor" joint="x" gear="25" ctrlrange="-0.4 0.3"/>
  <motor joint="y" gear="-2" forcerange="-0.5 0.25"/>
  <position name="position" joint="z" kp="30" gear="0.5"/>
  <position joint="z" kp="30" kv="2" ctrlrange="-0.1 0.1" forcerange="-2 2"/>
  <position joint="x" kp="5" dampratio="1"/>
  <velocity name="velocity" joint="x" kv="7" gear="3"/>
  <damper name="damper" joint="z" kv="4" ctrlrange="0 0.5"/>
  <general name="general" joint="x" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="0.4 -5 -6" gear="2"/>
  <general joint="x" gaintype="fixed" gainprm="2 9 9" biastype="none" biasprm="7 7 7"/>
  <motor name="tendon motor" tendon="sum" gear="3" ctrlrange="-0.5 0.5"/>
  <position name="tendon servo" tendon="sum" kp="3" forcerange="-4 4"/>
"""


def forces_agree(peer, model, seed: int = 0, count: int = 20) -> None:
    """MuJoCo's generalized forces of actuators are ours (those of motors on one joint cut at its effort limit)."""
    mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
    rng = np.random.default_rng(seed)
    q, v = sarrus.random_state(model.without_constraints(), rng, batch=count)
    u = rng.normal(size=(count, peer.nu)) * rng.choice([0.1, 1.0, 10.0], size=(count, 1))
    found = sarrus.actuator_forces(model, q, v, u)
    most = np.concatenate([body.joint.effort_limit for body in model.bodies])
    data = mujoco.MjData(peer)
    for k in range(count):
        data.qpos[:], data.qvel[:] = to_mujoco_state(model, q[k], v[k])
        data.ctrl[:] = u[k]
        mujoco.mj_forward(peer, data)
        ours = np.clip(found[k], -most, most)
        np.testing.assert_allclose(ours, data.qfrc_actuator, rtol=1e-11, atol=1e-11 * np.abs(ours).max())


def arm(actuators: str):
    mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
    peer = mujoco.MjModel.from_xml_string(ARM.format(actuators=actuators))
    return peer, sarrus.from_mujoco(peer)


def test_every_kind_has_mujocos_forces():
    peer, model = arm(KINDS)
    assert [a.kind for a in model.actuators] == [
        "motor", "motor", "position", "position", "position", "velocity", "damper", "general", "motor", "motor",
        "position",
    ]  # fmt: skip
    assert [a.name for a in model.actuators[:3]] == ["motor", "actuator_1", "position"]
    assert not any("actuator" in line for line in model.import_report)
    forces_agree(peer, model)


@pytest.mark.parametrize("file", ["cassie/cassie.xml", "digit/digit-v3.xml", "shadow_hand/right_hand.xml"])
def test_robots_have_mujocos_forces(file):
    pytest.importorskip("mujoco", exc_type=ImportError)
    path = shared_file(file)
    model = sarrus.load(path)
    peer, _ = compile_mjcf(read_document(path))  # its meshes need not be there
    assert model.nu == peer.nu
    assert not any("actuator" in line for line in model.import_report)
    forces_agree(peer, model, count=8)


def test_controls_that_are_not_clamped():
    mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
    text = ARM.format(actuators=KINDS).replace("<worldbody>", '<option><flag clampctrl="disable"/></option><worldbody>')
    peer = mujoco.MjModel.from_xml_string(text)
    forces_agree(peer, sarrus.from_mujoco(peer))


@pytest.mark.parametrize(
    ("actuator", "words"),
    [
        ('<position joint="x" kp="1" timeconst="0.1"/>', "with activation dynamics (filterexact)"),
        ('<intvelocity joint="x" kp="1" actrange="-1 1"/>', "with activation dynamics (integrator)"),
        ('<cylinder joint="x"/>', "with activation dynamics (filter)"),
        ('<muscle joint="x" lengthrange="-1 1"/>', "with activation dynamics (muscle)"),
        ('<general joint="x" gaintype="user"/>', "with a user gain"),
        ('<motor joint="ball" gear="1 2 3"/>', "on a ball or free joint"),
        ('<motor site="tip" gear="0 0 1"/>', "on a site"),
        ('<motor tendon="rope"/>', "on spatial tendons"),
    ],
)
def test_what_is_more_is_reported_in_words(actuator, words):
    _, model = arm(f'{actuator}<motor name="kept" joint="y"/>')
    assert [a.name for a in model.actuators] == ["kept"]
    assert f"1 actuators {words} (actuator_0): not represented" in model.import_report


def test_disabled_actuators_are_reported():
    mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
    text = ARM.format(actuators=KINDS).replace("<worldbody>", '<option><flag actuation="disable"/></option><worldbody>')
    model = sarrus.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert any("the file disables actuators" in line for line in model.import_report)


# --- URDF --------------------------------------------------------------------------------------------

URDF = """<robot name="r"><link name="base"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link><link name="b"/>
  <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="f" type="fixed"><parent link="a"/><child link="b"/></joint>{}</robot>"""


@pytest.mark.parametrize(
    "text",
    [
        """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
             <joint name="j"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
             <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>""",
        """<transmission name="t" type="pr2_mechanism_model/SimpleTransmission"><actuator name="m"/><joint name="j"/>
             <mechanicalReduction>50</mechanicalReduction></transmission>""",
    ],
    ids=["ROS", "PR2"],
)
def test_a_simple_transmission_is_a_geared_motor(text):
    model = sarrus.load(URDF.format(text))
    (motor,) = model.actuators
    assert (motor.name, motor.joint, motor.kind, motor.gear) == ("m", "j", "motor", 50.0)
    assert not any("transmission" in line for line in model.import_report)
    np.testing.assert_array_equal(sarrus.actuator_forces(model, [0.3], [0.0], [2.0]), [100.0])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('<transmission name="t"/>', "1 <transmission>, 0 joints and 0 actuators (t): not represented"),
        (
            "<transmission name='t'><type>transmission_interface/DifferentialTransmission</type></transmission>",
            "1 <transmission>, of type transmission_interface/DifferentialTransmission (t): not represented",
        ),
        (
            "<transmission name='t'><joint name='f'/><actuator name='m'/></transmission>",
            "1 <transmission>, of a fixed joint (t): not represented",
        ),
        (
            "<transmission name='t'><joint name='elbow'/><actuator name='m'/></transmission>",
            "1 <transmission>, of a joint that does not exist (t): not represented",
        ),
        (
            "<transmission name='t'><joint name='j'/><actuator name='m'><mechanicalReduction>0</mechanicalReduction>"
            "</actuator></transmission>",
            "1 <transmission>, a reduction of 0 (t): not represented",
        ),
    ],
)
def test_other_transmissions_are_reported(text, line):
    model = sarrus.load(URDF.format(text))
    assert line in model.import_report
    assert model.nu == 0


def test_what_else_a_transmission_says_is_reported():
    text = (
        "<transmission name='t'><joint name='j'/><actuator><motorInertia>1e-4</motorInertia></actuator></transmission>"
    )
    model = sarrus.load(URDF.format(text))
    assert model.actuators[0].name == "t"
    assert "1 <motorInertia> in <transmission>: not represented" in model.import_report


def test_a_reduction_that_is_no_number():
    text = "<transmission name='t'><joint name='j'/><actuator><mechanicalReduction>big</mechanicalReduction></actuator>"
    with pytest.raises(
        ImportFileError, match="line 4: mechanicalReduction 'big' of <transmission> 't': expected a number"
    ):
        sarrus.load(URDF.format(text + "</transmission>"))


BORNE = """<mujoco><option integrator="RK4"/><worldbody>
  <body name="a" pos="0 0 1" gravcomp="1">
    <joint name="j1" axis="0 1 0" pos=".05 0 0" actuatorgravcomp="true" actuatorfrcrange="-4 4" ref=".2"/>
    <geom type="capsule" fromto="0 0 0 .4 .1 0" size=".04"/>
    <body name="b" pos=".4 0 0" gravcomp="0.6"><joint name="j2" axis="0 1 1" damping=".1"/>
      <geom size=".05" pos=".2 0 .03"/>
      <body name="c" pos=".1 .1 0" gravcomp="1.5" euler="10 20 30"><geom size=".04" pos="0 .05 0"/></body>
      <body name="d" pos="0 0 .2" gravcomp="1"><joint name="j3" type="slide" axis="1 0 .2" actuatorgravcomp="true"/>
        <geom size=".05"/></body>
  </body></body></worldbody>
  <actuator><motor joint="j1" gear="2"/><position joint="j3" kp="10"/></actuator></mujoco>"""


def test_weights_that_something_bears():
    """By motors, within their limits, and by itself; of bodies that a fixed joint merged, too."""
    mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
    peer = mujoco.MjModel.from_xml_string(BORNE)
    model = sarrus.from_mujoco(peer)
    assert model.lost_physics == ()
    forces_agree(peer, model)
    q, v, u = np.array([0.3, -0.2, 0.05]), np.array([0.1, 0.4, -0.2]), np.array([0.2, 0.1])
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
    for _ in range(50):
        mujoco.mj_step(peer, data)
    motion = sarrus.simulate(model, q, v, controls=u, steps=50, integrator="rk4", contacts=False)
    np.testing.assert_allclose(motion.q[-1], data.qpos, atol=1e-9)
    stiff = model.lock({"j2": -0.2})
    whole = sarrus.actuator_forces(model, q, v * [1, 0, 1], u)
    np.testing.assert_allclose(sarrus.actuator_forces(stiff, q[[0, 2]], v[[0, 2]], u), whole[[0, 2]], atol=1e-12)
    both = sarrus.attach(model, model, "world", prefix="other_")
    joined = sarrus.actuator_forces(both, *(np.concatenate([x, x]) for x in (q, v, u)))
    np.testing.assert_allclose(joined, np.concatenate([sarrus.actuator_forces(model, q, v, u)] * 2), atol=1e-12)
