"""What robots look like is data on the model: from URDF, MJCF, the builder; kept by whatever makes models of models."""

from __future__ import annotations

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus
from sarrus.errors import UnknownNameError
from sarrus.importers.visuals_urdf import MeshPaths
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, Triangles, rotation_to
from tests.importers.shared_robots import shared_file

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
QUARTER = 0.5 * np.pi


def urdf(visual: str, extra: str = "") -> str:
    """A hinge moves `arm`; `hand` is fixed to it, turned by a quarter about z, and has the visual."""
    return f"""<robot name="r">{extra}<link name="base"/><link name="arm">{INERTIAL}</link>
      <link name="hand">{visual}</link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>
      <joint name="f" type="fixed"><parent link="arm"/><child link="hand"/>
        <origin xyz="1 0 0" rpy="0 0 {QUARTER}"/></joint>
    </robot>"""


def visual(geometry: str, more: str = "", tag: str = "visual") -> str:
    return f"<{tag}>{more}<geometry>{geometry}</geometry></{tag}>"


# --- URDF ---------------------------------------------------------------------------------------------


def test_a_visual_of_a_merged_link_is_in_the_frame_of_the_body_that_carries_it():
    text = urdf(visual('<box size="1 2 3"/>', f'<origin xyz="0 2 0" rpy="{QUARTER} 0 0"/>'))
    (found,) = sarrus.load(text).visuals
    assert found.body == 0
    assert found.shape == Box((1.0, 2.0, 3.0))
    np.testing.assert_allclose(found.placement.p, [-1.0, 0.0, 0.0], atol=1e-12)  # (1, 0, 0) + Rz(90) (0, 2, 0)
    np.testing.assert_allclose(found.placement.R[:, 2], [1.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("geometry", "shape"),
    [
        ('<sphere radius="0.5"/>', Sphere(0.5)),
        ('<cylinder radius="0.1" length="2"/>', Cylinder(0.1, 2.0)),
        ('<capsule radius="0.1" length="2"/>', Capsule(0.1, 2.0)),
        ('<mesh filename="file:///a/b.stl" scale="1 -1 2"/>', Mesh("/a/b.stl", (1.0, -1.0, 2.0))),
        ('<mesh filename="package://nowhere/b.stl" scale="0.001"/>', Mesh("package://nowhere/b.stl", (0.001,) * 3)),
    ],
)
def test_shapes_of_urdf(geometry, shape):
    (found,) = sarrus.load(urdf(visual(geometry))).visuals
    assert found.shape == shape


def test_colors_come_from_materials_by_name_too():
    extra = '<material name="blue"><color rgba="0 0 1 1"/></material>'
    own = '<material name="x"><color rgba="1 0 0 0.5"/></material>'
    box = '<box size="1 1 1"/>'
    by_name = [visual(box, f'<material name="{name}"/>') for name in ("blue", "x", "unknown")]
    text = urdf(visual(box, own) + "".join(by_name) + visual(box), extra)
    colors = [v.color for v in sarrus.load(text).visuals]
    assert colors == [(1.0, 0.0, 0.0, 0.5), (0.0, 0.0, 1.0, 1.0), (1.0, 0.0, 0.0, 0.5), None, None]


def test_collision_shapes_are_kept_apart():
    shapes = visual('<box size="1 1 1"/>') + visual('<sphere radius="1"/>', tag="collision")
    assert [v.collision for v in sarrus.load(urdf(shapes)).visuals] == [False, True]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("<visual/>", "it has no geometry"),
        (visual("<cone/>"), "Valid: box, sphere"),
        (visual('<box size="1 2"/>'), "size='1 2', expected 3 numbers"),
        (visual('<sphere radius="x"/>'), "radius='x', expected a number"),
        (visual('<sphere radius="nan"/>'), "radius='nan'"),
        (visual("<mesh/>"), "no 'filename'"),
        (visual('<sphere radius="1"/>', '<origin xyz="1"/>'), "xyz='1'"),
    ],
)
def test_what_cannot_be_drawn_is_reported_and_never_refused(bad, words):
    model = sarrus.load(urdf(bad))
    assert model.visuals == ()
    assert any("of link 'hand'" in line and words in line for line in model.import_report)


def test_meshes_are_looked_for_beside_and_above_the_file(tmp_path, monkeypatch):
    robots = tmp_path / "my_robot" / "urdf"
    robots.mkdir(parents=True)
    (tmp_path / "hands" / "meshes").mkdir(parents=True)
    (tmp_path / "elsewhere" / "legs").mkdir(parents=True)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    paths = MeshPaths(robots / "robot.urdf")
    assert Path(paths.resolve("../meshes/a.stl")).resolve() == tmp_path / "my_robot" / "meshes" / "a.stl"
    assert Path(paths.resolve("package://my_robot/meshes/a.stl")) == tmp_path / "my_robot" / "meshes" / "a.stl"
    assert Path(paths.resolve("package:///hands/meshes/a.stl")) == tmp_path / "hands" / "meshes" / "a.stl"
    assert Path(paths.resolve("model://legs/a.stl")) == tmp_path / "elsewhere" / "legs" / "a.stl"
    assert paths.resolve("https://example.org/a.stl") == "https://example.org/a.stl"


# --- MJCF ---------------------------------------------------------------------------------------------

GEOMS = """<geom type="sphere" size="0.1"/><geom type="capsule" size="0.1 0.2" group="3"/>
  <geom type="ellipsoid" size="0.1 0.2 0.3"/><geom type="cylinder" size="0.1 0.2" rgba="1 0 0 1"/>
  <geom type="box" size="0.1 0.2 0.3" pos="1 2 3" material="green"/>"""


