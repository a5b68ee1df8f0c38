"""The zoo's robots are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import ModelError, UnknownNameError
from tests.mechanisms import MOVING_KINDS, relative_error
from tests.oracles.dense import oracle_of_model

ROBOTS = {
    "chain": (lambda: zoo.chain(5), 5, 5),
    "floating chain": (lambda: zoo.chain(3, floating=True), 4, 9),
    "tree": (lambda: zoo.tree(7, branching=2), 7, 7),
    "floating tree": (lambda: zoo.tree(4, branching=3, floating=True), 5, 10),
    "revolute tree": (lambda: zoo.random_tree(0, 6, joints=["revolute"]), 6, 6),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_sizes(name):
    make, bodies, nv = ROBOTS[name]
    assert (make().nb, make().nv) == (bodies, nv)


@pytest.mark.parametrize(
    "make", [*(row[0] for row in ROBOTS.values()), lambda: zoo.ladder(2), lambda: zoo.stem(2, 2, length=2)]
)
def test_dynamics(make):
    model = make()
    nv = model.nv
    q, v = sarrus.random_state(model, rng=0)
    oracle = oracle_of_model(model)
    tau = np.ones(nv)
    assert relative_error(sarrus.crba(model, q), oracle.mass_matrix(q)) < 1e-12
    assert relative_error(sarrus.aba(model, q, v, tau), oracle.forward_dynamics(q, v, tau)) < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_have_every_joint_type(seed):
    model = zoo.random_tree(seed, 80)
    assert {body.joint.type.name for body in model.bodies} == set(MOVING_KINDS)
    q, v = sarrus.random_state(model, rng=seed)
    qdd = sarrus.aba(model, q, v, np.zeros(model.nv))
    assert (
        relative_error(sarrus.rnea(model, q, v, qdd), np.zeros(model.nv), np.abs(sarrus.crba(model, q) @ qdd).max())
        < 1e-9
    )


def test_random_trees_repeat_and_branch():
    a, b = zoo.random_tree(3, 8), zoo.random_tree(np.random.default_rng(3), 8)
    assert a.parents == b.parents
    assert zoo.random_tree(0, 10, chain_bias=1.0).parents == (-1, *range(9))


def test_frames_mark_the_tips():
    assert "tip" in zoo.chain(2).frame_names
    assert "rung_tip_1" in zoo.ladder(2).frame_names
    assert {"tip_0", "tip_1"} <= set(zoo.stem(1, 2).frame_names)


@pytest.mark.parametrize(
    "make", [lambda: zoo.chain(0), lambda: zoo.tree(3, branching=0), lambda: zoo.ladder(1.5), lambda: zoo.stem(1, 0)]
)
def test_impossible_numbers(make):
    with pytest.raises(ModelError, match="expected a whole number of at least 1"):
        make()


def test_unknown_joint_types():
    with pytest.raises(UnknownNameError, match=r"unknown joint type 'hinge'.*revolute"):
        zoo.random_tree(0, 3, joints=["hinge"])
