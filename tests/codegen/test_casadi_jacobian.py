"""`kernel.to_casadi()` carries our Jacobian: beside differences and CasADi's own, in maps, twice, and in IPOPT."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import zoo
from tests.mechanisms import relative_error

CASES = {
    "aba": (lambda: zoo.chain(4), {}),
    "rnea": (lambda: zoo.stem(1, 1, 2), {}),
    "crba": (lambda: zoo.stem(1, 1, 2), {}),
    "forward_kinematics": (lambda: zoo.chain(3), {"frames": ("link_1", "tip")}),
    "lcaba": (zoo.five_bar, {}),
}


def symbols_of(f: ca.Function) -> list:
    return [ca.MX.sym(name, *f.size_in(k)) for k, name in enumerate(f.name_in())]


def numbers_of(model: sarrus.Model, f: ca.Function) -> list:
    q, v = sarrus.random_state(model, 0)
    rng, known = np.random.default_rng(1), {"q": q, "v": v}
    return [known.get(name, rng.normal(size=f.size_in(k))) for k, name in enumerate(f.name_in())]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("length", [1.0, 1.7], ids=["unit", "long"])
def test_beside_differences(name, length):
    """Of the function itself; quaternions of any length are the rotation that they stand for."""
    make, options = CASES[name]
    model = make()
    f = sarrus.compile(model, name, **options).to_casadi()
    x, symbols = numbers_of(model, f), symbols_of(f)
    for _, start in model.layout.quaternions:
        x[0][start : start + 4] *= length
    for k in range(f.n_in()):
        J = np.array(ca.Function("J", symbols, [ca.jacobian(ca.vec(f.call(symbols)[0]), symbols[k])]).call(x)[0])

        def at(t, e, k=k, x=x):
            moved = [y + t * e.reshape(np.shape(y)) if j == k else y for j, y in enumerate(x)]
            return np.array(f.call(moved)[0]).ravel(order="F")

        h = 1e-3
        slopes = [
            (8.0 * (at(h, e) - at(-h, e)) - (at(2 * h, e) - at(-2 * h, e))) / (12.0 * h) for e in np.eye(x[k].size)
        ]
        assert relative_error(J, np.stack(slopes, axis=1), 1.0) < 1e-7


def test_it_is_ours():
    """As many operations as the closed form has; CasADi's own of the expression has many more."""
    model = zoo.biped().without_constraints()
    kernel = sarrus.compile(model, "aba")
    ours, theirs = (kernel.to_casadi(jacobian=x).jacobian() for x in (True, False))
    assert ours.is_a("SXFunction")
    assert theirs.n_instructions() > 2.0 * ours.n_instructions()
    assert ours.n_instructions() < 1.2 * sarrus.op_count(model, "aba_derivatives").total


def test_backwards_forwards_in_maps_and_twice():
    model = zoo.chain(3)
    kernel = sarrus.compile(model, "aba")
    x = ca.MX.sym("x", 3, 5)
    found = []
    for h in (kernel.to_casadi(), kernel.to_casadi(jacobian=False)):
        total = ca.sumsqr(h.map(5)(x, x, x))
        along = ca.jtimes(h.map(5)(x, x, x), x, x)
        one = ca.sumsqr(h(x[:, 0], x[:, 1], x[:, 2]))
        found.append(ca.Function("s", [x], [total, ca.gradient(total, x), along, ca.hessian(one, x)[0]]))
    at = np.random.default_rng(0).normal(size=(3, 5))
    for a, b in zip(found[0](at), found[1](at), strict=True):
        assert np.array(a) == pytest.approx(np.array(b), rel=1e-9, abs=1e-9)


def test_parameters():
    m = ca.SX.sym("m")
    model = sarrus.ModelBuilder("one").add_body("arm", mass=m, com=(0.2, 0.0, 0.0), inertia=0.1 * np.eye(3)).build()
    f = sarrus.compile(model, "rnea", parameters=[m]).to_casadi()
    x = symbols_of(f)
    J = ca.Function("J", x, [ca.jacobian(f(*x), x[3])])
    arrays = [np.array([0.3]), np.array([0.1]), np.array([2.0]), np.array([1.5])]
    ahead, behind = (float(f(*arrays[:3], 1.5 + t)) for t in (1e-3, -1e-3))
    assert float(J(*arrays)) == pytest.approx((ahead - behind) / 2e-3, rel=1e-9)


def test_a_kernel_that_was_pickled_has_casadis():
    kernel = pickle.loads(pickle.dumps(sarrus.compile(zoo.chain(2), "aba")))
    assert kernel.to_casadi() is kernel.to_casadi(jacobian=False)


def test_ipopt_uses_it():
    """Torques that hold an arm still, by Newton's method with exact Hessians of our Jacobian."""
    model = zoo.chain(3)
    f = sarrus.compile(model, "aba").to_casadi()
    q, tau = np.array([0.3, -0.4, 0.7]), ca.MX.sym("tau", 3)
    problem = {"x": tau, "f": ca.sumsqr(tau), "g": f(q, np.zeros(3), tau)}
    silent = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    found = ca.nlpsol("hold", "ipopt", problem, silent)(x0=0, lbg=0, ubg=0)["x"]
    assert np.array(found).ravel() == pytest.approx(sarrus.rnea(model, q, np.zeros(3), np.zeros(3)), rel=1e-7)


def test_an_output_with_the_name_of_an_input_is_called_otherwise():
    model = zoo.four_bar()
    kernel = sarrus.compile(model, "project", inputs=("q", "v"))
    f = kernel.to_casadi()
    assert f.name_out()[:2] == ["q_out", "v_out"]
    q, v = sarrus.neutral(model) + 0.1, np.ones(model.nv)
    found = kernel(q, v)
    for x, y in zip(f(q, v), found, strict=True):
        np.testing.assert_allclose(np.ravel(x.full()), np.ravel(y), rtol=1e-9, atol=1e-12)


def test_matrices_without_columns():
    """Nothing was declared with k="input": derivatives by k have no column."""
    model = zoo.five_bar()
    kernel = sarrus.compile(model, "forward_dynamics_derivatives")
    q, v = sarrus.random_state(model, 0)
    found = kernel(q, v, np.ones(model.nv))
    for x, y in zip(kernel.to_casadi()(q, v, np.ones(model.nv)), found, strict=True):
        assert np.allclose(np.asarray(x, float).reshape(np.shape(y)), y, rtol=1e-9, atol=1e-9)
