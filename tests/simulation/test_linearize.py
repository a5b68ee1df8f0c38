"""A and B of a step, and gradients of rollouts, against differences of the steps themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sarrus
from sarrus import Simulation, zoo
from sarrus.errors import StateError, UnsupportedError
from sarrus.simulation.trajectory import State
from tests.derivatives.differences import along_the_constraints, slope
from tests.mechanisms import mechanism, relative_error

TREE = mechanism(2, ["free", "revolute"], armature=[False, True]).model
TREES = {
    "semi_implicit_euler": mechanism(2, ["planar", "spherical"]).model,
    "implicit": TREE,
    "rk4": mechanism(2, ["spherical", "universal"]).model,
}
EXACT = {"method": "prox_ltl", "options": {"tolerance": 1e-14}}  # so that differences see no iterations


def stepped(simulation: Simulation, state: State, **inputs) -> Callable[[State, dict], np.ndarray]:
    """The state after a step from another state, seen from the one after a step from this state."""
    model, base = simulation.model, simulation.step(state, **inputs)

    def after(x: State, given: dict) -> np.ndarray:
        found = simulation.step(x, **given)
        return np.concatenate([sarrus.difference(model, base.q, found.q), found.v])

    return after


def differences(simulation: Simulation, state: State, u: str, **inputs) -> tuple[np.ndarray, np.ndarray]:
    model, after = simulation.model, stepped(simulation, state, **inputs)
    nv = model.nv

    def along(dx: np.ndarray, du: np.ndarray) -> np.ndarray:
        def at(t: float) -> np.ndarray:
            x = State(state.time, sarrus.integrate(model, state.q, t * dx[:nv]), state.v + t * dx[nv:])
            return after(x, inputs | {u: inputs[u] + t * du})

        return slope(at, 1e-4)

    zero, none = np.zeros(2 * nv), np.zeros(len(inputs[u]))
    A = np.stack([along(e, none) for e in np.eye(2 * nv)], axis=1)
    return A, np.stack([along(zero, e) for e in np.eye(len(none))], axis=1)


@pytest.mark.parametrize("integrator", TREES)
def test_a_tree(integrator):
    tree = TREES[integrator]
    simulation = Simulation(tree, 1e-2, integrator)
    state = simulation.start(*sarrus.random_state(tree, 0))
    tau = np.random.default_rng(0).normal(size=tree.nv)
    external = np.random.default_rng(1).normal(size=(tree.nb, 6))
    A, B = simulation.linearize(state, tau=tau, external_forces=external)
    by_x, by_u = differences(simulation, state, "tau", tau=tau, external_forces=external)
    assert relative_error(A, by_x) < 1e-8
    assert relative_error(B, by_u) < 1e-8


def test_controls_springs_and_a_controller():
    builder = sarrus.ModelBuilder("arm")
    for k, parent in enumerate(("world", "b0", "b1")):
        builder.add_body(
            f"b{k}", parent, axis=(0.0, 1.0, 0.0), position=(0.0, 0.0, 0.3), mass=1.0, com=(0.0, 0.1, 0.2),
            inertia=0.02 * np.eye(3), damping=0.3, stiffness=2.0,
        )  # fmt: skip
    builder.add_actuator("m0", {"b0_joint": 1.0}, gain=3.0)
    builder.add_actuator("m2", {"b2_joint": 1.0}, gain=(5.0, 0.0, 0.0), bias=(0.0, -5.0, -0.4))
    model = builder.build()
    target = np.array([0.3, -0.2, 0.1])
    for integrator in ("semi_implicit_euler", "implicit", "rk4"):
        simulation = Simulation(model, 1e-2, integrator, controller=sarrus.pd(4.0, 0.5, target))
        state = simulation.start(np.array([0.4, 0.8, -0.3]), np.array([0.5, -1.0, 2.0]))
        controls = np.array([0.3, 0.7])
        A, B = simulation.linearize(state, controls=controls)
        assert B.shape == (6, 2)
        by_x, by_u = differences(simulation, state, "controls", controls=controls)
        assert relative_error(A, by_x) < 1e-8
        assert relative_error(B, by_u) < 1e-8


def geared() -> sarrus.Model:
    return zoo.tree_of("link_and_rotor", 1, 2)


@pytest.mark.parametrize("make", [zoo.five_bar, geared], ids=lambda f: f.__name__)
def test_loops_also_off_the_constraints(make):
    """Where nothing projects, a step is smooth in every direction; embedded or not."""
    for model in (make(), sarrus.embed(make())):
        more = EXACT if model.embedding is None else {}
        simulation = Simulation(model, 1e-3, "semi_implicit_euler", project_every=None, contacts=False, **more)
        q, v = sarrus.random_state(model, 1)
        state, tau = simulation.start(q, v), np.random.default_rng(0).normal(size=model.nv)
        A, B = simulation.linearize(state, tau=tau)
        by_x, by_u = differences(simulation, state, "tau", tau=tau)
        assert relative_error(A, by_x) < 1e-7
        assert relative_error(B, by_u) < 1e-7


@pytest.mark.parametrize("make", [zoo.five_bar, zoo.four_bar, zoo.bennett], ids=lambda f: f.__name__)
@pytest.mark.parametrize("project_every", [None, 1])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_loops_along_motions_that_keep_them_closed(make, project_every, integrator):
    """With a projection after the step, and of loops whose rows are redundant only while they are closed."""
    model = make()
    simulation = Simulation(model, 1e-3, integrator, project_every=project_every, **EXACT)
    q, v = sarrus.random_state(model, 0)
    state = simulation.start(q, v)
    if make is zoo.bennett and integrator == "rk4":  # in the middle of a step its rows are in conflict
        with pytest.raises(StateError, match="no derivative of the dynamics at state 0 of 1: constraints not met"):
            simulation.linearize(state)
        return
    A, _ = simulation.linearize(state)
    after = stepped(simulation, state)
    for dq, dv in along_the_constraints(model, q, v)[:2]:

        def moved(t, dq=dq, dv=dv):
            at = sarrus.project(model, sarrus.integrate(model, q, t * dq), v + t * dv)
            return after(State(0.0, at.q, at.v), {})

        assert relative_error(A @ np.concatenate([dq, dv]), slope(moved, 1e-3)) < 1e-7


def test_after_a_projection_nothing_leaves_the_constraints():
    """Of the eight directions of a five-bar's state, the four along the loop are left, also after drift."""
    model = zoo.five_bar()
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", **EXACT)
    state = simulation.start(*sarrus.random_state(model, 0))
    for _ in range(9):
        state = simulation.step(state)
    sizes = np.linalg.svd(simulation.linearize(state).A)[1]
    assert sizes[3] > 1e-4
    assert sizes[4] < 1e-9


