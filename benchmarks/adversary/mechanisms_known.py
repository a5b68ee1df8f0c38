"""Mechanisms that have names: the zoo, embedded clusters, robots of example-robot-data with their feet held."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

import sarrus
from benchmarks.adversary.mechanisms_loops import pair, with_home
from benchmarks.adversary.trees import add, pick, tree
from sarrus.errors import RankWarning, SarrusError
from sarrus.importers.load import example_robots
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import connect, contact, weld
from sarrus.model.model import Model

Rng = np.random.Generator
zoo = sarrus.zoo

ZOO: dict[str, Callable[[], Model]] = {
    "four_bar": zoo.four_bar, "four_bar connect": lambda: zoo.four_bar("connect"),
    "four_bar weld": lambda: zoo.four_bar("weld"), "flat_four_bar": zoo.flat_four_bar, "slider_crank": zoo.slider_crank,
    "five_bar": zoo.five_bar, "sarrus_linkage": zoo.sarrus_linkage, "bennett": zoo.bennett, "stewart": zoo.stewart,
    "cycle 6": lambda: zoo.cycle(6), "cycle 9": lambda: zoo.cycle(9), "chain_of_loops 1": lambda: zoo.chain_of_loops(1),
    "star_pairs 1": lambda: zoo.star_pairs(1), "connecting_rod": zoo.connecting_rod,
    "chain_welded_tip 7": lambda: zoo.chain_welded_tip(7), "chain_welded_tip 6": lambda: zoo.chain_welded_tip(6),
    "chain_every_kth_welded 3": lambda: zoo.chain_every_kth_welded(3),
    "chain_all_welded 4": lambda: zoo.chain_all_welded(4), "humanoid_leg": lambda: zoo.humanoid_leg(floating=True),
    "parallel_chains": lambda: zoo.parallel_chains(3, 2), "transmission 3": lambda: zoo.transmission(3),
    "parallel_belt": zoo.parallel_belt, "differential": zoo.differential,
}  # fmt: skip


def from_the_zoo(rng: Rng) -> Model:
    return ZOO[pick(rng, tuple(ZOO))]()


def embedded(rng: Rng) -> Model:
    """Clusters of the zoo, alone and with contacts on their bodies."""
    made: dict[str, Callable[[], Model]] = {
        "four_bar": zoo.four_bar, "slider_crank": zoo.slider_crank, "five_bar": zoo.five_bar,
        "connecting_rod": zoo.connecting_rod, "rod as distance": lambda: zoo.connecting_rod("massless"),
        "link_and_rotor": zoo.link_and_rotor, "parallel_belt": zoo.parallel_belt, "differential": zoo.differential,
        "transmission": lambda: zoo.transmission(3), "humanoid_leg": lambda: zoo.humanoid_leg(floating=True),
        "tree of four-bars": lambda: zoo.tree_of("four_bar", 2, 1), "chains": lambda: zoo.parallel_chains(3, 2),
        "tree of belts": lambda: zoo.tree_of("parallel_belt", 1, 2, floating=False),
    }  # fmt: skip
    model = sarrus.embed(made[pick(rng, tuple(made))]())
    if rng.random() < 0.5:
        return model
    frames = [f for f in model.frame_names if f != "world"]
    return model.with_constraints(contact(pick(rng, frames), int(rng.choice([3, 3, 6]))))


def nearly_planar(rng: Rng) -> Model:
    """A four-bar one of whose hinges is tilted by what exporters round: embedded, or as rows."""
    builder = ModelBuilder("nearly_planar")
    tilt = float(rng.choice([0.0, 1e-16, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4])) * np.array([1.0, 0.0, 0.5])
    quarter = float(np.round(np.pi / 2, int(rng.choice([4, 6, 8, 10, 16]))))
    add(builder, rng, "crank", "world", "revolute", axis=np.eye(3)[1] + tilt, position=(0, 0, 0), rotation=(0, 0, 0))
    add(builder, rng, "coupler", "crank", "revolute", axis=(0, 0, 1), position=(0, 0, 0.15), rotation=(-quarter, 0, 0))
    add(builder, rng, "rocker", "world", "revolute", axis=(0, 1, 0), position=(0.4, 0, 0), rotation=(0, 0, 0))
    model = replace(builder.build(), home=np.array([0.3, 0.4, -0.2]))
    model, a, b, _ = pair(model, rng, "coupler", "rocker", "pin")
    model = model.with_constraints(connect(a, b, name="pin"))
    if rng.random() > 0.7:
        return model
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RankWarning)
        embedded = sarrus.embed(model, at=model.home)
    return model if told else embedded  # what was said not to be a lock is not compared with the lock that it is


def rigid_cluster(rng: Rng) -> Model:
    """A brace welded to an arm and embedded: a node with no velocity of its own; contacts on what it carries."""
    builder = ModelBuilder("braced")
    root = add(builder, rng, "arm", "world" if rng.random() < 0.5 else _carrier(builder, rng), "revolute")
    holder = "world" if rng.random() < 0.3 else root
    add(builder, rng, "brace", holder, "revolute")
    if rng.random() < 0.5:
        add(builder, rng, "between", "world", "revolute")
    add(builder, rng, "child", "brace", pick(rng, ("revolute", "spherical", "prismatic")))
    add(builder, rng, "hand", "child", "revolute")
    model = with_home(builder.build(), rng)
    model, a, b, _ = pair(model, rng, holder, "brace", "brace_weld")
    model = model.with_constraints(weld(a, b, name="braced"))
    return sarrus.embed(model, at=model.home).with_constraints(contact(pick(rng, ("child", "hand")), 3))


def _carrier(builder: ModelBuilder, rng: Rng) -> str:
    return add(builder, rng, "base", "world", "free", mass=3.0)


FEET: dict[str, tuple[tuple[str, ...], int]] = {
    "go1": (("FR_foot", "FL_foot", "RR_foot", "RL_foot"), 3),
    "solo12": (("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), 3),
    "a1": (("FR_foot", "FL_foot", "RR_foot", "RL_foot"), 3),
    "anymal_b_simple_description/anymal": (("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"), 3),
    "bolt": (("FL_FOOT", "FR_FOOT"), 3),
    "simple_humanoid": (("l_ankle", "r_ankle"), 6),
    "talos_reduced": (("left_sole_link", "right_sole_link"), 6),
}


@cache
def robot(name: str) -> Model | None:
    """One with its feet held; None where it is not to be had."""
    path = example_robots().get(name)
    if path is None:
        return None
    feet, dim = FEET[name]
    model = sarrus.load(path, floating_base=True).without_constraints()
    return model.with_constraints(*(contact(foot, dim) for foot in feet))


def robots(rng: Rng) -> Model | None:
    try:
        return robot(pick(rng, tuple(FEET)))
    except SarrusError:
        return None


def bare_tree(rng: Rng) -> Model:
    """A tree with nothing on it, with every kind of joint."""
    builder, _ = tree(rng, int(rng.integers(2, 8)))
    return builder.build()


KNOWN: dict[str, Callable[[Rng], Model | None]] = {
    "tree": bare_tree, "zoo": from_the_zoo, "embedded": embedded, "rigid cluster": rigid_cluster,
    "nearly planar": nearly_planar, "robots": robots,
}  # fmt: skip
