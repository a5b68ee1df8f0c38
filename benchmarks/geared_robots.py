"""Robots whose motors' rotors are bodies of their own, from third-party files: the four of the constraint embedding
paper (Figs. 12 to 14), and with feet on the ground.

Files: generalized_rbda's URDF+, in ../shared/robots. Mini Cheetah, MIT Humanoid and JVRC-1 declare their gears and
belts there; Tello's are declared here, from the geometry of its differentials.

Reconstructed, because the files do not say it:
- Tello's differentials. Upstream gives them as two equations each between the angles of rotors and links. They are
  expanded |pin - pin|^2 = length^2, and factor without remainder into the lengths below. A rod is a massless one
  (a distance, one row). Its pins turn with the gears' outputs, which are not bodies of the file: cranks and levers are
  added, of 5 g and 1e-6 kg m^2 (0.05 % of what a rotor reflects). Upstream counts clusters of 4 bodies, here 6 and 5;
  `differentials="linear"` has 4, with the relations linearized at home.
- Signs of Tello's rotors are upstream's equations: rotor = 6 * crank, though some rotors' axes point the other way.
- Feet: Mini Cheetah's at 0.195 m below the knee, MIT Humanoid's soles at 0.041 m below the ankle, as upstream's code.

The models without rotors of Figs. 12 and 13 are made by `rotor_free.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import sarrus
from benchmarks.loop_systems import MissingFileError
from benchmarks.robots import shared_directory
from benchmarks.rotor_free import is_rotor, relations_at_home, without_bodies
from sarrus.diagnosis import project
from sarrus.model.bodies import Frame, Placement
from sarrus.model.compose import attach
from sarrus.model.constraints import Coupling
from sarrus.model.model import Model


def mini_cheetah() -> Model:
    """12 joints with a rotor each, a floating base; frames `FR_foot` ... mark the feet."""
    model = _load("mini_cheetah/mini_cheetah.urdf")
    for leg in ("FR", "FL", "HR", "HL"):
        model = _with_frame(model, f"{leg}_foot", f"{leg}_knee_link", (0.0, 0.0, -0.195))
    bent = {"hip_to_knee_j": 1.6, "abad_to_hip_j": -0.8}
    return _bent(model, {name: bent[name[3:]] for name in model.joint_names if name[3:] in bent})


def mit_humanoid() -> Model:
    """18 joints, a floating base: 14 with a rotor each, knees and ankles by two rotors in the thigh and parallel belts.

    Frames `left_sole`, `right_sole` mark the feet.
    """
    model = _load("mit_humanoid/mit_humanoid.urdf")
    for side in ("left", "right"):
        model = _with_frame(model, f"{side}_sole", f"{side}_ankle_link", (0.0, 0.0, -0.041))
    joints = ("base_to_{}_hipz_link", "{}_hipz_to_hipx_link", "{}_hipx_to_hipy_link", "{}_hipy_to_knee_link",
              "{}_knee_to_ankle")  # fmt: skip
    # A stride: with both legs alike, welded feet would be singular (all hinges across the body are then parallel).
    stride = {"left": (0.3, 0.25, -0.7, 1.1, -0.4), "right": (-0.4, -0.2, -0.1, 0.5, -0.4)}
    angles = {j.format(side): x for side, leg in stride.items() for j, x in zip(joints, leg, strict=True)}
    return _bent(model, angles)


def mit_humanoid_leg() -> Model:
    """One leg on a fixed base, as in Fig. 13: 5 joints, 5 rotors."""
    return _load("mit_humanoid/mit_humanoid_leg.urdf")


def jvrc1() -> Model:
    """32 joints, 25 of them with a rotor, a floating base."""
    return _load("jvrc1/jvrc1_humanoid.urdf")


# --- Tello -------------------------------------------------------------------------------------------

_RATIO = 6.0  # of all of its gears
_CRANK, _WIDTH, _HEIGHT, _ROD = 0.08, 0.07, 0.1425, 0.155  # hip: crank, half distance of pins, gimbal below cranks
_LEVER, _TOE_LEVER, _SHIN, _OFFSET, _TOE_ROD = 0.04, 0.035, 0.26, 0.042, 0.2146  # knee and ankle
_LEVER_ANGLE, _TOE_ANGLE, _OFFSET_ANGLE = np.radians([120.84, 114.0, 20.0])  # from the shin's z towards its x


def tello(differentials: str = "rods") -> Model:
    """18 joints, a floating base: 10 rotors with gears, and 4 differentials of two rotors each (hips, knee and ankle).

    differentials  "rods": cranks and rods, a relation of positions that is not linear
                   "linear": gears that turn as the rods do near home
    """
    if differentials not in ("rods", "linear"):
        raise sarrus.errors.unknown_name("differentials of tello", differentials, ("rods", "linear"))
    model = _load("tello/tello_humanoid.urdf")
    gears = []
    for side in ("left", "right"):
        model = _hip(_knee_and_ankle(model, side), side)
        driven = [f"torso-to-{side}-hip-clamp", f"torso-to-{side}-shoulder-ry"]
        driven += [f"{side}-shoulder-{pair}" for pair in ("ry-to-shoulder-rx", "rx-to-shoulder-rz", "rz-to-elbow")]
        gears += [sarrus.coupling({f"{j}-rotor": 1.0, j: -_RATIO}, name=f"{j}-gear") for j in driven]
    model = model.with_constraints(*gears)
    home, error = project(model, _upright(model))
    if error > 1e-10:
        raise ValueError(f"tello: its rods do not close (off by {error:.1e})")
    model = replace(model, home=home)
    return model if differentials == "rods" else _linearized(model)


def _hip(model: Model, side: str) -> Model:
    """Two cranks about y on the clamp, rods from their pins to the thigh, behind the gimbal."""
    clamp, thigh = f"{side}-hip-clamp", f"{side}-thigh"
    for k, y in ((1, _WIDTH), (2, -_WIDTH)):
        crank, rotor = f"{side}-hip-crank-{k}", f"{clamp}-to-hip-rotor-{k}"
        model = _with_lever(model, crank, clamp, (0.0, y, 0.0), (-_CRANK, 0.0, 0.0))
        model = _with_frame(model, f"{thigh}-pin-{k}", thigh, (-_CRANK, y, 0.0))
        model = model.with_constraints(
            sarrus.coupling({rotor: 1.0, f"{crank}-joint": -_RATIO}, name=f"{crank}-gear"),
            sarrus.distance(f"{crank}-pin", f"{thigh}-pin-{k}", _ROD, name=f"{side}-hip-rod-{k}"),
        )
    return model


def _knee_and_ankle(model: Model, side: str) -> Model:
    """The mean of both outputs turns the shin, half their difference a lever on the shin, whose rod turns the foot."""
    shin, foot, lever = f"{side}-shin", f"{side}-foot", f"{side}-ankle-lever"
    one, two = (f"{side}-thigh-to-knee-ankle-rotor-{k}" for k in (1, 2))
    model = _with_lever(model, lever, shin, -_OFFSET * _sagittal(_OFFSET_ANGLE), _LEVER * _sagittal(_LEVER_ANGLE))
    model = _with_frame(model, f"{foot}-pin", foot, _TOE_LEVER * _sagittal(_TOE_ANGLE))
    return model.with_constraints(
        sarrus.coupling({one: 1.0, two: 1.0, f"{side}-thigh-to-shin": -2.0 * _RATIO}, name=f"{side}-knee-gear"),
        sarrus.coupling({two: 1.0, one: -1.0, f"{lever}-joint": -2.0 * _RATIO}, name=f"{lever}-gear"),
        sarrus.distance(f"{lever}-pin", f"{foot}-pin", _TOE_ROD, name=f"{side}-ankle-rod"),
    )


def _upright(model: Model) -> np.ndarray:
    """Links at zero, the hips' cranks where their rods then are: 2 z r sin y - 2 r^2 cos y = rod^2 - 2 r^2 - z^2."""
    q = sarrus.neutral(model)
    a, b = 2.0 * _HEIGHT * _CRANK, 2.0 * _CRANK**2
    y = np.arcsin((_ROD**2 - b - _HEIGHT**2) / np.hypot(a, b)) + np.arctan2(b, a)
    for i, body in enumerate(model.bodies):
        if "hip-crank" in body.name or "hip-rotor" in body.name:
            q[model.layout.q[i]] = y if "crank" in body.name else _RATIO * y
    return q


