"""`load` finds out what a source is, and says what is wrong with it."""

from pathlib import Path

import pytest

import sarrus
from sarrus.errors import ImportFileError, MissingDependencyError
from sarrus.importers.document import read_document

URDF = '<robot name="one"><link name="base"/></robot>'
MJCF = '<mujoco model="one"><worldbody><body name="b"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'


def test_the_root_tag_tells_the_format():
    assert sarrus.load(URDF).name == "one"
    assert sarrus.load(MJCF).nv == 6


@pytest.mark.parametrize("wrap", [str, Path])
def test_a_path_may_be_a_string_or_a_path(tmp_path, wrap):
    file = tmp_path / "robot.urdf"
    file.write_text(URDF)
    assert sarrus.load(wrap(file)).name == "one"


def test_a_missing_file_is_named():
    with pytest.raises(ImportFileError, match=r"nowhere\.urdf: there is no such file"):
        sarrus.load("nowhere.urdf")


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(ImportFileError, match="this is a folder"):
        sarrus.load(tmp_path)


def test_an_empty_file_is_said_to_be_empty(tmp_path):
    file = tmp_path / "empty.urdf"
    file.write_text("  \n")
    with pytest.raises(ImportFileError, match=r"empty\.urdf: the file is empty"):
        sarrus.load(file)


def test_malformed_xml_has_a_line_number(tmp_path):
    file = tmp_path / "bad.urdf"
    file.write_text('<robot name="a">\n<link name="b">\n</robot>')
    with pytest.raises(ImportFileError, match=r"bad\.urdf, line 3: malformed XML"):
        sarrus.load(file)


def test_a_file_that_is_not_xml(tmp_path):
    file = tmp_path / "not.urdf"
    file.write_text("hello")
    with pytest.raises(ImportFileError, match="malformed XML"):
        sarrus.load(file)


def test_an_unknown_root_tag_lists_the_valid_ones():
    with pytest.raises(ImportFileError, match=r"<sdf>. Valid: <robot> \(URDF\), <mujoco> \(MJCF\)"):
        sarrus.load("<sdf/>")


def test_each_loader_refuses_the_other_format():
    with pytest.raises(ImportFileError, match="root tag of URDF is <robot>, not <mujoco>"):
        sarrus.load_urdf(MJCF)
    with pytest.raises(ImportFileError, match="root tag of MJCF is <mujoco>, not <robot>"):
        sarrus.load_mjcf(URDF)


def test_undeclared_prefixes_encodings_and_leading_blanks_are_harmless():
    text = '\n<?xml version="1.0" encoding="utf-8"?><robot name="é"><link name="b"/><x:y z:w="1"/></robot>'
    model = sarrus.load(text)
    assert model.name == "é"
    assert any("x:y" in line for line in model.import_report)


def test_a_string_has_no_path():
    assert read_document(URDF).path is None


@pytest.mark.parametrize(
    ("module", "load"),
    [
        ("lxml", lambda: sarrus.load(URDF)),
        ("mujoco", lambda: sarrus.load(MJCF)),
    ],
)
def test_a_missing_package_is_named(monkeypatch, module, load):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingDependencyError, match=f"pip install {module}"):
        load()
