"""Mechanisms with loops: closed where they start, with the rank and mobility that they should have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.diagnosis import project
from sarrus.errors import ModelError, UnknownNameError
from sarrus.model.bodies import Frame, Placement
from sarrus.model.state import random_state
from tests.mechanisms import relative_error

# name: model, nv, rows, rank
ROBOTS = {
    "four_bar": (zoo.four_bar, 3, 5, 2),
    "four_bar, connect": (lambda: zoo.four_bar("connect"), 3, 3, 2),
    "four_bar, weld": (lambda: zoo.four_bar("weld"), 3, 6, 3),
    "flat_four_bar": (zoo.flat_four_bar, 3, 5, 1),
    "slider_crank": (zoo.slider_crank, 3, 5, 2),
    "five_bar": (zoo.five_bar, 4, 5, 2),
    "sarrus_linkage": (zoo.sarrus_linkage, 5, 5, 4),
    "bennett": (zoo.bennett, 3, 5, 2),
    "stewart": (zoo.stewart, 24, 18, 18),
    "delta": (zoo.delta, 21, 18, 18),
    "cycle": (lambda: zoo.cycle(9), 14, 6, 6),
    "chain_of_loops": (lambda: zoo.chain_of_loops(3), 27, 18, 18),
    "coupled_loops": (lambda: zoo.coupled_loops(4), 38, 24, 24),
    "star_pairs": (lambda: zoo.star_pairs(3), 30, 18, 18),
    "star_to_one": (lambda: zoo.star_to_one(4), 30, 18, 18),
    "hand_cube": (zoo.hand_cube, 22, 12, 12),
    "two_hands_cube": (zoo.two_hands_cube, 38, 24, 24),
}


def rank_of(model, q):
    J = sarrus.closure(model, q).jacobian
    return np.linalg.matrix_rank(np.linalg.solve(np.linalg.cholesky(sarrus.crba(model, q)), J.T), tol=1e-7)


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_at_neutral_with_the_right_rank(name):
    make, nv, rows, rank = ROBOTS[name]
    model = make()
    result = sarrus.closure(model, sarrus.neutral(model))
    assert (model.nv, len(result.position)) == (nv, rows)
    assert np.abs(result.position).max() < 1e-14
    assert rank_of(model, sarrus.neutral(model)) == rank


@pytest.mark.parametrize(
    "name", ["four_bar", "slider_crank", "five_bar", "sarrus_linkage", "bennett", "stewart", "delta", "star_pairs"]
)
def test_they_move_far_and_stay_closed(name):
    """Over-constrained linkages move only if their geometry is exactly right."""
    make, _, _, rank = ROBOTS[name]
    model = make()
    q = sarrus.neutral(model)
    heading = np.ones(model.nv)
    for _ in range(5):
        J = sarrus.closure(model, q).jacobian
        free = np.linalg.svd(J)[2][rank:]
        heading = free.T @ (free @ heading)
        heading /= np.linalg.norm(heading)
        q, error = project(model, sarrus.integrate(model, q, 0.05 * heading))
        assert error < 1e-11
        assert rank_of(model, q) == rank
    assert np.abs(sarrus.difference(model, sarrus.neutral(model), q)).max() > 0.03


@pytest.mark.parametrize("name", ROBOTS)
def test_jacobian_is_the_derivative(name):
    model = ROBOTS[name][0]()
    q, v = sarrus.neutral(model), random_state(model, rng=1)[1]
    h = 1e-6
    ahead, behind = (sarrus.closure(model, sarrus.integrate(model, q, s * h * v)).position for s in (1.0, -1.0))
    velocity = sarrus.closure(model, q, v).velocity
    assert relative_error((ahead - behind) / (2.0 * h), velocity) < 1e-8


CLOSURES = ["weld", "connect", "revolute", "universal", "prismatic", "cylindrical", "planar", "helical"]


@pytest.mark.parametrize("joint", CLOSURES)
def test_jacobian_of_every_closure(joint):
    """A tree whose two tips meet at a random configuration, by a joint about an oblique axis."""
    model = zoo.random_tree(2, 6, joints=["free", "revolute", "spherical"], chain_bias=0.3)
    q, v = random_state(model, rng=3)
    a, b = model.body_names[-1], model.body_names[-2]
    pose = sarrus.forward_kinematics(model, q, frames=(a, b))
    axis = np.array([0.6, 0.0, 0.8])
    R = pose.rotation[1].T @ pose.rotation[0]
    p = pose.rotation[1].T @ (pose.position[0] - pose.position[1])
    meet = Frame("meet", model.body_index(b), Placement(R, p))
    model = replace(model, frames=(*model.frames, meet))
    options = {} if joint in ("weld", "connect") else {"axis": axis}
    if joint == "helical":
        options["pitch"] = 0.2
    model = model.with_constraints(sarrus.loop(a, "meet", joint, **options))
    assert np.abs(sarrus.closure(model, q).position).max() < 1e-14
    h = 1e-6
    ahead, behind = (sarrus.closure(model, sarrus.integrate(model, q, s * h * v)).position for s in (1.0, -1.0))
    assert relative_error((ahead - behind) / (2.0 * h), sarrus.closure(model, q, v).velocity) < 1e-8


def test_couplings_distances_and_contacts():
    model = zoo.chain(4).with_constraints(
        sarrus.coupling({"link_0_joint": 1.0}, driver="link_1_joint", polynomial=(0.1, 2.0, 0.5)),
        sarrus.distance("tip", "world", 0.7),
        sarrus.contact("link_2", 6, at=(np.array([0.1, 0.2, -0.3]), np.eye(3))),
        sarrus.contact("link_1", 3),
    )
    q, v = random_state(model, rng=0)
    result = sarrus.closure(model, q, v)
    tip = sarrus.forward_kinematics(model, q, frames=("tip",)).position[0]
    assert result.position[0] == pytest.approx(q[0] - 0.1 - 2.0 * q[1] - 0.5 * q[1] ** 2)
    assert result.position[1] == pytest.approx(np.linalg.norm(tip) - 0.7)
    assert np.array_equal(result.position[8:], np.zeros(3))  # no place was given
    assert np.allclose(result.velocity, result.jacobian @ v)
    h = 1e-6
    ahead, behind = (sarrus.closure(model, q + s * h * v).position[:2] for s in (1.0, -1.0))
    assert relative_error((ahead - behind) / (2.0 * h), result.velocity[:2]) < 1e-8
    J = sarrus.frame_jacobian(model, q, frame="link_2")
    assert np.allclose(result.jacobian[2:8], J, atol=1e-14)


@pytest.mark.parametrize("name", ["sarrus_linkage", "stewart", "star_pairs"])
def test_closure_runs_traced_and_in_batches(name):
    model = ROBOTS[name][0]()
    q, v = random_state(model, rng=0, batch=3)
    batch = sarrus.closure(model, q, v)
    for i in range(3):
        for got, one in zip(batch, sarrus.closure(model, q[i], v[i]), strict=True):
            assert relative_error(got[i], one) < 1e-12


def test_no_constraints_no_rows():
    assert sarrus.closure(zoo.chain(3), np.zeros(3)).jacobian.shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sarrus.loop("a", "b", "hinge"), "Valid: .*revolute"),
        (lambda: sarrus.loop("a", "b", axis=(0, 0, 0)), "no direction"),
        (lambda: sarrus.loop("a", "b", axis="up"), "three numbers"),
        (lambda: sarrus.loop("a", "b", pitch=0.1), "no pitch"),
        (lambda: sarrus.loop("a", "b", "helical", pitch=np.inf), "finite"),
        (lambda: sarrus.loop("a", "b", second_axis=(1, 0, 0)), "no second axis"),
        (lambda: sarrus.distance("a", "b", -1.0), "not negative"),
        (lambda: sarrus.distance("a", "b", 0.0), "connect"),
        (lambda: sarrus.weld("a", "a"), "itself"),
        (lambda: sarrus.connect("a", "b", stabilization=-1.0), "positive"),
        (lambda: sarrus.coupling({}), "at least one"),
        (lambda: sarrus.coupling({"a": 0.0}), "zero"),
        (lambda: sarrus.coupling({"a": np.nan}), "finite"),
        (lambda: sarrus.coupling({"a": 1.0}, polynomial=(0.0, 1.0)), "driver"),
        (lambda: sarrus.coupling({"a": 1.0}, polynomial=(np.inf,)), "polynomial"),
        (lambda: zoo.cycle(2), "at least 3"),
        (lambda: zoo.bennett(twist_a=0.5, twist_b=0.5), "different"),
    ],
)
def test_bad_declarations_in_words(make, words):
    with pytest.raises((ModelError, UnknownNameError), match=words):
        make()


def test_names_are_checked_by_the_model():
    with pytest.raises(UnknownNameError, match="Valid"):
        zoo.chain(2).with_constraints(sarrus.weld("tip", "nowhere"))
    with pytest.raises(UnknownNameError, match="Valid"):
        zoo.chain(2).with_constraints(sarrus.coupling({"nothing": 1.0}))
