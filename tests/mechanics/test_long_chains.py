"""Long chains: the sweeps of aba as loops over links that are alike."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.algorithms.tree.aba import articulated_bodies
from sarrus.mechanics import long_chains
from sarrus.mechanics.mechanism import mechanism
from tests.mechanisms import relative_error


def written_out(model, q, v, tau):
    return articulated_bodies(mechanism(model, q, v, tau).nodes).qdd


@pytest.mark.parametrize("links", [12, 14, 40])  # in threes, and not
def test_aba_of_a_chain_is_the_same_by_loops(links, monkeypatch):
    monkeypatch.setattr(long_chains, "LONG", 10)
    model = sarrus.zoo.chain(links)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5, links))
    expected = np.stack([written_out(model, *state) for state in zip(q, v, tau, strict=True)])
    kernel = sarrus.compile(model, "aba", cache=False)
    assert all(loop.is_repetition for loop in kernel.tape.loops)
    assert len(kernel.tape.loops) == 3
    assert relative_error(kernel(q, v, tau), expected) < 1e-11
    with sarrus.interpreted():
        assert relative_error(sarrus.aba(model, q[0], v[0], tau[0]), expected[0]) < 1e-11


def test_forces_on_bodies_and_derivatives(monkeypatch):
    plain = sarrus.zoo.chain(40)
    q, v, tau, dq, dv, dtau = np.random.default_rng(1).normal(size=(6, 40))
    pushed = np.random.default_rng(2).normal(size=(40, 6))
    expected = sarrus.aba(plain, q, v, tau, pushed)
    values = sarrus.compile(plain, "aba", derivative="jvp", cache=False)(q, v, tau, dq, dv, dtau)
    monkeypatch.setattr(long_chains, "LONG", 10)
    chain = sarrus.zoo.chain(40)
    assert relative_error(sarrus.aba(chain, q, v, tau, pushed), expected) < 1e-11
    found = sarrus.compile(chain, "aba", derivative="jvp", cache=False)(q, v, tau, dq, dv, dtau)
    for x, y in zip(found, values, strict=True):
        assert relative_error(x, y) < 1e-10


def test_what_is_no_chain_of_links_that_are_alike(monkeypatch):
    monkeypatch.setattr(long_chains, "LONG", 4)
    assert long_chains.long_chain(sarrus.zoo.chain(9)) is not None
    assert long_chains.long_chain(sarrus.zoo.chain(9, floating=True)) is None
    assert long_chains.long_chain(sarrus.zoo.biped()) is None
    monkeypatch.setattr(long_chains, "LONG", 10)
    assert long_chains.long_chain(sarrus.zoo.chain(9)) is None


def test_two_thousand_links():
    model = sarrus.zoo.chain(2000)
    kernel = sarrus.compile(model, "aba", cache=False)
    assert kernel.native.code_bytes < 100_000
    q, v, tau = np.random.default_rng(0).normal(size=(3, 2000))
    back, still = (sarrus.rnea.text(model, q, v, qdd) for qdd in (kernel(q, v, tau), np.zeros(2000)))
    assert np.abs(back - tau).max() < 1e-10 * np.abs(still).max()