def test_a_batch_is_its_states():
    simulation = Simulation(TREE, 1e-2, "semi_implicit_euler")
    q, v = sarrus.random_state(TREE, 0, batch=5)
    tau = np.random.default_rng(0).normal(size=(5, TREE.nv))
    many = simulation.linearize(simulation.start(q, v), tau=tau)
    for k in range(5):
        one = simulation.linearize(simulation.start(q[k], v[k]), tau=tau[k])
        assert np.array_equal(many.A[k], one.A)
        assert np.array_equal(many.B[k], one.B)


def test_no_state_and_no_step():
    simulation = Simulation(TREE, 1e-2, "semi_implicit_euler")
    none = simulation.linearize(simulation.start(np.zeros((0, TREE.nq)), np.zeros((0, TREE.nv))))
    assert (none.A.shape, none.B.shape) == ((0, 2 * TREE.nv, 2 * TREE.nv), (0, 2 * TREE.nv, TREE.nv))
    weights = np.ones((1, TREE.nv))
    found = simulation.vjp(simulation.run(steps=0), weights, 2.0 * weights)
    assert np.array_equal(found.q0_bar, weights[0])
    assert np.array_equal(found.v0_bar, 2.0 * weights[0])


def loss_of(model: sarrus.Model, weights: np.ndarray, q: np.ndarray, v: np.ndarray) -> float:
    """Smooth, of all positions and velocities; of a rotation, of its quaternion."""
    return float(np.sum(np.sin(q) * weights[0]) + np.sum(v * v * weights[1]))


