"""Trees of scenarios: one control per state, before it is known which of the futures comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.control.lqr import LqrResult, lqr
from sarrus.control.problem import START, LqrConstraint, LqrStage
from sarrus.errors import ModelError
from sarrus.spatial.arrays import Array
from sarrus.status import Status


class ScenarioResult(NamedTuple):
    """States and controls for each node of the tree; the control of a leaf is empty. `status` is as in `lqr`.

    >>> two = [sarrus.LqrStage(-1, [[1.0]], [[gain]], Q=[[0.5]], R=[[0.5]]) for gain in (0.5, 1.5)]
    >>> sarrus.scenario_tree(two, x0=[1.0]).status
    <Status.OK: 0>
    """

    x: list[Array]  # per node; the first is x0
    u: list[Array]  # per node: the decision that is made there
    multipliers: list[Array]  # per constraint: the cost changes by -multiplier per value
    cost: float  # of all stages together
    residual: float  # the largest, of dynamics, constraints and stationarity, relative to the size of their terms
    status: int  # a `sarrus.Status`


def scenario_tree(stages: Sequence[LqrStage], x0: Any, constraints: Sequence[LqrConstraint] = ()) -> ScenarioResult:
    """`lqr` with one control shared by all children of a node: a decision made before the outcome is known.

    stages       parents first; R and r belong to the control that leads to a stage, and add up over siblings: multiply
                 costs by their probability. A, B, c, Q and q are those of the scenario
    constraints  between states, by the number of the stage

    A decision is a separate stage, whose state is (x, u) and whose control is u; the children follow without a control.
    So the sweeps are the same, and the work still grows linearly.

    x0           the state at which the first decision is made
    returns      states and controls per node: the first are those of x0
    errors       `ModelError`: matrices whose sizes do not match, siblings whose controls have different sizes

    >>> two = [sarrus.LqrStage(-1, [[1.0]], [[gain]], Q=[[0.5]], R=[[0.5]]) for gain in (0.5, 1.5)]
    >>> len(sarrus.scenario_tree(two, x0=[1.0]).u[0])
    1
    """
    start = np.asarray(x0, dtype=float)
    children: dict[int, list[int]] = {}
    for i, stage in enumerate(stages):
        children.setdefault(stage.parent, []).append(i)
    made: list[LqrStage] = []
    number: dict[int, int] = {}  # of a stage among those made
    decision: dict[int, int] = {}  # of the decision at a stage
    for i in (START, *range(len(stages))):
        if i != START:
            s, n = stages[i], len(np.asarray(stages[i].B))
            joined = np.hstack([np.asarray(s.A, float), np.asarray(s.B, float)])
            number[i] = len(made)
            made.append(LqrStage(decision[s.parent], joined, np.zeros((n, 0)), s.c, s.Q, s.q))
        if i in children:
            n = len(start) if i == START else len(np.asarray(stages[i].B))
            decision[i] = len(made)
            made.append(_decision(START if i == START else number[i], n, [stages[k] for k in children[i]], i))
    rows = [LqrConstraint({number[i]: C for i, C in c.matrices.items()}, c.value) for c in constraints]
    found: LqrResult = lqr(made, start, rows)
    u = [found.u[decision[i]] if i in decision else np.zeros(0) for i in (START, *range(len(stages)))]
    x = [found.x[number[i]] for i in range(len(stages))]
    return ScenarioResult([start, *x], u, found.multipliers, found.cost, found.residual, Status(found.status))


def _decision(parent: int, n: int, children: list[LqrStage], where: int) -> LqrStage:
    """(x, u) from x: u is the control, with the costs that the children give it."""
    sizes = {np.asarray(s.B).shape[1] for s in children}
    if len(sizes) != 1:
        raise ModelError(f"the children of stage {where} have controls of different sizes: {sorted(sizes)}")
    m = sizes.pop()
    R = sum((np.zeros((m, m)) if s.R is None else np.asarray(s.R, float) for s in children), np.zeros((m, m)))
    r = sum((np.zeros(m) if s.r is None else np.asarray(s.r, float) for s in children), np.zeros(m))
    keep = np.vstack([np.eye(n), np.zeros((m, n))])
    return LqrStage(parent, keep, np.vstack([np.zeros((n, m)), np.eye(m)]), R=R, r=r)
