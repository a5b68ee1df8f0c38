"""Contacts of one body as one wrench: the same matrix, the same Newton step, the same answers as dense."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.mechanics.contact.delassus import AbstractDelassus, DenseDelassus
from sarrus.mechanics.contact.newton import natural_map, pieces
from sarrus.mechanics.contact.problem import ContactProblem, scaled
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.contact.wrenches import Group, WrenchDelassus, lower_root
from sarrus.status import Status
from tests.mechanics.contact.problems import NONE
from tests.oracles.contact import violation


def feet(rng: np.random.Generator, points: int, limits: int = 0, velocities: int = 20, falling: float = 1.0):
    """Two bodies of some mechanism on `points` points each, and limits."""
    n = limits + 12
    J = rng.normal(size=(n, velocities)) / np.sqrt(velocities)
    W = J @ J.T
    groups = [Group(slice(k, k + 1), [slice(k, k + 1)], [np.eye(1)]) for k in range(limits)]
    for body in range(2):
        arms = np.column_stack([rng.uniform(-0.2, 0.2, (points, 2)), np.full(points, -0.1)])
        first = limits + 3 * points * body
        rows = [slice(first + 3 * k, first + 3 * k + 3) for k in range(points)]
        B = [np.hstack([np.eye(3), [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]]) for x, y, z in arms]
        groups.append(Group(slice(limits + 6 * body, limits + 6 * body + 6), rows, B))
    G = WrenchDelassus(groups, W)
    twists = J @ rng.normal(size=velocities)
    g = G.along_rows(twists)
    g[limits + 2 :: 3] -= falling * rng.choice([0.0, 1.0])
    friction = rng.uniform(0.2, 1.0, 2 * points)
    return ContactProblem(G, g, NONE, friction, np.ones(limits + 2 * points))


def dense(problem: ContactProblem) -> ContactProblem:
    assert isinstance(problem.G, AbstractDelassus)
    G = np.stack([problem.G @ e for e in np.eye(len(problem.g))], axis=1)
    return problem._replace(G=G)


@pytest.mark.parametrize("limits", [0, 3])
def test_the_same_operator(limits):
    rng = np.random.default_rng(limits)
    problem = feet(rng, 4, limits)
    G, full = problem.G, DenseDelassus(np.asarray(dense(problem).G))
    assert isinstance(G, WrenchDelassus)
    np.testing.assert_allclose(full.G, full.G.T, atol=1e-14)
    assert np.linalg.matrix_rank(full.G, tol=1e-10) == limits + 12
    contacts = [slice(k, k + 3) for k in range(limits, len(problem.g), 3)]
    scale = np.concatenate([rng.uniform(0.5, 2.0, limits), np.repeat(rng.uniform(0.5, 2.0, 8), 3)])
    for a, b in ((G, full), (G.scaled(scale), full.scaled(scale))):
        x = rng.normal(size=len(problem.g))
        np.testing.assert_allclose(a @ x, b @ x, atol=1e-12)
        np.testing.assert_allclose(a.solve_shifted(0.1, x), b.solve_shifted(0.1, x), atol=1e-10)
        for rows in contacts:
            np.testing.assert_allclose(a.block(rows), b.block(rows), atol=1e-13)
            alone, others = a.response(rows, x[rows]), b.response(rows, x[rows])
            np.testing.assert_allclose(a.along_rows(alone), b.along_rows(others), atol=1e-12)
            np.testing.assert_allclose(a.along(rows, alone), b.along(rows, others), atol=1e-12)


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_same_newton_step(seed, convex):
    """From impulses with contacts that are open, stick and slip; eps limits how exact it can be."""
    rng = np.random.default_rng(seed)
    problem = feet(rng, 5, limits=2)
    through, full = scaled(problem, convex), scaled(dense(problem), convex)
    x = rng.normal(size=len(problem.g)) * rng.choice([0.1, 1.0])
    c = full.G @ x + full.g
    r = 0.5
    center = x + 0.1 * rng.normal(size=len(x))
    for eps in (1e-2, 1e-4, 1e-8):
        k, pull = 1.0 - r * eps, eps * (x - center)
        F = natural_map(full, x, c, r, pull)
        parts = pieces(full, x, c, r, k, pull)
        d = full.G.newton_direction(parts, r, k, F)
        ours = through.G.newton_direction(parts, r, k, F)
        np.testing.assert_allclose(ours, d, atol=1e-11 / eps * np.abs(d).max())
        J = np.concatenate([(r * D @ T) @ full.G.G[rows] for rows, D, _, T in parts])  # type: ignore[attr-defined]
        for rows, D, N, _ in parts:
            J[rows, rows] += np.eye(len(D)) - k * D
            np.testing.assert_allclose((np.eye(len(D)) - k * D) @ N, D, atol=1e-12 / eps)
        np.testing.assert_allclose(d, np.linalg.solve(J, -F), atol=1e-9 / eps * np.abs(d).max())


@pytest.mark.parametrize("limits", [0, 2])
@pytest.mark.parametrize("points", [3, 6])
def test_redundant_feet_are_solved(points, limits):
    rng = np.random.default_rng(points)
    for _ in range(6):
        problem = feet(rng, points, limits)
        found = solve(problem)
        assert found.status == Status.OK
        assert violation(dense(problem), found.impulses) < 1e-5
        again = solve(problem, found.impulses)
        assert again.iterations == 0.0


def test_a_body_that_hardly_moves():
    """W may be singular: where columns of its root are zero, nothing is lost."""
    rng = np.random.default_rng(0)
    for rank in (12, 9, 5, 1):
        problem = feet(rng, 4, velocities=rank, falling=0.0)
        W = problem.G.W  # type: ignore[union-attr]
        C = lower_root(W)
        np.testing.assert_allclose(C @ C.T, W, atol=1e-12)
        found = solve(problem)
        assert found.status == Status.OK
        assert violation(dense(problem), found.impulses) < 1e-5


def test_contacts_that_are_not_there():
    rng = np.random.default_rng(5)
    problem = feet(rng, 4)
    active = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    start = np.tile([0.0, 0.0, 1.0], 8)
    found = solve(problem._replace(active=active), start)
    assert found.status == Status.OK
    assert (found.impulses.reshape(-1, 3)[active == 0.0] == 0.0).all()
    assert violation(dense(problem)._replace(active=active), found.impulses) < 1e-5
