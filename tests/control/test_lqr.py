"""`lqr` beside one dense system of all conditions of optimality: random trees, scenario trees, periodic chains."""

from __future__ import annotations

import time

import numpy as np
import pytest

import sarrus
from sarrus import LqrConstraint, LqrStage, Status
from sarrus.control import lqr as control_lqr
from sarrus.errors import IllPosedError, ModelError

TOLERANCE = 1e-9


def dense(stages, x0, constraints):
    """x and u of all stages from the KKT matrix, and the multipliers; shares no code."""
    n = [len(s.B) for s in stages]
    m = [np.shape(s.B)[1] for s in stages]
    at_x = np.concatenate([[0], np.cumsum(n)])
    at_u = at_x[-1] + np.concatenate([[0], np.cumsum(m)])
    size = at_u[-1]
    H, g, E, e = np.zeros((size, size)), np.zeros(size), [], []
    for i, s in enumerate(stages):
        x, u = slice(at_x[i], at_x[i + 1]), slice(at_u[i], at_u[i + 1])
        for part, Q, q in ((x, s.Q, s.q), (u, s.R, s.r)):
            H[part, part] += 0.0 if Q is None else np.asarray(Q)
            g[part] += 0.0 if q is None else np.asarray(q)
        if s.parent == -1 and x0 is None:
            H[u, u] += np.eye(m[i])  # a control that moves nothing
            continue
        row = np.zeros((n[i], size))
        row[:, x] += np.eye(n[i])
        row[:, u] -= np.asarray(s.B)
        right = np.zeros(n[i]) if s.c is None else np.array(s.c, float)
        if s.parent == -1:
            right = right + np.asarray(s.A) @ x0
        else:
            row[:, at_x[s.parent] : at_x[s.parent + 1]] -= np.asarray(s.A)
        E.append(row)
        e.append(right)
    dynamics = sum(map(len, e))
    for c in constraints:
        row = np.zeros((len(np.atleast_1d(c.value)), size))
        for i, C in c.matrices.items():
            row[:, at_x[i] : at_x[i + 1]] += C
        E.append(row)
        e.append(np.atleast_1d(c.value))
    E, e = np.vstack([*E, np.zeros((0, size))]), np.concatenate([*e, np.zeros(0)])
    K = np.block([[H, E.T], [E, np.zeros((len(E), len(E)))]])
    solution = np.linalg.lstsq(K, np.concatenate([-g, e]), rcond=1e-13)[0]
    z = solution[:size]
    return z[: at_x[-1]], z[at_x[-1] :], solution[size + dynamics :]


def random_stage(rng, parent, n_parent, n=None, m=None):
    n, m = n or rng.integers(1, 5), rng.integers(0, 4) if m is None else m
    Q, R = rng.normal(size=(n, n)), rng.normal(size=(m, m))
    A = rng.normal(size=(n, n_parent)) / np.sqrt(n_parent)
    return LqrStage(
        parent, A, rng.normal(size=(n, m)), rng.normal(size=n), Q @ Q.T, rng.normal(size=n),
        R @ R.T + np.eye(m), rng.normal(size=m),
    )  # fmt: skip


def random_tree(rng, count, x0, **sizes):
    stages = []
    for i in range(count):
        parent = int(rng.integers(-1 if x0 is not None or i == 0 else 0, i)) if i else -1
        before = (len(x0) if x0 is not None else 1) if parent == -1 else len(stages[parent].B)
        stages.append(random_stage(rng, parent, before, **sizes))
    return stages


