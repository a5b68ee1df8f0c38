"""`integrate` and `difference` on numbers and on CasADi symbols: the same, with the right derivatives."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError

KINDS = ("free", "spherical", "planar", "cylindrical", "revolute", "translation")


def robot() -> sarrus.Model:
    builder = sarrus.ModelBuilder("kinds")
    for k, kind in enumerate(KINDS):
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint=kind, mass=1.0, inertia=np.eye(3))
    return builder.build()


MODEL = robot()


def test_symbols_give_what_numbers_give():
    q, v = ca.SX.sym("q", MODEL.nq), ca.SX.sym("v", MODEL.nv)
    other = ca.SX.sym("other", MODEL.nq)
    step = ca.Function("step", [q, v], [sarrus.integrate(MODEL, q, v)])
    back = ca.Function("back", [q, other], [sarrus.difference(MODEL, q, other)])
    rng = np.random.default_rng(3)
    for scale in (0.0, 1e-9, 1e-3, 1.0, 2.0):
        q0, v0 = sarrus.random_state(MODEL, rng)
        q1 = sarrus.integrate(MODEL, q0, scale * v0)
        assert np.allclose(np.asarray(step(q0, scale * v0)).ravel(), q1, rtol=0.0, atol=1e-14)
        expected = sarrus.difference(MODEL, q0, q1)
        assert np.allclose(np.asarray(back(q0, q1)).ravel(), expected, rtol=0.0, atol=1e-12)
        assert np.allclose(sarrus.integrate(MODEL, q0, expected), q1, rtol=0.0, atol=1e-12) or scale > 1.0


def test_half_a_turn_and_more():
    """The tangent is the shortest: at most pi, either sign of the quaternion."""
    model = sarrus.ModelBuilder("ball").add_body("b", joint="free", mass=1.0, inertia=np.eye(3)).build()
    q0 = sarrus.neutral(model)
    for angle in (np.pi - 1e-9, np.pi + 1e-3, 5.0):
        q1 = sarrus.integrate(model, q0, [0.1, 0.2, 0.3, 0.0, angle, 0.0])
        v = sarrus.difference(model, q0, q1)
        assert np.linalg.norm(v[3:]) < np.pi + 1e-12
        moved = sarrus.integrate(model, q0, v)
        assert np.allclose(moved[:3], q1[:3], atol=1e-12)
        assert abs(moved[3:] @ q1[3:]) > 1.0 - 1e-12


def test_one_may_be_a_number():
    v = ca.SX.sym("v", MODEL.nv)
    q0, v0 = sarrus.random_state(MODEL, 0)
    moved = ca.Function("f", [v], [sarrus.integrate(MODEL, q0, v)])
    assert np.allclose(np.asarray(moved(v0)).ravel(), sarrus.integrate(MODEL, q0, v0), atol=1e-14)
    with pytest.raises(StateError, match="expected 20 elements"):
        sarrus.integrate(MODEL, ca.SX.sym("q", 3), v)
