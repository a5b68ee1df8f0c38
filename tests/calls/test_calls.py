"""Calling algorithms: shapes, batches, bad input; robots with nothing, with one body, with many roots."""

from __future__ import annotations

import sys
from types import ModuleType

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.calls import evaluator
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from tests.mechanisms import mechanism, relative_error

CASE = mechanism(3, ["free", "revolute", "spherical", "planar"])
MODEL = CASE.model
S = CASE.state()
B = CASE.state(3)


@pytest.fixture(params=["text", "kernel"], autouse=True)
def _both_ways(request, monkeypatch, tmp_path_factory):
    """Every call is made by the text, and by kernels that are compiled at once."""
    if request.param == "kernel":
        monkeypatch.setattr(evaluator, "_RUNS_OF_TEXT", 0)
        monkeypatch.setattr(evaluator, "_PER_OPERATION", 0.0)
    with sarrus.interpreted(request.param == "text"):
        yield


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sarrus.aba(MODEL, S.q[:-1], S.v, S.tau),
            rf"q: expected shape \({MODEL.nq},\) or \(B, {MODEL.nq}\), got",
        ),
        (
            lambda: sarrus.aba(MODEL, S.q, S.v[:-1], S.tau),
            rf"v: expected shape \({MODEL.nv},\) or \(B, {MODEL.nv}\), got",
        ),
        (lambda: sarrus.aba(MODEL, S.q, S.v, S.q), "tau: expected shape"),
        (
            lambda: sarrus.rnea(MODEL, S.q, S.v, S.a, np.zeros(6)),
            r"external_forces: expected shape \(4, 6\) or \(B, 4, 6\), got \(6,\)",
        ),
        (lambda: sarrus.rnea(MODEL, S.q, S.v, np.zeros((2, 3, MODEL.nv))), "a: expected shape"),
        (lambda: sarrus.rnea(MODEL, S.q, S.v, None), "rnea: the input 'a' is missing"),
        (lambda: sarrus.aba(MODEL, S.q, "fast", S.tau), "v: expected shape"),
        (lambda: sarrus.aba(MODEL, S.q, [1, [2]], S.tau), "v: expected shape"),
        (lambda: sarrus.aba(MODEL, S.q, S.v * np.nan, S.tau), r"v\[0\] is nan: every number must be finite"),
        (lambda: sarrus.aba(MODEL, S.q, S.v, S.tau / 0.0), r"tau\[0\] is -?inf: every number must be finite"),
        (lambda: sarrus.aba(MODEL, S.q, B.v, B.tau[:2]), "batches of different sizes: v has 3, tau has 2"),
        (lambda: sarrus.crba("robot.urdf", S.q), "crba: the first argument must be a sarrus.Model, got str"),
        (lambda: sarrus.crba(MODEL, ca.SX.sym("q", 3)), "q: expected 15 elements, got a CasADi matrix of"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_arrays_are_named(call, message):
    with pytest.raises(StateError, match=message):
        call()


def test_a_bad_element_of_a_batch_is_found():
    v = B.v.copy()
    v[1, 2] = np.inf
    with pytest.raises(StateError, match=r"v\[1, 2\] is inf"):
        sarrus.aba(MODEL, B.q, v, B.tau)


def test_unknown_frames_list_the_valid_ones():
    for call in (
        lambda: sarrus.frame_jacobian(MODEL, S.q, frame="b7"),
        lambda: sarrus.frame_jacobian_bias(MODEL, S.q, S.v, frame="b7"),
        lambda: sarrus.forward_kinematics(MODEL, S.q, frames=["b0", "b7"]),
        lambda: sarrus.frame_jacobian(MODEL, B.q, frame="b7"),
    ):
        with pytest.raises(UnknownNameError, match=r"unknown frame 'b7'.*Valid: world, b0, b1"):
            call()


def test_unknown_options():
    with pytest.raises(TypeError, match="gravity"):
        sarrus.aba(MODEL, S.q, S.v, S.tau, gravity=False)


@pytest.mark.parametrize("method", [["lcaba"], {"lcaba": 1}, ("pv", "ltl"), 3, np.zeros(2)])
def test_a_method_that_is_no_name_is_refused_in_words(method):
    model = sarrus.zoo.four_bar()
    with pytest.raises(UnknownNameError, match=r"method of forward dynamics.*Valid: .*lcaba"):
        sarrus.forward_dynamics(model, *[np.zeros(model.nv)] * 3, method=method)


def test_options_that_are_equal_but_of_another_type_are_not_the_same():
    """1 == 1.0 == True: what was checked for the first says nothing of the others."""
    model = sarrus.zoo.four_bar()
    state = [np.zeros(model.nv)] * 3
    sarrus.lcaba(model, *state, max_iterations=1)
    sarrus.op_count(model, "lcaba", max_iterations=1)
    for other in (True, 1.0):
        with pytest.raises(UnsupportedError, match="max_iterations"):
            sarrus.lcaba(model, *state, max_iterations=other)
        with pytest.raises(UnsupportedError, match="max_iterations"):
            sarrus.op_count(model, "lcaba", max_iterations=other)


def test_one_state_serves_a_whole_batch():
    got = sarrus.rnea(MODEL, B.q, B.v, S.a)
    assert relative_error(got, sarrus.rnea(MODEL, B.q, B.v, np.tile(S.a, (3, 1)))) < 1e-15
    forces = sarrus.rnea(MODEL, B.q, B.v, B.a, S.external_forces)
    assert relative_error(forces[2], sarrus.rnea(MODEL, B.q[2], B.v[2], B.a[2], S.external_forces)) < 1e-12


@pytest.mark.parametrize("batch", [0, 1, 255, 256, 257, 600])
def test_batches_of_every_size(batch):
    s = CASE.state(batch)
    qdd = sarrus.aba(MODEL, s.q, s.v, s.tau)
    assert qdd.shape == (batch, MODEL.nv)
    if batch:
        k = batch - 1
        assert relative_error(qdd[k], sarrus.aba(MODEL, s.q[k], s.v[k], s.tau[k])) < 1e-10


def test_lists_and_integers_are_arrays():
    model = mechanism(0, ["revolute"]).model
    assert np.array_equal(
        sarrus.aba(model, [1], [2], [3]), sarrus.aba(model, np.array([1.0]), np.array([2.0]), np.array([3.0]))
    )


def test_inputs_are_left_alone():
    before = [x.copy() for x in (B.q, B.v, B.tau)]
    sarrus.aba(MODEL, B.q, B.v, B.tau)
    sarrus.aba(MODEL, B.q[0], B.v[0], B.tau[0])
    assert all(np.array_equal(x, y) for x, y in zip(before, (B.q, B.v, B.tau), strict=True))


def test_symbols_and_numbers_mix():
    tau = ca.SX.sym("tau", MODEL.nv)
    qdd = sarrus.aba(MODEL, S.q, S.v, tau, S.external_forces)
    got = np.array(ca.Function("f", [tau], [qdd])(S.tau)).ravel()
    assert relative_error(got, sarrus.aba(MODEL, S.q, S.v, S.tau, S.external_forces)) < 1e-11
    derivative = np.array(ca.Function("f", [tau], [ca.jacobian(qdd, tau)])(S.tau))
    assert relative_error(derivative, np.linalg.inv(sarrus.crba(MODEL, S.q))) < 1e-9  # d qdd / d tau = M^-1


# --- small and strange robots ----------------------------------------------------------------------------


def call_everything(model, batch=None):
    q, v = sarrus.random_state(model, rng=0, batch=batch)
    f = np.zeros((model.nb, 6)) if batch is None else np.zeros((batch, model.nb, 6))
    return {
        "aba": sarrus.aba(model, q, v, v, f),
        "rnea": sarrus.rnea(model, q, v, v, f),
        "crba": sarrus.crba(model, q),
        "bias": sarrus.bias_forces(model, q, v),
        "gravity": sarrus.gravity_forces(model, q),
        "energy": sarrus.energy(model, q, v),
        "kinematics": sarrus.forward_kinematics(model, q, v, v),
        "jacobian": sarrus.frame_jacobian(model, q, frame="world"),
        "jacobian_bias": sarrus.frame_jacobian_bias(model, q, v, frame="world"),
    }


@pytest.mark.parametrize("batch", [None, 2])
def test_a_robot_without_bodies(batch):
    model = sarrus.ModelBuilder("nothing").add_frame("here", "world").build()
    size = () if batch is None else (batch,)
    got = call_everything(model, batch)
    for name in ("aba", "rnea", "bias", "gravity"):
        assert got[name].shape == (*size, 0)
    assert got["crba"].shape == (*size, 0, 0)
    assert got["jacobian"].shape == (*size, 6, 0)
    assert np.all(got["energy"].kinetic == 0.0)
    assert got["kinematics"].position.shape == (*size, 0, 3)
    q = np.zeros((*size, 0))
    for function, arguments in (
        (sarrus.center_of_mass, (q,)),
        (sarrus.centroidal_momentum, (q, q)),
        (sarrus.centroidal_momentum_matrix, (q,)),
    ):
        with pytest.raises(UnsupportedError, match="'nothing' has no mass"):
            function(model, *arguments)


@pytest.mark.parametrize("kind", ["revolute", "free", "universal"])
def test_a_robot_with_one_body(kind):
    model = mechanism(0, [kind]).model
    got = call_everything(model)
    assert relative_error(got["rnea"], got["crba"] @ sarrus.random_state(model, rng=0)[1] + got["bias"]) < 1e-12


def test_several_roots_do_not_feel_each_other():
    pair = mechanism(1, ["free", "spherical", "revolute"], parents=[-1, -1, 1])
    s = pair.state()
    M = sarrus.crba(pair.model, s.q)
    assert not M[:6, 6:].any()
    alone = sarrus.ModelBuilder(gravity=pair.gravity).add_body(**pair.bodies[0]).build()
    qdd = sarrus.aba(pair.model, s.q, s.v, s.tau)
    assert relative_error(qdd[:6], sarrus.aba(alone, s.q[:7], s.v[:6], s.tau[:6])) < 1e-13


def test_masked_arrays_whose_module_is_being_imported(monkeypatch):
    """As another thread does it: the module is there, and empty."""
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
    model = sarrus.zoo.chain(2)
    assert np.isfinite(sarrus.aba(model, [0.1, 0.2], np.zeros(2), np.zeros(2))).all()


def test_matrix_symbols_of_casadi_are_taken_too():
    """MX, of which large problems are made: integrate, difference, algorithms with one, several and 3D outputs."""
    model = sarrus.zoo.biped(arms=False)
    q, v = sarrus.random_state(model, 0)
    other, _ = sarrus.random_state(model, 1)
    tau = np.linspace(-1.0, 1.0, model.nv)
    Q, V, R = ca.MX.sym("q", model.nq), ca.MX.sym("v", model.nv), ca.MX.sym("r", model.nq)

    def values(*outputs):
        return [np.array(x) for x in ca.Function("f", [Q, V, R], outputs).call([q, v, other])]

    moved, apart = values(sarrus.integrate(model, Q, V), sarrus.difference(model, Q, R))
    np.testing.assert_allclose(moved[:, 0], sarrus.integrate(model, q, v), atol=1e-13)
    np.testing.assert_allclose(apart[:, 0], sarrus.difference(model, q, other), atol=1e-13)
    accelerations, forces = values(*sarrus.lcaba(model, Q, V, tau)[:2])  # tau: numbers beside symbols
    x, xd = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv)
    scalar = ca.Function("g", [x, xd], sarrus.lcaba(model, x, xd, tau)[:2]).call([q, v])
    for found, expected in zip((accelerations, forces), scalar, strict=True):
        np.testing.assert_allclose(found, np.array(expected), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(accelerations[:, 0], sarrus.lcaba(model, q, v, tau).qdd, rtol=1e-7)
    (last,) = values(sarrus.forward_kinematics(model, Q).rotation[-1])
    np.testing.assert_allclose(last, sarrus.forward_kinematics(model, q).rotation[-1], atol=1e-13)
    with pytest.raises(StateError, match="expected 35 elements, got a CasADi matrix"):
        sarrus.integrate(model, ca.MX.sym("q", 3), V)
