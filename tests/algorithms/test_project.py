"""`project`: the nearest state on the constraints. On floats, in batches and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.model.state import random_state
from sarrus.status import Status
from tests.importers.shared_robots import shared_file

LOOPS = [zoo.four_bar, zoo.flat_four_bar, zoo.slider_crank, zoo.five_bar, zoo.sarrus_linkage, zoo.bennett]
SPATIAL = [zoo.stewart, zoo.delta, lambda: zoo.cycle(6), lambda: zoo.star_pairs(1)]


def near_home(model: sarrus.Model, size: float = 0.2, rng: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A state whose loops are somewhat open."""
    generator = np.random.default_rng(rng)
    q = sarrus.integrate(model, sarrus.neutral(model), size * generator.normal(size=model.nv))
    return q, generator.normal(size=model.nv)


def opening(model: sarrus.Model, q: np.ndarray, v: np.ndarray) -> float:
    return float(np.abs(sarrus.closure(model, q, v).velocity).max())


@pytest.mark.parametrize("make", LOOPS + SPATIAL)
def test_loops_close_and_do_not_open(make):
    """Redundant rows (five of rank two) and singular configurations included."""
    model = make()
    q, v = near_home(model)
    found = sarrus.project(model, q, v)
    assert found.status == 0.0
    assert found.error < 1e-12
    assert np.abs(sarrus.closure(model, found.q).position).max() < 1e-12
    assert opening(model, found.q, found.v) < 1e-10 * (1.0 + np.abs(v).max())


@pytest.mark.parametrize("make", LOOPS)
def test_it_finds_home_from_anywhere(make):
    """Not only near by: configurations without any regard to loops."""
    model = make()
    q, v = random_state(model, 0, 200)
    found = sarrus.project(model, q, v)
    assert np.mean(found.status == 0.0) > 0.97
    assert np.all((found.error <= 1e-12) == (found.status == 0.0))
    assert np.isfinite(found.q).all()
    assert np.isfinite(found.v).all()


def test_one_text_three_ways():
    """On floats, as a tape in batches, and compiled; also with all joint types that have quaternions."""
    for model in (zoo.sarrus_linkage(), zoo.cycle(5)):
        states = [near_home(model, rng=k) for k in range(5)]
        q, v = (np.stack(x) for x in zip(*states, strict=True))
        batch = sarrus.project(model, q, v)
        compiled = sarrus.compile(model, "project", inputs=("q", "v"))(q, v)
        for k in range(5):
            one = sarrus.project(model, q[k], v[k])
            for x, y, z in zip(one, batch, compiled, strict=True):
                assert np.abs(x - y[k]).max() < 1e-9
                assert np.abs(x - z[k]).max() < 1e-9


def test_what_is_closed_stays():
    model = zoo.stewart()
    q = sarrus.neutral(model)
    found = sarrus.project(model, q)
    assert found.iterations == 0.0
    assert np.array_equal(found.q, q)
    again = sarrus.project(model, *sarrus.project(model, *near_home(model))[:2])
    assert again.iterations == 0.0


def test_nearest_in_the_kinetic_metric():
    """To first order: the way there is M-orthogonal to every motion that the loops allow, and so is that of v."""
    model = zoo.five_bar()
    rng = np.random.default_rng(0)
    closed = sarrus.project(model, *near_home(model)).q
    q = sarrus.integrate(model, closed, 1e-5 * rng.normal(size=model.nv))
    v = rng.normal(size=model.nv)
    found = sarrus.project(model, q, v)
    M = sarrus.crba(model, found.q)
    free = np.linalg.svd(sarrus.closure(model, found.q).jacobian)[2][2:]
    way = sarrus.difference(model, q, found.q)
    size = np.sqrt(way @ M @ way)
    assert np.abs(free @ M @ way).max() < 1e-3 * size * np.sqrt(np.linalg.norm(M))
    assert np.abs(free @ M @ (found.v - v)).max() < 1e-12
    assert found.v @ M @ found.v <= v @ M @ v  # as after an impact: energy is lost


def test_quadratic_convergence_close_by():
    """Drift of a simulation takes one or two steps."""
    model = zoo.stewart()
    q, _ = near_home(model, 1e-5)
    assert sarrus.project(model, q).iterations <= 2.0


def test_a_linkage_keeps_the_motion_that_only_it_has():
    """Over-constrained: a row that is redundant but for rounding must not hold the Sarrus linkage's one motion."""
    model = zoo.sarrus_linkage()
    q = sarrus.project(model, *near_home(model)).q
    free = np.linalg.svd(sarrus.closure(model, q).jacobian)[2][4]
    for open_by in (0.0, 1e-13, 1e-8):
        near = q + open_by * np.random.default_rng(0).normal(size=model.nv)
        found = sarrus.project(model, near, 2.0 * free, max_iterations=0)
        assert np.abs(found.v - 2.0 * free).max() < 1e-5


