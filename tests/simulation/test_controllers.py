"""Controllers: in Python, compiled in as PD gains, or as CasADi expressions. All three give the same motion."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.codegen.tape.casadi_import import evaluate
from sarrus.errors import StateError, UnsupportedError
from tests.simulation.mechanisms_in_motion import floating_four_bar, on_the_loop

MODEL = sarrus.zoo.chain(2)
TARGET, GAINS = np.array([0.4, -0.3]), (np.array([30.0, 20.0]), np.array([2.0, 1.0]))


def in_python(t, q, v):
    return GAINS[0] * (TARGET - q) - GAINS[1] * v


def test_the_three_agree():
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    function = ca.Function("tau", [q, v], [ca.DM(GAINS[0]) * (TARGET - q) - ca.DM(GAINS[1]) * v])
    controllers = in_python, sarrus.pd(*GAINS, TARGET), sarrus.controller(function)
    for integrator in ("semi_implicit_euler", "rk4"):
        first, second, third = (
            sarrus.simulate(MODEL, [0.0, 0.1], controller=c, duration=0.5, integrator=integrator) for c in controllers
        )
        # A Python controller is asked once a step, compiled ones at every stage.
        tolerance = 1e-10 if integrator == "semi_implicit_euler" else 2e-2
        np.testing.assert_allclose(second.q, first.q, atol=tolerance)
        np.testing.assert_allclose(third.q, second.q, atol=1e-10)
        np.testing.assert_allclose(third.tau, second.tau, atol=1e-8)


def test_pd_arrives():
    found = sarrus.simulate(MODEL, controller=sarrus.pd(100.0, 5.0, TARGET), duration=3.0)
    np.testing.assert_allclose(found.q[-1], TARGET, atol=0.05)
    exact = sarrus.pd(100.0, 5.0, TARGET, feedforward=sarrus.gravity_forces(MODEL, TARGET))
    found = sarrus.simulate(MODEL, controller=exact, duration=3.0)
    np.testing.assert_allclose(found.q[-1], TARGET, atol=1e-6)


def test_new_targets_need_no_new_kernel_and_may_move():
    t = np.arange(500) * 1e-3
    path = np.stack([np.sin(t), 0.5 * np.cos(t)], axis=1)
    speed = np.stack([np.cos(t), -0.5 * np.sin(t)], axis=1)
    found = sarrus.simulate(MODEL, path[0], speed[0], sarrus.pd(1e4, 100.0, path, speed), duration=0.5,
                            integrator="implicit")  # fmt: skip
    np.testing.assert_allclose(found.q[:-1], path, atol=5e-3)


def test_targets_of_a_batch():
    targets = np.array([[[0.1, 0.2]], [[0.3, -0.1]]])
    stiff = sarrus.pd(5e3, 80.0, targets)
    found = sarrus.rollout(MODEL, np.zeros((2, 2)), steps=3000, controller=stiff, integrator="implicit")
    np.testing.assert_allclose(found.q[:, -1], targets[:, 0], atol=1e-3)


def test_a_floating_base_is_not_driven_and_rotations_are_compared_as_rotations():
    model = floating_four_bar()
    q, v = on_the_loop(model)
    found = sarrus.simulate(model, q, v, controller=sarrus.pd(5.0, 1.0, q), duration=0.2)
    assert not found.tau[:, :6].any()
    assert found.tau[:, 6:].any()
    ball = sarrus.ModelBuilder("ball")
    ball.add_body("a", "world", joint="spherical", mass=1.0, com=(0, 0, 0), inertia=0.1 * np.eye(3))
    target = np.array([0.6, 0.0, 0.0, -0.8])
    found = sarrus.simulate(ball.build(), controller=sarrus.pd(20.0, 2.0, target), duration=3.0)
    np.testing.assert_allclose(np.abs(found.q[-1] @ target), 1.0, atol=1e-6)


def test_time_reaches_a_casadi_controller():
    q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
    function = ca.Function("tau", [q, v, t], [ca.vertcat(ca.sin(3 * t), t * t)])
    found = sarrus.simulate(MODEL, controller=sarrus.controller(function), duration=0.3)
    np.testing.assert_allclose(found.tau[:, 0], np.sin(3 * found.time), atol=1e-12)
    np.testing.assert_allclose(found.tau[:, 1], found.time**2, atol=1e-12)
    adaptive = sarrus.simulate(
        MODEL, controller=sarrus.controller(function), duration=0.3, dt=0.1, integrator="adaptive", accuracy=1e-10
    )
    fine = sarrus.simulate(MODEL, controller=sarrus.controller(function), duration=0.3, integrator="rk4")
    np.testing.assert_allclose(adaptive.q[-1], fine.q[-1], atol=1e-9)
    np.testing.assert_allclose(adaptive.tau[:3, 0], np.sin(3 * adaptive.time[:3]), atol=1e-12)


def test_torques_are_cut_at_the_effort_limit():
    b = sarrus.ModelBuilder("weak")
    b.add_body("a", "world", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), inertia=0.1 * np.eye(3),
               effort_limit=1.5)  # fmt: skip
    strong = sarrus.pd(100.0, 1.0, [2.0])
    found = sarrus.simulate(b.build(), controller=strong, duration=0.1)
    assert np.abs(found.tau).max() == 1.5
    free = sarrus.simulate(b.build(), controller=strong, duration=0.1, joint_forces=False)
    assert np.abs(free.tau).max() > 100.0


class TestNeuralNetwork:
    """A policy of two layers of tanh, as numbers in Python and as an expression that is compiled into the step."""

    rng = np.random.default_rng(5)
    W1, W2, W3 = rng.normal(size=(16, 4)), rng.normal(size=(16, 16)) / 4.0, rng.normal(size=(2, 16))
    b1, b2 = rng.normal(size=16), rng.normal(size=16)

    def in_python(self, t, q, v):
        hidden = np.tanh(self.W2 @ np.tanh(self.W1 @ np.concatenate([q, v]) + self.b1) + self.b2)
        return self.W3 @ hidden - 0.5 * np.tanh(v / 0.01)  # with friction, smoothed

    def compiled(self):
        q, v = ca.MX.sym("q", 2), ca.MX.sym("v", 2)
        hidden = ca.tanh(ca.mtimes(self.W1, ca.vertcat(q, v)) + self.b1)
        hidden = ca.tanh(ca.mtimes(self.W2, hidden) + self.b2)
        return sarrus.controller(ca.Function("pi", [q, v], [ca.mtimes(self.W3, hidden) - 0.5 * ca.tanh(v / 0.01)]))

    def test_compiled_equals_python(self):
        first, second = (
            sarrus.simulate(MODEL, [0.3, -0.2], controller=c, duration=0.3, integrator="semi_implicit_euler")
            for c in (self.in_python, self.compiled())
        )
        assert np.abs(first.tau).max() > 1.0
        for name in ("q", "v", "tau"):
            np.testing.assert_allclose(getattr(second, name), getattr(first, name), rtol=1e-12, atol=1e-12)

    def test_a_rollout_of_many_is_each_of_them(self):
        starts = self.rng.uniform(-1.0, 1.0, (13, 2))
        many = sarrus.rollout(MODEL, starts, steps=50, controller=self.compiled())
        for k in (0, 7, 12):
            alone = sarrus.rollout(MODEL, starts[k : k + 1], steps=50, controller=self.compiled())
            assert np.array_equal(alone.q[0], many.q[k])


class TestCasadiExpressions:
    x = ca.SX.sym("x", 3)
    values = np.array([0.7, -1.3, 2.0])

    @pytest.mark.parametrize(
        "expression",
        [
            x[0] + x[1] * x[2] - x[0] / x[2], ca.sin(x[0]) + ca.cos(x[1]) + ca.tan(x[2]), ca.sqrt(x[2]), x[0] ** 2,
            x[1] ** 3, x[2] ** -2, ca.fabs(x[1]), ca.fmin(x[0], x[1]), ca.fmax(x[0], x[1]), ca.atan2(x[0], x[1]),
            ca.atan(x[1]), ca.if_else(x[0] > x[1], x[2], 5.0), ca.if_else(x[0] <= x[1], x[2], 5.0), ca.sign(x[1]),
            ca.if_else(ca.logic_and(x[0] > 0, x[1] > 0), 1.0, 2.0),
            ca.if_else(ca.logic_or(x[0] > 0, x[1] > 0), 1.0, 2.0),
            ca.if_else(ca.logic_not(x[0] == 0.7), 1.0, 2.0), ca.if_else(x[0] != x[1], 1.0, 2.0), 2 * x[0], 1 / x[1],
            ca.vertcat(0, x[1], 0),
        ],
        ids=str,
    )  # fmt: skip
    def test_evaluated_by_us(self, expression):
        f = ca.Function("f", [self.x], [expression])
        expected = np.array(f(self.values)).ravel()
        np.testing.assert_allclose(evaluate(f, [self.values])[0], expected, rtol=1e-14)

    def test_a_function_of_matrix_expressions(self):
        x = ca.MX.sym("x", 3)
        f = ca.Function("f", [x], [ca.mtimes(ca.DM(np.arange(9.0).reshape(3, 3)), ca.sin(x))])
        np.testing.assert_allclose(evaluate(f, [self.values])[0], np.array(f(self.values)).ravel(), rtol=1e-14)

    def test_what_cannot_be_compiled_is_named(self):
        f = ca.Function("f", [self.x], [ca.erf(self.x[0])])
        with pytest.raises(UnsupportedError, match=r"OP_ERF cannot be compiled\. Valid: .*sin"):
            evaluate(f, [self.values])


class TestBadControllers:
    def test_not_a_controller(self):
        with pytest.raises(UnsupportedError, match=r"controller is 3\. Valid: None, a function"):
            sarrus.simulate(MODEL, controller=3)
        with pytest.raises(UnsupportedError, match=r"casadi\.Function of"):
            sarrus.controller(lambda q, v: q)
        f = ca.Function("f", [ca.SX.sym("q", 2), ca.SX.sym("v", 2)], [ca.SX.zeros(2)])
        with pytest.raises(UnsupportedError, match=r"sarrus\.controller\(casadi_function\)"):
            sarrus.simulate(MODEL, controller=f)

    def test_wrong_sizes(self):
        f = ca.Function("f", [ca.SX.sym("q", 3), ca.SX.sym("v", 2)], [ca.SX.zeros(2)])
        with pytest.raises(StateError, match=r"must take q \(2\), v \(2\)"):
            sarrus.simulate(MODEL, controller=sarrus.controller(f))
        with pytest.raises(StateError, match="kp has 3 numbers"):
            sarrus.simulate(MODEL, controller=sarrus.pd([1.0, 2.0, 3.0], 0.0, TARGET))
        with pytest.raises(StateError, match="q_target: expected shape"):
            sarrus.simulate(MODEL, controller=sarrus.pd(1.0, 0.0, np.zeros(3)))
        with pytest.raises(StateError, match="kd is 'soft'"):
            sarrus.pd(1.0, "soft", TARGET)

    def test_what_a_python_controller_returns_is_checked(self):
        with pytest.raises(StateError, match=r"returned shape \(3,\) at t = 0 s, expected \(2,\)"):
            sarrus.simulate(MODEL, controller=lambda t, q, v: np.zeros(3))
        with pytest.raises(StateError, match=r"not finite at t = 0\.005 s"):
            sarrus.simulate(MODEL, controller=lambda t, q, v: q * (np.nan if t > 0.0045 else 0.0))


def test_gains_that_effort_limits_keep_explicit_are_told_where_they_are_too_stiff():
    builder = sarrus.ModelBuilder("servo")
    builder.add_body("arm", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.1), inertia=1e-3 * np.eye(3), effort_limit=5.0)
    arm = builder.build()
    stiff = sarrus.pd(10.0, 50.0, np.zeros(1))  # dt d / m is about 4.5

    def notes(controller, **forces):
        return " ".join(sarrus.Simulation(arm, controller=controller, joint_forces=sarrus.JointForces(**forces)).notes)

    assert "gains too stiff for this step: arm_joint" in notes(stiff)
    assert "too stiff" not in notes(stiff, effort=False)
    assert "too stiff" not in notes(sarrus.pd(10.0, 1.0, np.zeros(1)))
    swings = sarrus.simulate(arm, [0.5], controller=stiff, duration=0.2)
    assert np.abs(np.diff(np.sign(swings.v[:, 0]))).sum() > 100, "as it is said: the velocity flips in every step"
