"""Contacts that resist spinning and rolling: cones of more dimensions, against the laws as they are printed."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.mechanics.contact.joint_rows import AbstractInertia, JointRowsDelassus
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.mechanics.contact.solve import solve
from sarrus.status import Status

NONE = np.zeros(0)


def random_problem(rng: np.random.Generator, sizes: tuple[int, ...], nv: int = 14) -> tuple[ContactProblem, np.ndarray]:
    """Rows J of unit inertia, of contacts with so many rows each; those about angular velocities are short."""
    J = []
    for size in sizes:
        lengths = np.array([1.0, 1.0, *rng.uniform(0.05, 0.5, size - 3), 1.0])
        J.append(lengths[:, None] * rng.normal(size=(size, nv)) / np.sqrt(nv))
    J = np.concatenate(J)
    g = J @ rng.normal(size=nv)
    g[np.cumsum(sizes) - 1] -= rng.choice([0.0, 1.0])
    friction = rng.uniform(0.1, 1.0, len(sizes))
    return ContactProblem(J @ J.T, g, NONE, friction, np.ones(len(sizes)), sizes=sizes), J


def broken_law(problem: ContactProblem, x: np.ndarray) -> float:
    """Of every contact: within the cone, not approaching, and on its edge against the motion wherever it moves."""
    v = np.asarray(problem.G) @ x + problem.g
    worst, first = 0.0, 0
    for size, mu in zip(problem.sizes or (), problem.friction, strict=True):
        rub, push = x[first : first + size - 1], x[first + size - 1]
        slide, part = v[first : first + size - 1], v[first + size - 1]
        speed = np.linalg.norm(slide)
        against = np.linalg.norm(rub + mu * push * slide / speed) if speed > 1e-7 else 0.0
        worst = max(worst, np.linalg.norm(rub) - mu * push, -push, -part, min(push, abs(part)), min(speed, against))
        first += size
    return worst


@pytest.mark.parametrize("sizes", [(4,), (6,), (3, 4, 6), (6, 6, 6), (4, 3, 4, 3)])
@pytest.mark.parametrize("through_joints", [False, True])
def test_laws_hold_in_every_dimension(sizes, through_joints):
    class Unit(AbstractInertia):
        matrix = np.eye(14)

        def moved_by(self, impulses):
            return impulses

        def delassus(self, J):
            return J @ J.T

    rng = np.random.default_rng(sum(sizes))
    for _ in range(8):
        dense, J = random_problem(rng, sizes)
        problem = dense._replace(G=JointRowsDelassus(J, Unit())) if through_joints else dense
        found = solve(problem, tolerance=1e-9, sweeps=0 if through_joints else None)
        assert found.status == Status.OK
        assert broken_law(dense, found.impulses) < 1e-6


def test_rows_that_do_nothing_change_nothing():
    """A contact of six rows, three of which are zero, is one of three."""
    rng = np.random.default_rng(5)
    plain, _ = random_problem(rng, (3, 3))
    kept = [0, 1, 5, 6, 7, 11]
    G, g = np.zeros((12, 12)), np.zeros(12)
    G[np.ix_(kept, kept)], g[kept] = plain.G, plain.g
    wide = solve(plain._replace(G=G, g=g, sizes=(6, 6)), tolerance=1e-10)
    few = solve(plain, tolerance=1e-10)
    assert wide.status == few.status == Status.OK
    np.testing.assert_allclose(wide.impulses[kept], few.impulses, atol=1e-8)