def test_held_joints_do_not_move():
    model = zoo.five_bar()
    q, v = near_home(model)
    held = np.zeros(model.nv)
    held[model.layout.v_of("left_crank_joint")] = held[model.layout.v_of("right_crank_joint")] = 1.0
    found = sarrus.project(model, q, v, held=held)
    assert found.status == 0.0
    assert np.array_equal(found.q[held == 1.0], q[held == 1.0])
    assert np.array_equal(found.v[held == 1.0], v[held == 1.0])
    assert opening(model, found.q, found.v) < 1e-12


def test_what_cannot_close_says_so():
    """An arm of two links does not reach five metres: the nearest it gets, and words."""
    model = zoo.chain(2).with_constraints(sarrus.distance("tip", "world", 5.0))
    q, v = random_state(model, 0, 20)
    found = sarrus.project(model, q, v)
    assert (found.status > 0.0).all()
    assert (found.error > 1.0).all()
    assert np.isfinite(found.q).all()
    assert all(Status(int(k)).words.startswith("not found") for k in found.status)


def test_a_batch_goes_on_without_its_bad_states():
    model = zoo.four_bar()
    q = np.tile(near_home(model)[0], (6, 1))
    kernel = sarrus.compile(model, "project")
    good = kernel(q)
    q[2] = np.nan
    found = kernel(q)
    assert found.status[2] > 0.0
    others = [0, 1, 3, 4, 5]
    assert np.array_equal(found.q[others], good.q[others])


def test_half_a_turn_is_not_closed():
    """A weld the wrong way round has a sine of zero; so has a hinge whose axes point at each other."""
    turned = zoo.chain(1).with_constraints(sarrus.weld("link_0", "world"))
    assert sarrus.project(turned, np.array([np.pi]), max_iterations=0).error == pytest.approx(np.pi)
    found = sarrus.project(turned, np.array([np.pi]))
    assert found.status == 0.0
    assert abs(np.cos(found.q[0]) - 1.0) < 1e-12
    builder = sarrus.ModelBuilder()
    builder.add_body("a", joint="spherical", mass=1.0, inertia=np.eye(3))
    hinge = builder.build().with_constraints(sarrus.loop("a", "world", "revolute"))
    flipped = np.array([1.0, 0.0, 0.0, 0.0])  # half a turn about x
    assert sarrus.project(hinge, flipped, max_iterations=0).error == pytest.approx(np.pi)
    assert sarrus.project(hinge, flipped).status == 0.0


@pytest.mark.parametrize("joint", ["weld", "revolute", "prismatic", "cylindrical", "planar", "universal", "connect"])
def test_the_gradient_is_exact_where_loops_are_open(joint):
    """J^T error is the gradient of half the squared error, for every closure, however far it is open."""
    from sarrus.mechanics.constraints.rows import position_errors
    from sarrus.mechanics.mechanism import mechanism

    def errors(q):
        return position_errors(model, mechanism(model, q).joints, q, None, of_dynamics=False)

    model = zoo.chain(6).with_constraints(sarrus.loop("tip", "world", joint))
    rng = np.random.default_rng(1)
    for q in random_state(model, rng, 5)[0]:
        error, J = errors(q)
        direction = rng.normal(size=model.nv)
        h = 1e-6
        half = [0.5 * float(e @ e) for e in (errors(q + s * h * direction)[0] for s in (-1.0, 1.0))]
        assert (half[1] - half[0]) / (2.0 * h) == pytest.approx(direction @ (J.T @ error), rel=1e-5, abs=1e-6)


def test_gears_and_held_contacts():
    chain = zoo.chain(4)
    first, second = chain.joint_names[:2]
    tip = sarrus.forward_kinematics(chain, np.full(4, 0.3), frames=("tip",)).position[0]
    model = chain.with_constraints(
        sarrus.coupling({first: 1.0, second: -6.0}), sarrus.contact("tip", 3, at=tip + np.array([0.05, 0.0, 0.05]))
    )
    found = sarrus.project(model, np.full(4, 0.3), np.ones(4))
    assert found.status == 0.0
    assert found.q[0] == pytest.approx(6.0 * found.q[1], abs=1e-11)
    there = sarrus.forward_kinematics(model, found.q, frames=("tip",)).position[0]
    assert np.abs(there - tip - np.array([0.05, 0.0, 0.05])).max() < 1e-11


def test_contacts_without_a_place_stay_where_they_are():
    model = zoo.five_bar().with_constraints(sarrus.contact("tool", 3))
    q, v = near_home(model, 1e-3)
    found = sarrus.project(model, q, v)
    before, after = (sarrus.forward_kinematics(model, x, frames=("tool",)).position[0] for x in (q, found.q))
    assert np.abs(after - before).max() < 1e-5
    assert opening(model, found.q, found.v) < 1e-10


def test_trees_are_left_alone():
    model = zoo.chain(3)
    q, v = random_state(model, 0)
    found = sarrus.project(model, q, v)
    assert np.array_equal(found.q, q)
    assert np.array_equal(found.v, v)
    assert (found.error, found.status) == (0.0, 0.0)


def test_cassie_from_anywhere():
    model = sarrus.load(shared_file("cassie/cassie.xml"))
    q, v = random_state(model, 0, 4)
    for k in range(4):
        found = sarrus.project(model, q[k], v[k])
        assert found.status == 0.0
        assert opening(model, found.q, found.v) < 1e-9
