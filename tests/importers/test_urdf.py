"""What a URDF means, tag by tag, and what is said about a bad one."""

import numpy as np
import pytest

import sarrus
from sarrus.errors import IllPosedError, ImportFileError, InertiaError
from sarrus.model.bodies import WORLD

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name, content=INERTIAL):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, kind="revolute", content=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{content}</joint>'


def robot(*parts, name="r"):
    return f'<robot name="{name}">' + "\n".join(parts) + "</robot>"


def two_links(kind="revolute", content="", inertial=INERTIAL):
    return robot(link("base"), link("tip", inertial), joint("j", "base", "tip", kind, content))


# --- the tree ----------------------------------------------------------------------------------------


def test_joints_are_depth_first_and_sorted_by_name_as_in_pinocchio():
    text = robot(
        link("base"), link("a"), link("b"), link("c"), link("d"),
        joint("z", "base", "a"), joint("y", "base", "b"), joint("x", "b", "c"), joint("Z", "base", "d", "fixed"),
    )  # fmt: skip
    model = sarrus.load_urdf(text)
    assert model.joint_names == ("y", "x", "z")
    assert model.body_names == ("b", "c", "a")


def test_the_root_is_fixed_unless_asked_for():
    fixed, free = sarrus.load(two_links()), sarrus.load(two_links(), floating_base=True)
    assert (fixed.nv, free.nv) == (1, 7)
    assert free.joint_names == ("root_joint", "j")
    assert fixed.frame("base").body == WORLD
    assert float(free.mass) == 2.0


def test_a_floating_joint_of_the_file_is_the_free_base():
    text = two_links("floating")
    for floating_base in (None, False, True):
        assert sarrus.load(text, floating_base=floating_base).joint_names == ("j",)


@pytest.mark.parametrize(
    ("kind", "expected", "nv"),
    [("revolute", "revolute", 1), ("continuous", "continuous", 1), ("prismatic", "prismatic", 1),
     ("floating", "free", 6), ("planar", "planar", 3), ("spherical", "spherical", 3)],
)  # fmt: skip
def test_joint_types(kind, expected, nv):
    model = sarrus.load(two_links(kind, '<axis xyz="0 2 0"/>'))
    assert model.bodies[0].joint.type.name == expected
    assert model.nv == nv
    if model.bodies[0].joint.axes:
        np.testing.assert_allclose(model.bodies[0].joint.axes[0], [0, 1, 0])


def test_the_axis_is_x_where_none_is_given():
    np.testing.assert_allclose(sarrus.load(two_links()).bodies[0].joint.axes[0], [1, 0, 0])


