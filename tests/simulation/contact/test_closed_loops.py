"""Loops on the ground are closed after every step, not only where a projection has just closed them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sarrus
from sarrus.model.bodies import Placement
from sarrus.model.geometries import Geometry, Plane
from sarrus.model.visuals import Sphere
from sarrus.simulation.contact.loops_in_steps import OPEN
from sarrus.simulation.projection import closure_error


def whirled(dt: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Errors and statuses of a four-bar linkage above the ground, at this angular speed, that nothing projects."""
    model = sarrus.zoo.four_bar()
    ball = Geometry("ball", 0, Placement.identity(), Sphere(0.01))
    ground = Geometry("ground", -1, Placement(np.eye(3), np.array([0.0, 0.0, -50.0])), Plane())
    model = replace(model, geometries=(ball, ground))
    q, v = sarrus.random_state(model, 0)
    simulation = sarrus.Simulation(model, dt, project_every=None)
    found = simulation.run(q, v * (speed / np.abs(v).max()), steps=round(0.02 / dt))
    return closure_error(model, found.q), found.status


def test_errors_are_of_third_order_and_do_not_add_up():
    (coarse, told), (fine, _) = whirled(1e-3, 20.0), whirled(5e-4, 20.0)
    assert not told.any()
    assert coarse.max() < 1e-5
    assert fine.max() < coarse.max() / 6.0
    assert coarse[-1] < 3.0 * coarse[5]


def test_a_loop_that_opens_is_told():
    errors, status = whirled(1e-3, 400.0)
    assert errors.max() > OPEN
    assert (errors[:-1][status[:-1] == sarrus.Status.OK] < OPEN).all()
    assert (status == sarrus.Status.CONSTRAINTS_NOT_MET).any()
