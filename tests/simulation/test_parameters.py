"""Masses, lengths and gear ratios as inputs of steps: values, linearizations and gradients, against differences."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import Simulation
from sarrus.errors import ModelError, SarrusError, StateError, UnsupportedError
from sarrus.model.values import with_values
from sarrus.simulation.step_kernels import StepKernels
from tests.derivatives.differences import slope
from tests.mechanisms import relative_error

VALUES = {"m": 1.3, "l": 0.4, "r": 6.0}


def geared(**values: float) -> sarrus.Model:
    """A motor that drives an arm by a gear, with a hand; symbols where no value is given."""
    m, l, r = (values.get(name, ca.SX.sym(name)) for name in "mlr")
    builder = sarrus.ModelBuilder("geared").add_body("motor", mass=0.3, inertia=0.01 * np.eye(3), damping=0.01)
    builder.add_body("arm", mass=m, com=(0.0, 0.1, -l), inertia=0.1 * np.eye(3), axis=(0, 1, 0), damping=0.2)
    builder.add_body("hand", "arm", axis=(0, 1, 0), position=(0.0, 0.0, -l), mass=1.0, com=(0.1, 0.0, -0.2),
                     inertia=0.05 * np.eye(3), stiffness=3.0)  # fmt: skip
    builder.add_constraint(sarrus.coupling({"motor_joint": 1.0, "arm_joint": -r}))
    builder.add_actuator("motor", {"motor_joint": 1.0}, gain=2.0)
    return builder.build()


def parallelogram() -> sarrus.Model:
    """Two cranks of one length with a coupler, closed at its end: the loop's rows know the lengths."""
    l, w = ca.SX.sym("l"), ca.SX.sym("w")
    turns = {"axis": (0.0, 1.0, 0.0), "inertia": 0.02 * np.eye(3)}
    builder = sarrus.ModelBuilder("parallelogram")
    builder.add_body("left", position=(0.0, 0.0, 0.0), mass=1.0, com=(0.0, 0.0, -0.5 * l), **turns)
    builder.add_body("right", position=(w, 0.0, 0.0), mass=1.2, com=(0.0, 0.0, -0.5 * l), **turns)
    builder.add_body("coupler", "left", position=(0.0, 0.0, -l), mass=0.7, com=(0.5 * w, 0.0, 0.1), **turns)
    builder.add_frame("end", "coupler", position=(w, 0.0, 0.0))
    builder.add_frame("joint", "right", position=(0.0, 0.0, -l))
    builder.add_constraint(sarrus.loop("end", "joint", "spherical"))
    return builder.build()


def by_parameters(simulation: Simulation, state, **inputs) -> np.ndarray:
    """Columns by differences of steps."""
    values, model = dict(simulation.parameters or {}), simulation.stepped_model
    base = simulation.step(state, **inputs)

    def after(name: str, t: float) -> np.ndarray:
        found = replace(simulation, parameters=values | {name: values[name] + t}).step(state, **inputs)
        return np.concatenate([sarrus.difference(model, base.q, found.q), found.v])

    return np.stack([slope(lambda t, name=name: after(name, t), 1e-4) for name in values], axis=1)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit", "rk4"])
@pytest.mark.parametrize("method", ["bbo", "prox_ltl"])
def test_a_geared_arm(integrator, method):
    options = {"tolerance": 1e-14} if method == "prox_ltl" else {"fallback": None}
    simulation = Simulation(geared(), 1e-2, integrator, method, parameters=VALUES, options=options, project_every=None)
    q, controls = np.array([1.8, 0.3, -0.2]), np.array([0.7])
    state = simulation.start(q, np.array([3.0, 0.5, 1.0]))
    A, B, P = simulation.linearize(state, controls=controls)
    numeric = Simulation(geared(**VALUES), 1e-2, integrator, method, options=options, project_every=None)
    plain = numeric.linearize(state, controls=controls)
    assert relative_error(A, plain.A) < 1e-10
    assert relative_error(B, plain.B) < 1e-10
    assert relative_error(simulation.step(state, controls=controls).v, numeric.step(state, controls=controls).v) < 1e-10
    assert relative_error(P, by_parameters(simulation, state, controls=controls)) < 1e-8


