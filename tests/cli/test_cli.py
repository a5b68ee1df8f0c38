"""The command line: every command does what it says, `--json` parses, and what is wrong is one line and exit code 2."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import sarrus
from sarrus.cli import main as command_line
from sarrus.cli.console import print_table, table
from tests.importers.shared_robots import shared_file


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "160")


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(command_line.app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def fails(monkeypatch, capsys, *arguments: str) -> str:
    """What the program itself, not just the app, says on standard error."""
    monkeypatch.setattr(sys, "argv", ["sarrus", *arguments])
    with pytest.raises(SystemExit) as left:
        command_line.main()
    assert left.value.code == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.err


def test_help_and_version():
    assert sarrus.__version__ in run("--version")
    text = run("--help")
    for command in ("info", "check", "bench", "codegen", "cache", "cite"):
        assert command in text


def test_arguments_of_the_zoo_in_parentheses(monkeypatch, capsys):
    words = fails(monkeypatch, capsys, "info", "zoo:stem(2, 3)")
    assert "separated by colons: zoo:stem:2:3" in words


@pytest.mark.parametrize("robot", ["zoo:chain:3", "zoo:four_bar", "zoo:chain_welded_tip:3", "zoo:sarrus_linkage"])
def test_info(robot):
    assert "operation counts" in run("info", robot)


def test_info_compiles_what_it_is_asked_for():
    text = run("info", "zoo:four_bar", "-m", "lcaba", "-m", "ce_aba")
    for words in (
        "bytes of code",
        "compiling [s]: tracing",
        "for one state",
        "where the time of lcaba goes",
        "ce_aba:",
    ):
        assert words in text
    (found,) = json.loads(run("info", "zoo:chain:3", "-m", "frame_jacobian", "--json"))["kernels"]
    assert found["options"]
    assert found["code_bytes"] > 0
    assert 0.0 < found["batch_us"] < found["single_us"]
    assert sum(found["stages"].values()) == pytest.approx(1.0)


def test_info_refuses_to_compile_what_is_not_there(monkeypatch, capsys):
    assert "nonsense" in fails(monkeypatch, capsys, "info", "zoo:chain:3", "-m", "nonsense")
    assert "contacts" in fails(monkeypatch, capsys, "info", "zoo:four_bar", "-m", "pv")


def test_info_says_which_methods_refuse_loops():
    text = run("info", "zoo:four_bar")
    assert "coupler_rocker" in text
    assert "not for this robot" in text


def test_info_lists_actuators(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        """<robot name="arm"><link name="base"/>
          <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
          <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
          <transmission name="t"><joint name="j"/>
            <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission></robot>"""
    )
    assert "actuators" in run("info", str(path))
    assert json.loads(run("info", str(path), "--json"))["actuators"] == [
        {"name": "m", "joints": {"j": 1.0}, "kind": "motor", "gear": 50.0, "control_range": [None, None],
         "force_range": [None, None]},
    ]  # fmt: skip


def test_info_shows_what_touches_and_what_the_file_says_about_time(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(
        """<mujoco><option timestep="0.004" integrator="RK4"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
          <body name="ball" pos="0 0 1"><freejoint/><geom size="0.1" friction="0.5"/></body></worldbody>
          <keyframe><key name="low" qpos="0 0 0.1 1 0 0 0"/></keyframe></mujoco>"""
    )
    text = run("info", str(path))
    assert "geometries: 1 plane, 1 sphere; on the world: floor (plane); 1 pairs may meet" in text
    assert "keyframes: low" in text
    assert "time step: 0.004 s, rk4" in text
    found = json.loads(run("info", str(path), "--json"))
    assert found["geometries"][1] == {
        "name": "ball_geometry_0", "link": "ball", "shape": "sphere", "dimensions": 3, "friction": [0.5, 0.005, 0.0001],
    }  # fmt: skip
    assert (found["meeting_pairs"], found["time_step"], found["integrator_hint"]) == (1, 0.004, "rk4")
    assert found["keyframes"]["low"]["q"] == [0, 0, 0.1, 0, 0, 0, 1]
    assert "geometries: none, so it touches nothing" in run("info", "zoo:chain:2")


def test_info_as_json():
    found = json.loads(run("info", "zoo:four_bar", "--json"))
    assert (found["nb"], found["nv"]) == (3, 3)
    assert found["constraints"][0]["kind"] == "loop closed by revolute"
    assert found["op_counts"]["aba"]["total"] > 0
    assert "pv" in found["not_supported"]


def test_check():
    text = run("check", "zoo:sarrus_linkage")
    for words in ("5 rows, rank 4", "mobility 1", "platform_hinge", "1 row can be dropped", "suggested mu"):
        assert words in text


def test_check_as_json():
    found = json.loads(run("check", "zoo:four_bar", "--q", "0.1, -0.1 0.2", "--json"))
    assert (found["rows"], found["rank"], found["mobility"]) == (5, 2, 1)
    assert found["projected"]
    assert found["redundant"] == {"coupler_rocker": 3}


def test_check_has_an_exit_code_for_loops_that_cannot_close(tmp_path):
    """A URDF+ loop between points that never meet."""
    moments = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    link = f'<link name="{{}}"><inertial><mass value="1"/>{moments}</inertial></link>'
    file = tmp_path / "open.urdf"
    file.write_text(
        f"""<robot name="open">{link.format("base")}{link.format("arm")}
        <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
        <loop name="far" type="revolute"><predecessor link="base"><origin xyz="9 0 0"/></predecessor>
        <successor link="arm"><origin xyz="1 0 0"/></successor></loop></robot>"""
    )
    assert "none near by" in run("check", str(file), code=1)


def test_check_cassie_names_the_redundant_rods():
    text = run("check", str(shared_file("cassie/cassie.xml")))
    assert "12 rows, rank 10" in text
    assert "left-plantar-rod - left-foot" in text
    assert "right-plantar-rod - right-foot" in text


def test_check_a_urdf_with_its_yaml():
    folder = shared_file("parallel_robots/5bar_linkage_iso3d")
    text = run("check", str(folder / "robot.urdf"), "--extended", str(folder / "robot.yaml"))
    assert "3 rows, rank 3" in text
    assert "found by projection" in text


def test_bench():
    found = json.loads(run("bench", "zoo:chain:2", "--method", "rnea", "--batch", "8", "--rounds", "1", "--json"))
    assert found["method"] == "rnea"
    assert all(row["us_per_state"] > 0.0 for row in found["rows"])


def test_names_in_tables_are_not_broken(capsys):
    made = table(("constraint", "number"), [("a_long_name_of_something", "1"), ("two words", "2")], ("number",))
    print_table(Console(width=20, force_terminal=True, color_system=None), made)
    assert "a_long_name_of_something" in capsys.readouterr().out


def test_bench_in_words():
    assert "Sarrus" in run("bench", "zoo:chain:2", "--batch", "8", "--rounds", "1")


@pytest.mark.parametrize(("name", "hint"), [("Z", ""), ("A.table3", " Did you mean 'A.table2'?")])
def test_paper_lists_what_there_is(monkeypatch, capfd, name, hint):
    """Before it starts the benchmarks, whose usage has other options."""
    monkeypatch.chdir(Path(__file__).parents[2])
    said = fails(monkeypatch, capfd, "paper", "E", name)
    assert f"unknown table, figure or paper {name!r}.{hint} Valid: A, B, C, D, E, A.table2" in said
    assert "usage" not in said


def test_codegen(tmp_path):
    text = run("codegen", "zoo:chain:2", "--method", "aba", "--output", str(tmp_path))
    assert "operations" in text
    assert {file.suffix for file in tmp_path.iterdir() if file.is_file()} == {".c", ".h"}


@pytest.mark.parametrize(
    ("method", "said"), [("aba", True), ("aba_derivatives", True), ("lcaba", False), ("rnea", False)]
)
def test_accelerations_without_the_loops_of_the_robot_are_called_that(tmp_path, method, said):
    text = run("codegen", "zoo:five_bar", "--method", method, "--output", str(tmp_path))
    assert ("without the constraint of 'five_bar'" in text) == said


def test_cache():
    sarrus.compile(sarrus.zoo.chain(2), "crba")
    assert "directory" in run("cache", "info")
    assert json.loads(run("cache", "info", "--json"))["files"] >= 1
    assert "removed" in run("cache", "clear")
    assert json.loads(run("cache", "info", "--json"))["files"] == 0


def test_cite():
    assert "@" in run("cite", "pv", "efpa")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info", "nowhere.urdf"], "nowhere.urdf"),
        (["info", "zoo:dragon"], "Valid: .*four_bar"),
        (["info", "zoo:chain:x"], r"write zoo:chain:N\[:FLOATING=False\]: 'x' is not a number"),
        (["info", "zoo:chain"], "n is not given"),
        (["info", "zoo:chain:1:0:3"], "3 arguments are too many"),
        (["view", "zoo:chain:3", "--port", "70000"], "from 0 to 65535"),
        (["view", "zoo:chain:3", "--host", "no such host"], "no address of this machine"),
        (["check", "zoo:four_bar", "--q", "1,2"], "expected shape"),
        (["check", "zoo:four_bar", "--q", "a b c"], "3 numbers"),
        (["bench", "zoo:chain:2", "--method", "magic"], "Valid: .*aba"),
        (["codegen", "zoo:chain:2", "--method", "magic"], "Valid"),
        (["cite", "magic"], "Valid"),
    ],
)
def test_errors_are_words_and_exit_code_2(monkeypatch, capsys, arguments, words):
    said = fails(monkeypatch, capsys, *arguments)
    assert "error:" in said
    assert re.search(words, said.replace("\n", " "))


def test_a_method_of_a_frame_says_which_option_it_needs(monkeypatch, capsys):
    for command in ("bench", "codegen"):
        said = fails(monkeypatch, capsys, command, "zoo:chain:3", "-m", "frame_jacobian")
        assert "frame_jacobian needs a frame: give --frame NAME. Valid: world, link_0" in said
    assert "aba does not take a frame" in fails(monkeypatch, capsys, "codegen", "zoo:chain:3", "--frame", "tip")


def test_a_duration_shorter_than_a_step_is_refused(monkeypatch, capsys):
    said = fails(monkeypatch, capsys, "simulate", "zoo:four_bar", "-d", "0.0001")
    assert "shorter than one step of 0.001 s" in said


def test_names_are_not_broken_where_nobody_looks(monkeypatch):
    """Into a pipe, tables are as wide as they are."""
    monkeypatch.setenv("COLUMNS", "80")
    assert "left_inner_crank_joint" in run("info", "zoo:biped")
