"""What a constraint of the centre of mass means; that every method agrees with the oracle is in test_loop_dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import ModelError, UnsupportedError
from sarrus.model.state import random_state
from tests.oracles.loops import kkt, solve

center = sarrus.center_of_mass_constraint
TAKING = [name for name, entry in sarrus.methods().items() if sarrus.Feature.CENTER_OF_MASS in entry.supports]
REFUSING = [name for name in sarrus.methods() if name not in TAKING]
ROBOT = zoo.random_tree(3, 9, joints=["free", "revolute", "prismatic", "universal", "spherical"])


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_closure_is_the_centre_of_mass(base):
    model = zoo.tree(9, floating=base == "floating").with_constraints(center("zy", at=[0.3, -0.1]))
    q, v = random_state(model, 0)
    found, expected = sarrus.closure(model, q, v), sarrus.center_of_mass(model, q, v)
    np.testing.assert_allclose(found.position, expected.position[[2, 1]] - [0.3, -0.1], atol=1e-12)
    np.testing.assert_allclose(found.velocity, expected.velocity[[2, 1]], atol=1e-12)


def test_without_a_place_there_is_no_position_error():
    model = ROBOT.with_constraints(center())
    assert not sarrus.closure(model, random_state(model, 0)[0]).position.any()


def test_by_default_all_bodies_are_not_made_neighbours():
    """Rows on all bodies fill LCABA's matrices: prox_bbo needs a fraction of its operations."""
    model = zoo.tree(15, floating=True).with_constraints(center())
    few, many = (sarrus.op_count(model, method, mu=1e5).total for method in ("prox_bbo", "lcaba"))
    assert 2 * few < many
    q, v = random_state(model, 0)
    default, chosen = (sarrus.forward_dynamics(model, q, v, v, method=m).qdd for m in (None, "prox_bbo"))
    np.testing.assert_array_equal(default, chosen)


def test_a_floating_robot_falls_unless_its_centre_of_mass_is_held():
    """The force that holds it is its weight: nothing else acts from outside."""
    model = zoo.tree(9, floating=True).with_constraints(center())
    q, v = random_state(model, 1)
    found = sarrus.forward_dynamics(model, q, v, np.zeros(model.nv))
    np.testing.assert_allclose(found.forces, -model.mass * model.gravity, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("method", TAKING)
def test_accelerations_given_at_run_time_keep_the_order_of_declaration(method):
    model = ROBOT.with_constraints(
        sarrus.contact("body_4", 3, k="input"), center("xz", k="input"), sarrus.contact("body_7", 3, k="input")
    )
    rng = np.random.default_rng(0)
    (q, v), tau, k = random_state(model, 2), rng.normal(size=model.nv), rng.normal(size=8)
    assert model.n_input_rows == 8
    found = sarrus.forward_dynamics(model, q, v, tau, method=method, k=k)
    expected, _ = solve(kkt(model, q, v, k), tau)
    np.testing.assert_allclose(found.qdd, expected, atol=1e-8 * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo"])
def test_compiled(method):
    model = zoo.tree(4, floating=True).with_constraints(
        center("xy", at=[0.0, 0.1], stabilization=0.1), sarrus.contact("link_3", 3)
    )
    q, v = random_state(model, 0, batch=5)
    tau = np.random.default_rng(1).normal(size=v.shape)
    found = sarrus.compile(model, method)(q, v, tau)
    for i in range(5):
        expected = sarrus.forward_dynamics(model, q[i], v[i], tau[i], method=method)
        np.testing.assert_allclose(found.qdd[i], expected.qdd, atol=1e-8 * (1.0 + np.abs(expected.qdd).max()))


@pytest.mark.parametrize("method", REFUSING)
def test_other_methods_refuse_it_in_words(method):
    model = ROBOT.with_constraints(center())
    q, v = random_state(model, 0)
    with pytest.raises(UnsupportedError, match=r"CenterOfMass|supports no constraints|embedded constraints"):
        sarrus.forward_dynamics(model, q, v, v, method=method)


def test_a_centre_of_mass_that_nothing_moves():
    """A wheel turns about its own centre: rows of zeros, met where they ask for nothing, infeasible otherwise."""
    builder = sarrus.ModelBuilder("wheel")
    builder.add_body("wheel", joint="revolute", axis=(0, 1, 0), mass=1.0, inertia=np.eye(3))
    for k, status in ((None, 0.0), ([0.0, 0.0, 1.0], 2.0)):
        model = builder.build().with_constraints(center(k=k))
        found = sarrus.forward_dynamics(model, np.zeros(1), np.ones(1), np.array([2.0]))
        np.testing.assert_allclose(found.qdd, [2.0])
        assert found.status == status


def test_errors_in_words():
    for axes in ("", "xx", "xw", 3):
        with pytest.raises(ModelError, match=r"Valid: \"x\", \"y\", \"z\""):
            center(axes)
    with pytest.raises(ModelError, match=r"2 finite numbers, along x, z"):
        center("xz", at=[1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match=r"the centre of mass: k must be 1 finite numbers"):
        center("x", k=[1.0, 2.0])
    with pytest.raises(ModelError, match=r"the centre of mass: the stabilization time must be positive"):
        center(stabilization=0.0)
    model = zoo.chain(2).with_constraints(center(k="input"))
    with pytest.raises(UnsupportedError, match=r"needs k"):
        sarrus.forward_dynamics(model, np.zeros(2), np.zeros(2), np.zeros(2))
    empty = sarrus.ModelBuilder("empty").build().with_constraints(center())
    with pytest.raises(UnsupportedError, match=r"no bodies"):
        sarrus.closure(empty, np.zeros(0))
