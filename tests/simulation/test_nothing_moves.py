"""Simulations of nothing: robots without a joint, batches without a robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from sarrus.cli.main import app
from sarrus.model.visuals import Box
from sarrus.viewer.recording import recording_of

FIXED = """<robot name="post"><link name="base"><inertial><mass value="1"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size=".2 .2 .2"/></geometry></collision></link></robot>"""
WAYS = [{}, {"integrator": "rk4"}, {"integrator": "adaptive"}, {"integrator": "implicit"}, {"dtype": "float32"}]


def box() -> sarrus.Model:
    builder = sarrus.ModelBuilder("box").add_body("box", joint="free", mass=1.0, inertia=np.eye(3))
    return builder.add_geometry("box", Box((0.2, 0.2, 0.2))).build().with_ground()


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("batch", [None, 0, 3])
def test_a_robot_without_joints_stands_still(options, batch):
    simulation = sarrus.Simulation(sarrus.load(FIXED), dt=1e-3, **options)
    lead = () if batch is None else (batch,)
    motion = simulation.run(np.zeros((*lead, 0)), duration=0.01)
    assert motion.q.shape == (*lead, 11, 0)
    for array in (motion.energy.total, motion.closure_error, motion.momentum.linear[..., 0]):
        np.testing.assert_array_equal(array, np.zeros((*lead, 11)))
    assert np.all(motion.drift.energy == 0.0)
    assert set(motion.statuses) <= {"ok"}
    state = simulation.step(simulation.step(simulation.start(np.zeros((*lead, 0))), tau=np.zeros((*lead, 0))))
    assert state.q.shape == (*lead, 0)
    if options.get("integrator") != "adaptive":
        assert simulation.linearize(state).A.shape == (*lead, 0, 0)
        assert simulation.vjp(motion).q0_bar.shape == (*lead, 0)
        asked = sarrus.Simulation(sarrus.load(FIXED), dt=1e-3, controller=lambda t, q, v: np.zeros_like(v), **options)
        np.testing.assert_array_equal(asked.run(np.zeros((*lead, 0)), duration=0.01).q, motion.q)


def test_commands_take_a_robot_without_joints(tmp_path: Path):
    file = tmp_path / "post.urdf"
    file.write_text(FIXED)
    for arguments in (
        ["simulate", "-d", "0.01"],
        ["simulate", "-d", "0.01", "--batch", "3", "--ground"],
        ["simulate", "-d", "0.01", "--controller", "pd", "--save", str(tmp_path / "run.npz")],
        ["check"],
        ["info"],
        ["plan"],
        ["bench", "--json"],
    ):
        result = CliRunner().invoke(app, [arguments[0], str(file), *arguments[1:]])
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        assert "post" in result.output


def test_the_viewer_plays_what_does_not_move():
    model = sarrus.load(FIXED)
    motion = sarrus.simulate(model, duration=0.01, dt=1e-3)
    assert recording_of(model, motion).q.shape == (1, 11, 0)
    with pytest.raises(sarrus.errors.StateError, match=r"q has shape \(0, 0\)"):
        recording_of(model, {"q": np.zeros((0, 0))})


@pytest.mark.parametrize("options", [{}, *({"contacts": False} | way for way in WAYS)], ids=str)
def test_a_batch_without_robots_has_the_shapes_of_one(options):
    simulation = sarrus.Simulation(box(), dt=1e-3, **options)
    for steps in (0, 5):
        motion = simulation.run(np.zeros((0, 7)), steps=steps, tau=np.zeros((0, max(1, steps), 6)))
        assert motion.q.shape == (0, steps + 1, 7)
        assert motion.energy.total.shape == (0, steps + 1)
        assert motion.statuses == {}
    state = simulation.step(simulation.step(simulation.start(np.zeros((0, 7)))))
    assert state.v.shape == (0, 6)
    if simulation.contacts:
        contacts = simulation.contacts_of(state)
        assert contacts is not None
        assert contacts.forces.shape == (0, 4, 3)
