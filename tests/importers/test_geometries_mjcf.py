"""What touches, from MJCF: shapes, numbers and pairs as MuJoCo has them; what is lost is said."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus
from sarrus.importers.document import read_document
from sarrus.importers.mjcf import compile_mjcf
from sarrus.model.geometries import ConvexMesh, Friction, HeightField, Plane
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from tests.importers.shared_robots import shared_file

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
CORNERS = np.array([[0.1, 0, 0], [1, 0.2, 0], [0, 1, 0.1], [0.3, 0, 1], [0.35, 0.3, 0.3]])  # the last one is inside
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 5\nf 3 4 5\nf 4 2 5\n"


def mjcf(geoms: str = "", *, world: str = "", before: str = "", after: str = "") -> str:
    return f"""<mujoco>{before}<worldbody>{world}<body name="b" pos="0 0 1"><joint name="j" pos="0.5 0 0"/>{INERTIAL}
      {geoms}</body></worldbody>{after}</mujoco>"""


# --- shapes and numbers --------------------------------------------------------------------------------


def test_shapes_and_numbers():
    geoms = """<geom name="s" size="0.1" friction="0.5 0.1 0.01" condim="4" contype="2" conaffinity="-1" priority="3"/>
      <geom type="capsule" size="0.1 0.2"/><geom type="cylinder" size="0.1 0.2" contype="0" conaffinity="0"/>
      <geom type="cylinder" size="0.1 0.2"/><geom type="ellipsoid" size="0.1 0.2 0.3"/>
      <geom type="box" size="0.1 0.2 0.3" pos="1 2 3" euler="0 0 90"/>"""
    model = sarrus.load(mjcf(geoms, world='<geom name="floor" type="plane" size="1 1 1" pos="0 0 -1"/>'))
    assert [g.shape for g in model.geometries] == [
        Plane(), Sphere(0.1), Capsule(0.1, 0.4), Cylinder(0.1, 0.4), Ellipsoid((0.1, 0.2, 0.3)), Box((0.2, 0.4, 0.6)),
    ]  # fmt: skip
    floor, ball, *_, box = model.geometries
    assert [g.name for g in model.geometries[:4]] == ["floor", "s", "b_geometry_1", "b_geometry_3"]
    assert (floor.body, ball.body, floor.link, ball.link) == (-1, 0, "world", "b")
    assert (ball.friction, ball.dimensions, ball.priority) == (Friction(0.5, 0.1, 0.01), 4, 3)
    assert (ball.category, ball.collides_with) == (2, 2**32 - 1)
    np.testing.assert_allclose(box.placement.p, [0.5, 2.0, 3.0])  # the joint is where the body frame is
    np.testing.assert_allclose(box.placement.R[:, 0], [0, 1, 0], atol=1e-12)
    assert model.import_report == ()


def test_what_contacts_do_otherwise_is_said():
    geoms = '<geom size="0.1" margin="0.01" gap="0.002" solref="0.01 1"/><geom size="0.2" solmix="2"/>'
    model = sarrus.load(mjcf(geoms))
    assert "2 geoms and 0 contact pairs with their own solref, solimp or solmix (softness): not represented" in (
        model.import_report
    )
    assert any(line.startswith("contact margins of up to 0.01 m") for line in model.lost_physics)
    assert "contact gaps of up to 0.002 m: not represented" in model.import_report
    assert model.geometries[0].margin == 0.01


def test_what_margins_lose_is_lost_in_mujoco_itself():
    for margin, gap in ((0.05, 0.0), (0.05, 0.05), (0.0, 0.05)):
        ground = '<geom type="plane" size="1 1 1" pos="0 0 0.88"/>'  # 2 cm below the ball
        text = mjcf(f'<geom size="0.1" margin="{margin}" gap="{gap}"/>', world=ground)
        mj = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(mj)
        mujoco.mj_forward(mj, data)
        pushes = data.nefc > 0
        lost = any(line.startswith("contact margins") for line in sarrus.load(text).lost_physics)
        assert lost == pushes


def test_numbers_that_no_geometry_has_are_lost_physics():
    field = '<asset><hfield name="h" nrow="1" ncol="3" size="1 1 1 1"/></asset>'
    model = sarrus.load(mjcf('<geom size="1e60"/>', world='<geom type="hfield" hfield="h"/>', before=field))
    assert model.geometries == ()
    for words in ("heights of geometry 'world_geometry_0' have shape (1, 3)", "radius of geometry 'b_geometry_0'"):
        assert any(words in line for line in model.lost_physics)
    model = sarrus.load(mjcf('<geom size="1" friction="-1 2 3" margin="-1"/>'))
    assert (model.geometries[0].friction, model.geometries[0].margin) == (Friction(0.0, 2.0, 3.0), 0.0)
    assert any("contact margins of up to -1 m" in line for line in model.lost_physics)
    with pytest.raises(sarrus.errors.ModelError, match=r"its friction is .* not finite"):
        sarrus.load(mjcf('<geom size="1" friction="inf"/>'))


def test_contacts_that_the_file_disables_are_not_there():
    for flag in ("contact", "constraint"):
        option = f'<option><flag {flag}="disable"/></option>'
        model = sarrus.load(mjcf('<geom size="0.1"/>', before=option))
        assert model.geometries == ()
        assert "1 geoms that could touch: the file disables contacts" in model.import_report


# --- files ---------------------------------------------------------------------------------------------


def in_body(geometry) -> np.ndarray:
    return geometry.shape.vertices @ geometry.placement.R.T + geometry.placement.p


@pytest.mark.parametrize("scale", ["2 2 2", "1 2 -0.5"])
def test_a_mesh_is_its_hull_where_mujoco_has_it(tmp_path, scale):
    (tmp_path / "part.obj").write_text(OBJ)
    assets = (
        f'<asset><mesh name="m" file="part.obj" scale="{scale}" refpos="0.1 0.2 0.3" refquat="0.8 0.6 0 0"/></asset>'
    )
    file = tmp_path / "robot.xml"
    file.write_text(mjcf('<geom type="mesh" mesh="m" pos="1 2 3" euler="10 20 30"/>', before=assets))
    model = sarrus.load(file)
    (found,) = model.geometries
    assert isinstance(found.shape, ConvexMesh)
    assert found.shape.path == str(tmp_path / "part.obj")
    assert found.shape.vertices.shape == (4, 3)
    (other,) = sarrus.from_mujoco(mujoco.MjModel.from_xml_path(str(file))).geometries
    ours, theirs = in_body(found), in_body(other)
    for corner in ours:
        assert np.abs(theirs - corner).max(axis=1).min() < 1e-6
    # By hand: MuJoCo moves and turns the file's vertices, then scales them.
    turn = np.array([[1, 0, 0], [0, 0.28, -0.96], [0, 0.96, 0.28]])  # of the quaternion 0.8 0.6 0 0
    by_hand = (CORNERS[:4] - [0.1, 0.2, 0.3]) @ turn * [float(x) for x in scale.split()]
    compiled = mujoco.MjModel.from_xml_string(mjcf('<geom size="1" pos="1 2 3" euler="10 20 30"/>'))
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, compiled.geom_quat[0])
    by_hand = by_hand @ R.reshape(3, 3).T + [0.5, 2, 3]  # the body frame is at the joint
    for corner in by_hand:
        assert np.abs(ours - corner).max(axis=1).min() < 1e-6


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box", "ellipsoid"])
@pytest.mark.parametrize("fitaabb", ["false", "true"])
def test_primitives_about_a_mesh_are_where_mujoco_has_them(tmp_path, kind, fitaabb):
    (tmp_path / "part.obj").write_text(OBJ)
    before = f"""<compiler fitaabb="{fitaabb}"/>
      <asset><mesh name="m" file="part.obj" scale="1 2 3" refpos="0.1 0.2 0.3"/></asset>"""
    geom = f'<geom type="{kind}" mesh="m" pos="1 2 3" euler="10 20 30" fitscale="1.5"/>'
    file = tmp_path / "robot.xml"
    file.write_text(mjcf(geom, before=before))
    (found,) = sarrus.load(file).geometries
    (other,) = sarrus.from_mujoco(mujoco.MjModel.from_xml_path(str(file))).geometries
    assert type(found.shape) is type(other.shape)
    for key, value in vars(other.shape).items():
        np.testing.assert_allclose(getattr(found.shape, key), value, rtol=1e-6)
    np.testing.assert_allclose(found.placement.p, other.placement.p, atol=1e-6)
    np.testing.assert_allclose(found.placement.R, other.placement.R, atol=1e-6)


def test_a_mesh_in_the_file_itself():
    vertex = " ".join(str(x) for x in CORNERS.ravel())
    model = sarrus.load(
        mjcf('<geom type="mesh" mesh="m"/>', before=f'<asset><mesh name="m" vertex="{vertex}"/></asset>')
    )
    (found,) = model.geometries
    vertices = in_body(found) + np.array([0.5, 0, 0])  # the body frame is at the joint
    assert len(vertices) == 4
    for corner in CORNERS[:4]:
        assert np.abs(vertices - corner).max(axis=1).min() < 1e-6


def test_meshes_that_cannot_be_read_are_lost_physics(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "outside.obj").write_text(OBJ)
    (tmp_path / "robot" / "broken.stl").write_bytes(b"solid nothing")
    (tmp_path / "robot" / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    names = ("../outside.obj", "broken.stl", "flat.obj", "gone.stl")
    meshes = "".join(f'<mesh name="{name}" file="{name}"/>' for name in names)
    geoms = "".join(f'<geom name="geom of {name}" type="mesh" mesh="{name}"/>' for name in names)
    file = tmp_path / "robot" / "robot.xml"
    file.write_text(mjcf(geoms + '<geom size="0.1"/>', before=f"<asset>{meshes}</asset>"))
    model = sarrus.load(file)
    assert [g.name for g in model.geometries] == ["b_geometry_4"]
    for name, words in zip(
        names, ("`allow_outside=True`", "cannot be read", "cannot be read", "is not there"), strict=True
    ):
        assert any(f"geom of {name}" in x and f"/{name} " in x and words in x for x in model.lost_physics), name
    assert len(sarrus.load(file, allow_outside=True).geometries) == 2


def png(path: Path, values: np.ndarray) -> None:
    """A grey picture of one byte per cell."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, columns = values.shape
    lines = b"".join(b"\0" + bytes(row) for row in values.astype(np.uint8))
    head = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


