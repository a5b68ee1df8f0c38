"""Some constraints embedded, the others by any method: the same accelerations and the same forces."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import Status, zoo
from sarrus.errors import UnsupportedError
from tests.mechanisms import relative_error

MECHANISMS = {
    "four_bar": zoo.four_bar,  # redundant rows
    "five_bar": zoo.five_bar,
    "geared_quadruped": zoo.geared_quadruped,  # rotors that only spin
    "biped": zoo.biped,  # carried loops
    "delta": zoo.delta,
    "connecting_rod": zoo.connecting_rod,
    "sarrus_linkage": zoo.sarrus_linkage,
}


def state(model, seed=0):
    q, v = sarrus.random_state(model, seed)
    rng = np.random.default_rng(seed)
    return q, v, rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))


@pytest.mark.parametrize("name", MECHANISMS)
def test_loads_inside_clusters_are_those_of_rows(name):
    """Gear, bearing and loop forces, with and without forces on bodies."""
    model = MECHANISMS[name]()
    clusters = sarrus.embed(model).embedding.clusters
    q, v, tau, external = state(model)
    for given in ({}, {"external_forces": external}):
        with sarrus.interpreted():
            found = sarrus.hybrid(model, q, v, tau, clusters=clusters, fallback=None, **given)
        rows = sarrus.prox_bbo(model, q, v, tau, **given)
        assert found.status == rows.status == Status.OK
        assert relative_error(found.qdd, rows.qdd) < 1e-9
        assert relative_error(found.forces, rows.forces) < 1e-8


def test_half_of_the_loops():
    model = zoo.biped()
    clusters = sarrus.embed(model).embedding.clusters[:1]
    q, v, tau, _ = state(model, 1)
    rows = sarrus.prox_ltl(model, q, v, tau)
    for solver in ("lcaba", "prox_bbo", "prox_ltl", "bbo"):
        with sarrus.interpreted():
            found = sarrus.hybrid(model, q, v, tau, clusters=clusters, solver=solver)
        assert relative_error(found.qdd, rows.qdd) < 1e-8
        assert relative_error(found.forces, rows.forces) < 1e-7


def test_with_contacts_and_their_forces():
    model = zoo.geared_quadruped()
    feet = [f for f in model.frame_names if f.endswith("foot")][:2] or [model.body_names[3]]
    standing = model.with_constraints(*(sarrus.contact(foot, 3, k="input") for foot in feet))
    clusters = sarrus.embed(standing).embedding.clusters
    q, v, tau, _ = state(standing, 2)
    k = np.random.default_rng(0).normal(size=standing.n_input_rows)
    for solver in ("constrained_aba", "pv", "ltl", None):
        found = sarrus.hybrid(standing, q, v, tau, k, clusters=clusters, solver=solver)
        rows = sarrus.prox_ltl(standing, q, v, tau, k)
        assert found.status == rows.status == Status.OK
        assert relative_error(found.qdd, rows.qdd) < 1e-8
        assert relative_error(found.forces, rows.forces) < 1e-8


def test_states_that_clusters_cannot_do_fall_back():
    """A flat four-bar is singular, and a carried loop that is open feels how it is carried."""
    flat = zoo.flat_four_bar()
    clusters = sarrus.embed(flat).embedding.clusters
    q, v, tau = sarrus.neutral(flat), np.zeros(flat.nv), np.ones(flat.nv)
    alone = sarrus.hybrid(flat, q, v, tau, clusters=clusters, fallback=None)
    both = sarrus.hybrid(flat, q, v, tau, clusters=clusters)
    assert alone.status != Status.OK
    assert both.fallback == 1
    assert np.allclose(both.qdd, sarrus.prox_ltl(flat, q, v, tau).qdd)
    model = zoo.biped()
    clusters = sarrus.embed(model).embedding.clusters
    q, v, tau, _ = state(model)
    q = sarrus.integrate(model, q, np.full(model.nv, 1e-3))
    both, robust = sarrus.hybrid(model, q, v, tau, clusters=clusters), sarrus.prox_ltl(model, q, v, tau)
    assert (both.fallback, both.status) == (1, robust.status)
    assert relative_error(both.qdd, robust.qdd) < 1e-12


def test_a_kernel_is_the_text():
    model = zoo.connecting_rod()
    clusters = sarrus.embed(model).embedding.clusters
    kernel = sarrus.compile(model, "hybrid", clusters=clusters, cache=False)
    q, v = sarrus.random_state(model, 3, batch=5)
    tau = np.ones_like(v)
    found = kernel(q, v, tau)
    with sarrus.interpreted():
        text = sarrus.hybrid(model, q[2], v[2], tau[2], clusters=clusters)
    assert relative_error(found.qdd[2], text.qdd) < 1e-10
    assert relative_error(found.forces[2], text.forces) < 1e-8


def test_what_makes_no_sense_is_an_error_in_words():
    model = zoo.five_bar()
    embedded = sarrus.embed(model)
    q, v, tau, _ = state(model)
    with pytest.raises(UnsupportedError, match="already has embedded constraints"):
        sarrus.hybrid(embedded, q, v, tau, clusters=embedded.embedding.clusters)
    with pytest.raises(UnsupportedError, match="expected another method"):
        sarrus.hybrid(model, q, v, tau, solver="hybrid")
    with pytest.raises(UnsupportedError, match=r"^ltl supports no constraints"):
        sarrus.hybrid(model, q, v, tau, solver="ltl")
