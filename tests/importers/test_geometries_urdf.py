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


def with_mesh(folder: Path, file: str, content: str | bytes) -> sarrus.Model:
    """A robot with that mesh on its arm."""
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    text = robot(link("base", ""), link("arm", collision(f'<mesh filename="{file}"/>')), joint("base", "arm"))
    (folder / "robot.urdf").write_text(text)
    return sarrus.load(folder / "robot.urdf")


def corners_of(model: sarrus.Model) -> set[tuple[float, ...]]:
    (found,) = model.geometries
    assert isinstance(found.shape, ConvexMesh)
    return {tuple(float(x) for x in np.round(corner, 5) + 0.0) for corner in found.shape.vertices}


def test_stl_of_text(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x:e} {y:e} {z:e}\n" for x, y, z in np.delete(corners, k, axis=0))
        + "endloop\nendfacet\n"
        for k in range(4)
    )
    assert corners_of(with_mesh(tmp_path, "a.stl", f"solid a\n{facets}endsolid a\n")) == set(map(tuple, corners))


def test_stl_of_more_triangles_than_mujoco_takes(tmp_path):
    count = 200_001
    corners = np.random.default_rng(0).uniform(-0.4, 0.4, size=(count, 3, 3))
    corners[:8, 0] = [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    triangles = np.zeros((count, 50), np.uint8)
    triangles[:, 12:48] = corners.reshape(count, 9).astype("<f4").view(np.uint8).reshape(count, 36)
    model = with_mesh(tmp_path, "a.STL", bytes(80) + count.to_bytes(4, "little") + triangles.tobytes())
    assert corners_of(model) == {tuple(corner) for corner in corners[:8, 0].tolist()}


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
  <asset><unit meter="0.5"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="s"><float_array count="15">9 9 9 0 0 0 1 0 0 0 1 0 0 0 1</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
    <triangles count="2"><input semantic="VERTEX" source="#v" offset="1"/><input semantic="NORMAL" source="#n"/>
      <p>0 1 0 2 0 3 0 4 0 1 0 2</p></triangles></mesh></geometry></library_geometries>
  <library_nodes><node id="other"><scale>1 1 3</scale><instance_geometry url="#g"/></node></library_nodes>
  <library_visual_scenes><visual_scene>
    <node><translate>2 0 0</translate><node><rotate>0 0 1 90</rotate><instance_node url="#other"/></node></node>
    </visual_scene></library_visual_scenes></COLLADA>"""


def test_collada(tmp_path):
    """Scaled by 3 along z, a quarter turn about z, moved by 2 along x, then in units of half a metre."""
    assert corners_of(with_mesh(tmp_path, "a.dae", COLLADA)) == {(1, 0, 0), (1, 0.5, 0), (0.5, 0, 0), (1, 0, 1.5)}
    matrix = "<matrix>1 0 0 2 0 1 0 0 0 0 1 0 0 0 0 1</matrix>"
    assert corners_of(with_mesh(tmp_path, "a.dae", COLLADA.replace("<translate>2 0 0</translate>", matrix))) == {
        (1, 0, 0), (1, 0.5, 0), (0.5, 0, 0), (1, 0, 1.5),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("a.step", "ISO", "is not one of .stl, .obj, .dae, .msh"),
        ("a.stl", b"solid nothing", "cannot be read"),
        ("a.stl", b"solid x\nvertex 0 0 zero", "cannot be read: could not convert"),
        ("a.stl", b"solid x\n" + b"vertex 0 0 nan\n" * 4, "a vertex is not finite"),
        ("a.stl", b"", "cannot be read"),
        ("a.dae", "<COLLADA/>", "cannot be read"),
        ("a.dae", "<COLLADA", "malformed XML"),
        ("a.dae", COLLADA.replace('url="#g"', 'url="#h"'), "cannot be read: 'h'"),
        ("a.dae", COLLADA.replace('source="#s"', 'source="#n"'), "cannot be read"),
        ("a.dae", COLLADA.replace("0 4 0 1 0 2<", "0 99 0 1 0 2<"), "cannot be read"),
        (
            "a.dae",
            COLLADA.replace('instance_geometry url="#g"', 'instance_node url="#other"'),
            "more than 100,000 nodes",
        ),
    ],
)
def test_meshes_that_cannot_be_read(tmp_path, file, content, words):
    model = with_mesh(tmp_path, file, content)
    assert model.geometries == ()
    (line,) = model.lost_physics
    assert f"{file} " in line
    assert words in line


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


@needs_robots
@pytest.mark.parametrize("name", ["tiago", "ur5_robot", "romeo", "solo12", "pr2"])
def test_meshes_are_where_pinocchio_has_them(name):
    pinocchio = pytest.importorskip("pinocchio")
    path = example_robot(name)
    above = [str(folder) for folder in list(path.parents)[:6]]
    peer = pinocchio.buildGeomFromUrdf(
        pinocchio.buildModelFromUrdf(str(path)), str(path), pinocchio.GeometryType.COLLISION, package_dirs=above
    )
    ours: dict[str, list] = {}
    for geometry in sarrus.load(path).geometries:
        ours.setdefault(geometry.link, []).append(geometry)
    compared = 0
    for other in peer.geometryObjects:
        link_name, _, k = other.name.rpartition("_")
        found = ours[link_name][int(k)]
        if isinstance(found.shape, ConvexMesh):
            vertices = np.array([other.geometry.vertex(i) for i in range(other.geometry.num_vertices)])
            theirs = vertices @ other.placement.rotation.T + other.placement.translation
            hull = found.shape.vertices @ found.placement.R.T + found.placement.p
            np.testing.assert_allclose(hull.min(axis=0), theirs.min(axis=0), atol=1e-6)
            np.testing.assert_allclose(hull.max(axis=0), theirs.max(axis=0), atol=1e-6)
            compared += 1
    assert compared > 5
