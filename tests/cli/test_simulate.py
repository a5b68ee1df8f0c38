"""`sarrus simulate`: moves a robot, says what it did, keeps what was computed; exit codes 0, 1, 2 and 130."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from sarrus.cli import main as command_line
from sarrus.errors import SarrusError

CONTROLLERS = '''
from pathlib import Path

import numpy as np
import sarrus


def damp(t, q, v):
    return -0.1 * v


def hold(model):
    return sarrus.pd(5.0, 1.0, sarrus.neutral(model))


def not_finite(t, q, v):
    return np.nan * v


def of_two(t, q):
    return 0.0


def slowly(t, q, v):
    """Says that the simulation is on its way."""
    if t > 0.5:
        (Path(__file__).parent / "began").touch()
    return -0.1 * v


number = 3
'''


@pytest.fixture(autouse=True, scope="module")
def one_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SARRUS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "160")
        yield


@pytest.fixture
def controllers(tmp_path):
    (tmp_path / "controllers.py").write_text(CONTROLLERS)
    return tmp_path / "controllers.py"


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(command_line.app, ["simulate", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def as_json(*arguments: str, code: int = 0) -> dict:
    return json.loads(run(*arguments, "--json", code=code))


def test_says_what_was_solved_how():
    text = run("zoo:four_bar", "-d", "0.2", "--integrator", "rk4")
    for words in ("lcaba, rk4", "operations per step", "us", "real-time factor", "energy drift", "closure error", "ok"):
        assert words in text


def test_quiet_is_quiet():
    assert run("zoo:chain:2", "-d", "0.01", "--quiet") == ""


def test_as_json():
    said = as_json("zoo:four_bar", "-d", "0.5", "--integrator", "rk4")
    assert (said["steps"], said["robots"], said["statuses"]) == (500, 1, {"ok": 501})
    assert said["energy_drift"] < 1e-6
    assert said["closure_error"] < 1e-9
    assert said["operations_per_step"] == 4 * sarrus.op_count(sarrus.zoo.four_bar(), "lcaba").total


def test_saves_what_view_and_python_read(tmp_path):
    file = tmp_path / "swing.npz"
    text = run("zoo:four_bar", "-d", "0.1", "--every", "10", "--stabilization", "0.05", "--save", str(file))
    assert f"sarrus view zoo:four_bar --trajectory {file}" in text
    trajectory = sarrus.Trajectory.load(file, sarrus.zoo.four_bar())
    assert len(trajectory) == 11
    assert trajectory.settings["stabilization"] == 0.05


def test_streams_to_a_directory_and_goes_on(tmp_path):
    file = str(tmp_path / "long")
    run("zoo:chain:2", "-d", "0.1", "--every", "10", "--save", file)
    said = as_json("zoo:chain:2", "-d", "0.3", "--every", "10", "--save", file, "--resume")
    assert said["steps"] == 300
    whole = sarrus.simulate(sarrus.zoo.chain(2), duration=0.3, record_every=10)
    np.testing.assert_allclose(sarrus.Trajectory.load(file, sarrus.zoo.chain(2)).q, whole.q, atol=1e-12)


def test_plots(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "swing.png"
    run("zoo:chain:2", "-d", "0.1", "--plot", str(file))
    assert file.stat().st_size > 1000


def test_embedded_loops_move_as_the_loops_do(tmp_path):
    """The same motion, and the file is one of the robot as it was loaded."""
    files = [tmp_path / "rows.npz", tmp_path / "embedded.npz"]
    for file, more in zip(files, ([], ["--embed"]), strict=True):
        run("zoo:four_bar", "-d", "0.2", "--integrator", "rk4", "--save", str(file), *more)
    rows, embedded = (sarrus.Trajectory.load(file, sarrus.zoo.four_bar()) for file in files)
    np.testing.assert_allclose(embedded.q, rows.q, atol=1e-8)


@pytest.mark.parametrize("start", ["random", "home", "0.3, 0.2"])
def test_a_batch(start):
    said = as_json("zoo:chain:2", "--batch", "8", "-d", "0.05", "--q", start)
    assert said["robots"] == 8
    assert said["statuses"] == {"ok": 8 * 51}


def test_a_batch_of_loops_starts_closed():
    said = as_json("zoo:four_bar", "--batch", "5", "-d", "0.02", "--seed", "3", "--integrator", "rk4")
    assert said["closure_error"] < 1e-6


def test_pd_holds_what_it_starts_from():
    said = as_json("zoo:five_bar", "--controller", "pd", "--kp", "500", "--kd", "10", "-d", "1")
    assert said["statuses"] == {"ok": 1001}
    assert abs(said["energy_end"] - said["energy_begin"]) < 0.05 * abs(said["energy_begin"])


@pytest.mark.parametrize("name", ["damp", "hold"])
@pytest.mark.parametrize("batch", [[], ["--batch", "3"]])
def test_controllers_of_a_file(controllers, name, batch):
    as_json("zoo:chain:2", "-c", f"{controllers}:{name}", "-d", "0.05", *batch)


def test_states_that_diverge_are_told_in_words_and_by_exit_code_1():
    text = run("zoo:chain:5", "--dt", "0.05", "-d", "20", "--batch", "4", code=1)
    assert "diverged" in text
    assert "4 of 4 robots failed" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["zoo:dragon"], "Valid"),
        (["zoo:chain:2", "--dt", "-1"], "positive"),
        (["zoo:chain:2", "--duration", "nan"], "zero or more"),
        (["zoo:chain:2", "--integrator", "euler"], "rk4"),
        (["zoo:chain:2", "--restitution", "0.5", "--no-contacts"], "cannot be combined with --no-contacts"),
        (["zoo:chain:2", "--restitution", "2"], "from 0 to 1"),
        (["zoo:chain:2", "--method", "magic"], "lcaba"),
        (["zoo:four_bar", "--method", "pv"], "coupler_rocker"),
        (["zoo:four_bar", "--q", "1, 2, 3"], "coupler_rocker"),
        (["zoo:four_bar", "--q", "home sweet home"], "3 numbers"),
        (["zoo:four_bar", "--q", "1, 2"], "expected shape (3,)"),
        (["zoo:geared_quadruped", "--ground", "--q", "1"], "q: expected shape"),
        (["zoo:four_bar", "--keyframe", "home"], "unknown keyframe 'home'. Valid: none"),
        (["zoo:four_bar", "--keyframe", "a", "--q", "home"], "give only one of them"),
        (["zoo:four_bar", "--stabilization", "0"], "time constant"),
        (["zoo:chain:2", "--embed"], "embed"),
        (["zoo:chain:2", "--kp", "1"], "--controller pd"),
        (["zoo:chain:2", "--controller", "magic"], "Valid: none, pd"),
        (["zoo:chain:2", "--controller", "nowhere.py:f"], "no file"),
        (["zoo:chain:2", "--controller", "CONTROLLERS:magic"], "damp"),
        (["zoo:chain:2", "--controller", "CONTROLLERS:number"], "expected a function"),
        (["zoo:chain:2", "--controller", "CONTROLLERS:of_two"], "2 arguments"),
        (["zoo:chain:2", "--controller", "CONTROLLERS:not_finite"], "not finite"),
        (["zoo:chain:2", "--save", "trajectory.txt"], ".npz"),
        (["zoo:chain:2", "--plot", "picture.foo"], ".png"),
        (["zoo:chain:2", "--duration", "1e9"], "--every"),
        (["zoo:biped:perhaps"], "neither True nor False"),
        (["zoo:chain:two"], "not a number"),
        (["zoo:chain:2", "--resume", "--save", "a.npz"], "--save DIRECTORY"),
        (["zoo:chain:2", "--save", "no/such/directory/a.npz"], "no directory"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_computed(controllers, arguments, words):
    given = [x.replace("CONTROLLERS", str(controllers)) for x in arguments]
    result = CliRunner().invoke(command_line.app, ["simulate", *given])
    assert isinstance(result.exception, SarrusError)  # `main` makes it a line and exit code 2
    assert words in str(result.exception)


@pytest.mark.parametrize(("option", "package"), [(["--view"], "viser"), (["--plot", "a.png"], "matplotlib")])
def test_a_missing_extra_is_said_before_anything_is_computed(monkeypatch, option, package):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = CliRunner().invoke(command_line.app, ["simulate", "zoo:chain:2", *option])
    assert isinstance(result.exception, SarrusError)
    assert f"this needs {package}: pip install" in str(result.exception)


def test_words_of_the_zoo_need_no_quotes():
    assert "tree_of_four_bar_1_2_floating" in run("zoo:tree_of:four_bar:1:2", "-d", "0.01")


def test_ctrl_c_keeps_what_was_computed(tmp_path, controllers):
    file = tmp_path / "kept.npz"
    command = [sys.executable, "-m", "sarrus.cli.main", "simulate", "zoo:chain:2", "-d", "36000", "--every", "100"]
    process = subprocess.Popen(
        [*command, "-c", f"{controllers}:slowly", "--save", str(file)], stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in the background
    )  # fmt: skip
    began = tmp_path / "began"
    while not began.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in output
    kept = sarrus.Trajectory.load(file, sarrus.zoo.chain(2))
    assert kept.settings["interrupted"]
    assert len(kept) > 0


# --- what a file says about time and states -----------------------------------------------------------


@pytest.fixture
def servo(tmp_path):
    """A hinge without gravity that a servo holds at 1 rad, and a slide that nothing moves."""
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    path = tmp_path / "servo.xml"
    path.write_text(
        f"""<mujoco><option timestep="0.004" integrator="RK4" gravity="0 0 0"/><worldbody>
          <body><joint name="j" damping="5"/>{inertial}<body><joint type="slide"/>{inertial}</body></body></worldbody>
          <actuator><position joint="j" kp="50"/></actuator>
          <keyframe><key name="there" qpos="0.5 2" qvel="0 0.25" ctrl="1"/></keyframe></mujoco>"""
    )
    return str(path)


def test_time_step_and_integrator_are_the_files(servo):
    said = as_json(servo, "-d", "0.04")
    assert (said["dt"], said["integrator"], said["steps"]) == (0.004, "rk4", 10)
    said = as_json(servo, "-d", "0.04", "--dt", "0.01", "--integrator", "implicit")
    assert (said["dt"], said["integrator"], said["steps"]) == (0.01, "implicit", 4)
    assert as_json("zoo:chain:2", "-d", "0.01")["dt"] == 0.001


def test_it_starts_at_a_keyframe_with_its_controls(servo, tmp_path):
    saved = tmp_path / "a.npz"
    run(servo, "-d", "10", "--keyframe", "there", "--save", str(saved))
    q, v = (np.load(saved)[key] for key in ("q", "v"))
    np.testing.assert_array_equal(q[0], [0.5, 2.0])
    np.testing.assert_array_equal(v[0], [0.0, 0.25])
    assert q[-1, 0] == pytest.approx(1.0, abs=1e-2)  # the servo goes where its control says
    run(servo, "-d", "0.1", "--keyframe", "there", "-c", "pd", "--kp", "0", "--kd", "0", "--save", str(saved))
    assert np.load(saved)["q"][-1, 0] == pytest.approx(0.5)  # a controller stands in for the controls
    assert as_json(servo, "-d", "0.1", "--keyframe", "there", "--batch", "3")["robots"] == 3


def test_a_ball_of_a_file_rests_on_its_floor(tmp_path):
    path, saved = tmp_path / "ball.xml", tmp_path / "a.npz"
    path.write_text(
        """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
          <body pos="0 0 0.3"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    )
    said = as_json(str(path), "-d", "1", "--save", str(saved))
    assert (said["method"], said["contacts"], said["operations_per_step"]) == ("contact", 1, None)
    assert said["energy_drift"] is None  # contacts do work
    assert np.load(saved)["q"][-1, 2] == pytest.approx(0.1, abs=1e-3)


