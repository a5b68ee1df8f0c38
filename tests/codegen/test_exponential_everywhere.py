"""exp, log and tanh in every form of a tape: traced, counted, interpreted, in loops, as C, to CasADi and from it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.c_export import write_c
from sarrus.codegen.tape.casadi_export import casadi_function
from sarrus.codegen.tape.casadi_import import evaluate
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.errors import UnsupportedError
from sarrus.spatial.iteration import iterate

WEIGHTS = np.random.default_rng(7).normal(size=(2, 5, 5))


def policy(x: np.ndarray) -> np.ndarray:
    """Two layers of a network, with functions of every kind between them; of floats or symbols."""
    hidden = np.tanh(WEIGHTS[0] @ x)
    gates = 1.0 / (1.0 + np.exp(-(WEIGHTS[1] @ hidden)))
    return np.log(1.0 + np.exp(gates * x)) + np.sin(np.tanh(hidden) * x)


def policy_tape() -> Tape:
    graph = Graph()
    return tape_of(graph, (Port("x", (5,)),), {"y": policy(graph.inputs(0, 5))})


def run_native(tape: Tape, x: np.ndarray, **options) -> np.ndarray:
    out = np.empty((len(x), tape.outputs[0].size), x.dtype)
    build_native(tape, str(x.dtype), cache=False, **options).run([x], [out], len(x))
    return out


X = np.random.default_rng(8).normal(size=(13, 5))
EXPECTED = np.array([policy(x) for x in X])


def test_numbers_fold_as_in_c():
    g = Graph()
    for op, x, expected in (
        (Op.EXP, 0.0, 1.0), (Op.EXP, 1e3, np.inf), (Op.LOG, 1.0, 0.0), (Op.LOG, 0.0, -np.inf), (Op.TANH, 50.0, 1.0),
    ):  # fmt: skip
        assert g.unary(op, g.constant(x)) == expected
    invalid = g.unary(Op.LOG, g.constant(-1.0))
    assert isinstance(invalid, float)
    assert np.isnan(invalid)
    assert len(g.op) == len(g.constants)


def test_each_counts_as_one_of_its_own_kind():
    """The kind is not even named where there is none: published counts stay what they are."""
    count = policy_tape().op_count
    assert count.by_kind["exp"] == 5 * 5  # tanh, exp, exp, log, tanh
    assert count.by_kind["trig"] == 5
    assert "exp" not in sarrus.op_count(sarrus.zoo.chain(3), "aba").by_kind


def test_interpreted():
    found = interpret.run(policy_tape(), [list(X.T)])[0]
    np.testing.assert_allclose(np.array(found).T, EXPECTED, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("lanes", [1, 2, "auto"])
def test_compiled(lanes):
    np.testing.assert_allclose(run_native(policy_tape(), X, lanes=lanes), EXPECTED, rtol=1e-13, atol=1e-14)


def test_compiled_in_single_precision():
    np.testing.assert_allclose(run_native(policy_tape(), X.astype(np.float32)), EXPECTED, rtol=2e-5, atol=2e-6)


def test_a_tape_of_them_survives_the_disk():
    tape = policy_tape()
    again = Tape.from_bytes(tape.to_bytes())
    assert again.digest == tape.digest
    assert np.array_equal(run_native(again, X), run_native(tape, X))


def test_in_a_loop_each_state_stops_on_its_own():
    """Kepler's equation's relative: x = a - tanh(x) / 2 by fixed points."""
    graph = Graph()
    (a,) = graph.inputs(0, 1)

    def step(state):
        (x,) = state
        following = a - 0.5 * np.tanh(x)
        return (following,), abs(following[0] - x[0]) - 1e-13

    (x,), count = iterate(step, (np.array([a], dtype=object),), 100)
    tape = tape_of(graph, (Port("a", (1,)),), {"x": np.array([x[0], count], dtype=object)})
    values = np.linspace(-3.0, 3.0, 11)[:, None]
    found = run_native(tape, values)
    np.testing.assert_allclose(found[:, 0] + 0.5 * np.tanh(found[:, 0]), values[:, 0], atol=1e-12)
    assert len(set(found[:, 1])) > 3
    alone = np.concatenate([run_native(tape, values[k : k + 1]) for k in (0, 5, 9)])
    assert np.array_equal(alone, found[[0, 5, 9]])


def test_to_casadi():
    function = casadi_function(policy_tape(), "policy")
    for x, expected in zip(X, EXPECTED, strict=True):
        np.testing.assert_allclose(np.array(function(x)).ravel(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_c(dtype, tmp_path):
    source = write_c(policy_tape(), tmp_path, "policy", np.dtype(dtype))
    library = tmp_path / "policy.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).policy
    for x, expected in zip(X.astype(dtype), EXPECTED, strict=True):
        out = np.empty(5, dtype)
        function(x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        np.testing.assert_allclose(out, expected, rtol=0.0, atol=1e-14 if dtype is np.float64 else 2e-6)


class TestFromCasadi:
    x = ca.SX.sym("x", 3)
    points = np.array([[0.7, -1.3, 2.0], [1e-9, -0.2, 30.0], [-0.4, 0.99, 1e-12], [0.0, 0.0, 1.0], [-1e-7, 4.0, 0.3]])
    expressions = (
        ca.exp(x[0]), ca.log(x[2]), ca.tanh(x[1]), ca.sinh(x[0]) + ca.cosh(x[1]), ca.sinh(x[1]), ca.expm1(x[0]),
        ca.expm1(x[1]), ca.log1p(x[0]), ca.log1p(x[2]), ca.asin(x[0]), ca.acos(x[0]), ca.hypot(x[0], x[2]),
        x[2] ** 0.3, x[2] ** -1.7, x[2] ** 0.5, x[2] ** 80, 2.5 ** x[1], 1 / (1 + ca.exp(-x[1])),
        ca.atan2(1.0, x[0]), ca.atan2(x[0], 2.0), ca.log1p(ca.exp(x[1])), ca.fmax(0, ca.tanh(x[1])),
    )  # fmt: skip

    @classmethod
    @cache
    def compiled(cls):
        """(points, expressions): all of them as one kernel."""
        graph = Graph()
        f = ca.Function("f", [cls.x], [ca.vertcat(*cls.expressions)])
        tape = tape_of(graph, (Port("x", (3,)),), {"y": evaluate(f, [graph.inputs(0, 3)])[0]})
        return run_native(tape, cls.points)

    @pytest.mark.parametrize("k", range(len(expressions)), ids=[str(x) for x in expressions])
    def test_evaluated_and_compiled(self, k):
        """Relative to the value: what cancels near 0 in a naive formula does not here."""
        f = ca.Function("f", [self.x], [self.expressions[k]])
        expected = np.array([np.array(f(p)).ravel() for p in self.points])
        np.testing.assert_allclose([evaluate(f, [p])[0] for p in self.points], expected, rtol=3e-14)
        np.testing.assert_allclose(self.compiled()[:, k : k + 1], expected, rtol=3e-14)

    def test_a_power_of_two_unknowns_is_refused_in_words(self):
        graph = Graph()
        f = ca.Function("f", [self.x], [self.x[0] ** self.x[1]])
        with pytest.raises(UnsupportedError, match="its base or its exponent must be a known number"):
            evaluate(f, [graph.inputs(0, 3)])


def test_parameters_of_a_model_may_use_them():
    size = ca.SX.sym("size")
    b = sarrus.ModelBuilder("scaled")
    b.add_body("a", "world", joint="revolute", axis=(0, 1, 0), mass=ca.exp(size) + ca.log(2.0 + ca.tanh(size)),
               com=(0.3, 0, 0), inertia=0.1 * np.eye(3))  # fmt: skip
    kernel = sarrus.compile(b.build(), "crba", parameters=[size])
    mass = np.exp(0.4) + np.log(2.0 + np.tanh(0.4))
    np.testing.assert_allclose(np.ravel(kernel(np.zeros(1), np.array([0.4]))), 0.1 + mass * 0.09, rtol=1e-13)
