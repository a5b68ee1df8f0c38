"""What touches, from URDF: `<collision>` elements; links that a joint connects never meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus.importers.load import example_robot, example_robots
from sarrus.model.geometries import ConvexMesh, Friction
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.visuals import Box, Capsule, Cylinder, Sphere

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
BALL = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
needs_robots = pytest.mark.skipif(not example_robots(), reason="needs example-robot-data")


def collision(geometry: str, more: str = "", name: str = "") -> str:
    return f"<collision{name}>{more}<geometry>{geometry}</geometry></collision>"


def link(name: str, content: str = BALL, inertial: str = INERTIAL) -> str:
    return f'<link name="{name}">{inertial}{content}</link>'


def joint(parent: str, child: str, kind: str = "continuous", axis: str = "1 0 0") -> str:
    return f"""<joint name="{child} joint" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <axis xyz="{axis}"/></joint>"""


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def test_shapes():
    shapes = (
        collision('<box size="1 2 3"/>', '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>', ' name="box"')
        + collision('<cylinder radius="0.1" length="2"/>')
        + collision('<capsule radius="0.1" length="2"/>', name=' name="box"')
    )
    model = sarrus.load(robot(link("base"), link("arm", shapes), joint("base", "arm")))
    assert [(g.name, g.body) for g in model.geometries] == [
        ("base_geometry_0", -1), ("box", 0), ("arm_geometry_1", 0), ("box_2", 0),
    ]  # fmt: skip
    assert [g.shape for g in model.geometries] == [
        Sphere(0.1), Box((1.0, 2.0, 3.0)), Cylinder(0.1, 2.0), Capsule(0.1, 2.0),
    ]  # fmt: skip
    box = model.geometry("box")
    np.testing.assert_allclose(box.placement.p, [1, 2, 3])
    np.testing.assert_allclose(box.placement.R[:, 0], [0, 1, 0], atol=1e-12)
    assert (box.friction, box.dimensions) == (Friction(1.0), 3)
    assert model.import_report == ()


def test_meshes_are_hulls_of_files(tmp_path):
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    part = '<mesh filename="part.obj" scale="1 -1 2"/>'
    mesh = collision(part, '<origin xyz="1 0 0"/>')
    (tmp_path / "robot.urdf").write_text(robot(link("base", ""), link("arm", mesh), joint("base", "arm")))
    (found,) = sarrus.load(tmp_path / "robot.urdf").geometries
    assert isinstance(found.shape, ConvexMesh)
    assert Path(found.shape.path) == tmp_path / "part.obj"
    corners = {tuple(float(x) for x in np.round(corner, 6) + 0.0) for corner in found.shape.vertices}
    assert corners == {(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 2.0)}
    np.testing.assert_allclose(found.placement.p, [1, 0, 0])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("<collision/>", "it has no geometry"),
        (collision('<mesh filename="gone.stl"/>'), "gone.stl is not there"),
        (collision('<mesh filename="package://nowhere/a.stl"/>'), "package://nowhere/a.stl is not there"),
        (collision('<sphere radius="0"/>'), "radius of geometry 'arm_geometry_0' is 0.0"),
        (collision('<box size="1 1"/>'), "size='1 1', expected 3 numbers"),
        (collision('<sphere radius="1"/>', '<origin xyz="1"/>'), "xyz='1'"),
    ],
)
def test_what_touches_nothing_is_lost_physics_and_never_refused(bad, words):
    model = sarrus.load(robot(link("base", ""), link("arm", bad), joint("base", "arm")))
    assert model.geometries == ()
    (line,) = model.lost_physics
    assert line.startswith("1 <collision> of link 'arm' touch nothing: ")
    assert words in line


def test_other_formats_are_said_to_be_so(tmp_path):
    (tmp_path / "part.dae").write_text("<COLLADA/>")
    text = robot(link("base", ""), link("arm", collision('<mesh filename="part.dae"/>')), joint("base", "arm"))
    (tmp_path / "robot.urdf").write_text(text)
    (line,) = sarrus.load(tmp_path / "robot.urdf").lost_physics
    assert line.endswith("part.dae is not one of .stl, .obj, .msh")


# --- who meets whom -------------------------------------------------------------------------------------


def links_that_meet(text: str, **options) -> set[frozenset[str]]:
    model = sarrus.load(text, **options)
    links = [geometry.link for geometry in model.geometries]
    return {frozenset((links[pair.a], links[pair.b])) for pair in meeting_pairs(model)}


def pairs(*names: str) -> set[frozenset[str]]:
    return {frozenset(pair.split()) for pair in names}


def test_neighbours_never_meet_be_the_base_fixed_or_free():
    links = [link(name) for name in ("base", "plate", "a", "tool", "b")]
    joints = [joint("base", "plate", "fixed"), joint("plate", "a"), joint("a", "tool", "fixed"), joint("a", "b")]
    text = robot(*links, *joints)
    assert links_that_meet(text) == links_that_meet(text, floating_base=True) == pairs("base b", "plate b")


def test_links_without_mass_and_shape_are_passed_over():
    links = [link("base"), link("x", "", ""), link("a"), link("b")]
    joints = [joint("base", "x", axis="0 1 0"), joint("x", "a"), joint("a", "b")]
    for floating in (False, True):
        assert links_that_meet(robot(*links, *joints), floating_base=floating) == pairs("base b")


def test_what_moves_freely_meets_the_ground_of_the_file():
    text = robot(link("ground"), link("cube"), joint("ground", "cube", "floating"))
    assert links_that_meet(text) == pairs("ground cube")


@needs_robots
def test_a_robot_with_its_meshes():
    model = sarrus.load(example_robot("talos_full_v2"), floating_base=True)
    hulls = [g for g in model.geometries if isinstance(g.shape, ConvexMesh)]
    assert len(hulls) > 30
    assert not any("touch nothing" in line for line in model.lost_physics)
    neighbours = {frozenset((i, body.parent)) for i, body in enumerate(model.bodies)}
    meeting = {frozenset((model.geometries[p.a].body, model.geometries[p.b].body)) for p in meeting_pairs(model)}
    assert meeting
    assert not meeting & neighbours