def test_a_tree_and_a_batch():
    model = geared().without_constraints()
    values = {"l": 0.4, "m": 1.3}  # in this order
    simulation = Simulation(model, 1e-2, "semi_implicit_euler", parameters=values)
    q, v = sarrus.random_state(simulation.stepped_model, 0, batch=3)
    tau = np.random.default_rng(0).normal(size=(3, 3))
    many = simulation.linearize(simulation.start(q, v), tau=tau)
    for k in range(3):
        state = simulation.start(q[k], v[k])
        one = simulation.linearize(state, tau=tau[k])
        assert all(np.array_equal(x[k], y) for x, y in zip(many, one, strict=True))
        assert relative_error(one.P, by_parameters(simulation, state, tau=tau[k])) < 1e-8


def test_an_embedded_gear_and_adaptive_steps():
    """The ratio is in G, the lengths in everything."""
    embedded = sarrus.embed(replace(geared(), typical=tuple(VALUES.items())))
    simulation = Simulation(embedded, 1e-2, "semi_implicit_euler", parameters=VALUES, project_every=None)
    state = simulation.start(np.array([1.8, 0.3, -0.2]), np.array([3.0, 0.5, 1.0]))
    assert relative_error(simulation.linearize(state).P, by_parameters(simulation, state)) < 1e-8
    found, expected = (
        Simulation(model, 1e-2, "adaptive", parameters=values).run(np.zeros(3), steps=30).q[-1]
        for model, values in ((geared(), VALUES), (geared(**VALUES), None))
    )
    assert relative_error(found, expected) < 1e-8


def test_loops_whose_lengths_vary_with_a_projection():
    """The step ends on the loop as it then is: along motions that keep it closed, and with its lengths."""
    values = {"l": 0.5, "w": 0.8}
    simulation = Simulation(
        parallelogram(), 1e-3, "semi_implicit_euler", "prox_ltl", parameters=values, project_every=1,
        options={"tolerance": 1e-14},
    )  # fmt: skip
    model = simulation.stepped_model
    q, v = np.array([0.4, 0.4, -0.4]), np.array([1.0, 1.0, -1.0])  # on the loop for all lengths
    state = simulation.start(q, v)
    P = simulation.linearize(state).P
    assert relative_error(P, by_parameters(simulation, state), 1.0) < 1e-7
    assert model.n_rows == 3


@pytest.mark.parametrize("name", ["tree", "gear", "loop"])
def test_the_gradient_of_200_steps(name):
    """By parameters, controls apart: what identification from a rollout needs."""
    model = {"tree": lambda: geared().without_constraints(), "gear": geared, "loop": parallelogram}[name]()
    values = {"tree": {"m": 1.3, "l": 0.4}, "gear": VALUES, "loop": {"l": 0.5, "w": 0.8}}[name]
    q0 = {"tree": np.array([0.1, 0.3, -0.2]), "gear": np.zeros(3), "loop": np.array([0.4, 0.4, -0.4])}[name]
    exact = {} if name == "tree" else {"method": "prox_ltl", "options": {"tolerance": 1e-14}, "project_every": 1}
    simulation = Simulation(model, 2e-3, "semi_implicit_euler", parameters=values, **exact)
    rng, steps = np.random.default_rng(0), 200
    tau = 0.3 * rng.normal(size=(steps, 3))
    weights = rng.normal(size=(2, steps + 1, 3)) / steps

    def loss(found) -> float:
        return float(np.sum(np.sin(found.q) * weights[0]) + np.sum(found.v * found.v * weights[1]))

    rollout = simulation.rollout(q0, None, tau)
    bars = np.cos(rollout.q) * weights[0], 2.0 * rollout.v * weights[1]
    found = simulation.vjp(rollout, *bars, tau=tau)
    assert len(found) == 4
    for k, (key, x) in enumerate(values.items()):

        def at(t: float, key=key, x=x) -> float:
            return loss(replace(simulation, parameters=values | {key: x + t}).rollout(q0, None, tau))

        assert found.parameters_bar[k] == pytest.approx(slope(at, 1e-4), rel=1e-6, abs=1e-11)


