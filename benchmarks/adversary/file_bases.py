"""Small files to mutate: every tag and attribute that the importers know is in one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_INERTIA = '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="-0.002" izz="0.025"/>'


def _link(name: str, mass: float = 1.0, extra: str = "") -> str:
    origin = '<origin xyz="0.1 0 -0.05" rpy="0.1 0.2 0.3"/>'
    return f'<link name="{name}"><inertial>{origin}<mass value="{mass}"/>{_INERTIA}</inertial>{extra}</link>\n'


def _joint(name: str, parent: str, child: str, kind: str = "revolute", extra: str = "") -> str:
    placed = '<origin xyz="0.2 0 0.1" rpy="0 0.3 0"/>'
    if kind == "revolute" and "<limit" not in extra:
        extra += '<limit lower="-1" upper="1" effort="1" velocity="1"/>'  # Pinocchio wants one
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{placed}{ends}{extra}</joint>\n'


_SHAPE = (
    '<visual><geometry><box size="1 1 1"/></geometry><material name="m"><color rgba="1 0 0 1"/></material></visual>'
)
_LIMIT = '<limit lower="-1" upper="2" effort="10" velocity="3"/><dynamics damping="0.1" friction="0.2"/>'
_CHAIN = _link("base") + _link("a", 2.0) + _link("b", 0.5) + _link("c")


def _axis(xyz: str) -> str:
    return f'<axis xyz="{xyz}"/>'


_SLIDE = _axis("0 1 1") + '<limit lower="0" upper="1" effort="1" velocity="1"/>'
_MIMIC = _axis("0 1 0") + '<mimic joint="left" multiplier="-1" offset="0.2"/>'
_GEARED = (
    '<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="left"/>'
    '<actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>'
)
_LOOP = (
    '<frame name="eye" link="b" xyz="0 0 1" rpy="0 0 0"/>'
    '<loop name="close" type="revolute"><predecessor link="b"><origin xyz="1 0 0" rpy="0 0 0"/></predecessor>'
    '<successor link="c"><origin xyz="0 1 0"/></successor><axis xyz="0 0 1"/></loop>'
    '<coupling name="gear"><predecessor link="b"/><successor link="c"/><ratio value="6"/></coupling>'
)


def _robot(name: str, *parts: str) -> str:
    return f'<robot name="{name}">\n' + _CHAIN + "".join(parts) + "</robot>"


URDF = (
    _robot(
        "arm", _joint("j1", "base", "a", extra=_axis("0 0 1") + _LIMIT), _joint("j2", "a", "b", "prismatic", _SLIDE),
        _joint("j3", "b", "c", "continuous", _axis("1 0 0")),
    ),
    _robot(
        "tree", '<material name="m"/>', _link("tip", 0.1, _SHAPE), _joint("left", "base", "a"),
        _joint("right", "base", "b", extra=_MIMIC), _joint("grip", "b", "c", "fixed"),
        _joint("end", "c", "tip", extra=_axis("0 0 -1")), _GEARED,
    ),
    _robot(
        "floats", _joint("free", "base", "a", "floating"), _joint("plane", "a", "b", "planar", _axis("0 0 1")),
        _joint("knee", "a", "c"),
    ),
)  # fmt: skip
URDF_PLUS = (
    _robot(
        "loop", _joint("j1", "base", "a", extra=_axis("0 0 1")), _joint("j2", "a", "b", extra=_axis("0 0 1")),
        _joint("j3", "base", "c", extra=_axis("0 0 1")), _LOOP,
    ),
)  # fmt: skip

_MJ = '<inertial pos="0.1 0 -0.05" quat="1 0.1 0 0" mass="1.5" diaginertia="0.02 0.03 0.025"/>'
MJCF = (
    f"""<mujoco model="arm"><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9.81" timestep="0.001"/>
<default><joint armature="0.01" damping="0.1"/><default class="strong"><joint armature="0.1"/></default></default>
<worldbody><geom type="plane" size="1 1 1"/><body name="a" pos="0 0 1" quat="1 0 0 0.2">
<joint name="j1" type="hinge" axis="0 0 1" range="-1 1" ref="0.1" stiffness="3" springref="0.2"/>{_MJ}
<body name="b" pos="0.2 0 0.1" euler="0.1 0 0.3"><joint name="j2" type="slide" axis="0 1 1" class="strong"/>
<joint name="j3" pos="0.1 0 0" axis="1 0 0" frictionloss="0.1"/><inertial pos="0 0 0.1" mass="2"
 fullinertia="0.03 0.04 0.05 0.001 0 0"/><site name="s" pos="0.1 0 0"/></body></body></worldbody>
<actuator><motor name="m1" joint="j1" gear="5" ctrlrange="-1 1"/><position name="m2" joint="j2" kp="10"/></actuator>
</mujoco>""",
    f"""<mujoco model="float"><worldbody><body name="trunk" pos="0 0 1"><freejoint name="root"/>{_MJ}
<geom name="g" type="box" size="0.1 0.2 0.3"/><body name="leg" pos="0 0.1 0"><joint name="hip" type="ball"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.04" density="500"/><body name="shin" pos="0 0 -0.4">
<joint name="knee" axis="0 1 0" range="-150 0"/><geom type="sphere" size="0.05" mass="0.3"/></body></body></body>
<body name="post"><joint name="turn" axis="0 0 1"/>{_MJ}</body></worldbody>
<equality><connect name="c" body1="shin" body2="post" anchor="0 0 -0.1"/><joint joint1="knee" joint2="turn"
 polycoef="0 0.5 0.1 0 0"/></equality>
<tendon><fixed name="t" stiffness="10" damping="1"><joint joint="knee" coef="1"/><joint joint="turn" coef="-2"/></fixed>
</tendon><sensor><jointpos joint="knee"/></sensor><keyframe><key name="k"/></keyframe></mujoco>""",
)

YAML = (
    "closed_loop: [['b', 'c'], ['a', 'c']]\ntype: ['6d', '3D']\nname_mot: ['j1']\njoint_name: ['j1', 'j2']\n"
    "joint_type: ['SPHERICAL', 'UJOINT_ZY']\n",
    "closed_loop:\n  - [b, c]\ntype:\n  - 3d\n# a comment\n",
)


def shared_files(kind: str, largest: int = 12_000) -> Iterator[str]:
    """Texts of robots that others made, where they are at hand: $SARRUS_SHARED/robots, example-robot-data."""
    from sarrus.importers.load import example_robots

    suffix = ".xml" if kind == "mjcf" else ".urdf"
    folder = os.environ.get("SARRUS_SHARED")
    files = sorted((Path(folder) / "robots").rglob(f"*{suffix}")) if folder else []
    files += [file for file in example_robots().values() if suffix == ".urdf"]
    for file in files:
        text = file.read_text(errors="replace")
        plus = "<loop " in text or "<coupling " in text
        if len(text) <= largest and plus == (kind == "urdf+") and "<include" not in text:
            yield text