def _sagittal(angle: float) -> np.ndarray:
    """A unit vector of the xz plane, from z towards x: turning about y adds to the angle."""
    return np.array([np.sin(angle), 0.0, np.cos(angle)])


def _linearized(model: Model) -> Model:
    """Cranks and levers removed, rotors geared to the links with the ratios that rods give at home."""
    dependent = [body.joint.name for body in model.bodies if is_rotor(body.name)]
    kept, A = relations_at_home(model, dependent)
    plain = without_bodies(model, [b.name for b in model.bodies if "crank" in b.name or "lever" in b.name])
    where = {name: model.layout.q[i].start for i, name in enumerate(model.joint_names)}
    gears = []
    for name, row in zip(dependent, A, strict=True):
        if "rotor" not in name:
            continue
        terms = {name: 1.0} | {k: -round(float(x), 9) for k, x in zip(kept, row, strict=True) if abs(x) > 1e-9}
        home = {joint: float(model.home[where[joint]]) for joint in terms}  # type: ignore[index]
        gears.append(sarrus.coupling(terms, references=home, name=f"{name}-gear"))
    return plain.with_constraints(*gears)


# --- feet --------------------------------------------------------------------------------------------


def with_feet_contacts(model: Model, feet: Sequence[str]) -> Model:
    """The robot with its feet held by point contacts, 3 rows each."""
    return model.with_constraints(*(sarrus.contact(foot, 3) for foot in feet))