@pytest.mark.parametrize("source", ["png", "inline"])
def test_height_fields_are_where_mujoco_has_them(tmp_path, source):
    values = np.array([[0, 50, 100], [200, 255, 30], [10, 20, 40], [5, 60, 80]])
    png(tmp_path / "hills.png", values)
    elevation = " ".join(str(x) for x in values.ravel())
    field = 'file="hills.png"' if source == "png" else f'nrow="4" ncol="3" elevation="{elevation}"'
    file = tmp_path / "scene.xml"
    world = '<geom name="hills" type="hfield" hfield="hills" pos="0.1 0.2 0.3"/>'
    file.write_text(mjcf(world=world, before=f'<asset><hfield name="hills" {field} size="2 3 0.5 1"/></asset>'))
    shape = sarrus.load(file).geometry("hills").shape
    assert isinstance(shape, HeightField)
    assert shape.size == (2.0, 3.0)
    assert shape.heights.shape == (4, 3)
    # A ray from above at every grid point, a little inside: rows along y, columns along x.
    compiled = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    for i, y in enumerate(np.linspace(-3, 3, 4)):
        for k, x in enumerate(np.linspace(-2, 2, 3)):
            at = np.array([0.1 + x * (1 - 1e-6), 0.2 + y * (1 - 1e-6), 5.0])
            below = mujoco.mj_ray(compiled, data, at, np.array([0, 0, -1.0]), None, 1, -1, np.zeros(1, np.int32))
            assert 5.0 - below - 0.3 == pytest.approx(shape.heights[i, k], abs=1e-4)


