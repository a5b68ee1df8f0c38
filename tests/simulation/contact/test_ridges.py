"""On height fields only some points of shapes are tested: what follows, and that it is said."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.contact.height_fields import TESTED
from sarrus.mechanics.contact.narrow_phase import PAIRS
from sarrus.model.geometries import ContactShape, ConvexMesh, HeightField
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere

CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
HEIGHTS = np.zeros((9, 9))
HEIGHTS[4, 4] = 0.3  # a spike in the middle, 0.25 m wide


def on_field(shape: ContactShape) -> sarrus.Model:
    builder = sarrus.ModelBuilder("on_field").add_body("thing", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry("thing", shape, name="thing")
    return builder.add_geometry("world", HeightField(HEIGHTS, (0.5, 0.5)), name="field").build()


def notes(shape: ContactShape) -> str:
    return "\n".join(sarrus.Simulation(on_field(shape)).notes)


@pytest.mark.parametrize(
    ("shape", "points"),
    [
        (Sphere(0.1), "centres of spheres"),
        (Capsule(0.05, 0.2), "ends of capsules"),
        (Box((0.2, 0.2, 0.2)), "corners of boxes"),
        (ConvexMesh(CORNERS), "vertices of meshes"),
    ],
)
def test_what_is_tested_is_noted(shape, points):
    assert f"on height fields, only {points} are tested" in notes(shape)


def test_every_pair_with_a_field_says_what_is_tested():
    assert {a for a, b in PAIRS if b is HeightField} == set(TESTED)


@pytest.mark.parametrize("shape", [Cylinder(0.1, 0.2), Ellipsoid((0.1, 0.1, 0.2))])
def test_what_never_touches_a_field_is_named(shape):
    assert f"these never touch: {type(shape).__name__} and HeightField" in notes(shape)


def test_nothing_is_said_where_there_is_no_field():
    assert "height fields" not in "\n".join(sarrus.Simulation(sarrus.zoo.biped().with_ground()).notes)


def test_a_spike_goes_into_a_box_that_is_wider_but_not_into_a_sphere_above_it():
    """As docs/contact.md says; when ridges are seen, the page and the note can go."""
    at = np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0])
    crate, ball = on_field(Box((0.5, 0.5, 0.2))), on_field(Sphere(0.1))
    sunk = sarrus.Simulation(crate).run(at, duration=0.6)
    assert sunk.q[-1, 2] == pytest.approx(0.1, abs=1e-3)  # its bottom is on the plain, the spike inside
    held = sarrus.Simulation(ball).run(at, duration=0.25)
    assert held.q[:, 2].min() > 0.3