BALL = """<mujoco><option timestep="0.002" integrator="RK4"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body pos="0 0 0.3"><freejoint/><geom name="ball" size="0.1"/></body></worldbody></mujoco>"""


@pytest.fixture
def ball(tmp_path):
    (tmp_path / "ball.xml").write_text(BALL)
    return str(tmp_path / "ball.xml")


def test_what_touches_in_the_end_is_said(ball):
    end = as_json(ball, "-d", "1")["contacts_at_end"]
    assert (end["count"], end["geometries"]) == (1, ["ball"])
    assert end["normal_force"] == pytest.approx(9.81 * 1000.0 * 4.0 / 3.0 * np.pi * 1e-3, rel=1e-4)
    text = run(ball, "-d", "1")
    assert "1 at the end (ball), 41.09 N in all, weight 41.09 N" in text
    assert "none at the end" in run(ball, "-d", "0.01")


def test_a_ball_bounces_or_falls_through_the_floor_if_it_is_told_to(ball, tmp_path):
    saved = str(tmp_path / "a.npz")
    run(ball, "-d", "0.4", "--restitution", "0.9", "--save", saved)
    assert np.load(saved)["q"][-1, 2] > 0.2
    said = as_json(ball, "-d", "0.4", "--no-contacts", "--save", saved)
    assert (said["integrator"], said["contacts"]) == ("rk4", 0)
    assert np.load(saved)["q"][-1, 2] < -0.4


