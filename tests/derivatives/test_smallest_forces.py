"""Kernels of derivatives whose redundant rows share a load by the smallest forces, as those of proximal methods do."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import UnknownNameError
from tests.derivatives.differences import slope
from tests.mechanisms import relative_error


def geared_leg() -> sarrus.Model:
    """Gears that are embedded, and a foot that is welded to the ground and held at its toe as well: three rows more
    than it takes.
    """
    leg = zoo.humanoid_leg(floating=True)
    held = leg.with_constraints(sarrus.contact("sole", 6), sarrus.contact("toe", 3))
    return sarrus.embed(held, [c.name for c in leg.constraints])


def held_twice() -> sarrus.Model:
    return zoo.chain_welded_tip(8).with_constraints(sarrus.contact("link_7", 3))


def held_loop() -> sarrus.Model:
    """An embedded planar four-bar, whose own rows are redundant, of which two links are held."""
    loop = zoo.four_bar()
    held = loop.with_constraints(*(sarrus.contact(name, 3) for name in loop.body_names[1:]))
    return sarrus.embed(held, [c.name for c in loop.constraints])


MODELS = {"a chain": held_twice, "embedded gears": geared_leg, "an embedded loop": held_loop}


@pytest.mark.parametrize("method", ["lcaba", "prox_ltl", "bbo"])
@pytest.mark.parametrize("name", MODELS)
def test_all_kinds_are_those_of_the_closed_form(name, method):
    """Which differences confirm (`test_check_derivatives.py`); its forces are those of the method itself."""
    model = MODELS[name]()
    q, v = sarrus.random_state(model, 0)
    v = sarrus.project(model, q, v).v  # contacts move nothing
    rng = np.random.default_rng(0)
    tau, dq, dv, dtau, x_bar = rng.normal(size=(5, model.nv))
    want = sarrus.forward_dynamics_derivatives(model, q, v, tau, minimum_norm=True)
    assert want.rank < model.spanning.n_rows
    itself = sarrus.lcaba(model, q, v, tau, tolerance=1e-13)
    assert relative_error(want.forces, itself.forces) < 1e-8
    closed, plain = (
        sarrus.compile(model, method, derivative="jacobian", **how)(q, v, tau) for how in ({"minimum_norm": True}, {})
    )
    assert relative_error(plain.dqdd_dq, want.dqdd_dq, 1.0) < 1e-9  # which is unique
    assert relative_error(plain.dforces_dq, want.dforces_dq) > 1e-3  # which is not
    for field in ("qdd", "forces", "dqdd_dq", "dqdd_dv", "dqdd_dtau", "dforces_dq", "dforces_dv", "dforces_dtau"):
        assert relative_error(getattr(closed, field), getattr(want, field), 1e-3) < 1e-10
    along = sarrus.compile(model, method, derivative="jvp", minimum_norm=True)(q, v, tau, dq, dv, dtau)
    back = sarrus.compile(model, method, derivative="vjp", minimum_norm=True)
    f_bar = rng.normal(size=model.n_rows)
    bars = back(q, v, tau, x_bar, f_bar)
    assert relative_error(along.forces, want.forces) < 1e-10
    assert relative_error(bars.forces, want.forces) < 1e-10
    for y, dy in (("qdd", along.dqdd), ("forces", along.dforces)):
        by = [getattr(want, f"d{y}_d{x}") @ d for x, d in (("q", dq), ("v", dv), ("tau", dtau))]
        assert relative_error(dy, sum(by), 1.0) < 1e-10
    for x in ("q", "v", "tau"):
        expected = getattr(want, f"dqdd_d{x}").T @ x_bar + getattr(want, f"dforces_d{x}").T @ f_bar
        assert relative_error(getattr(bars, f"{x}_bar"), expected) < 1e-10
    many = back(*(np.stack([y, y, y]) for y in (q, v, tau, x_bar, f_bar)))
    assert all(np.array_equal(y[2], z) for y, z in zip(many, bars, strict=True))


def test_batches_single_precision_and_the_algorithm_itself():
    model = zoo.four_bar()
    q, v = sarrus.random_state(model, 0, batch=300)
    tau = np.random.default_rng(0).normal(size=(300, model.nv))
    many = sarrus.forward_dynamics_derivatives(model, q, v, tau, minimum_norm=True)
    kernel = sarrus.compile(model, "forward_dynamics_derivatives", minimum_norm=True)
    lane = sarrus.compile(model, "forward_dynamics_derivatives", minimum_norm=True, dtype="float32")
    for k in (0, 299):
        one = sarrus.forward_dynamics_derivatives.text(model, q[k], v[k], tau[k], minimum_norm=True)
        assert relative_error(many.dforces_dq[k], one.dforces_dq.astype(float)) < 1e-10
        assert relative_error(kernel(q[k], v[k], tau[k]).dforces_dq, one.dforces_dq.astype(float)) < 1e-10
    rough = lane(*(x.astype(np.float32) for x in (q, v, tau)))
    assert np.median([relative_error(a, b) for a, b in zip(rough.dforces_dq, many.dforces_dq, strict=True)]) < 1e-3
    none = sarrus.forward_dynamics_derivatives(model, q[:0], v[:0], tau[:0], minimum_norm=True)
    assert none.dforces_dq.shape == (0, model.n_rows, model.nv)


def test_parameters():
    """Lengths and where a closure's axes are: rows are computed in other axes than the declared ones."""
    l, w, m = (ca.SX.sym(name) for name in "lwm")
    turns = {"axis": (0.0, 1.0, 0.0), "inertia": 0.02 * np.eye(3)}
    builder = sarrus.ModelBuilder("parallelogram")
    builder.add_body("left", mass=m, com=(0.0, 0.0, -0.5 * l), **turns)
    builder.add_body("right", position=(w, 0.0, 0.0), mass=1.2, com=(0.0, 0.0, -0.5 * l), **turns)
    builder.add_body("coupler", "left", position=(0.0, 0.0, -l), mass=0.7, com=(0.5 * w, 0.0, 0.1), **turns)
    builder.add_frame("end", "coupler", position=(w, 0.0, 0.0))
    builder.add_frame("joint", "right", position=(0.0, 0.0, -l))
    builder.add_constraint(sarrus.loop("end", "joint", "revolute", axis=(0.0, 1.0, 0.0)))
    values = {"l": 0.5, "w": 0.8, "m": 1.0}
    model, order, p = replace(builder.build(), typical=tuple(values.items())), [l, w, m], np.array([*values.values()])
    q, v, tau = np.array([0.4, 0.4, -0.4]), np.array([1.0, 1.0, -1.0]), np.array([0.3, -0.2, 0.1])
    how = {"parameters": order, "minimum_norm": True}
    value = sarrus.compile(model, "forward_dynamics_derivatives", **how)
    found = sarrus.compile(model, "lcaba", derivative="jacobian", wrt="parameters", **how)(q, v, tau, p)
    back = sarrus.compile(model, "lcaba", derivative="vjp", wrt="parameters", **how)
    assert (found.rank, found.unique, found.status) == (2.0, 1.0, 0)
    by = np.stack([slope(lambda t, e=e: value(q, v, tau, p + t * e).forces) for e in np.eye(3)], axis=1)
    assert relative_error(found.dforces_dparameters, by) < 1e-9
    f_bar = np.random.default_rng(0).normal(size=model.n_rows)
    assert relative_error(back(q, v, tau, p, np.zeros(3), f_bar).parameters_bar, f_bar @ by) < 1e-9


