"""The systems of Table II of the LCABA paper: hands, humanoid and Digit holding cubes, standing, with their leg
loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import sarrus
from benchmarks.robots import shared_directory, tree_of, urdf_path
from sarrus.model.compose import attach
from sarrus.model.constraints import LoopClosure

TIPS = ("link_3.0_tip", "link_7.0_tip", "link_11.0_tip", "link_15.0_tip")


class MissingFileError(Exception):
    """A robot file that this machine does not have."""


def cube(contacts: int) -> sarrus.Model:
    """A free cube of 5 cm with frames `grip_k` on its faces."""
    side, mass = 0.05, 0.2
    builder = sarrus.ModelBuilder("cube")
    builder.add_body("cube", joint="free", mass=mass, inertia=mass * side**2 / 6.0 * np.eye(3))
    for k in range(contacts):
        angle = 2.0 * np.pi * k / contacts
        position = 0.5 * side * np.array([np.cos(angle), np.sin(angle), 0.3 * (-1) ** k])
        builder.add_frame(f"grip_{k}", "cube", position=position)
    return builder.build()


def hold(model: sarrus.Model, frames: list[str]) -> sarrus.Model:
    """The model with a cube that these frames hold, each by a 3D connection."""
    held = attach(model, cube(len(frames)), "world", prefix="held_")
    grips = [LoopClosure(f"grip_{k}", frame, f"held_grip_{k}", "connect") for k, frame in enumerate(frames)]
    return held.with_constraints(*grips)


def hand() -> sarrus.Model:
    return tree_of(_file("allegro_right_hand"), floating_base=False)


def two_hands() -> sarrus.Model:
    ground = sarrus.ModelBuilder("hands")
    ground.add_frame("left", "world", position=(0.0, 0.15, 0.0), rotation=(np.pi / 2, 0.0, 0.0))
    ground.add_frame("right", "world", position=(0.0, -0.15, 0.0), rotation=(-np.pi / 2, 0.0, 0.0))
    return attach(attach(ground.build(), hand(), "left", "left_"), hand(), "right", "right_")


def humanoid_with_hands() -> sarrus.Model:
    humanoid = tree_of(_file("simple_humanoid"), floating_base=True)
    return attach(attach(humanoid, hand(), "l_wrist", "left_"), hand(), "r_wrist", "right_")


def digit() -> sarrus.Model:
    """Digit with its leg loops as the paper closes them: a rod of each loop is cut and its halves welded, six rows a
    loop.

    The file closes them by ball joints at the rods' ends, three rows each; here the ball joint holds a short second
    half.
    """
    path = shared_directory() / "robots" / "digit" / "digit-v3.xml"
    if not path.is_file():
        raise MissingFileError("digit-v3.xml")
    loaded = sarrus.load(path)
    model = loaded.without_constraints()
    half = sarrus.ModelBuilder("half").add_body("half", joint="spherical", mass=0.02, inertia=1e-5 * np.eye(3)).build()
    for closure in loaded.active_constraints:
        model = attach(model, half, closure.frame_b, prefix=f"{closure.name}_")
    welds = [sarrus.weld(c.frame_a, f"{c.name}_half", name=c.name) for c in loaded.active_constraints]
    return model.with_constraints(*welds)


def standing(model: sarrus.Model, feet: list[str]) -> sarrus.Model:
    return model.with_constraints(*(sarrus.contact(foot, 6) for foot in feet))


def two_digits() -> sarrus.Model:
    empty = sarrus.ModelBuilder("two_digits").build()
    return attach(attach(empty, digit(), "world", "one_"), digit(), "world", "two_")


def _tips(*prefixes: str) -> list[str]:
    return [f"{prefix}{tip}" for prefix in prefixes for tip in TIPS]


def _file(name: str):
    path = urdf_path(name)
    if path is None:
        raise MissingFileError(f"{name}.urdf (example-robot-data)")
    return path


_FEET = ["left-foot", "right-foot"]
_HANDS = ["left-hand", "right-hand"]

SYSTEMS: dict[str, Callable[[], sarrus.Model]] = {
    "hand + cube": lambda: hold(hand(), _tips("")),
    "two hands + cube": lambda: hold(two_hands(), _tips("left_", "right_")),
    "humanoid, hands + cube": lambda: hold(humanoid_with_hands(), _tips("left_", "right_")),
    "humanoid, hands + cube, feet": lambda: standing(
        hold(humanoid_with_hands(), _tips("left_", "right_")), ["l_ankle", "r_ankle"]
    ),
    "Digit, feet and leg loops": lambda: standing(digit(), _FEET),
    "Digit + cube": lambda: standing(hold(digit(), _HANDS), _FEET),
    "two Digits + cube": lambda: standing(
        hold(two_digits(), [f"{p}{h}" for p in ("one_", "two_") for h in _HANDS]),
        [f"{p}{f}" for p in ("one_", "two_") for f in _FEET],
    ),
}
