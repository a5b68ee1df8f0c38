"""What others add to URDF: mimic joints, URDF+, the YAML of example-parallel-robots."""

import numpy as np
import pytest

import sarrus
from sarrus.errors import ImportFileError
from tests.importers.shared_robots import shared_file
from tests.importers.test_urdf import joint, link, robot

CHAIN = [link("base"), link("a"), link("b"), link("rotor"), joint("ja", "base", "a"), joint("jb", "a", "b"),
         joint("jr", "base", "rotor")]  # fmt: skip
LOOP = (
    '<loop name="close" type="{kind}"><predecessor link="b"><origin xyz="1 0 0" rpy="0 0 1"/></predecessor>'
    '<successor link="{successor}"/><axis xyz="0 0 1"/></loop>'
)


def coupling(predecessor="b", successor="rotor", ratio='<ratio value="6"/>'):
    return f'<coupling name="gear"><predecessor link="{predecessor}"/><successor link="{successor}"/>{ratio}</coupling>'


# --- mimic -------------------------------------------------------------------------------------------


def mimicking(driver):
    return robot(
        link("base"), link("a"), link("b"), link("c"), joint("ja", "base", "a"), joint("jc", "a", "c", "fixed"),
        joint("jb", "base", "b", content=f'<mimic joint="{driver}" multiplier="-2" offset="0.5"/>'),
    )  # fmt: skip


def test_mimic_is_a_declared_coupling_and_the_joint_stays():
    model = sarrus.load(mimicking("ja"))
    (found,) = model.constraints
    assert model.nv == 2
    assert (found.name, found.ratios, found.driver, found.polynomial) == (
        "jb_mimic", (("jb", 1.0),), "ja", (0.5, -2.0)
    )  # fmt: skip


@pytest.mark.parametrize(("driver", "line"), [("gone", "'gone', which does not exist"), ("jc", "jb of jc")])
def test_a_mimic_of_nothing_that_moves_is_reported(driver, line):
    model = sarrus.load(mimicking(driver))
    assert not model.constraints
    assert any(line in text for text in model.import_report)


# --- URDF+ -------------------------------------------------------------------------------------------


def test_a_coupling_is_on_the_joints_between_the_links_and_their_common_ancestor():
    (found,) = sarrus.load(robot(*CHAIN, coupling())).constraints
    assert dict(found.ratios) == {"ja": 6.0, "jb": 6.0, "jr": -1.0}
    assert found.driver is None
    assert found.polynomial == (0.0,)


def test_a_shared_joint_does_not_count():
    (found,) = sarrus.load(robot(*CHAIN, coupling("b", "a"))).constraints
    assert dict(found.ratios) == {"jb": 6.0}


def test_a_revolute_loop_asks_for_coinciding_origins():
    model = sarrus.load(robot(*CHAIN, LOOP.format(kind="revolute", successor="rotor")))
    (found,) = model.constraints
    assert (found.joint, found.axis) == ("connect", (0.0, 0.0, 1.0))
    frame = model.frame(found.frame_a)
    assert model.bodies[frame.body].name == "b"
    np.testing.assert_allclose(frame.placement.p, [1, 0, 0])
    assert model.frame(found.frame_b).body == model.body_index("rotor")


def test_frames_of_a_loop_get_free_names():
    text = robot(*CHAIN, '<frame name="close_predecessor" link="a"/>', LOOP.format(kind="fixed", successor="base"))
    (found,) = sarrus.load(text).constraints
    assert (found.frame_a, found.joint) == ("close_predecessor_2", "weld")


