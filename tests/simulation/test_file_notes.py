"""A simulation says what of its file it does not have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sarrus
from sarrus.cli.main import app

GEOM = '<geom name="a" type="box" size="0.1 0.1 0.1"/>'
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def mjcf(geom: str = GEOM, joint: str = "<freejoint/>", more: str = "", option: str = "") -> str:
    return f"""<mujoco><option {option}/>{more}<worldbody><geom name="floor" type="plane" size="5 5 0.1"/><light/>
        <site name="s0" pos="0 0 2"/><body pos="0 0 1">{joint}{INERTIAL}{geom}<site name="s1"/></body>
        </worldbody></mujoco>"""


MISSING = mjcf('<geom name="a" type="mesh" mesh="m"/>', more='<asset><mesh name="m" file="gone.stl"/></asset>')
TENDON = '<tendon><spatial name="t" stiffness="500"><site site="s0"/><site site="s1"/></spatial></tendon>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MISSING, "1 geoms touch nothing (a): the shape of gone.stl"),
        (
            mjcf(joint='<joint name="j" type="ball" range="0 30" limited="true"/>'),
            "joint 'j': the limit of a ball joint",
        ),
        (mjcf(more=TENDON), "1 spatial tendons: not represented"),
        (mjcf(option='density="1000"'), "a fluid (density, viscosity): not represented"),
        (mjcf('<geom size="0.1" margin="0.05"/>'), "contact margins of up to 0.05 m"),
        (mjcf(more='<keyframe><key name="up" qpos="0 0 1"/></keyframe>'), "1 keyframes (up) do not fit the robot"),
    ],
)
def test_what_is_lost_is_the_first_note(text, words):
    first = sarrus.Simulation(sarrus.load(text)).notes[0]
    assert first.startswith(f"not as in the file: {words}")
    assert first.endswith("(`sarrus info` lists all)")


def test_what_is_all_there_has_no_such_note():
    """Lights, which are only seen, are in the import report, but no simulation lacks them."""
    for model in (sarrus.load(mjcf()), sarrus.zoo.four_bar(), sarrus.zoo.chain(2).with_ground()):
        assert not any("as in the file" in note for note in sarrus.Simulation(model).notes)


def test_the_most_important_lines_come_first_and_the_rest_is_counted():
    text = mjcf(
        '<geom name="a" type="mesh" mesh="m"/><geom size="0.1" margin="0.05" solref="0.01 1"/>',
        joint='<joint name="j" type="ball" range="0 30" limited="true"/>',
        more='<asset><mesh name="m" file="gone.stl"/></asset><keyframe><key name="up" qpos="0"/></keyframe>' + TENDON,
        option='density="1000" viscosity="1"',
    )
    model = sarrus.load(text)
    lines = [note for note in sarrus.Simulation(model).notes if "as in the file" in note or "nor this" in note]
    assert len(lines) == 4
    assert "touch nothing" in lines[0]
    assert all("not represented" in line for line in lines[1:3])
    assert lines[3].endswith("and 3 more (`sarrus info` lists all)")  # margins, the keyframe, and softness


def test_the_command_line_says_it_before_and_after_embedding(tmp_path: Path):
    file = tmp_path / "box.xml"
    file.write_text(MISSING)
    result = CliRunner().invoke(app, ["simulate", str(file), "-d", "0.01", "--json"])
    assert result.exit_code == 0
    assert any("touch nothing (a): the shape of" in note for note in json.loads(result.output)["notes"])
