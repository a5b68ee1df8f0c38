"""An embedded model in the rest of the library: nothing forgets what is embedded, nothing mistakes it for a tree."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.registry.table import bibliography
from tests.algorithms.embedded_cases import state_of
from tests.mechanisms import relative_error
from tests.oracles import loops

FOUR_BARS = zoo.tree_of("four_bar", 1, 1)
EMBEDDED = sarrus.embed(FOUR_BARS)
TOUCHING = EMBEDDED.with_constraints(sarrus.contact("tip_0", 3))


# --- forward dynamics ----------------------------------------------------------------------------------


def test_aba_is_for_trees_of_bodies():
    q, v, tau = state_of(FOUR_BARS)
    with pytest.raises(UnsupportedError, match=r"aba is for trees of bodies.*use ce_aba, or `model\.spanning`"):
        sarrus.aba(EMBEDDED, q, v, tau)
    with pytest.raises(UnsupportedError, match="use ce_aba"):
        sarrus.forward_dynamics(EMBEDDED, q, v, tau, method="aba")
    with pytest.raises(UnsupportedError, match="use ce_aba"):
        sarrus.compile(EMBEDDED, "aba")
    with pytest.raises(UnsupportedError, match="use ce_aba"):
        sarrus.op_count(EMBEDDED, "aba")


def test_the_default_method():
    """ce_aba where nothing is left, else as usual."""
    q, v, tau = state_of(FOUR_BARS)
    found = sarrus.forward_dynamics(EMBEDDED, q, v, tau)
    assert np.array_equal(found.qdd, sarrus.ce_aba(EMBEDDED, q, v, tau).qdd)
    assert found.forces.shape == found.residual.shape == (0,)
    assert found.status == found.iterations == 0.0
    batch = sarrus.forward_dynamics(EMBEDDED, *(np.stack([x, x, x]) for x in (q, v, tau)))
    assert (batch.qdd.shape, batch.forces.shape, batch.status.shape) == ((3, FOUR_BARS.nv), (3, 0), (3,))
    contact = sarrus.forward_dynamics(TOUCHING, q, v, tau)
    assert np.array_equal(contact.qdd, sarrus.constrained_aba(TOUCHING, q, v, tau).qdd)
    looped = EMBEDDED.with_constraints(sarrus.loop("tip_0", "world", "planar"))
    assert np.array_equal(sarrus.forward_dynamics(looped, q, v, tau).qdd, sarrus.lcaba(looped, q, v, tau).qdd)


def test_it_is_among_the_methods():
    assert sarrus.methods()["ce_aba"].supports == sarrus.Feature.EMBEDDED | sarrus.Feature.MULTI_DOF
    q, v, tau = state_of(FOUR_BARS)
    with pytest.raises(UnsupportedError, match="needs a model with embedded constraints"):
        sarrus.forward_dynamics(FOUR_BARS, q, v, tau, method="ce_aba")
    with pytest.raises(
        UnsupportedError,
        match=r"supports no constraints but embedded constraints, and .* is a Contact\. Use .*lcaba.*pv",
    ):
        sarrus.forward_dynamics(TOUCHING, q, v, tau, method="ce_aba")


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl", "pv", "pv_early", "ltl", "constrained_aba", "bbo"])
def test_without_further_constraints_every_method_is_ce_aba(method):
    q, v, tau = state_of(FOUR_BARS)
    found = sarrus.forward_dynamics(EMBEDDED, q, v, tau, method=method)
    assert relative_error(found.qdd, sarrus.ce_aba(EMBEDDED, q, v, tau).qdd) < 1e-10


def test_algorithms_of_trees_are_those_of_the_spanning_tree():
    """Kinematics, energies and momenta know no constraints, embedded or not."""
    q, v, tau = state_of(FOUR_BARS)
    for name, arguments in {"rnea": (q, v, tau), "crba": (q,), "energy": (q, v), "forward_kinematics": (q, v)}.items():
        one, other = (getattr(sarrus, name)(model, *arguments) for model in (EMBEDDED, FOUR_BARS))
        for x, y in zip(one, other, strict=True):
            assert np.array_equal(x, y)


def test_references():
    for method in ("ce_aba", "ce_rnea", "ce_crba", "ce_bias_forces", "expand", "reduce"):
        for key in sarrus.catalog()[method].references:
            assert bibliography()[key].split("{")[1].startswith(key)
    assert "Kinematic Loops" in sarrus.cite("ce_aba")
    assert "Constraint Embedding" in sarrus.cite("ce_aba")


def test_the_example_of_the_docs():
    page = Path(__file__).parents[2] / "docs" / "embedding.md"
    example, *_ = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)  # others build on it
    names: dict = {}
    exec(compile(example, str(page.name), "exec"), names)
    assert (names["leg"].nv, names["model"].ny, names["model"].n_rows) == (16, 11, 0)
    assert names["result"].status == 0.0


# --- what is embedded must hold ------------------------------------------------------------------------


def test_closure_has_the_rows_of_embedded_constraints():
    q = sarrus.integrate(FOUR_BARS, sarrus.neutral(FOUR_BARS), np.full(FOUR_BARS.nv, 0.3))
    v = np.ones(FOUR_BARS.nv)
    plain = FOUR_BARS.with_constraints(sarrus.contact("tip_0", 3))
    for one, other in ((EMBEDDED, FOUR_BARS), (TOUCHING, plain)):
        for x, y in zip(sarrus.closure(one, q, v), sarrus.closure(other, q, v), strict=True):
            assert np.array_equal(x, y)
        assert np.abs(sarrus.closure(one, q).position).max() > 0.01


def test_project_closes_embedded_constraints():
    start = sarrus.integrate(FOUR_BARS, sarrus.neutral(FOUR_BARS), np.full(FOUR_BARS.nv, 0.1))
    v = np.random.default_rng(0).normal(size=FOUR_BARS.nv)
    found = sarrus.project(EMBEDDED, start, v)
    assert found.status == 0.0
    error, J = loops.closure_error(FOUR_BARS, found.q)
    assert np.abs(error).max() < 1e-10
    assert np.abs(J @ found.v).max() < 1e-10


def test_random_states_are_on_embedded_constraints():
    q, v = sarrus.random_state(EMBEDDED, 0, batch=2)
    found = sarrus.closure(EMBEDDED, q, v)
    assert np.abs(found.position).max() < 1e-8
    assert np.abs(found.velocity).max() < 1e-8


def test_diagnose_counts_embedded_constraints():
    for one, other in ((EMBEDDED, FOUR_BARS), (TOUCHING, TOUCHING.spanning)):
        found, expected = sarrus.diagnose(one), sarrus.diagnose(other)
        assert (found.rows, found.rank, found.mobility) == (expected.rows, expected.rank, expected.mobility)
    assert sarrus.diagnose(EMBEDDED).mobility == EMBEDDED.ny


def test_simulation_keeps_embedded_constraints_closed():
    """Energy and closure over a second; the default projection does not forget what is embedded."""
    model = sarrus.embed(zoo.four_bar())
    q = model.embedding.samples[0]
    path = sarrus.simulate(model, q, duration=0.3, dt=1e-3)
    assert np.abs(sarrus.closure(model, path.q[-1]).position).max() < 1e-6
    spanning = sarrus.simulate(model.spanning, q, duration=0.3, dt=1e-3)
    assert relative_error(path.q[-1], spanning.q[-1]) < 1e-6
    assert path.forces.shape[-1] == 0


def test_simulation_refuses_states_off_the_constraints_and_aba():
    model = sarrus.embed(zoo.four_bar())
    q = model.embedding.samples[0]
    with pytest.raises(StateError, match="not on the constraints: 'coupler_rocker'"):
        sarrus.simulate(model, q + np.array([0.3, 0.0, 0.0]), duration=0.01)
    with pytest.raises(UnsupportedError, match="use ce_aba"):
        sarrus.simulate(model, q, duration=0.01, method="aba")


# --- identity ------------------------------------------------------------------------------------------


def test_the_digest_tells_embedded_from_not():
    """Kernels are kept by it."""
    model = zoo.parallel_belt()
    one, two = sarrus.embed(model), sarrus.embed(model, independent=["parallel_belt_rotor_1_joint"])
    partly = sarrus.embed(model, [model.constraints[0].name])
    assert len({m.digest for m in (model, one, two, partly)}) == 4
    assert sarrus.embed(model).digest == one.digest
    assert one.spanning.digest == model.digest


def test_pickling():
    q, v, tau = state_of(FOUR_BARS)
    copy = pickle.loads(pickle.dumps(EMBEDDED))
    assert copy.embedding.constraints == EMBEDDED.embedding.constraints
    assert cluster_tree_of(copy).parents == cluster_tree_of(EMBEDDED).parents
    assert np.array_equal(sarrus.ce_aba(copy, q, v, tau).qdd, sarrus.ce_aba(EMBEDDED, q, v, tau).qdd)


def test_gravity_and_names_may_change_afterwards():
    q, v, tau = state_of(FOUR_BARS)
    moon = EMBEDDED.with_gravity((0.0, 0.0, -1.6))
    expected = sarrus.ce_aba(sarrus.embed(FOUR_BARS.with_gravity((0.0, 0.0, -1.6))), q, v, tau).qdd
    assert relative_error(sarrus.ce_aba(moon, q, v, tau).qdd, expected) < 1e-12
    assert replace(EMBEDDED, name="other").ny == EMBEDDED.ny
