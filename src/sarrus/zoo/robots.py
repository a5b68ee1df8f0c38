"""Robots with motors: a humanoid whose legs are full of loops, as modern ones are, and robots with geared rotors.

All numbers are made up, and plausible. Constraints hold where q is neutral; rotors are at zero where their joints are.
Those with rotors have a `home` with bent knees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.model.bodies import WORLD_NAME
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Coupling, contact, coupling, of_type
from sarrus.model.model import Model
from sarrus.model.state import neutral
from sarrus.model.visuals import Box, Sphere
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import direction
from sarrus.zoo.sketch import Parts, Sketch, X, Y, Z, universal

_BEND = 0.35  # radians by which thigh and shank lean where q is neutral
_HIP, _THIGH, _SHANK = 0.82, 0.4, 0.4  # height, lengths
_RADIUS = 0.035  # of limbs
_SOLE, _BALL = 0.05, 0.02  # thickness of soles, radius of the balls on which a quadruped stands
_LEGS = {"front_left": (1.0, 1.0), "front_right": (1.0, -1.0), "hind_left": (-1.0, 1.0), "hind_right": (-1.0, -1.0)}


def biped(contacts: bool = False, arms: bool = True) -> Model:
    """A humanoid of 42 kg that stands with bent knees where q is neutral; every motor sits above what it moves.

    Knees are driven by planar four-bars (3 rows of rank 2 each), ankles, which pitch and roll, by two cranks and two
    rods in space (6 rows each). Motors have effort limits; all other joints are passive. 40 freedoms (34 without arms),
    18 rows, mobility 24; `contacts` welds the soles to the ground: 12 rows more. Soles and torso are boxes that can
    touch: without `contacts` it stands on the ground of `with_ground`.

    contacts  whether the soles are welded to the ground
    arms      whether it has arms
    returns   a `Model`
    errors    none

    >>> robot = sarrus.zoo.biped()
    >>> robot.nv, robot.n_rows
    (40, 18)
    """
    sketch = Sketch("biped" + ("" if arms else "_without_arms"))
    sketch.box("torso", WORLD_NAME, (_HIP + 0.3) * Z, (0.2, 0.3, 0.45), 16.0)
    sketch.builder.add_visual("torso", Sphere(0.09), position=(0.0, 0.0, 0.33))
    sketch.builder.add_geometry("torso", Box((0.2, 0.3, 0.45)), name="torso_box")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _leg(sketch, side, 0.1 * sign * Y)
        if arms:
            _arm(sketch, side, sign)
    model = sketch.build()
    soles = (contact(f"{side}_sole", 6, at=(0.1 * sign * Y, np.eye(3))) for side, sign in (("left", 1), ("right", -1)))
    return model.with_constraints(*soles) if contacts else model


def _leg(sketch: Sketch, side: str, y: Array) -> None:
    hip = y + _HIP * Z
    down, behind = _leaning(_BEND)  # along the thigh, and across it
    knee = hip + _THIGH * down
    shank_down, shank_behind = _leaning(-_BEND)
    ankle = knee + _SHANK * shank_down

    sketch.box(f"{side}_yaw", "torso", hip + 0.06 * Z, (0.08, 0.08, 0.05), 0.8, "revolute", axis=Z, **_motor(60.0))
    sketch.box(f"{side}_roll", f"{side}_yaw", hip, (0.1, 0.06, 0.06), 1.0, "revolute", axis=X, **_motor(90.0))
    _limb(sketch, f"{side}_thigh", f"{side}_roll", hip, knee, 3.5, **_motor(120.0))
    # The knee: a crank near the hip and a rod down to a lever on the shank.
    pivot, lever = hip + 0.08 * down, knee + 0.05 * behind
    pin = pivot + 0.06 * behind
    sketch.rod(f"{side}_knee_crank", f"{side}_thigh", pivot, pin, **_motor(120.0))
    sketch.rod(f"{side}_knee_rod", f"{side}_knee_crank", pin, lever, independent=False)
    _limb(sketch, f"{side}_shank", f"{side}_thigh", knee, ankle, 2.0, independent=False)
    sketch.close(f"{side}_knee", f"{side}_knee_rod", f"{side}_shank", lever, "connect")
    # The ankle: a cross, the foot, and two rods from cranks on the shank to the heel's sides.
    sketch.box(f"{side}_cross", f"{side}_shank", ankle, (0.03, 0.05, 0.03), 0.15, "revolute", axis=Y, independent=False)
    foot = (0.2, 0.08, 0.04)
    sketch.box(f"{side}_foot", f"{side}_cross", ankle, foot, 0.9, "revolute", axis=X, independent=False)
    for rod, out in (("inner", -0.035), ("outer", 0.035)):
        pivot = ankle - 0.2 * shank_down + out * np.sign(y[1]) * Y
        pin = pivot + 0.05 * shank_behind
        heel = ankle - 0.06 * X + out * np.sign(y[1]) * Y
        crank, name = f"{side}_{rod}_crank", f"{side}_{rod}_rod"
        sketch.rod(crank, f"{side}_shank", pivot, pin, **_motor(50.0))
        sketch.rod(name, crank, pin, heel, "universal", **universal(direction(heel - pin), Y), independent=False)
        sketch.close(f"{side}_{rod}_heel", name, f"{side}_foot", heel, "connect")
    sketch.frame(f"{side}_sole", f"{side}_foot", y)
    sole = {"shape": Box((foot[0], foot[1], _SOLE)), "position": y - ankle + 0.5 * _SOLE * Z}
    sketch.builder.add_visual(f"{side}_foot", **sole)
    sketch.builder.add_geometry(f"{side}_foot", name=f"{side}_sole_box", **sole)


def _arm(sketch: Sketch, side: str, sign: float) -> None:
    shoulder = 0.2 * sign * Y + (_HIP + 0.48) * Z
    elbow = shoulder + 0.05 * sign * Y - 0.28 * Z
    hand = elbow + 0.15 * X - 0.18 * Z
    sketch.box(f"{side}_shoulder", "torso", shoulder, (0.08, 0.08, 0.08), 0.8, "revolute", axis=Y, **_motor(40.0))
    _limb(sketch, f"{side}_upper_arm", f"{side}_shoulder", shoulder, elbow, 1.2, axis=X, **_motor(40.0))
    _limb(sketch, f"{side}_forearm", f"{side}_upper_arm", elbow, hand, 0.9, **_motor(40.0))
    sketch.frame(f"{side}_hand", f"{side}_forearm", hand)


def _limb(
    sketch: Sketch, name: str, parent: str, start: Array, end: Array, mass: float, axis: Array = Y, **joint: Any
) -> None:
    """A cylinder with this mass from its joint to the next."""
    sketch.rod(name, parent, start, end, axis=axis, mass=mass, radius=_RADIUS, drawn=_RADIUS, **joint)


def _leaning(angle: float) -> tuple[Array, Array]:
    """Down a limb that leans by an angle to the front, and the direction behind it."""
    return np.sin(angle) * X - np.cos(angle) * Z, -np.cos(angle) * X - np.sin(angle) * Z


def _motor(effort: float) -> dict[str, Any]:
    return {"effort_limit": effort, "independent": True}


def geared_quadruped(floating: bool = True, contacts: bool = False, seed: int = 0) -> Model:
    """A quadruped of about 12 kg with 12 joints, each driven by a rotor: 24 bodies and the trunk, 12 rows.

    Hips' rotors sit one link inwards, knees' on the thigh, at the hip, from where a belt goes down the thigh (ratio 9).
    Frames `{leg}_foot` mark the feet, balls that stand on the ground of `with_ground` at home; `contacts` holds them by
    point contacts.

    floating  whether the trunk floats
    contacts  whether the feet are held by point contacts
    seed      of the invented lengths and inertias
    returns   a `Model`
    errors    none

    >>> robot = sarrus.zoo.geared_quadruped()
    >>> robot.nv, robot.n_rows
    (30, 12)
    """
    builder, parts = ModelBuilder("geared_quadruped" + ("" if floating else "_fixed")), Parts(seed)
    size = (0.4, 0.18, 0.1)
    trunk = _base(builder, parts, "trunk", size, 12.0, floating)
    if floating:
        builder.add_geometry(trunk, Box(size), name="trunk_box")
    for leg, (ahead, left) in _LEGS.items():
        roll, pitch, knee = f"{leg}_hip_roll", f"{leg}_hip_pitch", f"{leg}_knee"
        hip, shoulder = np.array([0.19 * ahead, 0.05 * left, 0.0]), 0.07 * left * Y
        thigh, shank = -0.21 * Z, -0.2 * Z
        _joint(builder, parts, roll, trunk, hip, X, shoulder, 7.0)
        _rotor(builder, parts, roll, trunk, hip - 0.06 * ahead * X, X, 6.0)
        _joint(builder, parts, pitch, roll, shoulder, Y, thigh, 3.0)
        _rotor(builder, parts, pitch, roll, 0.5 * shoulder, Y, 6.0)
        _joint(builder, parts, knee, pitch, thigh, Y, shank, 0.8)
        _rotor(builder, parts, knee, pitch, -0.02 * left * Y, Y, 9.0)
        builder.add_frame(f"{leg}_foot", knee, position=shank)
        builder.add_geometry(knee, Sphere(_BALL), name=f"{leg}_knee_ball")
        builder.add_geometry(f"{leg}_foot", Sphere(_BALL), name=f"{leg}_foot_ball")
    bent = {f"{leg}_{joint}": angle for leg in _LEGS for joint, angle in (("hip_pitch", 0.7), ("knee", -1.4))}
    model = _with_home(builder.build(), bent, _BALL + (0.21 + 0.2) * np.cos(0.7) if floating else 0.0)
    return model.with_constraints(*(contact(f"{leg}_foot", 3) for leg in _LEGS)) if contacts else model


def humanoid_leg(floating: bool = False, seed: int = 0) -> Model:
    """A leg of about 6 kg: hip yaw, roll and pitch by rotors, knee and ankle by two rotors in the thigh and belts.

    The ankle's belt runs over the knee: ankle rotor = 12 (knee + ankle), knee rotor = 12 knee. 10 bodies, 5 rows.
    Frames `sole`, `toe` and `heel` are on the foot, a box that can touch. `floating` hangs it on a pelvis that floats.

    floating  whether it hangs on a pelvis that floats
    seed      of the invented lengths and inertias
    returns   a `Model`
    errors    none

    >>> robot = sarrus.zoo.humanoid_leg()
    >>> robot.nv, robot.n_rows
    (10, 5)
    """
    builder, parts = ModelBuilder("humanoid_leg" + ("_floating" if floating else "")), Parts(seed)
    pelvis = _base(builder, parts, "pelvis", (0.1, 0.2, 0.1), 40.0, floating)
    thigh, shank, foot = -0.27 * Z, -0.28 * Z, np.array([0.05, 0.0, -0.04])
    yaw, roll = np.array([0.0, 0.08, -0.06]), np.array([-0.06, 0.0, -0.07])
    pitch = np.array([0.07, 0.01, 0.0])
    _joint(builder, parts, "hip_yaw", pelvis, yaw, Z, roll, 9.0)
    _rotor(builder, parts, "hip_yaw", pelvis, yaw + 0.02 * Z, Z, 6.0)
    _joint(builder, parts, "hip_roll", "hip_yaw", roll, X, pitch, 15.0)
    _rotor(builder, parts, "hip_roll", "hip_yaw", roll - 0.02 * X, X, 6.0)
    _joint(builder, parts, "hip_pitch", "hip_roll", pitch, Y, thigh, 9.0)
    _rotor(builder, parts, "hip_pitch", "hip_roll", pitch + 0.02 * Y, Y, 6.0, 0.2)
    _joint(builder, parts, "knee", "hip_pitch", thigh, Y, shank, 1.3)
    _rotor(builder, parts, "knee", "hip_pitch", (0.013, -0.05, -0.018), Y, 12.0, 0.2)
    _joint(builder, parts, "ankle", "knee", shank, Y, foot, 4.5)
    _rotor(builder, parts, "ankle", "hip_pitch", (0.015, -0.045, -0.13), Y, 12.0, over=("knee",))
    for name, p in (("sole", (0.0, 0.0, -0.04)), ("toe", (0.1, 0.0, -0.04)), ("heel", (-0.05, 0.0, -0.04))):
        builder.add_frame(name, "ankle", position=p)
    builder.add_geometry("ankle", Box((0.15, 0.06, _SOLE)), name="sole_box", position=(0.025, 0.0, -0.04 + 0.5 * _SOLE))
    height = 0.13 + (0.27 + 0.28) * np.cos(0.4) + 0.04
    return _with_home(builder.build(), {"hip_pitch": -0.4, "knee": 0.8, "ankle": -0.4}, height if floating else 0.0)


def _base(builder: ModelBuilder, parts: Parts, name: str, size: Any, density: float, floating: bool) -> str:
    if not floating:
        return WORLD_NAME
    builder.add_body(name, joint="free", **parts.box(size, density * float(np.linalg.norm(size))))
    return name


def _joint(
    builder: ModelBuilder, parts: Parts, name: str, parent: str, at: Any, axis: Any, to: Array, density: float
) -> None:
    """A link from `at` on its parent, which reaches to `to`; `density` in kg per metre."""
    builder.add_body(name, parent, axis=axis, position=at, independent=True, **parts.link(to, density))


def _rotor(
    builder: ModelBuilder, parts: Parts, joint: str, parent: str, at: Any, axis: Any, ratio: float,
    mass: float = 0.1, over: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """The rotor that drives a joint, by a gear, or by a belt over the joints between."""
    rotor = f"{joint}_rotor"
    builder.add_body(rotor, parent, axis=axis, position=at, independent=False, **parts.rotor(axis, mass))
    driven = {f"{name}_joint": -ratio for name in (*over, joint)}
    builder.add_constraint(coupling({f"{rotor}_joint": 1.0} | driven, name=f"{joint}_gear"))


def _with_home(model: Model, angles: Mapping[str, float], height: float) -> Model:
    """Joints at these angles (by the body that they move), rotors where their gears put them, the base so high."""
    home = neutral(model)
    if height:
        home[2] = height
    at = {name: model.layout.q[model.joint_index(name)].start for name in model.joint_names}
    for body, angle in angles.items():
        home[at[f"{body}_joint"]] = angle
    for gear in of_type(model.constraints, Coupling):
        (rotor, one), *driven = gear.ratios
        home[at[rotor]] = -sum(ratio * home[at[joint]] for joint, ratio in driven) / one
    return replace(model, home=home)
