"""What a compiled MuJoCo model becomes: the same motion, mass matrix and bias, and constraints declared."""

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError
from sarrus.importers import from_mujoco_state, to_mujoco_state
from sarrus.spatial.rotations import rotation_from_quaternion

mujoco = pytest.importorskip("mujoco", exc_type=ImportError)

INERTIAL = '<inertial pos="0.1 0.2 -0.1" mass="1.5" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>'

# Every joint type, several on a body, off its origin, with `ref`, in degrees, below static and unnamed bodies.
ZOO = f"""
<mujoco model="zoo">
  <compiler angle="degree"/>
  <option gravity="0 1 -9"/>
  <worldbody>
    <body name="base" pos="1 2 3" quat="1 2 3 4">
      <freejoint/>{INERTIAL}<site name="tip" pos="0 0 1" quat="1 1 0 0"/>
      <body name="hip" pos="0.1 0 0" euler="10 20 30">
        <joint name="yaw" axis="0 0 1" pos="0.2 0 0.1" ref="20" armature="0.1" damping="0.2" frictionloss="0.3"/>
        <joint name="slide" type="slide" axis="1 1 0" ref="0.3" range="-1 1" stiffness="4" springref="0.5"/>
        <joint name="roll" axis="1 0 0" pos="0 0.3 0" ref="-15" range="-90 45" actuatorfrcrange="-5 5"/>
        {INERTIAL}
        <body name="shin" pos="0 0 -1"><joint name="ball" type="ball" pos="0.1 0.2 0.3"/>{INERTIAL}
          <body pos="0 0 -0.2" euler="0 5 0">{INERTIAL}
            <body name="foot" pos="0 1 0"><joint axis="0 1 0" pos="0 2 0"/>{INERTIAL}</body>
          </body>
        </body>
      </body>
    </body>
    <body name="post" pos="0 0 1" euler="0 90 0">{INERTIAL}
      <body name="arm"><joint name="elbow" axis="0 1 0"/>{INERTIAL}</body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def peer():
    return mujoco.MjModel.from_xml_string(ZOO)


@pytest.fixture(scope="module")
def model(peer):
    return sarrus.from_mujoco(peer)


def at(peer, model, rng):
    q, v = sarrus.random_state(model, rng)
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:] = to_mujoco_state(model, q, v)
    mujoco.mj_forward(peer, data)
    return q, v, data


def mixed(model, q, v):
    """T with v = T qvel, and dT/dt qvel: MuJoCo's linear velocity of a free joint is in the world's axes."""
    T, drift = np.eye(model.nv), np.zeros(model.nv)
    T[:3, :3] = rotation_from_quaternion(q[3:7]).T
    drift[:3] = -np.cross(v[3:6], v[:3])
    return T, drift


def close(x, y, tolerance=1e-12):
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max()))


# --- motion ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_every_body_is_where_mujoco_has_it(peer, model, seed):
    q, _, data = at(peer, model, seed)
    bodies = ("base", "hip", "shin", "body_4", "foot", "post", "arm")  # in MuJoCo's order, after the world
    found = sarrus.forward_kinematics(model, q, frames=(*bodies, "tip"))
    close(found.position, np.concatenate([data.xpos[1:], data.site_xpos]))
    close(found.rotation, np.concatenate([data.xmat[1:], data.site_xmat]).reshape(-1, 3, 3))


@pytest.mark.parametrize("seed", range(3))
def test_mass_matrix_and_bias_are_mujocos(peer, model, seed):
    q, v, data = at(peer, model, seed)
    T, drift = mixed(model, q, v)
    inverse = np.linalg.inv(T)
    M = np.zeros((peer.nv, peer.nv))
    for column, unit in zip(M, np.eye(peer.nv), strict=True):  # M is symmetric: rows are columns
        mujoco.mj_mulM(peer, data, column, unit)
    close(sarrus.crba(model, q), inverse.T @ M @ inverse)
    close(T.T @ sarrus.rnea(model, q, v, drift), data.qfrc_bias)


# --- structure ---------------------------------------------------------------------------------------


def test_several_joints_on_a_body_are_a_chain(model):
    assert model.joint_names == ("base_joint", "yaw", "slide", "roll", "ball", "foot_joint", "elbow")
    assert model.body_names == ("base", "hip/yaw", "hip/slide", "hip/roll", "shin/ball", "foot", "arm")
    assert float(model.bodies[1].inertia.mass) == 0.0
    assert float(model.bodies[3].inertia.mass) == 1.5


def test_what_joints_carry(model):
    joints = {body.joint.name: body.joint for body in model.bodies}
    yaw, slide, roll = joints["yaw"], joints["slide"], joints["roll"]
    assert [float(x[0]) for x in (yaw.armature, yaw.damping, yaw.friction)] == [0.1, 0.2, 0.3]
    assert [float(x[0]) for x in (slide.stiffness, slide.rest, slide.lower, slide.upper)] == [4, 0.5, -1, 1]
    np.testing.assert_allclose([roll.lower[0], roll.upper[0], roll.effort_limit[0]], [-np.pi / 2, np.pi / 4, 5])
    np.testing.assert_allclose(joints["ball"].rest, [0, 0, 0, 1])
    np.testing.assert_allclose(joints["base_joint"].rest[:3], [1, 2, 3])


def test_gravity_is_the_files(model):
    np.testing.assert_allclose(model.gravity, [0, 1, -9])


def simple(content="", *, joint='<joint name="j"/>', after="", option=""):
    text = f"""<mujoco>{option}<worldbody><body name="a">{joint}{INERTIAL}{content}</body>
      <body name="b"><joint name="k" type="slide" ref="0.5"/>{INERTIAL}<site name="s"/></body>
      <body name="c"><joint name="l"/>{INERTIAL}<site name="t"/></body></worldbody>{after}</mujoco>"""
    return sarrus.from_mujoco(mujoco.MjModel.from_xml_string(text))


def test_disabled_gravity_is_zero():
    np.testing.assert_array_equal(simple(option='<option><flag gravity="disable"/></option>').gravity, 0.0)


def test_unnamed_things_get_free_names():
    text = f"""<mujoco><worldbody><body>{INERTIAL}<joint/><joint axis="1 0 0"/></body>
      <body name="body_1"/></worldbody></mujoco>"""
    model = sarrus.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert model.joint_names == ("body_1_2_joint", "body_1_2_joint_2")
    assert model.body_names == ("body_1_2/body_1_2_joint", "body_1_2")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"joint": '<joint type="ball" range="0 1" limited="true"/>'}, "the limit of a ball joint's angle"),
        ({"joint": '<joint actuatorfrcrange="-2 -1"/>'}, "force range -2 to -1: not represented"),
        ({"content": '<site name="b"/>'}, "site 'b' is the frame 'b_2'"),
        ({"content": "<site/>"}, "1 sites without a name: not represented"),
        ({"content": "<light/>"}, "1 lights: not represented"),
        ({"content": "<camera/>"}, "1 cameras: not represented"),
        (
            {"after": '<actuator><muscle joint="j" lengthrange="-1 1"/></actuator>'},
            "1 actuators with activation dynamics (muscle)",
        ),
        ({"after": '<sensor><jointpos joint="j"/></sensor>'}, "1 sensors: not represented"),
        ({"option": '<option density="1"/>'}, "a fluid (density, viscosity)"),
        ({"after": '<tendon><spatial><site site="s"/><site site="t"/></spatial></tendon>'}, "1 spatial tendons"),
        (
            {
                "joint": '<joint name="j" type="ball"/>',
                "after": '<tendon><fixed stiffness="1"><joint joint="j" coef="1"/></fixed></tendon>',
            },
            "1 tendons over ball or free joints",
        ),
    ],
)
def test_what_is_not_represented_is_reported(options, line):
    assert any(line in text for text in simple(**options).import_report)


def test_polynomial_damping_is_reported_where_mujoco_has_it():
    try:
        model = simple(joint='<joint name="j" damping="1 2"/>')
    except ValueError:
        pytest.skip("this MuJoCo has linear damping only")
    assert any("only its linear part is kept" in line for line in model.import_report)


def test_mocap_is_reported_and_gravity_compensation_kept():
    text = f"""<mujoco><worldbody><body name="hand" mocap="true" pos="1 0 0"/>
      <body name="a" gravcomp="1"><joint/>{INERTIAL}</body></worldbody></mujoco>"""
    model = sarrus.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert any(line.startswith("1 mocap bodies") for line in model.import_report)
    assert [weight.frame for weight in model.gravity_compensation.weights] == ["a"]
    np.testing.assert_allclose(model.frame("hand").placement.p, [1, 0, 0])


# --- constraints -------------------------------------------------------------------------------------


def constrained(equality, tendon=""):
    return simple(after=f"<tendon>{tendon}</tendon><equality>{equality}</equality>")


def in_the_files_pose(model, *frames):
    return sarrus.forward_kinematics(model, np.array([0.0, 0.5, 0.0]), frames=frames)


def test_connect_between_bodies():
    model = constrained('<connect name="e" body1="a" body2="b" anchor="1 2 3"/>')
    (found,) = model.constraints
    assert (found.name, found.joint, found.frame_a, found.frame_b, found.active) == ("e", "connect", "e_a", "e_b", True)
    a, b = in_the_files_pose(model, "e_a", "e_b").position
    np.testing.assert_allclose(a, b)


def test_weld_to_the_world_and_inactive():
    model = constrained('<weld body1="a" anchor="0.1 0.2 0.3" relpose="1 0 0 0 1 0 0" active="false" torquescale="2"/>')
    (found,) = model.constraints
    assert (found.name, found.joint, found.active) == ("weld_0", "weld", False)
    assert model.frame(found.frame_b).body == -1
    np.testing.assert_allclose(model.frame(found.frame_a).placement.R, np.diag([1.0, -1.0, -1.0]), atol=1e-15)
    assert any("torquescale 2" in line for line in model.import_report)


def test_a_weld_holds_in_the_files_pose():
    model = constrained('<weld name="w" body1="a" body2="c" anchor="0.1 0.2 0.3"/>')
    found = in_the_files_pose(model, "w_a", "w_b")
    np.testing.assert_allclose(found.position[0], found.position[1], atol=1e-15)
    np.testing.assert_allclose(found.rotation[0], found.rotation[1], atol=1e-15)


def test_sites_are_the_frames():
    (found,) = constrained('<weld site1="s" site2="t"/>').constraints
    assert (found.frame_a, found.frame_b) == ("s", "t")


def test_joint_equality_is_a_coupling_from_the_files_pose():
    model = constrained(
        '<joint joint1="k" joint2="l" polycoef="1 2 3 0 0" solref="0.01 1"/><joint joint1="j" polycoef="4 5"/>'
    )
    first, second = model.constraints
    assert (first.ratios, first.driver, first.polynomial) == ((("k", 1.0),), "l", (1.0, 2.0, 3.0))
    assert first.references == (("k", 0.5),)
    assert (second.driver, second.polynomial) == (None, (4.0,))
    assert any("1 equalities with their own solref" in line for line in model.import_report)


ONE = '<fixed name="one"><joint joint="j" coef="2"/></fixed>'
TWO = '<fixed name="two" stiffness="7"><joint joint="k" coef="3"/><joint joint="l" coef="4"/></fixed>'


def test_fixed_tendons_are_declared():
    found = constrained("", ONE + TWO).constraints
    assert [c.name for c in found] == ["one", "two"]
    assert found[1].coefficients == (("k", 3.0), ("l", 4.0))
    assert dict(found[1].properties)["stiffness"] == 7.0


@pytest.mark.parametrize(
    ("first", "second", "polycoef", "ratios", "driver", "polynomial"),
    [
        ("two", "", "1", {"k": 3, "l": 4}, None, (1,)),
        ("two", "one", "1 2 3", {"k": 3, "l": 4}, "j", (1, 4, 12)),
        ("one", "two", "1 2", {"j": 2, "k": -6, "l": -8}, None, (1,)),
    ],
)
def test_tendon_equality_is_a_coupling(first, second, polycoef, ratios, driver, polynomial):
    other = f'tendon2="{second}"' if second else ""
    model = constrained(f'<tendon name="e" tendon1="{first}" {other} polycoef="{polycoef}"/>', ONE + TWO)
    found = model.constraints[-1]
    assert (dict(found.ratios), found.driver, found.polynomial) == (ratios, driver, polynomial)


def test_an_equality_without_a_counterpart_is_reported():
    model = constrained('<tendon name="e" tendon1="one" tendon2="two" polycoef="0 1 1"/>', ONE + TWO)
    assert len(model.constraints) == 2
    assert any("equality 'e' (tendon): not represented" in line for line in model.import_report)


# --- states ------------------------------------------------------------------------------------------


def test_states_there_and_back(model):
    q, v = sarrus.random_state(model, 0, batch=4)
    qpos, qvel = to_mujoco_state(model, q, v)
    np.testing.assert_array_equal(qpos[:, 3], q[:, 6])
    for ours, back in zip((q, v), from_mujoco_state(model, qpos, qvel), strict=True):
        np.testing.assert_allclose(back, ours, atol=1e-14)
    single = to_mujoco_state(model, q[0], v[0])
    np.testing.assert_allclose(single[1], qvel[0])


def test_the_free_joints_linear_velocity_is_in_the_world(model):
    q, v = sarrus.neutral(model), np.zeros(model.nv)
    q[3:7] = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]  # a quarter turn about z
    v[0] = 1.0
    np.testing.assert_allclose(to_mujoco_state(model, q, v)[1][:3], [0, 1, 0], atol=1e-15)


def test_wrong_sizes_and_unknown_joints_are_refused(model):
    with pytest.raises(StateError, match="qpos"):
        from_mujoco_state(model, np.zeros(3), np.zeros(model.nv))
    planar = sarrus.ModelBuilder().add_body("a", joint="planar", mass=1, inertia=np.eye(3)).build()
    with pytest.raises(UnsupportedError, match="joint 'a_joint' is planar: MuJoCo's joints are revolute"):
        to_mujoco_state(planar, np.zeros(3), np.zeros(3))