def test_an_integrator_of_the_file_that_knows_no_impacts_is_not_taken_and_that_is_said(ball):
    assert any("rk4, which knows no impacts" in note for note in as_json(ball, "-d", "0.01")["notes"])


def test_too_few_slots_are_told_with_what_to_try(tmp_path):
    path = tmp_path / "box.xml"
    path.write_text(BALL.replace('size="0.1"', 'type="box" size="0.1 0.1 0.1"'))
    said = as_json(str(path), "-d", "0.6", "--slots", "1", code=1)
    assert "than the 1 slots" in said["left_out"][0]
    assert "--slots 2" in said["left_out"][0]


COMB = """<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="1 1 1" pos="0 0 -3"/>{rods}
</worldbody></mujoco>"""
ROD = """<body pos="0 {y} 0"><joint axis="0 1 0" range="-.5 .5" ref="0"/><geom size=".05" pos=".4 0 0"/></body>"""


def test_too_few_slots_of_joint_limits_are_told_as_such(tmp_path):
    path = tmp_path / "comb.xml"
    path.write_text(COMB.format(rods="".join(ROD.format(y=0.2 * k) for k in range(10))))
    (said,) = as_json(str(path), "-d", "0.6", code=1)["left_out"]
    assert "more joint limits than the 5 slots" in said
    assert "Try --limit-slots 10 (" in said
    assert as_json(str(path), "-d", "0.6", "--limit-slots", "10")["statuses"].keys() == {"ok"}


