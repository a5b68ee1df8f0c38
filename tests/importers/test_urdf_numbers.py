"""The numbers of a URDF are those in the file: what is missing, doubled or no number is said, never made up."""

import numpy as np
import pytest

import sarrus
from sarrus.errors import ImportFileError, ModelError
from sarrus.importers.document import plain_numbers
from tests.importers.test_urdf import INERTIAL, joint, link, robot, two_links

MOMENTS = 'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'


def weighing(mass='<mass value="1"/>', inertia=f"<inertia {MOMENTS}/>"):
    return f"<inertial>{mass}{inertia}</inertial>"


@pytest.mark.parametrize(
    "text",
    ["1_000", "\uff11", "\u0661", "nan", "inf", "-inf", "0x10", "1e999", "1,5", "", "1d3", "1 2", "\u00a01", "1e", "."],
)  # fmt: skip
def test_what_is_no_plain_number_is_refused(text):
    with pytest.raises(ImportFileError, match=r"of <mass> in <link> 'tip': expected a number"):
        sarrus.load(two_links(inertial=weighing(f'<mass value="{text}"/>')))


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1.0), ("+1.", 1.0), (" .5\t", 0.5), ("-2e-3", -2e-3), ("1E2", 100.0)]
)
def test_plain_numbers_are_read(text, value):
    assert plain_numbers(text, 1) == (value,)


def test_only_limits_may_be_infinite():
    content = '<limit lower="-inf" upper="Infinity" velocity="inf" effort="1"/>'
    found = sarrus.load(two_links(content=content)).bodies[0].joint
    assert (found.lower[0], found.upper[0], found.velocity_limit[0]) == (-np.inf, np.inf, np.inf)
    with pytest.raises(ImportFileError, match="lower='nan' of <limit>"):
        sarrus.load(two_links(content='<limit lower="nan"/>'))


@pytest.mark.parametrize("missing", ["ixx", "iyy", "izz"])
def test_a_moment_that_is_missing_is_not_made_up(missing):
    inertia = f"<inertia {MOMENTS}/>".replace(f'{missing}="1"', "")
    with pytest.raises(ImportFileError, match=f"<inertia> in <link> 'tip' has no '{missing}'"):
        sarrus.load(two_links(inertial=weighing(inertia=inertia)))


def test_missing_products_of_inertia_are_zero_and_said():
    model = sarrus.load(two_links(inertial=weighing(inertia='<inertia ixx="1" iyy="2" izz="2.5"/>')))
    np.testing.assert_allclose(np.diag(model.bodies[0].inertia.Io), [1.0, 2.0, 2.5])
    assert model.lost_physics == ("<inertia> in <link> 'tip' has no ixy, ixz, iyz: taken as zero",)


@pytest.mark.parametrize(
    ("inertial", "message"),
    [
        (weighing(mass=""), "<inertial> in <link> 'tip' has no <mass>"),
        (weighing(mass="<mass/>"), "<mass> in <link> 'tip' has no 'value'"),
        (weighing(inertia="<inertia/>"), "has no 'ixx', 'iyy', 'izz'"),
    ],
)
def test_an_inertial_that_says_half_is_refused(inertial, message):
    with pytest.raises(ImportFileError) as error:
        sarrus.load(two_links(inertial=inertial))
    assert message in str(error.value)


def test_a_mass_without_inertia_is_a_point_and_said():
    assert "it is a point" in sarrus.load(two_links(inertial=weighing(inertia=""))).lost_physics[0]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (two_links(inertial=INERTIAL + INERTIAL), "<link> 'tip' has 2 <inertial>: only the first counts"),
        (two_links(content='<axis xyz="1 0 0"/><axis xyz="0 1 0"/>'), "<joint> 'j' has 2 <axis>"),
        (two_links(content="<origin/><origin/><origin/>"), "<joint> 'j' has 3 <origin>"),
        (two_links(inertial=weighing(mass='<mass value="1"/><mass value="2"/>')), "<link> 'tip' has 2 <mass>"),
        (two_links(inertial=INERTIAL.replace("inertial>", "Inertial>")), "did the file mean <inertial>"),
    ],
)
def test_what_is_said_twice_or_misspelt_comes_first_in_the_report(text, line):
    model = sarrus.load(text.replace("</robot>", "<gazebo/></robot>"))
    assert line in model.import_report[0]
    assert model.lost_physics == model.import_report[: len(model.lost_physics)]
    assert "1 <gazebo>: not represented" not in model.lost_physics


