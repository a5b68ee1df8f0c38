"""Rows of joints that rub, through joint space: the same matrix, the same Newton step, the same answers as dense."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.contact.delassus import DenseDelassus
from sarrus.mechanics.contact.joint_rows import JointRowsDelassus
from sarrus.mechanics.contact.newton import natural_map, pieces
from sarrus.mechanics.contact.problem import ContactProblem, scaled
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.mechanism import mechanism
from sarrus.simulation.contact.free_motion import JointInertia, free_motion
from sarrus.status import Status
from tests.oracles.contact import violation


def rubbing(rng: np.random.Generator, nc: int, limits: int = 1) -> tuple[ContactProblem, ContactProblem]:
    """A chain most of whose joints rub, with limits and some contacts: through joint space, and dense."""
    model = sarrus.zoo.chain(8)
    q, v = sarrus.random_state(model, int(rng.integers(1000)))
    free = free_motion(mechanism(model, q, v, np.zeros(model.nv)), np.zeros(model.nv))
    n = model.nv
    joints = np.eye(n)[-(n - 2) :]
    J = np.concatenate([joints, np.eye(n)[:limits], rng.normal(size=(3 * nc, n))])
    G = J @ np.linalg.solve(sarrus.crba(model, q), J.T)
    g = J @ rng.normal(size=n)
    g[len(joints) + limits + 2 :: 3] -= 1.0
    sizes = rng.uniform(0.0, 1.0, len(joints)) / np.diag(G)[: len(joints)]
    numbers = g, sizes, rng.uniform(0.2, 1.0, nc), np.ones(limits + nc)
    through = ContactProblem(JointRowsDelassus(J, JointInertia(free)), *numbers)
    return through, ContactProblem(G, *numbers)


def test_the_same_operator():
    rng = np.random.default_rng(0)
    through, dense = rubbing(rng, 3)
    G, full = through.G, DenseDelassus(dense.G)
    assert isinstance(G, JointRowsDelassus)
    scale = rng.uniform(0.5, 2.0, len(dense.g))
    size = np.abs(dense.G).max()
    for a, b in ((G, full), (G.scaled(scale), full.scaled(scale))):
        x = rng.normal(size=len(dense.g))
        np.testing.assert_allclose(a @ x, b @ x, atol=1e-11 * size)
        np.testing.assert_allclose(a.solve_shifted(0.1, x), b.solve_shifted(0.1, x), atol=1e-9)
        for rows in (slice(0, 1), slice(len(x) - 3, len(x))):
            np.testing.assert_allclose(a.block(rows), b.block(rows), atol=1e-11 * size)
            changes = [y.along_rows(y.response(rows, x[rows])) for y in (a, b)]
            np.testing.assert_allclose(*changes, atol=1e-11 * size)


@pytest.mark.parametrize("seed", range(6))
def test_the_same_newton_step(seed):
    """Joints that stick and slip, contacts that are open, stick and slip; eps limits how exact it can be."""
    rng = np.random.default_rng(seed)
    through, dense = (scaled(p) for p in rubbing(rng, 3))
    x = rng.normal(size=len(dense.g))
    c, r = dense.G @ x + dense.g, 0.5
    for eps in (1e-2, 1e-4, 1e-7):
        k, pull = 1.0 - r * eps, np.zeros(len(x))
        F = natural_map(dense, x, c, r, pull)
        parts = pieces(dense, x, c, r, k, pull)
        d = dense.G.newton_direction(parts, r, k, F)
        np.testing.assert_allclose(through.G.newton_direction(parts, r, k, F), d, atol=1e-11 / eps * np.abs(d).max())


@pytest.mark.parametrize("nc", [0, 1, 3])
def test_the_laws_are_met(nc):
    """By the oracle, which looks at them one row at a time. Rows are more than velocities."""
    rng = np.random.default_rng(10 + nc)
    for _ in range(6):
        through, dense = rubbing(rng, nc, limits=3)
        assert len(dense.g) > np.linalg.matrix_rank(dense.G, tol=1e-9)
        found = solve(through, sweeps=0)
        assert found.status == Status.OK
        assert violation(dense, found.impulses) < 1e-5
        np.testing.assert_allclose(found.velocities, dense.G @ found.impulses + dense.g, atol=1e-8)