def mjcf(geoms: str, assets: str = "") -> str:
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    return f"""<mujoco><asset><material name="green" rgba="0 1 0 1"/>{assets}</asset><worldbody>
      <geom type="plane" size="1 1 1"/><body name="b" pos="0 0 1"><joint pos="0.5 0 0"/>{inertial}{geoms}</body>
      </worldbody></mujoco>"""


def test_geoms_of_mjcf():
    model = sarrus.load(mjcf(GEOMS))
    shapes = [v.shape for v in model.visuals]
    assert shapes == [
        Sphere(0.1), Capsule(0.1, 0.4), Ellipsoid((0.1, 0.2, 0.3)), Cylinder(0.1, 0.4), Box((0.2, 0.4, 0.6)),
    ]  # fmt: skip
    assert [v.collision for v in model.visuals] == [False, True, False, False, False]
    assert [v.color for v in model.visuals[2:]] == [None, (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)]
    np.testing.assert_allclose(model.visuals[4].placement.p, [0.5, 2.0, 3.0])  # the joint is where the body frame is


def test_a_mesh_is_where_mujoco_has_it(tmp_path):
    """MuJoCo moves a mesh's frame to its middle; here the file is drawn as it is, at the same place in the world."""
    corners = np.array([[0.1, 0, 0], [1, 0.2, 0], [0, 1, 0.1], [0.3, 0, 1]])
    write_stl(tmp_path / "part.stl", corners)
    assets = f'<mesh name="m" file="{tmp_path}/part.stl" scale="2 2 2" refpos="0.1 0.2 0.3" refquat="0.8 0.6 0 0"/>'
    text = mjcf('<geom type="mesh" mesh="m" pos="1 2 3" euler="10 20 30"/>', assets)
    model = sarrus.load(text)
    (found,) = model.visuals
    assert found.shape == Mesh(str(tmp_path / "part.stl"), (2.0, 2.0, 2.0))
    drawn = 2.0 * corners @ found.placement.R.T + found.placement.p

    compiled = mujoco.MjModel.from_xml_string(text)
    (other,) = sarrus.from_mujoco(compiled).visuals
    assert isinstance(other.shape, Triangles)
    vertices = other.shape.vertices @ other.placement.R.T + other.placement.p
    for corner in drawn:
        assert np.linalg.norm(vertices - corner, axis=1).min() < 1e-5


def test_a_mesh_that_is_not_there_keeps_its_place():
    text = mjcf(
        '<geom type="mesh" mesh="gone" pos="1 2 3"/><geom type="box" mesh="gone"/>', '<mesh file="x/gone.obj"/>'
    )
    (found,) = sarrus.load(text).visuals  # nothing is drawn for a box around a mesh that is not there
    assert isinstance(found.shape, Mesh)
    assert found.shape.path.endswith("gone.obj")
    np.testing.assert_allclose(found.placement.p, [0.5, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(found.placement.R, np.eye(3), atol=1e-12)


def write_stl(path: Path, corners: np.ndarray) -> None:
    """A binary STL of a tetrahedron."""
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces)
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + triangles)


def test_cassie_has_a_mesh_on_every_link_and_collision_shapes():
    model = sarrus.load(shared_file("cassie/cassie.xml"))
    assert {v.body for v in model.visuals if isinstance(v.shape, Mesh)} == set(range(model.nb))
    assert any(v.collision for v in model.visuals)


# --- models of models ---------------------------------------------------------------------------------


def drawn_model() -> sarrus.Model:
    builder = sarrus.ModelBuilder("drawn").add_body("b", mass=1.0, com=(1, 0, 0), position=(0, 0, 1))
    builder.add_visual("world", Sphere(1.0), position=(1, 0, 0))
    return builder.add_visual("b", Box((1.0, 1.0, 1.0)), color=(1.0, 0.0, 0.0, 1.0)).build()


def test_visuals_are_kept_but_are_no_part_of_the_digest():
    model = drawn_model()
    bare = sarrus.ModelBuilder("drawn").add_body("b", mass=1.0, com=(1, 0, 0), position=(0, 0, 1)).build()
    assert model.digest == bare.digest
    held = model.with_constraints(sarrus.contact("b"))
    assert held.visuals == held.without_constraints().visuals == held.with_gravity((0, 0, 0)).visuals == model.visuals


def test_attached_visuals_move_to_where_the_other_robot_is_mounted():
    arm = (
        sarrus.ModelBuilder("arm")
        .add_body("link", mass=1.0, com=(1, 0, 0))
        .add_frame("tool", "link", position=(2, 0, 0))
    )
    joined = sarrus.attach(arm.build(), drawn_model(), "tool", prefix="hand_")
    ground, box = joined.visuals
    assert (ground.body, box.body) == (0, 1)
    np.testing.assert_allclose(ground.placement.p, [3.0, 0.0, 0.0])


def test_a_visual_on_an_unknown_body_is_an_error():
    with pytest.raises(UnknownNameError, match="Did you mean 'b'"):
        sarrus.ModelBuilder().add_body("b", mass=1.0, com=(1, 0, 0)).add_visual("bb", Sphere(1.0)).build()


def test_along_takes_z_to_a_direction():
    for direction in (np.array([0.0, 0.0, -2.0]), np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 1.0])):
        R = rotation_to(direction)
        np.testing.assert_allclose(R[:, 2], direction / np.linalg.norm(direction), atol=1e-15)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) > 0.0
    np.testing.assert_array_equal(rotation_to(np.zeros(3)), np.eye(3))