def with_feet_welded(model: Model, feet: Sequence[str]) -> Model:
    """The robot with its feet welded to the ground, 6 rows each."""
    return model.with_constraints(*(sarrus.contact(foot, 6) for foot in feet))


def mini_cheetah_standing() -> Model:
    return with_feet_contacts(mini_cheetah(), ("FR_foot", "FL_foot", "HR_foot", "HL_foot"))


def mit_humanoid_standing() -> Model:
    return with_feet_welded(mit_humanoid(), ("left_sole", "right_sole"))


def digit_standing() -> Model:
    """Digit with the six ball joints that its file closes its legs by (18 rows), both feet welded."""
    return with_feet_welded(_load("digit/digit-v3.xml"), ("left-foot", "right-foot"))


class GearedRobot(NamedTuple):
    """How to make it, and how many freedoms it should have, a floating base's six among them."""

    make: Callable[[], Model]
    mobility: int


ROBOTS = {
    "Mini Cheetah": GearedRobot(mini_cheetah, 18),
    "MIT Humanoid": GearedRobot(mit_humanoid, 24),
    "Tello": GearedRobot(tello, 24),
    "Tello, linear differentials": GearedRobot(lambda: tello("linear"), 24),
    "JVRC-1": GearedRobot(jvrc1, 38),
}
HYBRIDS = {
    "Mini Cheetah, 4 contacts": GearedRobot(mini_cheetah_standing, 6),
    "MIT Humanoid, feet welded": GearedRobot(mit_humanoid_standing, 12),
    "Digit, feet welded": GearedRobot(digit_standing, 24),
}


# --- reading and extending models ---------------------------------------------------------------------


def _load(name: str) -> Model:
    path: Path = shared_directory() / "robots" / name
    if not path.is_file():
        raise MissingFileError(path.name)
    return sarrus.load(path)


def _with_frame(model: Model, name: str, body: str, position: Sequence[float] | np.ndarray) -> Model:
    frame = Frame(name, model.body_index(body), Placement(np.eye(3), np.array(position, float)))
    return replace(model, frames=(*model.frames, frame))


def _with_lever(
    model: Model, name: str, body: str, hub: Sequence[float] | np.ndarray, pin: Sequence[float] | np.ndarray
) -> Model:
    """A light body that turns about y at a point of another, with a frame `{name}-pin` on it."""
    builder = sarrus.ModelBuilder(name)
    builder.add_body(
        name, axis=(0.0, 1.0, 0.0), joint_name=f"{name}-joint", mass=0.005, inertia=1e-6 * np.eye(3), independent=False
    )
    lever = builder.add_frame(f"{name}-pin", name, position=pin).build()
    joined = attach(_with_frame(model, f"{name}-hub", body, hub), lever, f"{name}-hub")
    return replace(joined, name=model.name)


def _bent(model: Model, angles: dict[str, float]) -> Model:
    """Joints at these angles, rotors where their gears put them, as home."""
    home = sarrus.neutral(model)
    where = {name: model.layout.q[i].start for i, name in enumerate(model.joint_names)}
    for joint, angle in angles.items():
        home[where[joint]] = angle
    for gear in model.constraints:
        assert isinstance(gear, Coupling)
        ratios = dict(gear.ratios)
        rotor = next(name for name in ratios if "rotor" in name)
        home[where[rotor]] = -sum(x * home[where[name]] for name, x in ratios.items() if name != rotor) / ratios[rotor]
    return replace(model, home=home)
