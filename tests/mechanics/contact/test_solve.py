"""Solutions of contact problems against brute force, and what must hold at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.mechanics.contact.one_contact import solve_one
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.mechanics.contact.solve import solve
from sarrus.status import Status
from tests.mechanics.contact.problems import NONE, box_problem, corners, random_problem
from tests.oracles.contact import fixed_point, solutions, violation


@pytest.mark.parametrize("seed", range(40))
def test_one_contact_is_solved_exactly(seed):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3, 4))
    A = J @ J.T / 4.0 + 1e-6 * np.eye(3)
    b = rng.normal(size=3)
    mu = rng.choice([0.0, 0.05, 0.3, 0.8, 1.2])
    problem = ContactProblem(A, b, NONE, np.array([mu]), np.ones(1))
    x = solve_one(A, b, mu, steps=60)
    assert violation(problem, x) < 1e-8
    few = solve_one(A, b, mu)
    assert np.linalg.norm(few - x) < 3e-2 * np.linalg.norm(x) + 1e-12  # a sweep needs no more


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("nb", "nu", "nc"), [(0, 0, 1), (0, 0, 2), (1, 1, 1), (2, 0, 0), (0, 3, 0), (2, 2, 0)])
def test_a_mode_with_this_solution_exists(nb, nu, nc, seed):
    """Brute force over all modes finds solutions, and the solver's is as good as they are."""
    problem = random_problem(np.random.default_rng(seed), nb, nu, nc, nv=8)
    found = solve(problem, tolerance=1e-10)
    assert found.status == Status.OK
    assert violation(problem, found.impulses) < 1e-8
    every = list(solutions(problem))
    assert every
    if len(every) == 1 and problem.friction.max(initial=0.0) < 0.5:
        np.testing.assert_allclose(found.velocities, problem.G @ every[0][1] + problem.g, atol=1e-7)


@pytest.mark.parametrize("ratio", [1.0, 1e2, 1e4])
@pytest.mark.parametrize(("nb", "nu", "nc"), [(0, 0, 4), (6, 4, 2), (0, 0, 8)])
def test_random_mechanisms(nb, nu, nc, ratio):
    rng = np.random.default_rng(nb + nc)
    worst = []
    for _ in range(6):
        problem = random_problem(rng, nb, nu, nc, ratio=ratio)
        found = solve(problem)
        assert found.status == Status.OK
        worst.append(violation(problem, found.impulses))
        np.testing.assert_allclose(found.velocities, problem.G @ found.impulses + problem.g, atol=1e-12)
    assert max(worst) < 1e-5


@pytest.mark.parametrize("count", [4, 8])
@pytest.mark.parametrize("sliding", [0.0, 0.05, 2.0])
def test_redundant_points_of_a_box(count, sliding):
    rng = np.random.default_rng(count)
    velocity = np.array([sliding, -0.3 * sliding, -0.5, *rng.normal(size=3) * 0.1])
    problem = box_problem(corners(count), velocity, mu=0.4)
    found = solve(problem)
    assert found.status == Status.OK
    assert violation(problem, found.impulses) < 1e-5
    slow = fixed_point(problem)
    assert violation(problem, slow) < 1e-9
    if sliding == 0.0:  # nothing slides, so that the velocities are unique
        np.testing.assert_allclose(found.velocities, problem.G @ slow + problem.g, atol=1e-5)


def test_a_block_sticks_up_to_the_friction_angle():
    for mu, slope, slides in ((0.5, 0.5 - 1e-5, False), (0.5, 0.5 + 1e-5, True)):
        fall = 9.81e-3 * np.array([slope, 0.0, -1.0])
        problem = box_problem(corners(4) * [1.0, 1.0, 0.0], np.array([*fall, 0.0, 0.0, 0.0]), mu)
        found = solve(problem, tolerance=1e-12)
        assert found.status == Status.OK
        assert (np.abs(found.velocities[0]) > 5e-8) == slides
        np.testing.assert_allclose(found.impulses[2::3].sum(), 2.0 * 9.81e-3, rtol=1e-9)


def test_a_solution_is_not_touched():
    problem = random_problem(np.random.default_rng(3))
    found = solve(problem, tolerance=1e-9)
    again = solve(problem, found.impulses, sweeps=0, max_newton=0)
    assert again.status == Status.OK
    assert again.iterations == 0.0
    np.testing.assert_allclose(again.impulses, found.impulses, rtol=1e-12, atol=1e-15)