def check(stages, x0, constraints, tolerance=TOLERANCE):
    found = sarrus.lqr(stages, x0, constraints)
    x, u, lam = dense(stages, x0, constraints)
    assert Status(found.status) is Status.OK
    assert np.abs(np.concatenate(found.x) - x).max() < tolerance * (1.0 + np.abs(x).max())
    skip = 1 if x0 is None else 0  # of a free root nobody asks for the control
    mine = np.concatenate([np.zeros(0), *found.u[skip:]])
    assert np.abs(mine - u[len(u) - len(mine) :]).max(initial=0.0) < tolerance * (1.0 + np.abs(u).max(initial=0.0))
    return found, lam


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_without_constraints(seed):
    rng = np.random.default_rng(seed)
    x0 = rng.normal(size=3) if seed % 2 else None
    check(random_tree(rng, 15, x0), x0, [])


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_with_constraints(seed):
    """On single stages and between any two or three of them."""
    rng = np.random.default_rng(100 + seed)
    x0 = rng.normal(size=3) if seed % 2 else None
    stages = random_tree(rng, 14, x0, n=4, m=3)
    constraints = []
    for _ in range(5):
        where = rng.choice(14, size=rng.integers(1, 4), replace=False)
        rows = int(rng.integers(1, 3))
        constraints.append(LqrConstraint({int(i): rng.normal(size=(rows, 4)) for i in where}, rng.normal(size=rows)))
    found, lam = check(stages, x0, constraints)
    assert np.abs(np.concatenate(found.multipliers) - lam).max() < TOLERANCE * (1.0 + np.abs(lam).max())


def chain(rng, count, n=3, m=2):
    A, B = np.eye(n) + 0.2 * rng.normal(size=(n, n)), rng.normal(size=(n, m))
    return [
        LqrStage(k - 1, A, B, 0.1 * rng.normal(size=n), np.eye(n), rng.normal(size=n), np.eye(m)) for k in range(count)
    ]


@pytest.mark.parametrize("count", [2, 7, 40])
def test_periodic_chains(count):
    """The end is the beginning, which is free."""
    rng = np.random.default_rng(count)
    stages = chain(rng, count)
    found, _ = check(stages, None, [LqrConstraint({0: np.eye(3), count - 1: -np.eye(3)}, np.zeros(3))])
    assert np.allclose(found.x[0], found.x[-1], atol=1e-9)


def test_constraints_at_every_stage():
    """One row each, which the controls can meet: as many multipliers as stages, and no more work than without."""
    rng = np.random.default_rng(3)
    stages = chain(rng, 60)
    rows = [LqrConstraint({k: rng.normal(size=(1, 3))}, rng.normal(size=1)) for k in range(60)]
    check(stages, rng.normal(size=3), rows)


def test_redundant_and_conflicting_constraints():
    rng = np.random.default_rng(4)
    stages, x0 = chain(rng, 8), rng.normal(size=3)
    row = rng.normal(size=(1, 3))
    twice = [LqrConstraint({7: row}, [0.3]), LqrConstraint({7: 2.0 * row}, [0.6])]
    check(stages, x0, twice)
    against = [LqrConstraint({7: row}, [0.3]), LqrConstraint({7: row}, [0.4])]
    assert Status(sarrus.lqr(stages, x0, against).status) is Status.INFEASIBLE
    fixed = LqrStage(-1, np.eye(3), np.zeros((3, 0)))
    assert Status(sarrus.lqr([fixed], x0, [LqrConstraint({0: row}, [9.0])]).status) is Status.INFEASIBLE


@pytest.mark.parametrize("seed", range(6))
def test_scenario_trees_share_their_controls(seed):
    """Beside the dense problem in which siblings' controls are equal by constraint."""
    rng = np.random.default_rng(200 + seed)
    x0 = rng.normal(size=2)
    stages = [random_stage(rng, parent, 2, n=2, m=1) for parent in (-1, 0, 0, 1, 1, 2, 2, 3)]
    terminal = [LqrConstraint({3: rng.normal(size=(1, 2))}, rng.normal(size=1))]
    found = sarrus.scenario_tree(stages, x0, terminal)
    assert found.status is Status.OK
    augmented, seen = [], {}  # the same control as a state of its own: (x, u)
    for i, s in enumerate(stages):
        seen.setdefault(s.parent, []).append(i)
        augmented.append(s)
    n, m = 2, 1
    at_u = {p: 2 * len(stages) + k for k, p in enumerate(seen)}
    size = 2 * len(stages) + len(seen)
    H, g, E, e = np.zeros((size, size)), np.zeros(size), [], []
    for i, s in enumerate(stages):
        x, u = slice(n * i, n * i + n), slice(at_u[s.parent], at_u[s.parent] + m)
        H[x, x], g[x] = s.Q, s.q
        H[u, u] += s.R
        g[u] += s.r
        row = np.zeros((n, size))
        row[:, x], row[:, u] = np.eye(n), -s.B
        if s.parent >= 0:
            row[:, n * s.parent : n * s.parent + n] = -s.A
        E.append(row)
        e.append(s.c + (s.A @ x0 if s.parent < 0 else 0.0))
    row = np.zeros((1, size))
    row[:, 6:8] = terminal[0].matrices[3]
    E, e = np.vstack([*E, row]), np.concatenate([*e, terminal[0].value])
    z = np.linalg.solve(np.block([[H, E.T], [E, np.zeros((len(E), len(E)))]]), np.concatenate([-g, e]))
    assert np.allclose(
        np.concatenate(found.x[1:]), z[: n * len(stages)], rtol=0, atol=TOLERANCE * (1 + np.abs(z).max())
    )
    for parent, at in at_u.items():
        assert np.allclose(found.u[parent + 1], z[at : at + m], atol=TOLERANCE)


