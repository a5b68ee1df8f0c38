"""Any file, and any name of one, is a robot or an error in words: never a hang, an abort or a bare exception."""

import os
import subprocess
import sys

import pytest

import sarrus
from sarrus.errors import ImportFileError
from sarrus.importers import document
from sarrus.importers.document import read_document
from tests.importers.test_mjcf import INERTIAL, body, mjcf
from tests.importers.test_urdf import two_links
from tests.importers.test_urdf_constraints import CHAIN, load_extended, robot


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("\0", "NUL"),
        ("", "empty"),
        ("x" * 5000, "cannot be read"),
        (b"<robot/>", "bytes"),
        (3, "int"),
        (None, "NoneType"),
        ("~nobody-has-this-name/x.urdf", "home"),
        ("\ud800", "\\ud800"),
        ("<robot name='\ud800'/>", "surrogates"),
        ("<", "XML"),
        ("<robot", "malformed"),
        ("<robot name='\0'/>", "NUL"),
    ],
)
def test_names_and_texts_that_are_none(source, words):
    with pytest.raises(ImportFileError) as error:
        sarrus.load(source)
    assert words in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\x7fELF\0\0", "not a text file"),
        (b"\x89PNG\r\n", "malformed"),
        (b"\xff\xfe", "malformed"),
    ],
)
def test_contents_that_are_no_robot(tmp_path, content, words):
    file = tmp_path / "robot.urdf"
    file.write_bytes(content)
    with pytest.raises(ImportFileError, match=words):
        sarrus.load(file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path, encoding):
    file = tmp_path / "robot.urdf"
    head = '<?xml version="1.0" encoding="iso-8859-1"?>' if encoding == "latin-1" else ""
    file.write_bytes((head + two_links().replace('"j"', '"é"')).encode(encoding))
    assert sarrus.load(file).joint_names == ("é",)


def test_a_string_may_begin_with_a_byte_order_mark():
    assert sarrus.load("\ufeff" + two_links()).nv == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_and_devices_are_not_opened(tmp_path):
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    main = tmp_path / "main.xml"
    main.write_text('<mujoco><include file="pipe.xml"/></mujoco>')
    for source in (pipe, main, "/dev/zero", "/dev/null"):
        with pytest.raises(ImportFileError, match=r"pipe|regular"):
            sarrus.load(source)


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(document, "ELEMENTS", 3)
    with pytest.raises(ImportFileError, match=r"elements: \d+, more than the limit of 3"):
        read_document(two_links())


def test_entities_are_not_expanded():
    with pytest.raises(ImportFileError, match="entities"):
        sarrus.load('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>')


def test_unforeseen_exceptions_keep_their_cause(monkeypatch):
    monkeypatch.setattr("sarrus.importers.urdf.check_names", lambda document: {}["x"])
    with pytest.raises(ImportFileError, match=r"XML string: cannot be read: KeyError: 'x'") as error:
        sarrus.load(two_links())
    assert isinstance(error.value.__cause__, KeyError)


# --- MJCF --------------------------------------------------------------------------------------------

PERCENT = [
    '<geom size="1" class="%n"/>',
    '<body childclass="%s%s%n"/>',
    '<body name="%n"/>',
    '<geom size="%n"/>',
]


@pytest.mark.parametrize("content", PERCENT)
def test_percent_signs_do_not_reach_mujoco(content):
    """In a process of its own: MuJoCo would end it."""
    load = f"sarrus.load({mjcf(content)!r})"
    code = f"import sarrus\ntry:\n    {load}\nexcept sarrus.errors.ImportFileError as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "percent sign" in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (mjcf('<replicate count="1000"><replicate count="1000"><body/></replicate></replicate>'), "copies"),
        (mjcf('<replicate count="100000000"><body/></replicate>'), "copies"),
        (
            mjcf("", before='<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
            "cells of a <hfield>",
        ),
        (mjcf("", before='<asset><texture name="t" builtin="flat" width="99999" height="99999"/></asset>'), "cells"),
        (mjcf("", before='<size nuser_body="2000000000"/>'), "nuser_body of <size>"),
        (mjcf(body('<joint/><inertial pos="0 0 0" mass="nan" diaginertia="1 1 1"/>')), "mass='nan'"),
    ],
)
def test_an_mjcf_that_would_grow_is_refused(text, words):
    with pytest.raises(ImportFileError) as error:
        sarrus.load(text)
    assert words in str(error.value)