@pytest.mark.parametrize(
    ("drivers", "ring"),
    [({"j0": "j0"}, "'j0' <- 'j0'"), ({"j0": "j1", "j1": "j2", "j2": "j1"}, "'j1' <- 'j2' <- 'j1'")],
)
def test_joints_that_mimic_themselves_are_refused(drivers, ring):
    parts = [link("base")]
    for k in range(3):
        driver = drivers.get(f"j{k}")
        parts += [
            link(f"l{k}"),
            joint(f"j{k}", "base", f"l{k}", content=f'<mimic joint="{driver}"/>' if driver else ""),
        ]
    with pytest.raises(ImportFileError, match=f"mimic themselves: {ring}"):
        sarrus.load(robot(*parts))


def test_a_mimic_of_a_mimic_is_fine():
    parts = [link("base"), *(link(f"l{k}") for k in range(3)), joint("j0", "base", "l0")]
    parts += [joint(f"j{k}", "base", f"l{k}", content=f'<mimic joint="j{k - 1}"/>') for k in (1, 2)]
    assert len(sarrus.load(robot(*parts)).constraints) == 2


@pytest.mark.parametrize("xyz", ["1e-160 2e-160 0", "1e-320 0 0", "3e200 0 4e200"])
def test_the_length_of_an_axis_does_not_matter(xyz):
    axis = sarrus.load(two_links(content=f'<axis xyz="{xyz}"/>')).bodies[0].joint.axes[0]
    assert abs(axis @ axis - 1.0) < 1e-15


def test_numbers_that_overflow_are_refused():
    with pytest.raises(ModelError, match=r"mass of body 'tip' is \[1e\+200\]: numbers beyond 1e\+50"):
        sarrus.load(two_links(inertial=weighing('<mass value="1e200"/>')))


# --- xacro -------------------------------------------------------------------------------------------


def test_leftovers_of_xacro_are_said():
    text = two_links().replace("</robot>", '<xacro:property name="a" value="${1}"/><xacro:wheel/></robot>')
    model = sarrus.load(text)
    assert model.nv == 1
    assert model.lost_physics == ("1 <xacro:wheel> that nothing expanded: what they stand for is missing",)


@pytest.mark.parametrize(
    "text",
    [
        two_links().replace("</robot>", '<xacro:macro name="a"/></robot>'),
        two_links().replace('name="tip"', 'name="${tip}"'),
        two_links(content='<origin xyz="${a} 0 0"/>'),
    ],
)
def test_a_xacro_file_is_to_be_expanded(text):
    with pytest.raises(ImportFileError, match=r"xacro FILE > robot\.urdf"):
        sarrus.load(text)


# --- size --------------------------------------------------------------------------------------------


def test_time_grows_with_the_size_and_not_with_its_square():
    """20,000 links take seconds; the tree check alone took minutes when it was quadratic."""
    from time import perf_counter

    def seconds(n):
        parts = [f'<link name="l{k}"/>' for k in range(n + 1)]
        parts += [joint(f"j{k}", f"l{k // 3}", f"l{k + 1}", "fixed") for k in range(n)]
        text = robot(*parts)
        start = perf_counter()
        sarrus.load(text)
        return perf_counter() - start

    seconds(100)
    assert seconds(3000) < 30 * max(seconds(300), 0.01)


def test_many_unknown_tags_are_summed_up():
    text = robot(link("a"), *(f"<t{k}/>" for k in range(20_000)))
    assert len(sarrus.load(text).import_report) < 100
