"""A humanoid whose legs are full of loops, as modern ones are. All numbers are made up, and plausible."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.model.bodies import WORLD_NAME
from sarrus.model.constraints import contact
from sarrus.model.model import Model
from sarrus.model.visuals import Capsule, Sphere, along
from sarrus.spatial.arrays import Array
from sarrus.zoo.sketch import Sketch

X, Y, Z = np.eye(3)
_BEND = 0.35  # radians by which thigh and shank lean where q is neutral
_HIP, _THIGH, _SHANK = 0.82, 0.4, 0.4  # height, lengths


def biped(contacts: bool = False, arms: bool = True) -> Model:
    """A humanoid of 42 kg that stands with bent knees where q is neutral; every motor sits above what it moves.

    Knees are driven by planar four-bars (3 rows of rank 2 each), ankles, which pitch and roll, by two cranks and two
    rods in space (6 rows each). Motors have effort limits; all other joints are passive. 40 freedoms (34 without arms),
    18 rows, mobility 24; `contacts` welds the soles to the ground: 12 rows more.
    """
    sketch = Sketch("biped" + ("" if arms else "_without_arms"))
    sketch.box("torso", WORLD_NAME, (_HIP + 0.3) * Z, (0.2, 0.3, 0.45), 16.0)
    sketch.builder.add_visual("torso", Sphere(0.09), position=(0.0, 0.0, 0.33))
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
        u = (heel - pin) / np.linalg.norm(heel - pin)
        crank, name = f"{side}_{rod}_crank", f"{side}_{rod}_rod"
        sketch.rod(crank, f"{side}_shank", pivot, pin, **_motor(50.0))
        universal = {"axis": Y, "second_axis": np.cross(u, Y)}
        sketch.rod(name, crank, pin, heel, "universal", **universal, independent=False)
        sketch.close(f"{side}_{rod}_heel", name, f"{side}_foot", heel, "connect")
    sketch.frame(f"{side}_sole", f"{side}_foot", y)


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
    radius, length = 0.035, float(np.linalg.norm(end - start))
    u = (end - start) / length
    lengthwise, across = 0.5 * mass * radius**2, mass * (length**2 / 12.0 + radius**2 / 4.0)
    inertia = across * np.eye(3) + (lengthwise - across) * np.outer(u, u)
    sketch.body(name, parent, start, "revolute", mass, 0.5 * (end - start), inertia, axis=axis, **joint)
    sketch.builder.add_visual(name, Capsule(radius, length), position=0.5 * (end - start), rotation=along(u))


def _leaning(angle: float) -> tuple[Array, Array]:
    """Down a limb that leans by an angle to the front, and the direction behind it."""
    return np.sin(angle) * X - np.cos(angle) * Z, -np.cos(angle) * X - np.sin(angle) * Z


def _motor(effort: float) -> dict[str, Any]:
    return {"effort_limit": effort, "independent": True}