def test_what_nothing_brakes_is_stepped_by_rk4_and_that_is_said():
    said = as_json("zoo:bennett", "-d", "0.2")
    assert (said["integrator"], set(said["statuses"])) == ("rk4", {"ok"})
    assert said["energy_drift"] < 1e-9
    assert any("nothing brakes: rk4" in note for note in said["notes"])
    assert as_json("zoo:four_bar", "-d", "0.1", "-c", "pd")["integrator"] != "rk4"


SUNK = """<mujoco><worldbody>{floor}<body><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>"""


def test_a_robot_that_would_start_inside_the_floor_is_lifted_or_told(tmp_path):
    bare, scene = tmp_path / "bare.xml", tmp_path / "scene.xml"
    bare.write_text(SUNK.format(floor=""))
    scene.write_text(SUNK.format(floor="<geom type='plane' size='1 1 1'/>"))
    lifted = as_json(str(bare), "-d", "0.01", "--ground")
    assert any("lifted by 0.1 m onto the floor" in note for note in lifted["notes"])
    assert set(lifted["statuses"]) == {"ok"}
    put = as_json(str(bare), "-d", "0", "--ground", "--q", "0 0 0 0 0 0 1")["notes"]
    assert any("starts 0.1 m inside the ground" in note for note in put)
    assert any("starts 0.1 m inside the ground" in note for note in as_json(str(scene), "-d", "0")["notes"])
    assert not any("inside the ground" in note for note in as_json(str(scene), "-d", "0", "--no-contacts")["notes"])


