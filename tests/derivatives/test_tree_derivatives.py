"""Derivatives of inverse and forward dynamics of trees: against dual numbers, Pinocchio, and the chain rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import sarrus
from tests.derivatives.duals import jacobians
from tests.mechanisms import mechanism, mechanisms, relative_error

MANY = settings(max_examples=30)
TOLERANCE = 1e-9


@given(mechanisms())
@MANY
def test_inverse_dynamics(case):
    model, s = case.model, case.state()
    got = sarrus.rnea_derivatives(model, s.q, s.v, s.a, s.external_forces)
    want = jacobians(lambda q, v, a: sarrus.rnea.text(model, q, v, a, s.external_forces), model, s.q, s.v, s.a)
    assert relative_error(got.tau, sarrus.rnea(model, s.q, s.v, s.a, s.external_forces)) < 1e-12
    for found, expected in zip(got[1:], want, strict=True):
        assert relative_error(found, expected, 1.0) < TOLERANCE
    assert relative_error(got.dtau_da, sarrus.crba(model, s.q)) < 1e-12


@given(mechanisms())
@MANY
def test_forward_dynamics(case):
    model, s = case.model, case.state()
    got = sarrus.aba_derivatives(model, s.q, s.v, s.tau, s.external_forces)
    want = jacobians(lambda q, v, tau: sarrus.aba.text(model, q, v, tau, s.external_forces), model, s.q, s.v, s.tau)
    allowed = max(TOLERANCE, 1e-13 * np.linalg.cond(sarrus.crba(model, s.q)))
    assert relative_error(got.qdd, sarrus.aba(model, s.q, s.v, s.tau, s.external_forces)) < allowed
    for found, expected in zip(got[1:], want, strict=True):
        assert relative_error(found, expected, 1.0) < allowed


@given(mechanisms())
@MANY
def test_inverse_of_forward_dynamics_does_not_vary(case):
    """d/dx rnea(q, v, aba(q, v, tau)) = 0 for x = q and v, and 1 for tau."""
    model, s = case.model, case.state()
    forward = sarrus.aba_derivatives(model, s.q, s.v, s.tau, s.external_forces)
    inverse = sarrus.rnea_derivatives(model, s.q, s.v, forward.qdd, s.external_forces)
    M = inverse.dtau_da
    for by_inverse, by_forward in ((inverse.dtau_dq, forward.dqdd_dq), (inverse.dtau_dv, forward.dqdd_dv)):
        scale = np.abs(by_inverse).max() + np.abs(M).max() * np.abs(by_forward).max()
        assert np.abs(by_inverse + M @ by_forward).max() <= 1e-10 * (1.0 + scale)
    eye = np.eye(model.nv)
    assert np.abs(M @ forward.dqdd_dtau - eye).max() <= 1e-13 * max(1e3, np.linalg.cond(M))
    assert np.array_equal(forward.dqdd_dtau, forward.dqdd_dtau.T)


@given(mechanisms())
@settings(max_examples=10)
def test_packed_is_dense_without_its_zeros(case):
    model, s = case.model, case.state()
    pattern = sarrus.mass_matrix_pattern(model)
    dense, packed = (sarrus.rnea_derivatives(model, s.q, s.v, s.a, packed=x) for x in (False, True))
    assert np.array_equal(dense.tau, packed.tau)
    for x, y in zip(dense[1:], packed[1:], strict=True):
        assert y.shape == pattern.rows.shape
        assert np.array_equal(pattern.dense(y, model.nv), x)


def test_packed_native_code():
    model = sarrus.zoo.tree(12)
    q, v = sarrus.random_state(model, 1)
    kernel = sarrus.compile(model, "rnea_derivatives", packed=True)
    batch = kernel(*(np.stack([x, x]) for x in (q, v, v)))
    dense = sarrus.mass_matrix_pattern(model).dense(batch.dtau_dv, model.nv)
    assert relative_error(dense[1], sarrus.rnea_derivatives(model, q, v, v).dtau_dv) < 1e-13


def test_gravity_is_the_gradient_of_the_potential():
    """At rest dtau/dq is the Hessian of the potential energy, which is symmetric where joints commute."""
    model = sarrus.zoo.chain(5)
    q, _ = sarrus.random_state(model, 3)
    zero = np.zeros(model.nv)
    H = sarrus.rnea_derivatives(model, q, zero, zero).dtau_dq
    assert relative_error(H, H.T) < 1e-13


@pytest.mark.parametrize("links", [0, 1])
def test_almost_nothing(links):
    model = sarrus.zoo.chain(links) if links else mechanism(0, []).model
    q, v = sarrus.random_state(model, 0)
    tau = np.ones(model.nv)
    assert sarrus.rnea_derivatives(model, q, v, tau).dtau_dq.shape == (links, links)
    assert sarrus.aba_derivatives(model, q, v, tau).dqdd_dtau.shape == (links, links)
