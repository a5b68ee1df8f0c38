"""Gradients of rollouts on the ground: against differences of rollouts, where the path is smooth."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import Simulation
from sarrus.errors import StateError, UnsupportedError
from tests.derivatives.differences import slope
from tests.simulation.contact.test_contact_linearize import EXACT, ball, leg, on_its_foot

H = 1e-6


def check(simulation: Simulation, q: np.ndarray, v: np.ndarray, tau: np.ndarray, bound: float) -> None:
    """Of a sum of all states with random weights, along directions of everything."""
    model, steps, rng = simulation.model, len(tau), np.random.default_rng(1)
    q_bar, v_bar = rng.normal(size=(steps + 1, model.nv)), 0.1 * rng.normal(size=(steps + 1, model.nv))
    base = simulation.run(q, v, steps=steps, tau=tau)
    found = simulation.vjp(base, q_bar, v_bar, tau=tau)
    assert found.unique.shape == (steps,)

    def loss(dq: np.ndarray, dv: np.ndarray, dtau: np.ndarray) -> np.ndarray:
        moved = simulation.run(sarrus.integrate(model, q, dq), v + dv, steps=steps, tau=tau + dtau)
        change = [sarrus.difference(model, a, b) for a, b in zip(base.q, moved.q, strict=True)]
        return np.sum(q_bar * np.array(change)) + np.sum(v_bar * moved.v)

    for seed in range(3):
        rng = np.random.default_rng(seed)
        dq, dv, dtau = rng.normal(size=model.nv), rng.normal(size=model.nv), rng.normal(size=tau.shape)
        if model.spanning.active_constraints:  # along which loops stay closed to first order
            dq, dv = np.zeros(model.nv), np.zeros(model.nv)
        by = slope(lambda t, d=(dq, dv, dtau): loss(*(t * x for x in d)), H)
        mine = found.q0_bar @ dq + found.v0_bar @ dv + np.sum(found.u_bar * dtau)
        assert abs(mine - by) < bound * abs(by)


@pytest.mark.parametrize("height", [0.0999, 0.103], ids=["rolls", "drops"])
def test_200_steps_of_a_ball(height):
    """What drops hits the ground on the way."""
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT)
    q = np.array([0.1, 0.2, height, 0.0, 0.0, 0.0, 1.0])
    check(simulation, q, np.array([0.5, 0.1, 0.0, 0.1, 0.2, 0.3]), np.zeros((200, 6)), 1e-6)


@pytest.mark.parametrize("friction", [0.0, 0.05, 5.0], ids=["none", "slips", "sticks"])
def test_a_leg_under_its_servo_with_friction_that_remembers(friction):
    """What holds a joint is a state of its own, which gradients go through as well."""
    model = leg("free", friction)
    servo = sarrus.pd(20.0, 1.0, sarrus.neutral(model))
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT, controller=servo)
    check(simulation, *on_its_foot(simulation), 0.1 * np.ones((60, model.nv)), 1e-6)


@pytest.mark.parametrize("is_embedded", [False, True], ids=["rows", "embedded"])
@pytest.mark.parametrize("kind", ["gear", "balls"])
def test_legs_with_gears_and_loops_that_are_projected(kind, is_embedded):
    model = sarrus.embed(leg(kind)) if is_embedded else leg(kind)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", contacts=EXACT, project_every=10)
    check(simulation, *on_its_foot(simulation), 0.1 * np.ones((30, model.nv)), 1e-6)


def test_no_step():
    simulation, weights = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT), np.ones((1, 6))
    found = simulation.vjp(simulation.run(steps=0), weights, 2.0 * weights)
    assert np.array_equal(found.q0_bar, weights[0])
    assert np.array_equal(found.v0_bar, 2.0 * weights[0])
    assert (found.u_bar.shape, found.unique.shape) == ((0, 6), (0,))


def test_a_batch_one_by_one_and_what_is_refused():
    simulation = Simulation(ball(), 1e-3, "semi_implicit_euler", contacts=EXACT)
    q = np.tile([0.0, 0.0, 0.0999, 0.0, 0.0, 0.0, 1.0], (2, 1))
    q[1, 2] = 0.3
    v, tau = np.tile([0.5, 0.1, 0.0, 0.1, 0.2, 0.3], (2, 1)), np.zeros((2, 20, 6))
    weights = np.random.default_rng(0).normal(size=(2, 21, 6))
    many = simulation.vjp(simulation.run(q, v, steps=20, tau=tau), weights, tau=tau)
    for k in range(2):
        one = simulation.vjp(simulation.run(q[k], v[k], steps=20, tau=tau[k]), weights[k], tau=tau[k])
        for a, b in zip(many, one, strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-9, atol=1e-12)
    other = simulation.run(q, v, steps=20, tau=tau + 5.0)
    with pytest.raises(StateError, match="another rollout"):
        simulation.vjp(other, weights, tau=tau)
    asked = Simulation(ball(), 1e-3, controller=lambda t, q, v: -v)
    with pytest.raises(UnsupportedError, match="a Python function has no derivative"):
        asked.vjp(asked.run(q[0], steps=2), np.zeros((3, 6)))