def test_a_small_file_may_not_hold_a_huge_field(tmp_path):
    png(tmp_path / "hills.png", np.zeros((2, 2)))
    content = bytearray((tmp_path / "hills.png").read_bytes())
    content[16:24] = struct.pack(">II", 100_000, 100_000)
    (tmp_path / "hills.png").write_bytes(bytes(content))
    file = tmp_path / "scene.xml"
    world = '<geom type="hfield" hfield="hills"/>'
    file.write_text(mjcf(world=world, before='<asset><hfield name="hills" file="hills.png" size="2 3 0.5 1"/></asset>'))
    model = sarrus.load(file)
    assert model.geometries == ()
    assert any("has more than 10,000,000 cells" in line for line in model.lost_physics)


# --- pairs: against MuJoCo's own collisions --------------------------------------------------------------

SCENE = f"""<mujoco><option>{{flag}}</option><default><geom size="0.1"/></default><worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0.5 0.1 0.01" margin="1" priority="{{priority}}"/>
  <body name="table"><geom name="table" margin="2"/><body name="lamp"><geom name="lamp"/></body></body>
  <body name="base"><freejoint/>{INERTIAL}<geom name="base" condim="4" friction="0.7 0.05 0.02"/>
    <body name="badge"><geom name="badge" contype="2" conaffinity="1"/></body>
    <body name="hip"><joint axis="1 0 0" pos="0 0 0.1"/><joint axis="0 1 0"/><joint axis="0 0 1"/>{INERTIAL}
      <geom name="hip"/>
      <body name="bracket"><geom name="bracket" condim="1" contype="0" conaffinity="3"/>
        <body name="shin"><joint/>{INERTIAL}<geom name="shin"/><geom name="skin" contype="0" conaffinity="0"/>
          <body name="foot"><joint/>{INERTIAL}<geom name="foot"/><geom name="toe" contype="4" conaffinity="4"/></body>
        </body></body></body></body>
  <body name="cube"><freejoint/>{INERTIAL}<geom name="cube"/></body></worldbody>
  <contact><exclude body1="bracket" body2="foot"/><exclude body1="cube" body2="table"/>
    <exclude body1="base" body2="foot"/>
    <pair geom1="base" geom2="foot" condim="6" friction="2 2 0.3 0.4 0.4" margin="3"/><pair geom1="shin" geom2="hip"/>
    <pair geom1="toe" geom2="floor" condim="1"/></contact></mujoco>"""