def test_a_fixed_link_is_merged_and_keeps_its_frame():
    text = robot(
        link("base"), link("arm"), link("tool"), joint("j", "base", "arm"),
        joint("f", "arm", "tool", "fixed", '<origin xyz="0 0 2" rpy="0 0 1.5707963267948966"/>'),
    )  # fmt: skip
    model = sarrus.load(text)
    assert model.body_names == ("arm",)
    assert float(model.mass) == 2.0
    tool = model.frame("tool")
    assert tool.body == 0
    np.testing.assert_allclose(tool.placement.p, [0, 0, 2])
    np.testing.assert_allclose(tool.placement.R @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_inertia_is_turned_into_the_link_frame():
    inertial = (
        '<inertial><origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    body = sarrus.load(two_links(inertial=inertial)).bodies[0].inertia
    np.testing.assert_allclose(body.h, [2, 0, 0])
    np.testing.assert_allclose(np.diag(body.Io), [2, 1 + 2, 2.5 + 2])


def test_a_root_called_world_is_the_world():
    model = sarrus.load(robot(link("world", ""), link("tip"), joint("j", "world", "tip")))
    assert model.body_names == ("tip",)
    assert model.bodies[0].parent == WORLD


def test_a_moving_link_called_world_gets_another_name():
    text = robot(link("world"), link("world_link"), joint("j", "world", "world_link"))
    model = sarrus.load(text, floating_base=True)
    assert model.body_names == ("world_link_", "world_link")
    assert any("'world' is called 'world_link_'" in line for line in model.import_report)


def test_drakes_frames_are_frames():
    text = two_links().replace("</robot>", '<frame name="camera" link="tip" xyz="1 2 3" rpy="0 0 0"/></robot>')
    np.testing.assert_allclose(sarrus.load(text).frame("camera").placement.p, [1, 2, 3])


# --- what joints carry -------------------------------------------------------------------------------


def test_limits_damping_and_friction_are_carried():
    content = '<limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping="5" friction="6"/>'
    found = sarrus.load(two_links(content=content)).bodies[0].joint
    values = [found.lower, found.upper, found.velocity_limit, found.effort_limit, found.damping, found.friction]
    assert [float(x[0]) for x in values] == [-1, 2, 3, 4, 5, 6]


def test_a_limit_without_one_bound_is_zero_as_urdf_says():
    found = sarrus.load(two_links(content='<limit upper="1" velocity="3" effort="4"/>')).bodies[0].joint
    assert (found.lower[0], found.upper[0]) == (0.0, 1.0)


def test_a_limit_without_both_bounds_is_none_as_in_mujoco_and_that_is_said():
    """URDF's default of 0 and 0 would lock the joint; example-parallel-robots leaves both out of joints that move."""
    model = sarrus.load(two_links(content='<limit velocity="3" effort="4"/>'))
    found = model.bodies[0].joint
    assert (found.lower[0], found.upper[0], found.velocity_limit[0], found.effort_limit[0]) == (-np.inf, np.inf, 3, 4)
    assert any("no lower and no upper: taken as unlimited" in line for line in model.import_report)


@pytest.mark.parametrize(
    ("kind", "content", "line"),
    [
        ("continuous", '<limit lower="-1" upper="1"/>', "position limits of a continuous joint: ignored"),
        ("revolute", '<limit lower="1" upper="-1"/>', "its lower limit 1 exceeds -1: ignored"),
        ("revolute", '<limit velocity="-1"/>', "velocity_limit -1 must not be negative: ignored"),
        ("revolute", '<dynamics damping="-1"/>', "damping -1 must not be negative: ignored"),
    ],
)
def test_what_makes_no_sense_is_ignored_and_reported(kind, content, line):
    model = sarrus.load(two_links(kind, content))
    assert any(line in text for text in model.import_report)


# --- the import report -------------------------------------------------------------------------------


def test_what_is_not_represented_is_counted():
    text = two_links(content="<safety_controller/>").replace("</robot>", "<gazebo/></robot>")
    report = sarrus.load(text).import_report
    for tag in ("gazebo", "safety_controller"):
        assert f"1 <{tag}>: not represented" in report


def test_unknown_tags_and_attributes_are_listed():
    text = two_links(content='<spring k="1"/><dynamics damping="1" rotor="2"/>').replace(
        "<robot", '<robot xmlns:drake="http://drake.mit.edu" drake:x="1"'
    )
    report = sarrus.load(text).import_report
    assert "unknown tag <spring> in <joint>, once: ignored" in report
    assert "unknown attribute 'rotor' of <dynamics>, once: ignored" in report
    assert "unknown attribute 'drake:x' of <robot>, once: ignored" in report


def test_nothing_is_printed_or_logged(capfd, caplog):
    sarrus.load(two_links(content="<what/>", inertial="<visual><geometry><capsule/></geometry></visual>" + INERTIAL))
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


# --- inertias ----------------------------------------------------------------------------------------


def inertial(mass=1.0, moments=(1.0, 1.0, 1.0)):
    x, y, z = moments
    return (
        f'<inertial><mass value="{mass}"/><inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def test_a_negative_mass_is_refused():
    with pytest.raises(InertiaError, match=r"XML string: body 'tip' has mass -1"):
        sarrus.load(two_links(inertial=inertial(mass=-1)))


def test_a_negative_moment_is_refused_unless_allowed():
    text = two_links(inertial=inertial(moments=(-1, 1, 1)))
    with pytest.raises(InertiaError, match=r"'tip'.*not positive semidefinite.*allow_nonphysical=True"):
        sarrus.load(text)
    model = sarrus.load(text, allow_nonphysical=True)
    assert any("not positive semidefinite" in line for line in model.import_report)


def test_what_counts_is_the_body_that_fixed_links_make_together():
    text = robot(
        link("base"), link("arm"), link("antenna", inertial(moments=(-0.1, 0.1, 0.1))), joint("j", "base", "arm"),
        joint("f", "arm", "antenna", "fixed"),
    )  # fmt: skip
    assert any("'antenna'" in line and "semidefinite" in line for line in sarrus.load(text).import_report)


@pytest.mark.parametrize(
    ("given", "line"), [(inertial(moments=(1, 1, 3)), "triangle"), (inertial(mass=0.0), "inertia but no mass")]
)
def test_lesser_flaws_are_kept_and_reported(given, line):
    model = sarrus.load(two_links(inertial=given))
    assert any(line in text for text in model.import_report)


def test_a_joint_that_moves_nothing_is_reported_because_files_have_them():
    model = sarrus.load(two_links(inertial=""))
    assert model.nv == 1
    assert any("acceleration is undefined" in line for line in model.import_report)
    with pytest.raises(IllPosedError):
        sarrus.ModelBuilder().add_body("tip").build()


def test_a_link_with_only_a_mass_is_a_point():
    assert float(sarrus.load(two_links(inertial='<inertial><mass value="2"/></inertial>')).mass) == 2.0


# --- bad files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot><link name='a'/></robot>", "<robot> has no 'name'"),
        ("<robot name='r'/>", "<robot> has no <link>"),
        (robot("<link/>"), "<link> has no 'name'"),
        (robot(link("a"), link("a")), "line 2: two links are called 'a': the other is in line 1"),
        (robot(link("a"), link("b"), joint("j", "a", "b"), joint("j", "a", "b")), "two joints are called 'j'"),
        (two_links("hinge"), "type of joint 'j': 'hinge'. Valid: revolute, continuous, prismatic, fixed, floating"),
        (robot(link("a"), '<joint name="j" type="fixed"><child link="a"/></joint>'), "has no <parent link"),
        (robot(link("a"), joint("j", "a", "b")), "child of joint 'j': unknown link 'b'"),
        (robot(link("hand"), link("b"), joint("j", "band", "b")), "Did you mean 'hand'"),
        (robot(link("a"), link("b")), "links 'a', 'b' have no parent"),
        (robot(link("a"), link("b"), joint("i", "a", "b"), joint("j", "b", "a")), "cyclic parents"),
        (robot(link("a"), link("b"), link("c"), joint("i", "b", "c"), joint("j", "c", "b")), "parents: 'b' <- 'c'"),
        (robot(link("a"), link("b"), link("c"), joint("i", "a", "b"), joint("j", "c", "b")), "joints 'i' and 'j'"),
        (two_links(content='<origin xyz="1 2"/>'), "xyz='1 2' of <origin> in <joint> 'j': expected 3 numbers"),
        (two_links(inertial='<inertial><mass value="heavy"/></inertial>'), "in <link> 'tip': expected a number"),
        ('<robot name="r" xmlns:xacro="x"><xacro:include filename="a"/></robot>', "xacro FILE > robot.urdf"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_words(text, message):
    with pytest.raises(ImportFileError) as error:
        sarrus.load(text)
    assert message in str(error.value)
    assert "XML string" in str(error.value)


def test_an_axis_without_direction_names_the_joint():
    with pytest.raises(sarrus.errors.ModelError, match="XML string: joint 'j': the axis"):
        sarrus.load(two_links(content='<axis xyz="0 0 0"/>'))
