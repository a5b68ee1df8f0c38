"""ce_aba against the dense oracle with every constraint as rows, and against lcaba, to 1e-8."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.state import random_state
from tests.algorithms.embedded_cases import dense, loop_on_a_loop, state_of
from tests.mechanisms import relative_error
from tests.model.test_zoo_transmissions import MECHANISMS as TRANSMISSIONS
from tests.oracles import loops

MECHANISMS = {name: case[0] for name, case in TRANSMISSIONS.items() if "standing" not in name} | {
    "four-bar": zoo.four_bar,
    "four-bar, welded: rigid": lambda: zoo.four_bar("weld"),
    "slider-crank": zoo.slider_crank,
    "five-bar": zoo.five_bar,
    "Sarrus' linkage": zoo.sarrus_linkage,
    "Bennett's linkage": zoo.bennett,
    "a loop on a loop": loop_on_a_loop,
    "ring: a loop to the output body": lambda: zoo.cycle(9),
    "chain of loops": lambda: zoo.chain_of_loops(1),
    "pairs on a base": lambda: zoo.star_pairs(1),
    "delta": zoo.delta,
    "Stewart platform": zoo.stewart,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_accelerations(name):
    model = MECHANISMS[name]()
    embedded = sarrus.embed(model)
    for seed in (1, 2) if model.nb < 10 else (1,):
        q, v, tau = state_of(model, seed)
        forces = np.random.default_rng(seed).normal(size=(model.nb, 6)) if seed == 2 else None
        found = sarrus.ce_aba(embedded, q, v, tau, external_forces=forces)
        expected = loops.solve(loops.kkt(model, q, v, external_forces=forces), tau)[0]
        assert found.status == 0.0
        assert relative_error(found.qdd, expected, 1.0) < 1e-8
        assert found.ydd.shape == (embedded.ny,)


@pytest.mark.parametrize("name", ["parallel_belt", "tree of four_bar", "humanoid_leg, floating"])
def test_it_is_lcaba_of_the_spanning_model(name):
    model = MECHANISMS[name]()
    q, v, tau = state_of(model)
    expected = sarrus.lcaba(model, q, v, tau, tolerance=1e-11).qdd
    assert relative_error(sarrus.ce_aba(sarrus.embed(model), q, v, tau).qdd, expected, 1.0) < 1e-8


# --- what belongs to the constraints -------------------------------------------------------------------


def off_the_constraints(model, seed=4):
    """A state at which the feedback has something to do."""
    q, v, tau = state_of(model)
    rng = np.random.default_rng(seed)
    return sarrus.integrate(model, q, 1e-3 * rng.normal(size=model.nv)), v + 0.1 * rng.normal(size=model.nv), tau


@pytest.mark.parametrize("name", ["link_and_rotor", "connecting_rod, massless", "four_bar", "five-bar"])
def test_baumgarte_s_feedback(name):
    """Embedded constraints pull back as rows do: qdd = G ydd + g with the feedback in g."""
    model = MECHANISMS[name]()
    model = replace(model, constraints=tuple(replace(c, stabilization=0.05) for c in model.constraints))
    q, v, tau = off_the_constraints(model)
    problem = loops.kkt(model, q, v)
    kept = _independent_rows(problem.J)
    problem = problem._replace(J=problem.J[kept], k=problem.k[kept], R=problem.R[kept])
    found = sarrus.ce_aba(sarrus.embed(model), q, v, tau).qdd
    assert relative_error(found, loops.solve(problem, tau)[0], 1.0) < 1e-8
    without = replace(model, constraints=tuple(replace(c, stabilization=None) for c in model.constraints))
    assert relative_error(sarrus.ce_aba(sarrus.embed(without), q, v, tau).qdd, found, 1.0) > 1e-3


def _independent_rows(J):
    kept: list[int] = []
    for k in range(len(J)):
        if np.linalg.matrix_rank(J[[*kept, k]], 1e-9) > len(kept):
            kept.append(k)
    return kept


def test_polynomial_relations():
    """G and g of a cam: q = 0.1 + 0.5 x + 0.3 x^2 - 0.2 x^3."""
    builder = sarrus.ModelBuilder("cam")
    inertial = {"mass": 1.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.02, 0.03, 0.01])}
    builder.add_body("base", joint="free", **inertial)
    builder.add_body("cam", "base", axis=(0, 1, 0), **inertial)
    builder.add_body("follower", "base", joint="prismatic", axis=(0, 0, 1), position=(0.1, 0.2, 0.0), **inertial)
    builder.add_body("tool", "follower", axis=(1, 0, 0), **inertial)
    builder.add_constraint(
        sarrus.coupling({"follower_joint": 1.0}, driver="cam_joint", polynomial=(0.1, 0.5, 0.3, -0.2))
    )
    model = builder.build()
    state = state_of(model)
    for wish in ("cam_joint", "follower_joint"):
        embedded = sarrus.embed(model, independent=[wish])
        expected = dense(embedded, state).hard(state.tau)
        assert relative_error(sarrus.ce_aba(embedded, *state).qdd, expected, 1.0) < 1e-8


@pytest.mark.parametrize("name", ["parallel_belt", "connecting_rod", "five-bar"])
def test_armature_of_every_joint(name):
    model = MECHANISMS[name]()
    rng = np.random.default_rng(0)
    bodies = [
        replace(b, joint=replace(b.joint, armature=rng.uniform(0.01, 0.2, size=b.joint.type.nv))) for b in model.bodies
    ]
    model = replace(model, bodies=tuple(bodies))
    state = state_of(model)
    embedded = sarrus.embed(model)
    assert relative_error(sarrus.ce_aba(embedded, *state).qdd, dense(embedded, state).hard(state.tau), 1.0) < 1e-8


def test_rotors_on_a_turning_base():
    """Gyroscopic moments of rotors that only spin: the base turns fast, about all axes."""
    model = zoo.tree_of("link_and_rotor", 2, 2, ratio=30.0)
    q, v, tau = state_of(model)
    v[:6] = [0.3, -0.2, 0.5, 9.0, -7.0, 8.0]
    expected = loops.solve(loops.kkt(model, q, v), tau)[0]
    assert relative_error(sarrus.ce_aba(sarrus.embed(model), q, v, tau).qdd, expected, 1.0) < 1e-8


# --- ways to call it -----------------------------------------------------------------------------------

WAYS = ["tree of link_and_rotor", "differential, rods", "tree of transmission", "five-bar", "parallel_chains, rod"]


@pytest.mark.parametrize("name", WAYS)
def test_one_text_three_ways(name):
    """Floats, the tape on a batch, compiled; the batch is of an odd size."""
    model = MECHANISMS[name]()
    embedded = sarrus.embed(model)
    states = [state_of(model, seed) for seed in (1, 2, 3)]
    q, v, tau = (np.stack(x) for x in zip(*states, strict=True))
    single = [sarrus.ce_aba(embedded, *state) for state in states]
    kernel = sarrus.compile(embedded, "ce_aba")
    for batch in (sarrus.ce_aba(embedded, q, v, tau), kernel(q, v, tau)):
        for field in ("qdd", "ydd", "status"):
            expected = np.stack([getattr(x, field) for x in single])
            assert relative_error(getattr(batch, field), expected, 1.0) < 1e-10
    assert relative_error(kernel(*states[0]).qdd, single[0].qdd, 1.0) < 1e-10


@pytest.mark.parametrize("name", ["parallel_belt", "connecting_rod"])
def test_both_coordinates_as_inputs_by_name(name):
    """v = G yd and tau_y = G^T tau say the same; mixed, too."""
    model = MECHANISMS[name]()
    embedded = sarrus.embed(model)
    q, v, tau = state_of(model)
    expected = sarrus.ce_aba(embedded, q, v, tau)
    yd = sarrus.reduce(embedded, q, v).yd
    zero = np.zeros(embedded.ny)
    G = np.stack(
        [sarrus.expand(embedded, sarrus.reduce(embedded, q).y, e, near=q).v for e in np.eye(len(zero))], axis=1
    )
    inputs = {"v": v, "tau": tau}, {"yd": yd, "tau": tau}, {"v": v, "tau_y": G.T @ tau}, {"yd": yd, "tau_y": G.T @ tau}
    for given in inputs:
        found = sarrus.ce_aba(embedded, q, **given)
        assert relative_error(found.qdd, expected.qdd, 1.0) < 1e-9
        assert relative_error(found.ydd, expected.ydd, 1.0) < 1e-9
    kernel = sarrus.compile(embedded, "ce_aba", inputs=("q", "yd", "tau_y"))
    assert relative_error(kernel(q, yd, G.T @ tau).qdd, expected.qdd, 1.0) < 1e-9


def test_inputs_that_say_the_same_or_are_missing():
    embedded = sarrus.embed(zoo.four_bar())
    q, v, tau = state_of(zoo.four_bar())
    with pytest.raises(UnsupportedError, match="'v' and 'yd' mean the same"):
        sarrus.ce_aba(embedded, q, v, tau, yd=np.zeros(1))
    with pytest.raises(StateError, match=r"'tau' is missing.*It needs q, v or yd, tau or tau_y"):
        sarrus.ce_aba(embedded, q, v)
    with pytest.raises(StateError, match=r"yd: expected shape \(1,\)"):
        sarrus.ce_aba(embedded, q, yd=np.zeros(2), tau=tau)


def test_it_takes_embedded_models_only():
    model = zoo.four_bar()
    q, v, tau = state_of(model)
    with pytest.raises(UnsupportedError, match=r"ce_aba needs a model with embedded constraints.*sarrus\.embed"):
        sarrus.ce_aba(model, q, v, tau)
    both = sarrus.embed(zoo.tree_of("link_and_rotor").with_constraints(sarrus.contact("tip_0")))
    q, v = random_state(both, 0)
    with pytest.raises(UnsupportedError, match=r"'contact_tip_0' is a Contact\. Use .*lcaba.*pv"):
        sarrus.ce_aba(both, q, v, v)