def test_few_rows_that_stick_take_one_newton_step():
    """From the solution of a problem that was a little different, as from step to step."""
    counts = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, nc=4)._replace(friction=np.full(4, 4.0))
        problem.g[2::3] = -1.0 - rng.uniform(size=4)
        start = solve(problem).impulses
        for much in (1e-3, 1e-2, 1e-1):
            found = solve(problem._replace(g=problem.g + much * rng.normal(size=12)), start)
            assert found.status == Status.OK
            counts.append(found.iterations)
    assert np.mean(np.array(counts) <= 1) > 0.6  # 0.14 with eps = 1e-4 and two sweeps


def test_what_is_not_active_gets_nothing():
    problem = random_problem(np.random.default_rng(4), nu=3, nc=3)
    active = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    found = solve(problem._replace(active=active))
    assert found.status == Status.OK
    idle = np.repeat(active == 0.0, [1, 1, 1, 3, 3, 3])
    assert (found.impulses[idle] == 0.0).all()
    rows = np.flatnonzero(~idle)
    alone = solve(
        ContactProblem(problem.G[np.ix_(rows, rows)], problem.g[rows], NONE, problem.friction[1:2], np.ones(3))
    )
    np.testing.assert_allclose(found.velocities[rows], alone.velocities, atol=1e-5)
    none = solve(problem._replace(active=np.zeros(6)))
    assert none.status == Status.OK
    assert (none.impulses == 0.0).all()
    assert none.iterations == 0.0
    np.testing.assert_array_equal(none.velocities, problem.g)


def test_without_friction_only_normals_push():
    problem = random_problem(np.random.default_rng(5))
    found = solve(problem._replace(friction=np.zeros(4)))
    assert found.status == Status.OK
    assert violation(problem._replace(friction=np.zeros(4)), found.impulses) < 1e-6
    assert (found.impulses.reshape(4, 3)[:, :2] == 0.0).all()


def test_a_contact_that_nothing_moves():
    problem = random_problem(np.random.default_rng(6), nc=2)
    G, g = problem.G.copy(), problem.g.copy()
    G[:3], G[:, :3], g[:3] = 0.0, 0.0, 0.0
    still = solve(problem._replace(G=G, g=g))
    assert still.status == Status.OK
    assert (still.impulses[:3] == 0.0).all()
    g[2] = -1.0  # it comes nearer, and nothing can be done
    stuck = solve(problem._replace(G=G, g=g))
    assert stuck.status == Status.INFEASIBLE
    assert stuck.residual == pytest.approx(1.0)
    np.testing.assert_allclose(stuck.impulses, still.impulses, atol=1e-9)


def test_blocks_that_are_singular():
    """A contact on a body with one degree of freedom, across to the normal and along it."""
    for direction in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, 0.8]):
        J = np.array(direction)[:, None]
        problem = ContactProblem(J @ J.T, -0.3 * J[:, 0], NONE, np.array([0.5]), np.ones(1))
        found = solve(problem)
        assert found.status == Status.OK
        assert violation(problem, found.impulses) < 1e-6


def test_no_rows_at_all():
    found = solve(ContactProblem(np.zeros((0, 0)), NONE, NONE, NONE, NONE))
    assert found.status == Status.OK
    assert found.impulses.shape == (0,)


@pytest.mark.parametrize("field", ["G", "g", "friction", "bounds"])
def test_what_is_not_a_number_is_said(field):
    problem = random_problem(np.random.default_rng(7), nb=2)
    broken = getattr(problem, field).copy()
    broken.flat[0] = np.nan
    assert solve(problem._replace(**{field: broken})).status == Status.NOT_FINITE


def test_the_convex_problem_lifts_off_what_slides():
    problem = box_problem(corners(1), np.array([2.0, 0.0, -0.1, 0.0, 0.0, 0.0]), mu=0.5)
    exact, relaxed = solve(problem), solve(problem, convex=True)
    assert exact.status == relaxed.status == Status.OK
    assert abs(exact.velocities[2]) < 1e-6
    sliding = np.linalg.norm(relaxed.velocities[:2])
    np.testing.assert_allclose(relaxed.velocities[2], 0.5 * sliding, atol=1e-5)


def test_what_complies_sinks_in_by_its_impulse():
    problem = box_problem(np.zeros((1, 3)), np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), mu=0.5)
    found = solve(problem._replace(compliance=np.full(3, 0.5)))
    assert found.status == Status.OK
    np.testing.assert_allclose(found.impulses[2], 1.0 / (0.5 + 0.5), rtol=1e-6)  # 1 / mass is 0.5
    np.testing.assert_allclose(found.velocities[2], -0.5, rtol=1e-6)


def test_units_do_not_matter():
    problem = random_problem(np.random.default_rng(8))
    found = solve(problem, tolerance=1e-9)
    for scale in (1e-8, 1e8):  # of masses
        heavy = solve(problem._replace(G=problem.G * scale), tolerance=1e-9)
        np.testing.assert_allclose(heavy.impulses * scale, found.impulses, rtol=1e-7, atol=1e-9)