def tangent_gradient(model: sarrus.Model, q: np.ndarray, by_q: np.ndarray) -> np.ndarray:
    out = np.zeros((len(q), model.nv))
    for t in range(len(q)):
        for body, at_q, at_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
            out[t, at_v] = body.joint.type.rate_map(q[t, at_q]).T @ by_q[t, at_q]
    return out


@pytest.mark.parametrize("name", ["tree", "five_bar", "embedded five_bar"])
def test_the_gradient_of_200_steps(name):
    model = TREE if name == "tree" else zoo.five_bar()
    model = sarrus.embed(model) if name.startswith("embedded") else model
    more = EXACT if name == "five_bar" else {}
    simulation = Simulation(model, 2e-3, "semi_implicit_euler", **more)
    rng, steps = np.random.default_rng(0), 200
    q0, v0 = sarrus.random_state(model, 3)
    v0, tau = 0.2 * v0, 0.1 * rng.normal(size=(steps, model.nv))
    weights = rng.normal(size=(steps + 1, model.nq)) / steps, rng.normal(size=(steps + 1, model.nv)) / steps

    def loss(tau: np.ndarray, v0: np.ndarray = v0) -> float:
        found = simulation.rollout(q0, v0, tau)
        return loss_of(model, weights, found.q, found.v)

    rollout = simulation.rollout(q0, v0, tau)
    q_bar = tangent_gradient(model, rollout.q, np.cos(rollout.q) * weights[0])
    found = simulation.vjp(rollout, q_bar, 2.0 * rollout.v * weights[1], tau=tau)
    for seed in range(2):
        along = np.random.default_rng(10 + seed).normal(size=tau.shape)
        expected = slope(lambda t, along=along: loss(tau + t * along), 1e-5)  # else another step would be projected
        assert np.vdot(found.u_bar, along) == pytest.approx(expected, rel=1e-6)
    if name == "tree":
        along = rng.normal(size=model.nv)
        assert found.v0_bar @ along == pytest.approx(slope(lambda t: loss(tau, v0 + t * along), 1e-3), rel=1e-6)


def test_gradients_of_a_batch_are_those_of_each():
    simulation = Simulation(zoo.chain(3), 1e-2)
    q, v = sarrus.random_state(simulation.model, 0, batch=3)
    tau = np.random.default_rng(0).normal(size=(3, 12, 3))
    rollout = simulation.rollout(q, v, tau)
    many = simulation.vjp(rollout, np.ones((3, 13, 3)), np.ones((3, 13, 3)), tau=tau)
    one = simulation.vjp(simulation.rollout(q[1], v[1], tau[1]), np.ones((13, 3)), np.ones((13, 3)), tau=tau[1])
    for x, y in zip(many, one, strict=True):
        assert relative_error(x[1], y) < 1e-12


def test_what_has_no_derivative_is_refused_in_words():
    model = zoo.chain(2)
    state = Simulation(model).start()
    with pytest.raises(UnsupportedError, match="adaptive steps change their size"):
        Simulation(model, integrator="adaptive").linearize(state)
    with pytest.raises(UnsupportedError, match="a Python function has no derivative"):
        Simulation(model, controller=lambda t, q, v: -v).linearize(state)
    sparse = Simulation(model, 1e-2, record_every=5)
    with pytest.raises(StateError, match="record_every=1"):
        sparse.vjp(sparse.run(steps=20), np.zeros((5, 2)))
    with pytest.raises(StateError, match="q_bar: expected shape"):
        Simulation(model, 1e-2).vjp(Simulation(model, 1e-2).run(steps=20), np.zeros((20, 2)))
    for call in (Simulation(model).linearize, Simulation(model).step):
        with pytest.raises(StateError, match=r"`simulation\.start\(q, v\)`.*got ndarray"):
            call(np.zeros(2))
    with pytest.raises(StateError, match="expected what `run` or `rollout` returned, got ndarray"):
        Simulation(model).vjp(np.zeros((3, 2)))
