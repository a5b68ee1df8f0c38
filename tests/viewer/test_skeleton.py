"""A robot that nobody drew still looks like something: shapes on its bodies, of a sensible size."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.visuals import Box, Capsule, Cylinder, Sphere
from sarrus.viewer.shapes import MeshLibrary, capsule_surface, corners
from sarrus.viewer.skeleton import joint_markers, skeleton, typical_length

MODELS = {
    "chain": sarrus.zoo.chain(4), "floating tree": sarrus.zoo.tree(7, floating=True), "stewart": sarrus.zoo.stewart(),
    "hand": sarrus.zoo.hand_cube(), "random": sarrus.zoo.random_tree(0, 12), "ladder": sarrus.zoo.ladder(2),
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_body_with_mass_has_a_shape_of_its_size(model):
    drawn = skeleton(model)
    assert {v.body for v in drawn} >= {i for i, body in enumerate(model.bodies) if body.inertia.mass > 0.0}
    for visual in drawn:
        size = np.ptp(corners(visual, MeshLibrary()), axis=0).max()
        assert 0.0 < size < 10.0 * typical_length(model)
        np.testing.assert_allclose(visual.placement.R @ visual.placement.R.T, np.eye(3), atol=1e-12)


def test_a_rod_is_drawn_from_its_joint_to_the_next_and_the_last_to_its_tip():
    drawn = [v for v in skeleton(sarrus.zoo.chain(3)) if isinstance(v.shape, Capsule)]
    for visual in drawn:  # all rods hang 0.3 m down
        ends = visual.placement.p + np.outer([-0.5, 0.5], visual.placement.R[:, 2]) * visual.shape.length
        np.testing.assert_allclose(sorted(ends[:, 2]), [-0.3, 0.0], atol=1e-3)


def test_a_base_is_a_box_of_its_inertia():
    builder = sarrus.ModelBuilder().add_body("b", joint="free", mass=12.0, inertia=np.diag([5.0, 10.0, 13.0]))
    (visual,) = skeleton(builder.build())
    assert isinstance(visual.shape, Box)
    np.testing.assert_allclose(sorted(visual.shape.size), [1.0, 2.0, 3.0], rtol=1e-9)


def test_joints_are_marked_along_their_axes():
    builder = sarrus.ModelBuilder()
    builder.add_body("hinge", axis=(1, 0, 0), mass=1.0, com=(0, 0, 0.2), inertia=np.eye(3))
    builder.add_body("slide", "hinge", joint="prismatic", axis=(0, 1, 0), mass=1.0, position=(0, 0, 0.4))
    builder.add_body("ball", "slide", joint="spherical", mass=1.0, inertia=np.eye(3))
    builder.add_body("plane", "ball", joint="planar", mass=1.0, inertia=np.eye(3))
    hinge, slide, ball = joint_markers(builder.build())
    assert [type(x.shape) for x in (hinge, slide, ball)] == [Cylinder, Box, Sphere]
    np.testing.assert_allclose(np.abs(hinge.placement.R[:, 2]), [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(slide.placement.R[:, 2]), [0, 1, 0], atol=1e-12)


def test_a_massless_body_and_an_empty_model_do_no_harm():
    assert skeleton(sarrus.ModelBuilder().build()) == ()
    assert typical_length(sarrus.ModelBuilder().build()) > 0.0


def test_a_capsule_is_closed_and_of_its_size():
    vertices, faces = capsule_surface(0.1, 0.5)
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [0.2, 0.2, 0.7], atol=1e-12)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    assert volume == pytest.approx(np.pi * 0.01 * (0.5 + 4.0 / 30.0), rel=0.03)  # and its surfaces face outwards
