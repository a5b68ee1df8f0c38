"""MJCF files load without their assets; what a body's inertia really needs is named when it is missing."""

import pytest

import sarrus
from sarrus.errors import ImportFileError, MissingDependencyError
from tests.importers.shared_robots import shared_file

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
MESHES = '<asset><mesh name="m" file="gone.obj"/><mesh file="also/gone.stl" scale="1 -1 1"/></asset>'


def mjcf(body, *, before="", after=""):
    return f'<mujoco model="m">{before}<worldbody>{body}</worldbody>{after}</mujoco>'


def body(content, name="b"):
    return f'<body name="{name}">{content}</body>'


def test_meshes_are_not_needed_where_inertias_are_explicit():
    geoms = '<geom type="mesh" mesh="m"/><geom type="box" mesh="gone"/><joint/>'
    model = sarrus.load(mjcf(body(INERTIAL + geoms), before=MESHES))
    assert float(model.mass) == 1.0
    assert model.geometries == ()
    (missing,) = model.lost_physics
    assert missing.startswith("2 geoms touch nothing (b_geometry_0, b_geometry_1): the shape of ")
    assert "gone.obj, " in missing
    assert "also/gone.stl " in missing
    assert missing.endswith("is not there")


def test_meshes_are_not_needed_on_what_does_not_move():
    text = mjcf(body('<geom type="mesh" mesh="m"/>', "wall") + body(INERTIAL + "<joint/>"), before=MESHES)
    assert sarrus.load(text).nv == 1


@pytest.mark.parametrize("massless", ['mass="0"', 'density="0"', 'group="5"'])
def test_meshes_are_not_needed_on_massless_geoms(massless):
    geoms = f'<joint/><geom type="mesh" mesh="m" {massless}/><geom size="0.1" mass="2"/>'
    text = mjcf(body(geoms), before='<compiler inertiagrouprange="0 3"/>' + MESHES)
    assert float(sarrus.load(text).mass) == 2.0


@pytest.mark.parametrize("compiler", ["", '<compiler inertiafromgeom="true"/>'])
def test_a_missing_mesh_that_gives_the_inertia_is_named(compiler):
    inertial = INERTIAL if compiler else ""
    text = mjcf(body(inertial + '<joint/><geom type="mesh" mesh="m"/>'), before=compiler + MESHES)
    with pytest.raises(
        ImportFileError, match=r"gone\.obj.*Body 'b' has no <inertial>: its inertia comes from mesh 'm'"
    ):
        sarrus.load(text)


def test_textures_height_fields_and_skins_are_not_needed():
    before = (
        '<asset><texture name="t" type="2d" file="gone.png"/><texture type="cube" file="gone.png"/>'
        '<texture name="sky" type="skybox" fileup="gone.png"/><material name="k" texture="t"/>'
        '<hfield name="h" file="gone.png" size="1 1 1 1"/></asset>'
    )
    after = '<deformable><skin file="gone.skn"/></deformable>'
    text = mjcf('<geom type="hfield" hfield="h"/>' + body(INERTIAL + "<joint/>"), before=before, after=after)
    report = sarrus.load(text).import_report
    for line in ("3 textures", "1 materials", "1 skins"):
        assert f"{line}: not represented" in report
    (missing,) = (line for line in report if "touch nothing" in line)
    assert missing.startswith("1 geoms touch nothing (world_geometry_0): the shape of ")
    assert missing.endswith("gone.png is not there")


def test_keyframes_are_reported_even_if_they_do_not_fit():
    text = mjcf(body(INERTIAL + "<joint/>"), after='<keyframe><key qpos="1 2 3"/></keyframe>')
    assert "1 keyframes (number 0) do not fit the robot: not represented" in sarrus.load(text).import_report


def test_includes_work(tmp_path):
    (tmp_path / "part.xml").write_text(mjcf(body(INERTIAL + '<joint name="hinge"/>')))
    main = tmp_path / "main.xml"
    main.write_text('<mujoco model="whole"><include file="part.xml"/></mujoco>')
    assert sarrus.load(main).joint_names == ("hinge",)


def test_mujocos_complaint_comes_with_the_file(tmp_path):
    file = tmp_path / "bad.xml"
    file.write_text(mjcf(body(INERTIAL + '<joint type="screw"/>')))
    with pytest.raises(ImportFileError, match=r"bad\.xml: .*line 1"):
        sarrus.load(file)


def test_a_base_can_be_freed_and_fixed():
    fixed, free = mjcf(body(INERTIAL)), mjcf(body(INERTIAL + "<freejoint/>"))
    assert sarrus.load(fixed).nv == 0
    assert sarrus.load(fixed, floating_base=True).joint_names == ("root_joint",)
    assert sarrus.load(free).nv == sarrus.load(free, floating_base=True).nv == 6
    assert sarrus.load(free, floating_base=False).nv == 0


def test_a_base_that_cannot_be_freed_is_said_to_be_so():
    with pytest.raises(ImportFileError, match="body 'b' has a joint 'j' already"):
        sarrus.load(mjcf(body(INERTIAL + '<joint name="j"/>')), floating_base=True)
    with pytest.raises(ImportFileError, match=r"which of the 2 bodies of the world \('b', 'c'\)"):
        sarrus.load(mjcf(body(INERTIAL) + body(INERTIAL, "c")), floating_base=True)


def test_a_compiled_model_needs_mujoco_too(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(MissingDependencyError, match="pip install mujoco"):
        sarrus.from_mujoco(object())


@pytest.mark.parametrize(
    ("file", "nq", "nv", "constraints"),
    [("digit/digit-v3.xml", 61, 54, 6), ("cassie/cassie.xml", 35, 32, 4), ("shadow_hand/left_hand.xml", 24, 24, 4),
     ("talos/talos_motor.xml", 51, 50, 6), ("go1/go1.xml", 19, 18, 0), ("iiwa14/iiwa14.xml", 7, 7, 0),
     ("jvrc1/jvrc1.xml", 51, 50, 10), ("simple_humanoid/simple_humanoid.xml", 29, 29, 0)],
)  # fmt: skip
def test_shared_robots_load_without_their_meshes(file, nq, nv, constraints):
    model = sarrus.load(shared_file(file))
    assert (model.nq, model.nv, len(model.constraints)) == (nq, nv, constraints)
