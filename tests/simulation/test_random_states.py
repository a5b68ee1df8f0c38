"""`sarrus.random_state`: on the constraints, wherever there are any on positions."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import AssemblyError, StateError
from sarrus.model import state as model_state
from sarrus.model.state import outside_limits
from tests.importers.shared_robots import shared_file


@pytest.mark.parametrize("make", [zoo.four_bar, zoo.sarrus_linkage, zoo.bennett, zoo.five_bar, lambda: zoo.cycle(5)])
def test_loops_are_closed_and_do_not_open(make):
    model = make()
    q, v = sarrus.random_state(model, 0, 50)
    at = sarrus.closure(model, q, v)
    assert np.abs(at.position).max() < 1e-10
    assert np.abs(at.velocity).max() < 1e-9
    assert np.std(q, axis=0).max() > 0.1  # random they are
    assert sarrus.diagnose(model, q[0], v[0]).ok


def test_one_state():
    q, v = sarrus.random_state(zoo.four_bar(), rng=3)
    assert q.shape == v.shape == (3,)
    again, _ = sarrus.random_state(zoo.four_bar(), rng=3)
    assert np.array_equal(q, again)


def test_trees_and_contacts_are_as_before():
    """Without constraints on positions nothing is projected: the numbers are those of the tree."""
    for model in (zoo.chain(4), zoo.chain(4).with_constraints(sarrus.contact("tip", 3))):
        for got, expected in zip(sarrus.random_state(model, 1, 3), model_state.random_state(model, 1, 3), strict=True):
            assert np.array_equal(got, expected)


def test_contacts_beside_loops_hold_velocities():
    model = zoo.five_bar().with_constraints(sarrus.contact("tool", 3))
    q, v = sarrus.random_state(model, 0, 5)
    assert np.abs(sarrus.closure(model, q, v).velocity).max() < 1e-9
    assert np.std(q, axis=0).max() > 0.1


def test_what_never_closes_is_an_error_in_words():
    model = zoo.chain(2).with_constraints(sarrus.distance("tip", "world", 5.0))
    with pytest.raises(AssemblyError, match=r"for 3 of 3; smallest error .*distance_tip_world"):
        sarrus.random_state(model, 0, 3, attempts=3)


def test_cassie_is_within_its_limits():
    """Rods and springs of its legs: the loops close where no joint is beyond its limits."""
    model = sarrus.load(shared_file("cassie/cassie.xml"))
    q, v = sarrus.random_state(model, 0)
    assert np.abs(sarrus.closure(model, q, v).position).max() < 1e-10
    assert not outside_limits(model, q).any()
    found = sarrus.diagnose(model, q, v)
    assert found.ok
    assert not found.projected


@pytest.mark.parametrize("batch", [-1, 2.5, "many"])
@pytest.mark.parametrize("model", [sarrus.zoo.chain(2), sarrus.zoo.four_bar()], ids=lambda m: m.name)
def test_a_batch_is_a_whole_number(model, batch):
    with pytest.raises(StateError, match=r"batch is .*: expected a whole number, at least 0"):
        sarrus.random_state(model, rng=0, batch=batch)
