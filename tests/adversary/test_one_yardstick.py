"""Robust methods measure residuals alike: of one state they say the same, whether they are primal or dual."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from benchmarks.adversary.mechanisms import generator, make
from benchmarks.adversary.states import CLASSES
from sarrus import Status
from sarrus.registry.table import find, unknown_to

ROBUST = ("lcaba", "constrained_aba", "prox_ltl", "prox_bbo", "prox_pv")
TWO = ("lcaba", "prox_ltl")  # of a hinge by two points that all but coincide, others see rounding
STATES = 20
# With residuals between what rows want and what their links do; and with squares that overflow, which is no conflict.
SOME = {Status.OK, Status.INFEASIBLE, Status.NOT_DETERMINED}
CASES = (
    ("legs", 0, "near singular", SOME, ROBUST), ("doubled loops", 0, "open loops", {Status.OK}, ROBUST),
    ("hinge of two points", 2, "fast", {Status.OK}, TWO),
    ("far away, loops", 0, "huge", {Status.OK, Status.NOT_FINITE}, ROBUST),
)  # fmt: skip


@pytest.mark.parametrize(("family", "seed", "kind", "expected", "methods"), CASES, ids=[x[0] for x in CASES])
def test_primal_and_dual_methods_say_the_same(family, seed, kind, expected, methods):
    mechanism = make(family, seed)
    assert mechanism
    model = mechanism.model
    states = [np.ascontiguousarray(x) for x in CLASSES[kind](model, STATES, generator(family, seed, kind))]
    found = {}
    for method in (x for x in methods if not unknown_to(find(x), model, strict=True)):
        result = sarrus.compile(model, method, cache=False)(*states)
        found[method] = result.status.astype(int).tolist()
    assert len(found) >= 2
    assert len(set(map(tuple, found.values()))) == 1, found
    assert set(found["prox_ltl"]) <= expected
    with sarrus.interpreted(), np.errstate(all="ignore"):
        for x in range(0, STATES, 5):
            result = sarrus.forward_dynamics(model, *(y[x] for y in states), method="prox_ltl")
            assert int(result.status) == found["prox_ltl"][x]