@pytest.mark.parametrize("priority", [0, 1])
@pytest.mark.parametrize(
    "flag", ["", '<flag filterparent="disable"/>', '<flag override="enable"/>'], ids=["plain", "parents", "override"]
)
def test_pairs_are_those_that_collide_in_mujoco(flag, priority):
    text = SCENE.format(flag=flag, priority=priority)
    if "override" in flag:
        text = text.replace("<option>", '<option o_margin="5" o_friction="0.1 0.1 0.2 0.3 0.3">')
    compiled = mujoco.MjModel.from_xml_string(text)
    model = sarrus.from_mujoco(compiled)
    data = mujoco.MjData(compiled)  # everything lies at the origin: whatever may meet touches
    mujoco.mj_forward(compiled, data)
    theirs = {}
    for contact in data.contact:
        pair = frozenset(compiled.geom(int(geom)).name for geom in contact.geom)
        if not pair <= {"floor", "table", "lamp"}:
            sliding, _, torsional, rolling, _ = contact.friction
            theirs[pair] = (sliding, torsional, rolling, contact.dim, contact.includemargin)
    names = [geometry.name for geometry in model.geometries]
    ours = {
        frozenset((names[pair.a], names[pair.b])):
            (pair.friction.sliding, pair.friction.torsional, pair.friction.rolling, pair.dimensions, pair.margin)
        for pair in meeting_pairs(model)
    }  # fmt: skip
    assert ours.keys() == theirs.keys()
    for pair, numbers in ours.items():
        assert numbers == pytest.approx(theirs[pair]), pair