def test_a_robot_without_ground_is_told_so_and_gets_one():
    assert any("no ground" in note for note in as_json("zoo:geared_quadruped", "-d", "0.01")["notes"])
    said = as_json("zoo:geared_quadruped", "-d", "0.2", "--ground", "-c", "pd")
    assert said["contacts_at_end"]["count"] == 4
    assert not any("no ground" in note for note in said["notes"])
    assert any("implicit steps" in note for note in said["notes"])


def test_a_keyframe_off_its_loops_is_projected_and_that_is_said(tmp_path):
    path = tmp_path / "four_bar.xml"
    path.write_text(
        """<mujoco><compiler angle="radian"/><worldbody>
          <body name="a"><joint name="a" axis="0 1 0"/>
            <geom type="capsule" size="0.02" fromto="0 0 0 0 0 1" contype="0" conaffinity="0"/>
            <body name="b" pos="0 0 1"><joint name="b" axis="0 1 0"/>
              <geom type="capsule" size="0.02" fromto="0 0 0 1 0 0" contype="0" conaffinity="0"/></body></body>
          <body name="c" pos="1 0 0"><joint name="c" axis="0 1 0"/>
            <geom type="capsule" size="0.02" fromto="0 0 0 0 0 1" contype="0" conaffinity="0"/></body></worldbody>
          <equality><connect body1="b" body2="c" anchor="1 0 0"/></equality>
          <keyframe><key name="lean" qpos="0.3 -0.3 0.29"/></keyframe></mujoco>"""
    )
    notes = as_json(str(path), "-d", "0.01", "--keyframe", "lean")["notes"]
    assert any("keyframe 'lean' is not quite on the loops: projected" in note for note in notes)
    assert any("--keyframe lean" in note for note in as_json(str(path), "-d", "0.01")["notes"])


def test_joint_limits_that_the_start_breaks_are_told(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(
        """<mujoco><compiler angle="radian"/><worldbody><body><geom size="0.1" pos="0 0 -1"/>
          <joint name="hinge" axis="0 1 0" limited="true" range="-0.1 0.1"/></body></worldbody></mujoco>"""
    )
    assert any(
        "outside joint limits: hinge by 0.2" in note for note in as_json(str(path), "-d", "0", "--q", "0.3")["notes"]
    )
    assert not any("outside" in note for note in as_json(str(path), "-d", "0", "--q", "0.05")["notes"])


def test_a_simulation_that_diverges_says_when_where_and_what_to_try(controllers):
    (controllers.parent / "wild.py").write_text("def push(t, q, v):\n    return 1e3 * v\n")
    said = as_json("zoo:chain:2", "-c", f"{controllers.parent / 'wild.py'}:push", "--q", "0.1,0.2", "-d", "2", code=1)
    when, what = said["diverged"]
    assert "diverged after" in when
    assert "_joint was the fastest" in when
    assert "--dt 0.0005" in what


def test_what_was_tried_is_not_suggested_again(controllers, tmp_path):
    (controllers.parent / "wild.py").write_text("def push(t, q, v):\n    return 1e3 * v\n")
    path = tmp_path / "hinge.xml"
    path.write_text(
        """<mujoco><worldbody><body><geom size="0.1" pos="0 0 -1" contype="0" conaffinity="0"/>
          <joint name="hinge" axis="0 1 0" limited="true" range="-90 90"/></body></worldbody></mujoco>"""
    )
    given = (str(path), "-c", f"{controllers.parent / 'wild.py'}:push", "--q", "0.1", "-d", "2")
    assert "--no-limits" in as_json(*given, code=1)["diverged"][-1]
    assert "--no-limits" not in as_json(*given, "--no-limits", code=1)["diverged"][-1]
