"""Which geometries may meet, and what holds where they touch."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Friction, Plane
from sarrus.model.meeting_pairs import MeetingPair, depth_first, meeting_pairs
from sarrus.model.visuals import Sphere

INERTIAL = {"mass": 1.0, "inertia": np.eye(3)}


def chain(*names: str, **massless: bool) -> sarrus.ModelBuilder:
    builder, parent = sarrus.ModelBuilder(), "world"
    for k, name in enumerate(names):
        builder.add_body(name, parent, axis=np.eye(3)[k % 3], **({} if massless.get(name) else INERTIAL))
        parent = name
    return builder


def with_balls(builder: sarrus.ModelBuilder, *bodies: str, **options) -> sarrus.ModelBuilder:
    for body in bodies:
        builder.add_geometry(body, Sphere(0.1), name=f"ball of {body}", **options)
    return builder


def pairs(model: sarrus.Model) -> list[tuple[str, str]]:
    names = [geometry.name.removeprefix("ball of ") for geometry in model.geometries]
    return [(names[pair.a], names[pair.b]) for pair in meeting_pairs(model)]


def test_neighbours_and_the_same_body_never_meet_but_the_world_is_nobodys_parent():
    builder = with_balls(chain("a", "b", "c"), "world", "a", "b", "c")
    builder.add_geometry("a", Sphere(0.2), name="a2").add_geometry("world", Plane(), name="floor")
    found = pairs(builder.build())
    assert found == [
        ("a", "c"), ("a2", "c"), ("a", "world"), ("a", "floor"), ("a2", "world"), ("a2", "floor"),
        ("b", "world"), ("b", "floor"), ("c", "world"), ("c", "floor"),
    ]  # fmt: skip


def test_bodies_without_mass_and_shape_are_passed_over():
    builder = with_balls(chain("a", "x", "y", "b", x=True, y=True), "a", "b")
    assert pairs(builder.build()) == []
    assert pairs(with_balls(builder, "x").build()) == [("a", "b")]  # it hangs on x now


def test_categories_count_either_way():
    builder = chain("a", "b", "c")
    with_balls(builder, "a", category=2, collides_with=0)
    with_balls(builder, "c", category=0, collides_with=6)
    assert pairs(builder.build()) == [("a", "c")]
    with_balls(builder, "world", category=1, collides_with=1)
    assert pairs(builder.build()) == [("a", "c")]


def test_exclusions_are_of_links_and_declared_pairs_stand_above_all():
    builder = with_balls(chain("a", "b", "c"), "a", "c", "world")
    builder.add_body("d", "c", joint="fixed").exclude_pair("c", "a")
    assert pairs(builder.build()) == [("a", "world"), ("c", "world")]
    with_balls(builder, "d", "b", category=0, collides_with=0)
    builder.add_geometry_pair("ball of d", "ball of a").add_geometry_pair("ball of a", "ball of c")
    builder.add_geometry_pair("ball of b", "ball of a").add_geometry_pair("ball of d", "ball of c")
    assert pairs(builder.build()) == [("a", "b"), ("a", "c"), ("a", "d"), ("a", "world"), ("c", "world")]


def test_the_plane_comes_second_and_bodies_are_in_depth_first_order():
    builder = sarrus.ModelBuilder()
    builder.add_geometry("world", Plane(), name="floor")
    for name, parent in (("a", "world"), ("b", "world"), ("c", "a")):
        builder.add_body(name, parent, **INERTIAL)
    model = with_balls(builder, "a", "b", "c").build()
    assert depth_first(model) == {0: 0, 2: 1, 1: 2, -1: 3}
    assert pairs(model) == [("a", "b"), ("a", "floor"), ("c", "b"), ("c", "floor"), ("b", "floor")]


@pytest.mark.parametrize(
    ("priority", "friction", "dimensions"),
    [(0, Friction(0.7, 0.1, 0.02), 4), (1, Friction(0.5, 0.1, 0.01), 3), (-1, Friction(0.7, 0.05, 0.02), 4)],
)
def test_friction_dimensions_and_margin_of_two(priority, friction, dimensions):
    builder = chain("a")
    builder.add_geometry("world", Plane(), name="floor", friction=(0.5, 0.1, 0.01), margin=0.01, priority=priority)
    with_balls(builder, "a", friction=(0.7, 0.05, 0.02), dimensions=4, margin=0.02)
    (found,) = meeting_pairs(builder.build())
    assert found == MeetingPair(1, 0, friction, dimensions, 0.02 + 0.01)
    builder.add_geometry_pair("floor", "ball of a", friction=2.0, margin=0.0)
    (found,) = meeting_pairs(builder.build())
    assert found == MeetingPair(1, 0, Friction(2.0), dimensions, 0.0)
    builder.add_geometry_pair("floor", "ball of a", dimensions=6)  # the last one counts
    assert meeting_pairs(builder.build())[0].dimensions == 6


def test_remembered_with_the_model():
    model = with_balls(chain("a"), "a").build().with_ground()
    assert meeting_pairs(model) is meeting_pairs(model)