def test_what_has_no_forces_to_share_says_so():
    with pytest.raises(UnknownNameError, match="unknown option of aba: 'minimum_norm'"):
        sarrus.compile(zoo.chain(2), "aba", derivative="vjp", minimum_norm=True)
    with pytest.raises(UnknownNameError, match="unknown option of lcaba: 'minimum_norm'"):
        sarrus.compile(zoo.four_bar(), "lcaba", minimum_norm=True)  # whose forces are the smallest anyway


def test_jacobians_beside_values_are_those_of_these_values():
    """CasADi and other libraries take a method's values, and a Jacobian that must belong to them."""
    model = held_twice()
    q, v = sarrus.random_state(model, 0)
    v, tau = sarrus.project(model, q, v).v, np.random.default_rng(0).normal(size=model.nv)
    for method, how in (("lcaba", {"minimum_norm": True}), ("bbo", {})):
        want = sarrus.forward_dynamics_derivatives(model, q, v, tau, **how)
        itself = sarrus.catalog()[method](model, q, v, tau)
        assert relative_error(want.forces, itself.forces) < 1e-8
        written_out = sarrus.compile(model, method).to_casadi()
        loaded = sarrus.casadi.external(model, method)
        for function in (written_out, loaded):
            inputs = [ca.MX.sym(name, model.nv) for name in ("q", "v", "tau")]
            forces = function(*inputs)[1]
            slopes = ca.Function("slopes", inputs, [ca.jacobian(forces, x) for x in inputs])(q, v, tau)
            for found, by in zip(slopes, (want.dforces_dq, want.dforces_dv, want.dforces_dtau), strict=True):
                assert relative_error(np.array(found), by) < 1e-8