def test_the_riccati_recursion_is_the_special_case():
    """No constraints: P and the gains are those of the textbook."""
    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    Q, R, N, x0 = np.eye(3), np.eye(2), 12, rng.normal(size=3)
    P, gains = Q, []
    for _ in range(N):
        G = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        gains.append(G)
        P = Q + A.T @ P @ (A - B @ G)
    x, u = x0, []
    for G in reversed(gains):
        u.append(-G @ x)
        x = A @ x + B @ u[-1]
    found = sarrus.lqr([LqrStage(k - 1, A, B, Q=Q, R=R) for k in range(N)], x0)
    assert np.allclose(found.u, u, atol=1e-10)
    assert np.isclose(found.cost, 0.5 * x0 @ (P - Q) @ x0)


def test_the_work_grows_linearly():
    """Numbers of operations are not counted here: time per stage does not grow."""

    def seconds(count):
        rng = np.random.default_rng(0)
        stages = chain(rng, count)
        rows = [LqrConstraint({k: np.eye(1, 3)}, [0.0]) for k in range(0, count, 10)]
        start = time.perf_counter()
        sarrus.lqr(stages, np.zeros(3), rows)
        return time.perf_counter() - start

    seconds(50)
    small, large = min(seconds(100) for _ in range(3)), min(seconds(800) for _ in range(3))
    assert large < 8 * small * 2.5


def test_mistakes_are_named():
    stage = LqrStage(-1, np.eye(2), np.ones((2, 1)), R=[[1.0]])
    with pytest.raises(ModelError, match="parent is 3"):
        sarrus.lqr([LqrStage(3, np.eye(2), np.ones((2, 1)))], np.zeros(2))
    with pytest.raises(ModelError, match=r"A of stage 0: .*\(2, 3\), got shape \(2, 2\)"):
        sarrus.lqr([stage], np.zeros(3))
    with pytest.raises(ModelError, match="R of stage 0"):
        sarrus.lqr([LqrStage(-1, np.eye(2), np.ones((2, 1)), R=np.eye(2))], np.zeros(2))
    with pytest.raises(ModelError, match="names stage 5"):
        sarrus.lqr([stage], np.zeros(2), [LqrConstraint({5: np.eye(2)}, np.zeros(2))])
    with pytest.raises(IllPosedError, match="stage 0: its control is not determined"):
        sarrus.lqr([LqrStage(-1, np.eye(2), np.ones((2, 1)))], np.zeros(2))
    with pytest.raises(ModelError, match="no stages"):
        sarrus.lqr([])


def test_the_residual_tells_also_of_long_unstable_chains():
    """Conditions are between neighbours, so that nothing grows along the chain that errors could hide behind."""
    stages = [LqrStage(k - 1, 2.0 * np.eye(2), np.eye(2), Q=np.eye(2), R=np.eye(2)) for k in range(300)]
    nodes = control_lqr.checked_stages(stages, 2)
    found, _ = control_lqr._Sweeps(nodes, []).solved(np.ones(2))
    assert control_lqr._conditions(nodes, [], False, found).residual < 1e-12
    found.u[150][:] += 1e-3
    assert control_lqr._conditions(nodes, [], False, found).residual > 1e-7
