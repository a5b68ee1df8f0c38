"""Mechanisms on which plans are compared: the papers' benchmarks, robots, parallel robots, the zoo, contacts."""

from __future__ import annotations

from collections.abc import Callable

import sarrus
from benchmarks.geared_robots import jvrc1, mini_cheetah, mit_humanoid, mit_humanoid_leg, tello
from benchmarks.loop_systems import MissingFileError
from benchmarks.robots import shared_directory, tree_of, urdf_path
from sarrus import zoo
from sarrus.model.model import Model


def _file(*parts: str) -> Model:
    path = shared_directory().joinpath("robots", *parts)
    if not path.is_file():
        raise MissingFileError(parts[-1])
    return sarrus.load(path)


def _urdf(name: str) -> Model:
    path = urdf_path(name)
    if path is None:
        raise MissingFileError(name)
    return tree_of(path, floating_base=True)


def _standing(model: Model, feet: tuple[str, ...], rows: int) -> Model:
    return model.with_constraints(*(sarrus.contact(foot, rows) for foot in feet))


MECHANISMS: dict[str, Callable[[], Model]] = {
    # linkages and parallel robots
    "four-bar": zoo.four_bar, "five-bar": zoo.five_bar, "slider-crank": zoo.slider_crank, "Bennett": zoo.bennett,
    "Sarrus linkage": zoo.sarrus_linkage, "delta robot": zoo.delta, "Stewart platform": zoo.stewart,
    "connecting rod": zoo.connecting_rod,
    # transmissions (embedding paper)
    "differential": zoo.differential, "parallel belt": zoo.parallel_belt, "link and rotor": zoo.link_and_rotor,
    "humanoid leg, geared": zoo.humanoid_leg, "quadruped, geared": zoo.geared_quadruped,
    # loops (LCABA paper)
    "cycle(6)": lambda: zoo.cycle(6), "cycle(12)": lambda: zoo.cycle(12), "star_pairs(4)": lambda: zoo.star_pairs(4),
    "star_pairs(8)": lambda: zoo.star_pairs(8), "star_to_one(4)": lambda: zoo.star_to_one(4),
    "chain_of_loops(3)": lambda: zoo.chain_of_loops(3), "coupled_loops(2)": lambda: zoo.coupled_loops(2),
    "coupled_loops(4)": lambda: zoo.coupled_loops(4),
    "hand with a cube": zoo.hand_cube, "two hands with a cube": zoo.two_hands_cube,
    # contacts (PV paper)
    "chain_welded_tip(7)": lambda: zoo.chain_welded_tip(7), "chain_welded_tip(20)": lambda: zoo.chain_welded_tip(20),
    "chain_every_kth_welded(5)": lambda: zoo.chain_every_kth_welded(5),
    "Go1, four feet": lambda: _standing(_urdf("go1"), ("FR_foot", "FL_foot", "RR_foot", "RL_foot"), 3),
    # robots
    "biped": zoo.biped, "Cassie": lambda: _file("cassie", "cassie.xml"),
    "Cassie, two feet": lambda: _standing(_file("cassie", "cassie.xml"), ("left-foot", "right-foot"), 3),
    "Digit": lambda: _file("digit", "digit-v3.xml"),
    "Digit, feet welded": lambda: _standing(_file("digit", "digit-v3.xml"), ("left-foot", "right-foot"), 6),
    "Mini Cheetah": mini_cheetah,
    "Mini Cheetah, four feet": lambda: _standing(mini_cheetah(), ("FR_foot", "FL_foot", "HR_foot", "HL_foot"), 3),
    "MIT Humanoid": mit_humanoid, "MIT Humanoid, feet welded": lambda: _standing(
        mit_humanoid(), ("left_sole", "right_sole"), 6
    ), "MIT Humanoid leg": mit_humanoid_leg, "Tello": tello, "JVRC-1": jvrc1,
}  # fmt: skip
