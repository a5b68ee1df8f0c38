"""Derivatives of frames, of the centre of mass, of momentum and of energy: against dual numbers, and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import sarrus
from sarrus.algorithms.tree.frame_jacobian import REFERENCES
from tests.derivatives.duals import jacobians
from tests.mechanisms import mechanisms, relative_error

FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
TOLERANCE = 1e-10


def agree(found, expected):
    for x, y in zip(found, expected, strict=True):
        assert relative_error(x, y, 1.0) < TOLERANCE


@pytest.mark.parametrize("reference", REFERENCES)
@given(mechanisms())
@FEW
def test_frames(reference, case):
    model, s = case.model, case.state()
    for frame in (*model.body_names[-1:], "world"):
        velocity = sarrus.frame_velocity_derivatives(model, s.q, s.v, frame, reference)
        assert relative_error(velocity[0], sarrus.frame_velocity(model, s.q, s.v, frame, reference), 1.0) < 1e-12
        text, given_ = sarrus.frame_velocity.text, (s.q, s.v)
        agree(velocity[1:], jacobians(lambda *x, t=text, f=frame: t(model, *x, f, reference), model, *given_))
        acceleration = sarrus.frame_acceleration_derivatives(model, s.q, s.v, s.a, frame, reference)
        expected = sarrus.frame_acceleration(model, s.q, s.v, s.a, frame, reference)
        assert relative_error(acceleration[0], expected, 1.0) < 1e-12
        text, given_ = sarrus.frame_acceleration.text, (s.q, s.v, s.a)
        agree(acceleration[1:], jacobians(lambda *x, t=text, f=frame: t(model, *x, f, reference), model, *given_))


@pytest.mark.parametrize("reference", REFERENCES)
@given(mechanisms())
@FEW
def test_jacobian_in_time(reference, case):
    model, s = case.model, case.state()
    frame = model.body_names[-1]
    J_t = sarrus.frame_jacobian_derivative(model, s.q, s.v, frame, reference)
    (by_q,) = jacobians(lambda q: sarrus.frame_jacobian.text(model, q, frame, reference).ravel(), model, s.q)
    assert relative_error(J_t, (by_q @ s.v).reshape(6, model.nv), 1.0) < TOLERANCE
    assert relative_error(J_t @ s.v, sarrus.frame_jacobian_bias(model, s.q, s.v, frame, reference), 1.0) < TOLERANCE


@given(mechanisms())
@FEW
def test_momentum_and_energy(case):
    model, s = case.model, case.state()
    assume(model.mass > 0.0)
    com = sarrus.center_of_mass_derivatives(model, s.q, s.v)
    agree(com[:2], sarrus.center_of_mass(model, s.q, s.v))
    agree(com[2:3], jacobians(lambda q: sarrus.center_of_mass.text(model, q).position, model, s.q))
    agree(com[3:], jacobians(lambda q, v: sarrus.center_of_mass.text(model, q, v).velocity, model, s.q, s.v))
    momentum = sarrus.centroidal_momentum_derivatives(model, s.q, s.v)
    assert relative_error(momentum.h, sarrus.centroidal_momentum(model, s.q, s.v), 1.0) < 1e-12
    agree(momentum[1:], jacobians(lambda q, v: sarrus.centroidal_momentum.text(model, q, v), model, s.q, s.v))
    assert relative_error(momentum.dh_dv, sarrus.centroidal_momentum_matrix(model, s.q), 1.0) < 1e-12
    energy = sarrus.energy_derivatives(model, s.q, s.v)

    def both(q, v):
        return np.array([x.item() for x in sarrus.energy.text(model, q, v)], dtype=object)

    by_q, by_v = jacobians(both, model, s.q, s.v)
    agree(energy, (*sarrus.energy(model, s.q, s.v), by_q[0], by_v[0], by_q[1]))
    assert relative_error(energy.dkinetic_dv, sarrus.crba(model, s.q) @ s.v, 1.0) < 1e-11
    assert relative_error(energy.dpotential_dq, sarrus.gravity_forces(model, s.q), 1.0) < 1e-11
