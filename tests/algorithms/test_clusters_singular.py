"""Where a cluster's constraints do not determine its dependent velocities: finite numbers and a status in words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.status import Status
from tests.mechanisms import relative_error
from tests.oracles import loops


def stretched_crank() -> tuple[sarrus.Model, np.ndarray]:
    """A slider-crank with the piston as the independent joint, crank and rod in one line: a dead centre."""
    model = sarrus.embed(zoo.slider_crank(), independent=["piston_joint"])
    by_crank = sarrus.embed(zoo.slider_crank(), independent=["crank_joint"])
    q = by_crank.embedding.samples[0]
    for angle in np.linspace(0.0, np.radians(60.0), 7)[1:]:  # the crank begins at 60 degrees
        q = sarrus.expand(by_crank, np.array([angle]), near=q).q
    return model, q


def flat_four_bar() -> tuple[sarrus.Model, np.ndarray]:
    """Two assemblies meet: a whole row of the constraints vanishes."""
    model = sarrus.embed(zoo.flat_four_bar())
    return model, sarrus.neutral(model)


def carried_by_a_base() -> tuple[sarrus.Model, np.ndarray]:
    model, dead = stretched_crank()
    base = sarrus.ModelBuilder("base").add_body("base", joint="free", mass=2.0, inertia=np.eye(3)).build()
    joined = sarrus.attach(base, model.spanning, "base")
    embedded = sarrus.embed(joined, independent=["piston_joint"])
    return embedded, np.concatenate([sarrus.neutral(base), dead])


CASES = {"stretched crank": stretched_crank, "flat four-bar": flat_four_bar, "on a base": carried_by_a_base}


def test_the_status_has_words():
    assert "singularity of an embedded cluster" in Status.CLUSTER_SINGULAR.words


@pytest.mark.parametrize("name", CASES)
def test_finite_numbers_a_status_and_no_warnings(name):
    model, q = CASES[name]()
    rng = np.random.default_rng(0)
    v, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    kernel = sarrus.compile(model, "ce_aba")
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        single = sarrus.ce_aba(model, q, v, tau)
        batch = sarrus.ce_aba(model, np.stack([q, q, q]), np.stack([v] * 3), np.stack([tau] * 3))
        compiled = kernel(q, v, tau)
        others = [
            *sarrus.ce_rnea(model, q, v, ydd=np.ones(model.ny)),
            sarrus.ce_crba(model, q),
            sarrus.forward_dynamics(model, q, v, tau).qdd,
        ]
    for found in (single, batch, compiled):
        assert np.all(found.status == Status.CLUSTER_SINGULAR)
        assert np.isfinite(found.qdd).all()
        assert np.isfinite(found.ydd).all()
    assert all(np.isfinite(x).all() for x in others)


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "pv", "constrained_aba"])
def test_other_methods_tell_of_singular_clusters_too(method):
    model, q = carried_by_a_base()
    touching = model.with_constraints(sarrus.contact("base", 3))
    v = np.zeros(model.nv)
    found = sarrus.forward_dynamics(touching, q, v, v, method=method)
    assert found.status == Status.CLUSTER_SINGULAR
    assert np.isfinite(found.qdd).all()


@pytest.mark.parametrize("make", [stretched_crank, flat_four_bar])
def test_near_the_singularity(make):
    """Right as long as the status is ok, and the status is not ok in the end."""
    model, dead = make()
    spanning = model.spanning
    tau = np.array([0.3, -0.2, 0.1])
    statuses = []
    for distance in (1e-1, 1e-2, 1e-4, 1e-8):
        start = sarrus.integrate(spanning, dead, distance * np.array([1.0, -1.0, 1.0]))
        q, _ = loops.assembled(spanning, start, np.zeros(3))
        found = sarrus.ce_aba(model, q, np.zeros(3), tau)
        statuses.append(found.status)
        if found.status == 0.0 and distance > 1e-3:  # nearer, the oracle's rank is a matter of opinion
            expected = loops.solve(loops.kkt(spanning, q, np.zeros(3)), tau)[0]
            assert relative_error(found.qdd, expected, 1.0) < 1e-8
    assert statuses[:2] == [0.0, 0.0]
    assert statuses[-1] == Status.CLUSTER_SINGULAR


def test_another_choice_of_coordinates_goes_through_the_dead_centre():
    """What is singular is the choice: with the crank independent nothing happens there."""
    _, q = stretched_crank()
    model = sarrus.embed(zoo.slider_crank(), independent=["crank_joint"])
    v, tau = np.zeros(3), np.array([0.3, -0.2, 0.1])
    found = sarrus.ce_aba(model, q, v, tau)
    assert found.status == 0.0
    assert relative_error(found.qdd, loops.solve(loops.kkt(model.spanning, q, v), tau)[0], 1.0) < 1e-8