def test_other_values_compile_nothing_again():
    model = geared()
    simulation = Simulation(model, 1e-2, parameters=VALUES)
    q0 = np.zeros(3)
    first = simulation.run(q0, steps=20)
    kernels = {repr(x): list(y.values()) for x, y in simulation._traced_model.remembered[StepKernels].items()}
    other = replace(simulation, parameters=VALUES | {"m": 2.6})
    second = other.run(q0, steps=20)
    assert other._traced_model is simulation._traced_model
    assert {repr(x): list(y.values()) for x, y in other._traced_model.remembered[StepKernels].items()} == kernels
    assert np.abs(first.q[-1] - second.q[-1]).max() > 1e-4
    expected = Simulation(geared(**VALUES | {"m": 2.6}), 1e-2).run(q0, steps=20)
    assert relative_error(second.q, expected.q) < 1e-9
    assert second.model.is_numeric


@pytest.mark.parametrize("more", [{"lower": -0.1, "upper": 0.1}, {"friction": 0.3}], ids=["limits", "friction"])
def test_what_is_chosen_by_inertias_stays(more):
    """Limits that are springs are as stiff for other masses as for the first one: else P would not be P."""
    builder = sarrus.ModelBuilder("arm")
    builder.add_body("arm", mass=ca.SX.sym("m"), com=(0, 0, -0.3), axis=(0, 1, 0), inertia=0.01 * np.eye(3), **more)
    simulation = Simulation(builder.build(), 1e-3, "semi_implicit_euler", parameters={"m": 1.0})
    state = simulation.start(np.array([0.101]), np.array([1e-4]))
    assert relative_error(simulation.linearize(state).P, by_parameters(simulation, state)) < 1e-8
    fresh = Simulation(simulation.model, 1e-3, "semi_implicit_euler", parameters={"m": 2.0})
    other = replace(simulation, parameters={"m": 2.0})
    assert fresh.step(state).v == other.step(state).v


def test_values_in_the_place_of_symbols():
    model, q = geared(), np.array([0.3, 0.2, 0.1])
    numeric, expected = with_values(model, VALUES), geared(**VALUES)
    assert numeric is with_values(model, dict(reversed(VALUES.items())))
    assert numeric.is_numeric
    assert relative_error(sarrus.crba(numeric, q), sarrus.crba(expected, q)) < 1e-14
    assert relative_error(sarrus.closure(numeric, q).position, sarrus.closure(expected, q).position) < 1e-14


def test_what_is_missing_or_wrong_is_said():
    with pytest.raises(StateError, match=r"contains symbols: give parameters.*m, l, r"):
        Simulation(geared())
    with pytest.raises(ModelError, match="parameter 'r' needs a finite number"):
        Simulation(geared(), parameters={"m": 1.0, "l": 1.0})
    with pytest.raises(ModelError, match="parameter 'm' needs a finite number"):
        Simulation(geared(), parameters=VALUES | {"m": np.nan})
    with pytest.raises(SarrusError, match="unknown parameter 'mass'"):
        Simulation(geared(), parameters=VALUES | {"mass": 1.0})
    with pytest.raises(SarrusError, match="unknown parameter 'mass'"):
        Simulation(sarrus.zoo.chain(2), parameters={"mass": 1.0})
    touching = replace(geared(), geometries=sarrus.zoo.geared_quadruped().with_ground().geometries[-1:])
    assert Simulation(touching, parameters=VALUES)  # a ground, and nothing that could touch it
    simulation = Simulation(geared(), integrator="adaptive", parameters=VALUES)
    start = simulation.start(np.zeros(3))
    with pytest.raises(UnsupportedError, match="adaptive steps change their size"):
        simulation.linearize(start)