def test_a_file_stays_in_its_folder(tmp_path):
    part = mjcf(body(INERTIAL + '<joint name="hinge"/>'))
    (tmp_path / "part.xml").write_text(part)
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "link.xml").symlink_to(tmp_path / "part.xml")
    (folder / "child.xml").write_text(part)
    main = folder / "main.xml"
    attach = '<mujoco><asset><model name="c" file="{}"/></asset></mujoco>'
    for text in (
        '<mujoco><include file="../part.xml"/></mujoco>',
        '<mujoco><include file="link.xml"/></mujoco>',
        f'<mujoco><include file="{tmp_path}/part.xml"/></mujoco>',
        attach.format("../part.xml"),
    ):
        main.write_text(text)
        with pytest.raises(ImportFileError, match=r"leads out of the folder.*allow_outside=True"):
            sarrus.load(main)
        assert sarrus.load(main, allow_outside=True) is not None
    main.write_text('<mujoco><include file="../robot/child.xml"/></mujoco>')
    assert sarrus.load(main).joint_names == ("hinge",)


def test_a_link_to_a_robot_is_followed(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "part.xml").write_text(mjcf(body(INERTIAL + '<joint name="hinge"/>')))
    (folder / "main.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    (tmp_path / "part.xml").symlink_to(folder / "part.xml")
    (tmp_path / "alias.xml").symlink_to(folder / "main.xml")
    assert sarrus.load(tmp_path / "alias.xml").joint_names == ("hinge",)


def test_files_that_include_themselves(tmp_path):
    main = tmp_path / "main.xml"
    main.write_text('<mujoco><include file="other.xml"/></mujoco>')
    (tmp_path / "other.xml").write_text('<mujoco><include file="main.xml"/></mujoco>')
    with pytest.raises(ImportFileError, match="included already"):
        sarrus.load(main)


def test_a_mesh_that_is_read_stays_in_the_folder(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    mesh = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "m.obj").write_text(mesh)
    main = folder / "main.xml"
    asset = '<asset><mesh name="m" file="../m.obj"/></asset>'
    main.write_text(mjcf(body('<joint/><geom type="mesh" mesh="m"/>'), before=asset))
    with pytest.raises(ImportFileError, match="leads out of the folder"):
        sarrus.load(main)
    assert sarrus.load(main, allow_outside=True).nv == 1
    main.write_text(mjcf(body(INERTIAL + '<joint/><geom type="mesh" mesh="m"/>'), before=asset))
    assert sarrus.load(main).nv == 1  # it is not read


@pytest.mark.parametrize("kind", ["capsule", "cylinder", "box", "sphere", "ellipsoid"])
def test_primitives_about_a_mesh_that_is_not_there(kind):
    before = '<compiler fitaabb="true"/><asset><mesh name="m" file="gone.obj"/></asset>'
    assert sarrus.load(mjcf(body(f'{INERTIAL}<joint/><geom type="{kind}" mesh="m"/>'), before=before)).nv == 1


def test_the_total_mass_counts_what_does_not_move():
    text = mjcf(
        body('<geom type="mesh" mesh="m"/>', "wall") + body(INERTIAL + "<joint/>"),
        before='<compiler settotalmass="5"/><asset><mesh name="m" file="gone.obj"/></asset>',
    )
    with pytest.raises(ImportFileError, match=r"gone\.obj"):
        sarrus.load(text)


def test_options_are_reported():
    model = sarrus.load(mjcf("", before='<option timestep="0.01" integrator="RK4" wind="1 0 0"/>'))
    assert model.import_report == ("<option> wind 1 0 0: not represented",)
    assert (model.time_step, model.integrator_hint) == (0.01, "rk4")


# --- YAML --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\n", "anchors"),
        ("a: &a {x: 1}\nb: {<<: *a}\n", "anchors"),
        ("[" * 5000, "nesting"),
        ("- a\n- b\n", "expected keys"),
        ("closed_loop: 3\n", "expected a list"),
        ("closed_loop: [3]\ntype: ['3d']", "pairs"),
        ("closed_loop: [[a, [b]]]\ntype: ['3d']", "names"),
        ("type: {a: b}", "expected a list"),
        ("a: 1\na: 2\n", "already"),
        ("joint_name: [ja, ja]\njoint_type: [FIXED, FIXED]", "twice"),
        ("closed_loop: [[a, a]]\ntype: [3d]", "itself"),
        ("hello", "expected keys"),
        ("? [a, b]\n: c\n", "a key must be a word"),
        ("a: !!python/object:os.system x", "expected"),
    ],
)
def test_yaml_of_another_kind(tmp_path, text, words):
    if words == "expected" and text.startswith("a: !!"):
        assert load_extended(tmp_path, text).nv == 3  # tags mean nothing: it is an unknown key
        return
    with pytest.raises(ImportFileError, match=words):
        load_extended(tmp_path, text)


def test_yaml_that_is_no_text(tmp_path):
    file = tmp_path / "robot.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ImportFileError, match="not UTF-8 text"):
        sarrus.load_urdf(robot(*CHAIN), extended=file)
    with pytest.raises(ImportFileError, match="folder"):
        sarrus.load_urdf(robot(*CHAIN), extended=tmp_path)


def test_a_joint_of_the_yaml_that_does_not_exist_is_lost(tmp_path):
    assert "unknown joint 'jx'" in load_extended(tmp_path, "joint_name: [jx]\njoint_type: [FIXED]").lost_physics[0]
