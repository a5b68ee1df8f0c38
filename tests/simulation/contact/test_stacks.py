"""Boxes on boxes: they rest, with the forces of statics; and what there is no slot for is told."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.contact.narrow_phase import touches
from sarrus.mechanics.contact.touch import ABSENT
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Sphere

G, SIZE = 9.81, 0.2


def stack(masses) -> sarrus.Model:
    builder = sarrus.ModelBuilder("stack")
    for k, mass in enumerate(masses):
        builder.add_body(f"box_{k}", joint="free", mass=mass, inertia=mass * SIZE**2 / 6.0 * np.eye(3))
        builder.add_geometry(f"box_{k}", Box((SIZE, SIZE, SIZE)), name=f"shape_{k}", friction=0.5)
    builder.add_geometry("world", Plane(), name="ground", friction=0.5)
    return builder.build()


def stacked(count: int) -> np.ndarray:
    return np.concatenate([[0.0, 0.0, (k + 0.5) * SIZE, 0.0, 0.0, 0.0, 1.0] for k in range(count)])


def carried(found: sarrus.Trajectory, count: int) -> np.ndarray:
    """(count,) newtons, of what is below every box, at the end."""
    contacts = found.contacts
    below = [("shape_0", "ground"), *((f"shape_{k}", f"shape_{k + 1}") for k in range(count - 1))]
    forces = contacts.normal_forces[-1]
    names = [contacts.names[n] if n >= 0 else () for n in contacts.numbers[-1]]
    return np.array([sum(f for f, pair in zip(forces, names, strict=True) if pair == which) for which in below])


@pytest.mark.parametrize("ratio", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("count", [3])
def test_a_stack_rests_with_the_heaviest_on_top(ratio, count):
    masses = np.geomspace(1.0, ratio, count)
    found = sarrus.Simulation(stack(masses), 1e-3).run(stacked(count), duration=1.0)
    assert np.abs(found.v[-500:]).max() < 1e-4
    np.testing.assert_allclose(found.q[-1, 2::7], (np.arange(count) + 0.5) * SIZE, atol=1e-6)
    weights = G * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(carried(found, count), weights, rtol=2e-3)


@pytest.mark.parametrize("ratio", [1.0, 100.0, 1000.0])
def test_a_stack_of_five_balls_rests_with_the_heaviest_on_top(ratio):
    """Each on a rail, so that it does not fall over: what is between two bears what is above.

    To a millionth where the problem is solved to 1e-9 m/s. (The default, 1e-6 m/s, is a force of m 1e-3 N at 1 ms.)
    """
    masses, radius = np.geomspace(1.0, ratio, 5), 0.1
    builder = sarrus.ModelBuilder("balls")
    for k, mass in enumerate(masses):
        builder.add_body(f"ball_{k}", joint="prismatic", axis=(0, 0, 1), mass=mass, inertia=np.eye(3))
        builder.add_geometry(f"ball_{k}", Sphere(radius), name=f"shape_{k}")
    builder.add_geometry("world", Plane(), name="ground")
    start = (2.0 * np.arange(5) + 1.0) * radius
    options = sarrus.ContactOptions(tolerance=1e-9)
    found = sarrus.Simulation(builder.build(), 1e-3, contacts=options).run(start + 0.01 * np.arange(1, 6), duration=1.0)
    assert np.abs(found.v[-300:]).max() < 1e-8
    np.testing.assert_allclose(found.q[-1], start, atol=1e-6)
    np.testing.assert_allclose(carried(found, 5), G * np.cumsum(masses[::-1])[::-1], rtol=1e-6)
    assert set(found.statuses) == {"ok"}


def test_too_few_slots_are_told():
    options = sarrus.ContactOptions(slots=5)
    found = sarrus.Simulation(stack(np.ones(3)), 1e-3, contacts=options).run(stacked(3), duration=0.5)
    assert sarrus.Status.CONTACTS_LEFT_OUT in found.status
    assert any("slots" in words for words in found.statuses)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-7, 1e-5])
def test_no_corner_of_boxes_that_lie_flush_is_there_twice(angle):
    box, (c, s) = Box((SIZE, SIZE, SIZE)), (np.cos(angle), np.sin(angle))
    upper = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    found = touches(box, (np.eye(3), np.zeros(3)), box, (upper, np.array([0.0, 0.0, SIZE])))
    there = [touch.point for touch in found if touch.gap < 0.5 * ABSENT]
    assert min(np.linalg.norm(x - y) for x, y in combinations(there, 2)) > 0.2 * SIZE
    assert np.ptp(there, axis=0) == pytest.approx([SIZE, SIZE, 0.0], abs=1e-5)
    assert len(there) == 4 or angle > 1e-9  # turned, edges cross in their middle, too


def test_a_box_that_is_pushed_about_on_its_four_corners_takes_few_newton_steps():
    """Sweeps find out what sticks, slips and opens, as they do on the feet of a robot."""
    rng = np.random.default_rng(0)
    q, v = np.tile(stacked(1), (8, 1)), rng.uniform(-1.0, 1.0, (8, 6))
    found = sarrus.Simulation(stack([1.0]), 1e-3, record=("status", "iterations")).run(q, v, duration=0.3)
    assert not found.status.any()
    assert np.percentile(found.iterations[:, 1:], 95) <= 2  # 3 where Newton's method begins with the last impulses
    assert found.iterations[:, 1:].mean() < 0.4  # 0.55
