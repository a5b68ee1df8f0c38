"""Geometries as data: what a builder takes, where they end up, and what keeps them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus.errors import ModelError, NameClashError, UnknownNameError
from sarrus.model.geometries import ConvexMesh, Friction, GeometryPair, HeightField, Plane
from sarrus.model.keyframes import Keyframe, Keyframes
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere

QUARTER = 0.5 * np.pi
INERTIAL = {"mass": 1.0, "inertia": np.eye(3)}


def arm() -> sarrus.ModelBuilder:
    """A hinge moves `arm`; `hand` is fixed to it, turned by a quarter about z; `tip` is a frame on the hand."""
    builder = sarrus.ModelBuilder("arm").add_body("arm", **INERTIAL)
    builder.add_body("hand", "arm", joint="fixed", position=(1, 0, 0), rotation=(0, 0, QUARTER))
    return builder.add_frame("tip", "hand", position=(0, 2, 0))


def ball(builder: sarrus.ModelBuilder, body: str = "arm", **options) -> sarrus.ModelBuilder:
    return builder.add_geometry(body, Sphere(0.1), **options)


def test_a_geometry_moves_to_the_body_that_carries_it():
    model = ball(ball(arm(), "hand", position=(0, 0, 3)), "tip").build()
    first, second = model.geometries
    assert [first.body, second.body, first.link, second.link] == [0, 0, "hand", "hand"]
    np.testing.assert_allclose(first.placement.p, [1, 0, 3], atol=1e-12)
    np.testing.assert_allclose(second.placement.p, [-1, 0, 0], atol=1e-12)  # (1, 0, 0) + Rz(90) (0, 2, 0)


def test_names_are_made_up_and_unique():
    builder = ball(ball(arm(), name="arm_geometry_1"), "world")
    model = ball(ball(builder)).build()
    assert [g.name for g in model.geometries] == [
        "arm_geometry_1", "world_geometry_0", "arm_geometry_0", "arm_geometry_2",
    ]  # fmt: skip
    assert model.geometry("arm_geometry_2") is model.geometries[3]
    with pytest.raises(UnknownNameError, match="unknown geometry 'arm_geometry'"):
        model.geometry("arm_geometry")
    with pytest.raises(NameClashError, match="already a geometry 'arm_geometry_1'"):
        ball(builder, name="arm_geometry_1")


@pytest.mark.parametrize(
    ("friction", "expected"),
    [(0.5, Friction(0.5)), ((0.5, 0.1), Friction(0.5, 0.1)), ((0.5, 0.1, 0.2), Friction(0.5, 0.1, 0.2)),
     (Friction(0.3), Friction(0.3))],
)  # fmt: skip
def test_friction_is_a_number_some_or_all(friction, expected):
    assert ball(arm(), friction=friction).build().geometries[0].friction == expected


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"friction": -1.0}, "friction of geometry 'g' is -1.0: expected up to three coefficients"),
        ({"friction": (1, 2, 3, 4)}, "up to three"),
        ({"friction": "rough"}, "friction of geometry 'g' is 'rough'"),
        ({"friction": np.nan}, "friction of geometry 'g'"),
        ({"dimensions": 2}, r"dimensions of geometry 'g' is 2. Valid: 1 \(no friction\), 3"),
        ({"category": -1}, "category of geometry 'g' is -1: expected 32 bits"),
        ({"collides_with": 0.5}, "collides_with of geometry 'g' is 0.5: expected a whole number"),
        ({"margin": -0.1}, "margin of geometry 'g' is -0.1: expected metres"),
        ({"priority": "high"}, "priority of geometry 'g' is 'high'"),
        ({"position": (0, 0)}, "position of geometry 'g'"),
        ({"shape": Mesh("a.stl")}, "the shape of geometry 'g' is Mesh.*Valid: Plane, Sphere, Capsule"),
        ({"shape": Sphere(0.0)}, "radius of geometry 'g' is 0.0: expected positive"),
        ({"shape": Box((1.0, np.inf, 1.0))}, "size of geometry 'g'"),
        ({"shape": ConvexMesh(np.zeros((3, 3)))}, "'g' has 3 vertices"),
        ({"shape": ConvexMesh(np.zeros((4, 2)))}, "vertices of geometry 'g'"),
        ({"shape": HeightField(np.zeros(4), (1.0, 1.0))}, "heights of geometry 'g' have shape"),
        ({"shape": HeightField(np.full((2, 2), np.nan), (1.0, 1.0))}, "heights of geometry 'g'"),
    ],
)
def test_numbers_are_checked(numbers, words):
    shape = numbers.pop("shape", Sphere(0.1))
    with pytest.raises(ModelError, match=words):
        arm().add_geometry("arm", shape, name="g", **numbers)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box((1.0, 1.0)), r"Box: size is \(1.0, 1.0\): expected 3 numbers"),
        (lambda: Box((1.0, 1.0, 1.0, 1.0)), "expected 3 numbers"),
        (lambda: Box(1.0), "expected 3 numbers"),
        (lambda: Box(((1,), (2, 3), 4)), "expected 3 numbers"),
        (lambda: Ellipsoid((1, 1j, 2)), "Ellipsoid: radii is"),
        (lambda: Sphere("1"), "Sphere: radius is '1': expected a number"),
        (lambda: Sphere((1.0, 2.0)), "Sphere: radius"),
        (lambda: Sphere(True), "Sphere: radius"),
        (lambda: Sphere(None), "Sphere: radius"),
        (lambda: Capsule(0.1, (1.0,)), "Capsule: length"),
        (lambda: Cylinder("a", 1.0), "Cylinder: radius"),
        (lambda: Mesh("a.stl", (1.0, 1.0)), "Mesh: scale"),
        (lambda: HeightField(np.zeros((2, 2)), (1.0,)), "HeightField: size"),
        (lambda: HeightField("x", (1.0, 1.0)), "HeightField: heights: expected numbers, got text"),
        (lambda: ConvexMesh([[0, 0, 0], [1]]), "ConvexMesh: vertices: expected numbers"),
    ],
)
def test_a_shape_checks_what_it_is_made_of_when_it_is_made(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_whatever_says_the_same_numbers_is_the_same_shape():
    assert Box(np.array([1, 2, 3])) == Box([1.0, 2.0, 3.0]) == Box((1, 2, 3))
    assert repr(Sphere(np.float32(0.5))) == repr(Sphere(0.5))
    field = HeightField([[0, 0], [0, 1]], [1, 1])
    assert (field.heights.dtype, field.size) == (float, (1.0, 1.0))


def test_an_unknown_body_is_named():
    with pytest.raises(UnknownNameError, match="unknown body 'leg'"):
        ball(arm(), "leg").build()


def test_planes_and_height_fields_are_of_the_world():
    for shape in (Plane(), HeightField(np.zeros((2, 2)), (1.0, 1.0))):
        assert arm().add_geometry("world", shape).build().geometries[0].body == -1
        with pytest.raises(ModelError, match="on body 'arm': planes and height fields must be on the world"):
            arm().add_geometry("hand", shape).build()


def test_pairs_name_what_there_is():
    builder = ball(ball(arm(), name="a"), "world", name="b")
    model = builder.add_geometry_pair("a", "b", friction=0.5, dimensions=1, margin=0.01).build()
    assert model.geometry_pairs == (GeometryPair("a", "b", Friction(0.5), 1, 0.01),)
    assert builder.exclude_pair("hand", "world").build().excluded_pairs == (("hand", "world"),)
    with pytest.raises(ModelError, match="cannot touch itself"):
        builder.add_geometry_pair("a", "a")
    with pytest.raises(ModelError, match="dimensions of the pair of geometries 'a' and 'b' is 5"):
        builder.add_geometry_pair("a", "b", dimensions=5)
    with pytest.raises(UnknownNameError, match="body of an excluded pair: 'leg'"):
        ball(arm()).exclude_pair("arm", "leg").build()
    with pytest.raises(UnknownNameError, match="geometry of a pair: 'c'"):
        builder.add_geometry_pair("a", "c").build()


def test_a_model_checks_its_geometries_however_it_is_made():
    model = ball(arm(), name="a").build()
    with pytest.raises(NameClashError, match="two geometries are called 'a'"):
        replace(model, geometries=model.geometries * 2)
    with pytest.raises(ModelError, match="on body 1 of 1"):
        replace(model, geometries=(replace(model.geometries[0], body=1),))


def test_ground():
    model = ball(arm(), name="a").build()
    grounded = model.with_ground(0.7, height=-0.5)
    ground = grounded.geometry("ground")
    assert (ground.body, ground.shape, ground.friction) == (-1, Plane(), Friction(0.7))
    np.testing.assert_array_equal(ground.placement.p, [0, 0, -0.5])
    assert grounded.digest == model.digest
    with pytest.raises(NameClashError, match="already a geometry 'ground'"):
        grounded.with_ground()
    with pytest.raises(ModelError, match="position of 'ground'"):
        model.with_ground(height=np.nan)


def test_arrays_are_frozen():
    vertices = np.random.default_rng(0).normal(size=(5, 3))
    model = arm().add_geometry("arm", ConvexMesh(vertices)).build()
    (found,) = model.geometries
    with pytest.raises(ValueError, match="read-only"):
        found.shape.vertices[0] = 0.0  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="read-only"):
        found.placement.p[0] = 1.0


def test_what_makes_models_of_models_keeps_them():
    four_bar = sarrus.zoo.four_bar().with_ground()
    for kept in (sarrus.embed(four_bar), four_bar.without_constraints(), pickle.loads(pickle.dumps(four_bar))):
        assert kept.geometry("ground").shape == Plane()


# --- two robots of one ---------------------------------------------------------------------------------


def hand() -> sarrus.Model:
    builder = sarrus.ModelBuilder("hand").add_body("finger", **INERTIAL).add_actuator("motor", "finger_joint")
    builder.add_geometry("finger", Capsule(0.1, 0.5), name="tip", position=(0, 0, 1))
    builder.add_geometry("world", Box((1.0, 1.0, 1.0)), name="palm", position=(0, 0, 1))
    builder.add_geometry_pair("tip", "palm").exclude_pair("finger", "world")
    return builder.build()


def test_attaching_moves_and_renames():
    model = sarrus.attach(ball(arm(), name="tip").build(), hand(), "tip", prefix="left_")
    assert [(g.name, g.body, g.link) for g in model.geometries] == [
        ("tip", 0, "arm"), ("left_tip", 1, "left_finger"), ("left_palm", 0, "left_world"),
    ]  # fmt: skip
    np.testing.assert_allclose(model.geometry("left_tip").placement.p, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(model.geometry("left_palm").placement.p, [-1, 0, 1], atol=1e-12)
    assert model.geometry_pairs == (GeometryPair("left_tip", "left_palm"),)
    assert model.excluded_pairs == (("left_finger", "left_world"),)
    with pytest.raises(NameClashError, match=r"'tip': pass prefix=... to `attach`"):
        sarrus.attach(ball(sarrus.ModelBuilder().add_body("a", **INERTIAL), "a", name="tip").build(), hand(), "a")


def test_a_ground_is_not_carried_around():
    grounded = hand().with_ground()
    model = sarrus.attach(arm().build(), grounded, "tip")
    assert [g.name for g in model.geometries] == ["tip", "palm"]
    assert any("1 planes or height fields of hand (ground): left out" in line for line in model.import_report)
    fixed = sarrus.attach(arm().build(), grounded, "world")
    assert fixed.geometry("ground").body == -1
    assert fixed.import_report == ()


def test_keyframes_of_one_name_are_joined():
    first = replace(arm().build(), keyframes=Keyframes({"home": Keyframe(np.ones(1), np.zeros(1), np.zeros(0))}))
    grip = Keyframe(np.full(1, 2.0), np.full(1, 3.0), np.full(1, 4.0), 5.0)
    model = sarrus.attach(first, replace(hand(), keyframes=Keyframes({"home": grip, "grip": grip})), "tip")
    assert list(model.keyframes) == ["home", "grip"]
    np.testing.assert_array_equal(model.keyframes["home"].q, [1, 2])
    np.testing.assert_array_equal(model.keyframes["grip"].q, [0, 2])
    np.testing.assert_array_equal(model.keyframes["grip"].controls, [4])


def test_keyframes_fit_and_cannot_be_changed():
    frames = Keyframes({"home": Keyframe(np.ones(1), np.zeros(1), np.zeros(0))})
    model = replace(arm().build(), keyframes=frames)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.keyframes["home"].q, [1.0])
    with pytest.raises(UnknownNameError, match=r"unknown keyframe 'hom'. Did you mean 'home'"):
        model.keyframes["hom"]
    assert "hom" not in model.keyframes
    with pytest.raises(TypeError):
        model.keyframes["x"] = frames["home"]  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        frames["home"].q[0] = 2.0
    with pytest.raises(ModelError, match=r"v of keyframe 'a' has shape \(2,\), expected \(1,\)"):
        replace(model, keyframes=Keyframes({"a": Keyframe(np.ones(1), np.zeros(2), np.zeros(0))}))
