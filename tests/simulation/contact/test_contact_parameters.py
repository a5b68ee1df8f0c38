"""Masses, lengths, gear ratios and places of feet as inputs of steps on the ground: values, P and gradients."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import Simulation, zoo
from sarrus.model.values import with_values
from sarrus.model.visuals import Box, Sphere
from sarrus.simulation.contact.put_down import put_down
from sarrus.simulation.contact.record import ContactRecord
from sarrus.simulation.step_call import StepResult
from sarrus.simulation.step_kernels import StepKernels
from sarrus.simulation.trajectory import State
from tests.derivatives.differences import slope
from tests.mechanisms import relative_error
from tests.simulation.contact.exact_steps import ExactStep
from tests.simulation.contact.symbols import with_symbols
from tests.simulation.contact.test_contact_linearize import EXACT, leg, on_its_foot

H = 2e-6  # far less than gaps, so that nothing opens or closes on the way
HOW = {"contacts": EXACT, "project_every": None}


def by_parameters(simulation: Simulation, state: State | StepResult, tau: np.ndarray) -> np.ndarray:
    """Columns by differences of steps."""
    values, model = dict(simulation.parameters or {}), simulation.stepped_model
    base = simulation.step(state, tau=tau)

    def after(name: str, t: float) -> np.ndarray:
        found = replace(simulation, parameters=values | {name: values[name] + t}).step(state, tau=tau)
        assert found.status == 0
        return np.concatenate([sarrus.difference(model, base.q, found.q), found.v])

    return np.stack([slope(lambda t, name=name: after(name, t), H) for name in values], axis=1)


def check(simulation: Simulation, state: State | StepResult, tau: np.ndarray) -> None:
    """A and B are those of the robot in numbers, P beside differences of steps and beside exact ones."""
    found = simulation.linearize(state, tau=tau)
    numeric = replace(simulation, model=with_values(simulation.model, dict(simulation.parameters)), parameters=None)
    plain = numeric.linearize(state, tau=tau)
    assert found._fields == ("A", "B", "P", "unique")
    assert found.unique == plain.unique == 1.0
    assert relative_error(found.A, plain.A) < 1e-10
    assert relative_error(found.B, plain.B, 1e-6) < 1e-10
    assert relative_error(simulation.step(state, tau=tau).v, numeric.step(state, tau=tau).v) < 1e-10
    assert relative_error(found.P, by_parameters(simulation, state, tau)) < 1e-6
    exact = ExactStep(simulation, state, tau).slope(parameters=np.eye(found.P.shape[1]))
    sizes = np.abs(exact).max(axis=0)
    assert sizes.min() > 1e-6  # each of them does something
    assert (np.abs(found.P - exact).max(axis=0) / sizes).max() < 1e-9


def box_on_three_feet() -> sarrus.Model:
    """(On four corners, which ones are loaded would be a choice: see `test_what_may_rest_on_...`.)"""
    m, c, l = (ca.SX.sym(name) for name in "mcl")
    builder = sarrus.ModelBuilder("box")
    builder.add_body("box", joint="free", mass=m, com=(0.02, 0.01, c), inertia=0.02 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.3, 0.1)), name="box", position=(0.0, 0.0, 0.2))
    for k, (x, y) in enumerate(((0.1, 0.0), (-0.1, 0.15), (-0.1, -0.12))):
        builder.add_geometry("box", Sphere(0.02), name=f"foot{k}", position=(x, y, -l))
    return builder.build().with_ground(friction=0.3)


@pytest.mark.parametrize("speed", [0.0, 1.0], ids=["stick", "slip"])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit"])
def test_a_box_that_slides(speed, integrator):
    values = {"l": 0.05, "m": 2.0, "c": 0.01}
    simulation = Simulation(box_on_three_feet(), 1e-3, integrator, parameters=values, **HOW)
    q, v = np.array([0.1, 0.2, 0.07 - 1e-4, 0.0, 0.0, 0.0, 1.0]), speed * np.array([1.0, 0.3, 0.0, 0.0, 0.0, 0.4])
    state, tau = simulation.start(q, v), np.array([0.1, 0.2, 0.3, 0.01, 0.02, 0.03])
    if speed:
        check(simulation, state, tau)
    else:  # what sticks on three feet has no velocity, whatever it weighs, in axes that turn a little
        P = simulation.linearize(state, tau=tau).P
        assert np.abs(P[6:, 1:]).max() < 1e-7
        assert relative_error(P, by_parameters(simulation, state, tau)) < 1e-6
        assert relative_error(P, ExactStep(simulation, state, tau).slope(parameters=np.eye(3))) < 1e-9


QUADRUPED = {
    "masses": ("trunk", "hind_left_hip_pitch"), "lengths": ("front_left_knee",), "ratios": ("front_left_knee_gear",),
    "geometries": ("front_left_foot_ball",),
}  # fmt: skip


def landed(simulation: Simulation, steps: int) -> tuple[StepResult | State, np.ndarray]:
    """Where it is so long after it began to fall, from just above the ground."""
    model = simulation.stepped_model
    numeric = Simulation(model, 1e-3, "semi_implicit_euler", **HOW)
    assert numeric._contact is not None
    q = put_down(model, numeric._contact.contacts, model.home[None], 1e-3)[0]
    v = sarrus.project(model, q, np.array([0.1, 0.0, -0.4, 0.1, 0.0, 0.0, *np.zeros(model.nv - 6)])).v
    tau, state = 0.02 * np.ones(model.nv), simulation.start(q, v)
    for _ in range(steps):
        state = simulation.step(state, tau=tau)
    return state, tau


@pytest.mark.parametrize("is_embedded", [False, True], ids=["rows", "embedded"])
@pytest.mark.parametrize("steps", [0, 2], ids=["in flight", "hits the ground"])
def test_a_geared_quadruped_that_lands(steps, is_embedded):
    model, values = with_symbols(zoo.geared_quadruped().with_ground(), **QUADRUPED)
    model = sarrus.embed(model) if is_embedded else model
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", parameters=values, **HOW)
    state, tau = landed(simulation, steps)
    forces = ContactRecord.of(simulation.step(state, tau=tau).contacts, []).normal_forces
    assert (forces > 1.0).sum() == (4 if steps else 0)
    if steps:
        check(simulation, state, tau)
    else:  # without contacts the place of a foot does nothing
        found = simulation.linearize(state, tau=tau)
        assert not np.any(found.P[:, list(values).index("place of front_left_foot_ball")])
        assert relative_error(found.P, by_parameters(simulation, state, tau)) < 1e-6


BIPED = {"masses": ("torso", "left_thigh"), "lengths": ("left_yaw", "left_cross", "left_shank")}


def standing(simulation: Simulation) -> tuple[State, np.ndarray]:
    model = simulation.stepped_model
    numeric = Simulation(model, 1e-3, "semi_implicit_euler", **HOW)
    assert numeric._contact is not None
    q = put_down(model, numeric._contact.contacts, sarrus.neutral(model)[None], -1e-4)[0]
    return simulation.start(q), 0.3 * np.ones(model.nv)


def test_the_biped_embedded():
    model, values = with_symbols(zoo.biped(arms=False).with_ground(), **BIPED)
    simulation = Simulation(sarrus.embed(model), 1e-3, "semi_implicit_euler", parameters=values, **HOW)
    check(simulation, *standing(simulation))


def test_the_biped_with_rows():
    """Its knees are planar four-bars: P is that of states that stay on loops whose lengths vary."""
    model, values = with_symbols(zoo.biped(arms=False).with_ground(), **BIPED)
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", parameters=values, **HOW)
    state, tau = standing(simulation)
    found, nv, n = simulation.linearize(state, tau=tau), model.nv, len(values)
    assert found.unique == 1.0
    linearizer = simulation._contact_steps(state, 1, tau, None, None)[0]
    changes = np.eye(2 * nv, 2 * nv + n)[None]
    closed = linearizer.projection.along(state.q[None], state.v[None], changes, np.ones((1, n)))[0][:, 2 * nv :]

    def projected(name: str, t: float) -> np.ndarray:
        robot = replace(simulation, parameters=values | {name: values[name] + t}).stepped_model
        at = sarrus.project(robot, state.q, state.v, tolerance=1e-15)
        return np.concatenate([sarrus.difference(robot, state.q, at.q), at.v])

    # The metric of a projection depends on the size of the error: differences converge with the step only.
    by = np.stack([slope(lambda t, name=name: projected(name, t), 1e-7) for name in values], axis=1)
    assert relative_error(closed, by) < 1e-3
    exact = ExactStep(simulation, state, tau).slope_on_loops(q=closed[:nv], v=closed[nv:], parameters=np.eye(n))
    assert relative_error(found.P, exact) < 1e-9


def symbolic_leg(kind: str) -> tuple[sarrus.Model, dict[str, float]]:
    names = {"masses": ("trunk", "shank"), "lengths": ("shank",), "geometries": ("shank_geometry_0",)}
    model = leg(kind, 0.05)
    return with_symbols(model, **names, ratios=[c.name for c in model.constraints if kind == "gear"])


@pytest.mark.parametrize("is_embedded", [False, True], ids=["rows", "embedded"])
@pytest.mark.parametrize("kind", ["gear", "balls"])
def test_gradients_of_rollouts_by_parameters(kind, is_embedded):
    """On the ground, with joints that rub, projected now and then; identification from such a rollout needs them."""
    model, values = symbolic_leg(kind)
    model = sarrus.embed(model) if is_embedded else model
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", parameters=values, contacts=EXACT, project_every=10)
    numeric = Simulation(simulation.stepped_model, 1e-3, "semi_implicit_euler", contacts=EXACT)
    steps = 20  # after which what is left of so deep a penetration is still more than differences change
    q, v = on_its_foot(numeric, deep=2e-3)
    rng, tau = np.random.default_rng(1), 0.1 * np.ones((steps, model.nv))
    q_bar, v_bar = rng.normal(size=(steps + 1, model.nv)), 0.1 * rng.normal(size=(steps + 1, model.nv))
    base = simulation.run(q, v, steps=steps, tau=tau)
    found = simulation.vjp(base, q_bar, v_bar, tau=tau)
    assert found._fields == ("q0_bar", "v0_bar", "u_bar", "parameters_bar", "unique")
    plain = replace(simulation, model=simulation.stepped_model, parameters=None)
    expected = plain.vjp(plain.run(q, v, steps=steps, tau=tau), q_bar, v_bar, tau=tau)
    for name in expected._fields:
        assert relative_error(getattr(found, name), getattr(expected, name)) < 1e-8

    def loss(name: str, t: float) -> np.ndarray:
        moved = replace(simulation, parameters=values | {name: values[name] + t}).run(q, v, steps=steps, tau=tau)
        change = [sarrus.difference(model, a, b) for a, b in zip(base.q, moved.q, strict=True)]
        return np.sum(q_bar * np.array(change)) + np.sum(v_bar * moved.v)

    for k, name in enumerate(values):
        if kind == "balls" and name == "length to shank":  # opens the loop that q is on
            continue
        by = slope(lambda t, name=name: loss(name, t), 5e-8)  # second derivatives by a ratio jump here
        assert abs(found.parameters_bar[k] - by) < 1e-6 * np.abs(found.parameters_bar).max()


def test_200_steps_of_a_ball_whose_weight_varies():
    """It drops, bounces off, and rolls."""
    m, c = ca.SX.sym("m"), ca.SX.sym("c")
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("ball", joint="free", mass=m, com=(0.0, 0.01, c), inertia=np.diag([0.02, 0.03, 0.025]))
    builder.add_geometry("ball", Sphere(0.1), friction=0.5)
    values = {"m": 2.0, "c": 0.02}
    simulation = Simulation(
        builder.build().with_ground(friction=0.5), 1e-3, "semi_implicit_euler", contacts=EXACT, parameters=values
    )
    q, v, tau = np.array([0.1, 0.2, 0.103, 0.0, 0.0, 0.0, 1.0]), np.array([0.5, 0.1, 0.0, 0.1, 0.2, 0.3]), np.zeros(6)
    base = simulation.run(q, v, steps=200, tau=tau)
    weights = np.random.default_rng(0).normal(size=(201, 6))
    found = simulation.vjp(base, None, weights, tau=tau)

    def loss(name: str, t: float) -> np.ndarray:
        moved = replace(simulation, parameters=values | {name: values[name] + t}).run(q, v, steps=200, tau=tau)
        return np.sum(weights * moved.v)

    by = [slope(lambda t, name=name: loss(name, t), 1e-6) for name in values]
    assert relative_error(found.parameters_bar, np.array(by)) < 1e-6
    single = replace(simulation, dtype="float32")
    assert relative_error(single.linearize(single.start(q, v), tau=tau).P, simulation.linearize(
        simulation.start(q, v), tau=tau).P) < 1e-5  # fmt: skip


def test_a_batch_and_that_other_values_compile_nothing_again():
    model, values = symbolic_leg("gear")
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", parameters=values, **HOW)
    numeric = Simulation(simulation.stepped_model, 1e-3, "semi_implicit_euler", **HOW)
    q, v = on_its_foot(numeric)
    many_q, many_v = np.stack([q, q]), np.stack([v, 0.5 * v])
    many = simulation.linearize(simulation.start(many_q, many_v))
    for k in range(2):
        one = simulation.linearize(simulation.start(many_q[k], many_v[k]))
        for a, b in zip(many, one, strict=True):
            assert relative_error(a[k], b) < 1e-12
    expected = simulation.step(simulation.start(q, v)).v
    kernels = {repr(x): list(y.values()) for x, y in simulation._traced_model.remembered[StepKernels].items()}
    other = replace(simulation, parameters=values | {"mass of trunk": 1.5})
    assert np.abs(other.step(other.start(q, v)).v - expected).max() > 1e-5
    assert other._traced_model is simulation._traced_model
    assert {repr(x): list(y.values()) for x, y in other._traced_model.remembered[StepKernels].items()} == kernels
    none = simulation.linearize(simulation.start(many_q[:0], many_v[:0]))
    assert none.P.shape == (0, 2 * model.nv, len(values))


def test_places_of_geometries_are_symbols_of_a_model():
    """Also of shapes on links that are merged into others."""
    l = ca.SX.sym("l")
    builder = sarrus.ModelBuilder("stick")
    builder.add_body("stick", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_body("tip", "stick", joint="fixed", position=(0.0, 0.0, -l))
    builder.add_geometry("tip", Sphere(0.02), name="tip")
    model = builder.build().with_ground()
    assert not model.is_numeric
    placed = with_values(model, {"l": 0.3})
    assert placed.is_numeric
    assert np.allclose(placed.geometry("tip").placement.p, [0.0, 0.0, -0.3])
    with pytest.raises(sarrus.errors.ModelError, match="friction of geometry"):
        sarrus.ModelBuilder("x").add_geometry("world", Sphere(0.1), friction=l)