def mujocos_filter(mj: mujoco.MjModel) -> set[frozenset[int]]:
    """Geoms that may meet, from the fields of a compiled model."""
    weld, parent, on = mj.body_weldid, mj.body_parentid, mj.geom_bodyid
    excluded = {frozenset((x >> 16, x & 0xFFFF)) for x in mj.exclude_signature.tolist()}
    found = set()
    for a in range(mj.ngeom):
        for b in range(a):
            one, other = weld[on[a]], weld[on[b]]
            bits = mj.geom_contype[a] & mj.geom_conaffinity[b] or mj.geom_contype[b] & mj.geom_conaffinity[a]
            kin = one and other and (one == weld[parent[other]] or other == weld[parent[one]])
            if bits and one != other and not kin and frozenset((int(on[a]), int(on[b]))) not in excluded:
                found.add(frozenset((a, b)))
    return found | {frozenset(pair) for pair in zip(mj.pair_geom1.tolist(), mj.pair_geom2.tolist(), strict=True)}


@pytest.mark.parametrize(
    "file",
    ["go1/scene.xml", "anymal_c/scene.xml", "h1/scene.xml", "g1/scene_mjx.xml", "cassie/scene.xml",
     "talos/scene_position.xml", "shadow_hand/scene_left.xml", "shadow_hand/scene_right.xml"],
)  # fmt: skip
def test_robots_have_mujocos_pairs(file):
    path = shared_file(file)
    compiled, _ = compile_mjcf(read_document(path))
    expected = mujocos_filter(compiled)
    touching = compiled.geom_contype | compiled.geom_conaffinity
    touching[[*compiled.pair_geom1, *compiled.pair_geom2]] = 1
    number = np.flatnonzero(touching)
    model = sarrus.from_mujoco(compiled)  # stand-ins count as meshes
    assert len(model.geometries) == len(number)
    found = {frozenset((int(number[pair.a]), int(number[pair.b]))) for pair in meeting_pairs(model)}
    assert found == expected
    weld = compiled.body_weldid[compiled.geom_bodyid]
    assert {frozenset(weld[list(pair)].tolist()) for pair in found} == {
        frozenset(weld[list(pair)].tolist()) for pair in expected
    }
    # From the file, whose meshes are not there: all but the geoms of meshes, which are lost physics.
    loaded = sarrus.load(path)
    primitive = [int(g) for g in number if compiled.geom_type[g] != 7]
    assert [g.name for g in loaded.geometries] == [
        model.geometries[k].name for k in range(len(number)) if number[k] in primitive
    ]
    found = {frozenset((primitive[pair.a], primitive[pair.b])) for pair in meeting_pairs(loaded)}
    assert found == {pair for pair in expected if pair <= set(primitive)}
    assert any("touch nothing" in line for line in loaded.lost_physics) == (len(primitive) < len(number))


def test_friction_that_depends_on_the_direction_is_said():
    after = '<contact><pair geom1="a" geom2="b" friction="1 2 0 0 0"/></contact>'
    model = sarrus.load(mjcf('<geom name="a" size="0.1"/>', world='<geom name="b" size="1"/>', after=after))
    assert model.geometry_pairs[0].friction == Friction(2.0)
    assert any("1 contact pairs whose friction depends on the direction (b and a)" in x for x in model.lost_physics)
