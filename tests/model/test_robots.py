"""Which bodies are one robot, and which are neighbours: loops count as joints of the tree do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.robots import neighbours, robots_of
from sarrus.model.visuals import Sphere

INERTIAL = {"mass": 1.0, "inertia": np.eye(3)}


def two_chains(*constraints: sarrus.Constraint, middle: bool = True) -> sarrus.Model:
    """Bodies a - b and c - d on the world, with a ball each; `middle`: whether b has a mass and a ball."""
    builder = sarrus.ModelBuilder("two chains")
    for name, parent in (("a", "world"), ("b", "a"), ("c", "world"), ("d", "c")):
        builder.add_body(name, parent, axis=(0, 1, 0), **(INERTIAL if name != "b" or middle else {}))
        if name != "b" or middle:
            builder.add_geometry(name, Sphere(0.1), name=name)
    return builder.build(allow_ill_posed=True).with_constraints(*constraints)


def pairs(model: sarrus.Model) -> set[tuple[str, ...]]:
    return {(model.geometries[pair.a].name, model.geometries[pair.b].name) for pair in meeting_pairs(model)}


CLOSURES = [sarrus.connect("b", "d"), sarrus.weld("d", "b"), sarrus.loop("b", "d", "prismatic")]


@pytest.mark.parametrize("closure", CLOSURES, ids=lambda x: x.name)
def test_a_loop_makes_one_robot_of_two_chains_and_its_ends_neighbours(closure: sarrus.Constraint) -> None:
    model = two_chains(closure)
    assert set(robots_of(model).values()) == {-1, 0}
    assert neighbours(model) == {frozenset({0, 1}), frozenset({2, 3}), frozenset({1, 3})}
    assert pairs(model) == {("a", "c"), ("a", "d"), ("b", "c")}
    for one in (sarrus.embed(model), model.without_constraints(), replace(model, constraints=())):
        assert (len(set(robots_of(one).values())) == 2) == bool(one.constraints)


def test_a_rod_holds_one_robot_together_but_its_ends_are_no_neighbours() -> None:
    model = two_chains(sarrus.distance("b", "d", 0.3))
    assert set(robots_of(model).values()) == {-1, 0}
    assert ("b", "d") in pairs(model)


@pytest.mark.parametrize(
    "constraints",
    [
        (),
        (sarrus.weld("b", "world"), sarrus.connect("world", "d")),
        (sarrus.coupling({"a_joint": 1.0, "c_joint": -1.0}),),
        (replace(sarrus.connect("b", "d"), active=False),),
    ],
)
def test_what_does_not_connect_two_chains_leaves_two_robots(constraints: tuple[sarrus.Constraint, ...]) -> None:
    model = two_chains(*constraints)
    assert robots_of(model) == {-1: -1, 0: 0, 1: 0, 2: 2, 3: 2}
    assert ("b", "d") in pairs(model)


def test_a_loop_on_a_body_without_mass_and_shape_is_on_the_one_before() -> None:
    assert pairs(two_chains(sarrus.connect("b", "d"), middle=False)) == {("a", "c")}


def test_a_declared_pair_meets_all_the_same() -> None:
    model = two_chains(CLOSURES[0])
    declared = sarrus.model.geometries.GeometryPair("d", "b")
    assert ("b", "d") in pairs(replace(model, geometry_pairs=(declared,)))


def test_robots_that_loops_hold_together_one_after_the_other_are_one() -> None:
    builder = sarrus.ModelBuilder("ring")
    for k in range(5):
        builder.add_body(f"x{k}", joint="free", **INERTIAL)
    model = builder.build()
    ring = [sarrus.connect(f"x{k}", f"x{(k + 1) % 4}") for k in (3, 1, 0, 2)]
    assert robots_of(model.with_constraints(*ring)) == {-1: -1, 0: 0, 1: 0, 2: 0, 3: 0, 4: 4}
