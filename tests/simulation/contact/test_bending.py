"""By how much a step moves what touches, beyond what velocities at its beginning say."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import node_bends, node_twists
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.geometries import ConvexMesh, Plane
from sarrus.model.state import integrate
from sarrus.model.tree import tree_of
from sarrus.model.visuals import Box, Capsule, Sphere
from sarrus.simulation.contact.bending import bends_of
from sarrus.simulation.contact.options import ContactOptions
from sarrus.simulation.contact.settings import contact_settings

CORNERS = np.array([[0.03, 0.02, 0.05], [-0.03, 0.01, 0.04], [0.0, -0.05, 0.03], [0.01, 0.0, -0.06]])


def arm(shape) -> sarrus.Model:
    """A hand on an arm of three axes, on a base that goes anywhere but does not turn, over the ground."""
    builder, parent = sarrus.ModelBuilder("arm"), ""
    for k, (kind, axis) in enumerate(
        [("prismatic", (1, 0, 0)), ("prismatic", (0, 0, 1)), *(("revolute", x) for x in np.eye(3))]
    ):
        place = {} if not parent else {"parent": parent, "position": (0.1, 0.02 * k, 0.05)}
        builder.add_body(f"link{k}", joint=kind, axis=axis, mass=1.0, inertia=0.01 * np.eye(3), **place)
        parent = f"link{k}"
    builder.add_geometry(parent, shape, name="hand", position=(0.1, 0.0, 0.02), rotation=(0.3, -0.2, 0.1))
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


class At:
    """What may touch at a state."""

    def __init__(self, model: sarrus.Model, q: np.ndarray, v: np.ndarray) -> None:
        settings = contact_settings(model, ContactOptions())
        assert settings is not None
        self.contacts, self.at = settings.contacts, mechanism(model, q, v, np.zeros(model.nv))
        self.poses = world_poses(tree_of(model), self.at.joints)
        self.twists = node_twists(self.at, self.poses, v)
        self.found = self.contacts.candidates(self.poses)
        self.v = v

    def bends(self, dt: float) -> list:
        bends = node_bends(self.at, self.poses, self.v, self.twists)
        rates = [c.closing(self.twists) for c in self.found]
        return bends_of(self.contacts, self.found, self.poses, bends, rates, dt)

    def slip(self, k: int) -> np.ndarray:
        """The velocity with which a candidate slides over the ground."""
        c = self.found[k]
        return self.twists[c.a].at(c.point)[:2]


def touching(model: sarrus.Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random state in which the lowest point of the hand is on the ground, and moves along it."""
    q, v = rng.uniform(-1.0, 1.0, model.nq), rng.uniform(-20.0, 20.0, model.nv)
    at = At(model, q, v)
    lowest = min(at.found, key=lambda c: c.gap)
    q[1] -= lowest.gap
    v[1] -= lowest.closing(at.twists)
    return q, v


@pytest.mark.parametrize("shape", [Box((0.1, 0.06, 0.04)), Sphere(0.04), Capsule(0.02, 0.1), ConvexMesh(CORNERS)])
def test_what_touches_slides_by_the_way_that_it_takes(shape):
    """With joint velocities that stay as they are. What slides at the lowest point, integrated, is that of its
    velocity, and what bending adds; what is left is of third order.
    """
    model, rng = arm(shape), np.random.default_rng(0)
    for _ in range(5):
        q, v = touching(model, rng)
        first, left, beyond = At(model, q, v), [], []
        for dt in (1e-4, 5e-5):
            k = int(np.argmin([c.gap for c in first.found]))
            times = dt * (np.polynomial.legendre.leggauss(4)[0] + 1.0) / 2.0
            weights = dt * np.polynomial.legendre.leggauss(4)[1] / 2.0
            way = sum(w * At(model, integrate(model, q, t * v), v).slip(k) for t, w in zip(times, weights, strict=True))
            beyond.append(way - dt * first.slip(k))
            left.append(np.abs(beyond[-1] - first.bends(dt)[k].slides[:2]).max())
        assert left[0] < 0.05 * np.abs(beyond[0]).max()
        assert left[1] < 0.15 * left[0]


def test_points_of_one_body_slide_as_those_of_a_rigid_one():
    """Else those that share a load could not all stick: how they slide is a velocity of the body."""
    model, rng = arm(Box((0.1, 0.06, 0.04))), np.random.default_rng(1)
    at = At(model, *touching(model, rng))
    points, slides = np.array([c.point for c in at.found]), np.array([b.slides for b in at.bends(1e-3)])
    arms, moved = points[1:] - points[0], slides[1:] - slides[0]
    np.testing.assert_allclose(np.sum(arms * moved, axis=1), 0.0, atol=1e-12)
