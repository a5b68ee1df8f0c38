"""How a URDF becomes accelerations and a kernel: what CONTRIBUTING names is called, in that order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import sarrus

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sarrus"
LINK = '<inertial><origin xyz="0.1 0 0.2"/><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
JOINT = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
URDF = f"""<robot name="two"><link name="base"/><link name="upper">{LINK}</link><link name="lower">{LINK}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>{JOINT}</joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>{JOINT}</joint></robot>"""


def named() -> list[tuple[str, str]]:
    """(file, function) in the order of the page."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    walk = page.split("## A URDF walks through the rooms")[1].split("\n## ")[0]
    assert 10 <= len(re.findall(r"^\d+\. ", walk, flags=re.MULTILINE)) <= 14
    return [(file, function) for function, file in re.findall(r"`(\w+)` \(`([\w/]+\.py)`\)", walk)]


def test_a_urdf_walks_through_the_rooms() -> None:
    called: dict[tuple[str, str], int] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE):
            called.setdefault((path.relative_to(SOURCE).as_posix(), frame.f_code.co_name), len(called))

    load, compile = sarrus.load, sarrus.compile  # imported here, not on the way
    sys.setprofile(note)
    try:
        robot = load(URDF)
        rest = np.zeros(robot.nv)
        single = sarrus.aba(robot, rest, rest, rest)
        batch = sarrus.aba(robot, np.zeros((5, robot.nq)), rest, rest)
        kernel = compile(robot, "aba", cache=False)
    finally:
        sys.setprofile(None)
    assert np.allclose(batch, single)
    assert np.allclose(kernel(rest, rest, rest), single)
    steps = named()
    assert len(steps) >= 14
    assert [step for step in steps if step not in called] == []
    assert steps == sorted(steps, key=called.__getitem__)