def test_independent_is_carried():
    text = robot(*CHAIN).replace('name="ja"', 'name="ja" independent="true"').replace(
        'name="jb"', 'name="jb" independent="false"'
    )  # fmt: skip
    flags = {body.joint.name: body.joint.independent for body in sarrus.load(text).bodies}
    assert flags == {"ja": True, "jb": False, "jr": None}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (LOOP.format(kind="gear", successor="rotor"), "type of loop 'close': 'gear'. Valid: revolute"),
        (LOOP.format(kind="revolute", successor="rotr"), "<successor> of 'close': unknown link 'rotr'. Did you"),
        ('<loop name="l"/>', "<loop> 'l' has no <predecessor>"),
        (coupling(ratio=""), "<coupling> 'gear' has no <ratio>"),
        (coupling(ratio="<ratio/>"), "<ratio> in <coupling> 'gear' has no 'value'"),
        (coupling("b", "b"), "no joint lies between 'b' and 'b'"),
        ('<frame name="f" link="no"/>', "<frame> of 'f': unknown link 'no'"),
    ],
)  # fmt: skip
def test_bad_urdf_plus_is_refused_in_words(part, message):
    with pytest.raises(ImportFileError) as error:
        sarrus.load(robot(*CHAIN, part))
    assert message in str(error.value)


def test_only_joints_of_one_dof_can_be_coupled():
    parts = [part.replace('name="jr" type="revolute"', 'name="jr" type="floating"') for part in CHAIN]
    with pytest.raises(ImportFileError, match="joint 'jr' has 6 dof"):
        sarrus.load(robot(*parts, coupling()))


@pytest.mark.parametrize(
    ("file", "nq", "nv", "constraints"),
    [("mini_cheetah/mini_cheetah.urdf", 31, 30, 12), ("mit_humanoid/mit_humanoid.urdf", 43, 42, 18),
     ("jvrc1/jvrc1_humanoid.urdf", 64, 63, 25), ("planar_linkages/four_bar.urdf", 3, 3, 1)],
)  # fmt: skip
def test_shared_robots_have_their_constraints(file, nq, nv, constraints):
    model = sarrus.load(shared_file(file))
    assert (model.nq, model.nv, len(model.constraints)) == (nq, nv, constraints)


# --- YAML --------------------------------------------------------------------------------------------

YAML = """
closed_loop: [['a', 'rotor'], ['b', 'base']]
type: ['6d', '3D']
name_mot: ['ja']
joint_name: ['ja', 'jb', 'jr']
joint_type: ['SPHERICAL', 'UJOINT_ZY', 'FIXED']
"""


def load_extended(tmp_path, text):
    file = tmp_path / "robot.yaml"
    file.write_text(text)
    return sarrus.load_urdf(robot(*CHAIN), extended=file)


def test_the_yaml_closes_loops_and_changes_joints(tmp_path):
    model = load_extended(tmp_path, YAML)
    assert [(c.frame_a, c.frame_b, c.joint) for c in model.constraints] == [
        ("a", "rotor", "weld"),
        ("b", "base", "connect"),
    ]
    assert [body.joint.type.name for body in model.bodies] == ["spherical", "universal"]
    np.testing.assert_allclose(model.bodies[1].joint.axes, [[0, 0, 1], [0, 1, 0]])
    assert "1 joints have motors (ja): not represented" in model.import_report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("closed_loop: [['a', 'b']]\ntype: ['5d']", "type of closed loop 0: '5d'. Valid: 3d, 6d"),
        ("closed_loop: [['a', 'x']]\ntype: ['3d']", "unknown link or joint 'x'"),
        ("closed_loop: [['a', 'b']]\ntype: []", "equal lengths"),
        ("joint_name: ['ja']\njoint_type: ['UJOINT_XX']", "joint_type of 'ja': 'UJOINT_XX'. Valid: SPHERICAL"),
        ("closed_loop: [", "malformed YAML"),
    ],
)
def test_a_bad_yaml_is_refused_in_words(tmp_path, text, message):
    with pytest.raises(ImportFileError) as error:
        load_extended(tmp_path, text)
    assert message in str(error.value)
    assert "robot.yaml" in str(error.value)


def test_a_missing_yaml_is_named(tmp_path):
    with pytest.raises(ImportFileError, match="there is no such file"):
        sarrus.load_urdf(robot(*CHAIN), extended=tmp_path / "none.yaml")


def test_an_empty_yaml_changes_nothing(tmp_path):
    assert load_extended(tmp_path, "").nv == 3


def test_every_parallel_robot_loads_with_its_yaml():
    folder = shared_file("parallel_robots")
    for file in sorted(folder.glob("*/robot.urdf")):
        model = sarrus.load_urdf(file, extended=file.with_name("robot.yaml"))
        assert model.constraints, file
