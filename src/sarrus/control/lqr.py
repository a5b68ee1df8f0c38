"""Equality-constrained linear-quadratic problems on trees: inward, at the root, outward, as the PV solver does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sarrus.control.problem import (
    START,
    LqrConstraint,
    LqrStage,
    Stage,
    checked_constraints,
    checked_stages,
)
from sarrus.control.tree_riccati import (
    CostToGo,
    Passed,
    closed_at,
    control,
    eliminate_rows,
    start,
    through,
    with_rows,
)
from sarrus.errors import ModelError
from sarrus.spatial.arrays import Array
from sarrus.status import Status

_OK = 1e-8  # residual of the conditions of optimality, relative to their terms
_ROUNDING = 1e-13  # what may be left of it before the sweeps are repeated for what is left, and how often that is done
_REFINEMENTS = 3

Rows = list[tuple[dict[int, Array], Array]]


class LqrResult(NamedTuple):
    """`status` is a `sarrus.Status`. OK: the dynamics and constraints hold and every control is stationary, to 1e-8 of
    the size of their terms. INFEASIBLE: some constraint cannot be met.

    >>> stages = [sarrus.LqrStage(-1, [[1.0]], [[1.0]], Q=[[1.0]], R=[[1.0]])]
    >>> result = sarrus.lqr(stages, x0=[2.0])
    >>> result.x, result.u
    ([array([1.])], [array([-1.])])
    """

    x: list[Array]  # per stage
    u: list[Array]  # per stage: the control that leads to it
    multipliers: list[Array]  # per constraint: the cost changes by -multiplier per value
    cost: float  # of all stages together
    residual: float  # the largest, of dynamics, constraints and stationarity, relative to the size of their terms
    status: int  # a `sarrus.Status`


def lqr(stages: Sequence[LqrStage], x0: Any = None, constraints: Sequence[LqrConstraint] = ()) -> LqrResult:
    """The controls of least cost on a chain or tree of stages, subject to linear equations between states.

    stages       parents first: `LqrStage(parent, A, B, c, Q, q, R, r)`
    x0           the initial state; None: the state of stage 0 is free, like a floating base (its A is ignored, and so
                 is its B if it has no columns)
    constraints  `LqrConstraint({stage: matrix}, value)`: path and terminal constraints, periodic problems, agents

    The work grows linearly with the number of stages: this is a Riccati recursion in which constraint rows travel along
    until they can be eliminated. If several children of a stage share a control, as in scenario trees, use
    `scenario_tree`.

    returns      states, controls, multipliers, cost, residual and status
    errors       `ModelError`: matrices whose sizes do not match, a parent that does not come before its child

    >>> brake = [sarrus.LqrStage(k - 1, [[1, 0.1], [0, 1]], [[0.005], [0.1]], R=[[1.0]]) for k in range(10)]
    >>> stop = sarrus.LqrConstraint({9: np.eye(2)}, [0.0, 0.0])
    >>> sarrus.lqr(brake, x0=[0.0, 1.0], constraints=[stop]).status
    0
    """
    begin = None if x0 is None else np.asarray(x0, dtype=float)
    if begin is not None and (begin.ndim != 1 or not np.isfinite(begin).all()):
        raise ModelError(f"x0 is {x0!r}: expected a vector of finite numbers, or None")
    nodes = checked_stages(stages, None if begin is None else len(begin))
    rows = checked_constraints(constraints, nodes)
    found, missed = _Sweeps(nodes, rows).solved(begin)
    left = _conditions(nodes, rows, begin is None, found)
    for _ in range(_REFINEMENTS):
        if left.residual <= _ROUNDING:
            break
        better = _refined(nodes, rows, begin, found, left)
        then = _conditions(nodes, rows, begin is None, better)
        if not then.residual < left.residual:
            break
        found, left = better, then
    x, u, _, lam = found
    cost = sum(
        0.5 * a @ s.Q @ a + s.q @ a + 0.5 * b @ s.R @ b + s.r @ b for s, a, b in zip(nodes, x, u, strict=True)
    )  # fmt: skip
    residual = max(left.residual, missed)
    infeasible = max(missed, left.violation) > _OK
    status = Status.OK if residual <= _OK else Status.INFEASIBLE if infeasible else Status.NOT_DETERMINED
    return LqrResult(x, u, lam, float(cost), float(residual), int(status))


class _Solution(NamedTuple):
    x: list[Array]  # per stage
    u: list[Array]
    p: list[Array]  # costates: how the cost to go varies with the state
    lam: list[Array]  # per constraint


class _Conditions(NamedTuple):
    """What is left of the conditions of optimality at a solution, and how large that is, relative to their terms."""

    x: list[Array]  # dcost/dx + C^T lam + sum of A^T p of the children - p
    u: list[Array]  # dcost/du + B^T p
    rows: list[Array]  # C x - value
    stationarity: float
    violation: float

    @property
    def residual(self) -> float:
        return max(self.stationarity, self.violation)


class _Sweeps:
    def __init__(self, stages: list[Stage], rows: Rows) -> None:
        self.stages, self.rows = stages, rows
        sizes = [len(value) for _, value in rows]
        self.first = np.concatenate([[0], np.cumsum(sizes)]).astype(int)  # labels of a constraint's rows
        ends = closed_at([s.parent for s in stages], [list(matrices) for matrices, _ in rows])
        self.end_of = np.repeat(ends, sizes) if rows else np.zeros(0, int)  # per label: where all its stages have met
        self.passed: dict[int, Passed] = {}

    def solved(self, x0: Array | None) -> tuple[_Solution, float]:
        """And by how much rows that nothing can change are not met."""
        top = self._inward(x0)
        x_root, lam, missed = _free_root(top) if x0 is None else (x0, *_multipliers(top.L, top.K @ x0 + top.l))
        return self._outward(x0 is None, x_root, lam), max([missed, *(p.missed for p in self.passed.values())])

    def _inward(self, x0: Array | None) -> CostToGo:
        """Leaves to root. The result: the cost to go of the initial state, or of stage 0 if that is free."""
        V = {i: start(stage) for i, stage in enumerate(self.stages)}
        n = 0 if x0 is None else len(x0)
        V[START] = CostToGo(np.zeros((n, n)), np.zeros(n), np.zeros((0, n)), np.zeros((0, 0)), np.zeros(0), [])
        own: dict[int, list[tuple[int, Array]]] = {}
        for j, (matrices, _) in enumerate(self.rows):
            for i, C in matrices.items():
                own.setdefault(i, []).append((j, C))
        for i in range(len(self.stages) - 1, -1, -1):
            for j, C in own.get(i, ()):
                labels = list(range(self.first[j], self.first[j + 1]))
                said_here = i == min(self.rows[j][0])  # the value is said once
                value = -self.rows[j][1] if said_here else np.zeros(len(C))
                V[i], _ = with_rows(V[i], C, np.zeros((len(C), len(C))), value, labels)
            left, self.passed[i] = eliminate_rows(V[i], [x < 0 or self.end_of[x] == i for x in V[i].labels])
            passed = self.passed[i]
            passed.H, passed.f, passed.K = left.H, left.f, left.K
            if x0 is None and i == 0:
                return left
            parent = self.stages[i].parent
            H, f, K, L, l = through(self.stages[i], left, passed, i)
            V[parent].H, V[parent].f = V[parent].H + H, V[parent].f + f
            V[parent], passed.where = with_rows(V[parent], K, L, l, left.labels)
        return V[START]

    def _outward(self, free: bool, x_root: Array, lam_root: Array) -> _Solution:
        """Root to leaves: the control and costate of each stage, then the multipliers that were eliminated there."""
        x, u, p = {START: x_root}, dict[int, Array](), list[Array]()
        lam_of, total = {START: lam_root}, np.zeros(self.first[-1])
        for i, stage in enumerate(self.stages):
            passed = self.passed[i]
            if free and i == 0:
                lam, x[i], u[i] = lam_root, x_root, np.zeros(stage.B.shape[1])
            else:
                lam = lam_of[stage.parent][passed.where]
                u[i], x[i] = control(stage, passed, x[stage.parent], lam)
            p.append(passed.H @ x[i] - passed.f + passed.K.T @ lam)
            eliminated = passed.gain @ x[i] + passed.offset + passed.cross @ lam
            lam_of[i] = passed.back @ np.concatenate([eliminated, lam])
            for label, value in zip(passed.own, lam_of[i], strict=True):
                if label >= 0:
                    total[label] = value
        multipliers = [total[a:b] for a, b in pairwise(self.first)]
        if free:
            p[0] = np.zeros_like(p[0])  # where the cost to go is least
        return _Solution([x[i] for i in range(len(u))], [u[i] for i in range(len(u))], p, multipliers)


def _free_root(V: CostToGo) -> tuple[Array, Array, float]:
    """a and lam with H a + K^T lam = f, K a = -l: the rows that are left at a root have no L."""
    n = V.K.shape[1]
    KKT = np.block([[V.H, V.K.T], [V.K, -V.L]])
    solution = np.linalg.lstsq(KKT, np.concatenate([V.f, -V.l]), rcond=None)[0]
    return solution[:n], solution[n:], float(np.abs(V.K @ solution[:n] + V.l).max(initial=0.0))


def _multipliers(L: Array, l: Array) -> tuple[Array, float]:
    """L lam = l, and by how much that cannot be."""
    lam = np.linalg.lstsq(L, l, rcond=None)[0] if len(l) else l
    return lam, float(np.abs(L @ lam - l).max(initial=0.0))


def _conditions(stages: list[Stage], rows: Rows, free: bool, found: _Solution) -> _Conditions:
    """Each condition is between a stage and its children, with the costates of the sweeps: recursions of costates from
    the leaves would grow with an unstable A, and whatever they are measured against as well.
    """
    x, u, p, lam = found
    by_x = [s.Q @ b + s.q - a for a, s, b in zip(p, stages, x, strict=True)]
    size = [np.abs(a) + np.abs(s.Q) @ np.abs(b) + np.abs(s.q) for a, s, b in zip(p, stages, x, strict=True)]
    for (matrices, _), multiplier in zip(rows, lam, strict=True):
        for i, C in matrices.items():
            by_x[i] = by_x[i] + C.T @ multiplier
            size[i] = size[i] + np.abs(C).T @ np.abs(multiplier)
    by_u, worst = [], 0.0
    for i, s in enumerate(stages):
        if s.parent != START:
            by_x[s.parent] = by_x[s.parent] + s.A.T @ p[i]
            size[s.parent] = size[s.parent] + np.abs(s.A).T @ np.abs(p[i])
        by_u.append(np.zeros_like(u[i]) if free and i == 0 else s.R @ u[i] + s.r + s.B.T @ p[i])
        worst = max(worst, _relative(by_u[i], np.abs(s.R) @ np.abs(u[i]) + np.abs(s.r) + np.abs(s.B).T @ np.abs(p[i])))
    worst = max([worst, *(_relative(a, b) for a, b in zip(by_x, size, strict=True))])
    missed, violation = [], 0.0
    for matrices, value in rows:
        missed.append(sum((C @ x[i] for i, C in matrices.items()), -value))
        terms = sum((np.abs(C) @ np.abs(x[i]) for i, C in matrices.items()), np.abs(value))
        violation = max(violation, _relative(missed[-1], terms))
    return _Conditions(by_x, by_u, missed, worst, violation)


def _refined(stages: list[Stage], rows: Rows, x0: Array | None, found: _Solution, left: _Conditions) -> _Solution:
    """The same problem for what is left: rows that are eliminated where L hardly has rank for them cost digits."""
    again = [
        replace(s, c=np.zeros_like(s.c), q=g, r=h) for s, g, h in zip(stages, left.x, left.u, strict=True)
    ]  # fmt: skip
    targets = [(matrices, -g) for (matrices, _), g in zip(rows, left.rows, strict=True)]
    change, _ = _Sweeps(again, targets).solved(None if x0 is None else np.zeros_like(x0))
    return _Solution(*([a + b for a, b in zip(old, new, strict=True)] for old, new in zip(found, change, strict=True)))


def _relative(error: Array, terms: Array) -> float:
    """The largest; what is not a number is as large as can be."""
    found = float((np.abs(error) / (1.0 + terms.max(initial=0.0))).max(initial=0.0))
    return found if found < np.inf else np.inf
