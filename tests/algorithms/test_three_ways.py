"""One text, several ways to run it: on floats, as CasADi expressions, as a batched tape, as native code. For all.

Functions of the tree run on a robot with every joint type, the others on the richest small model that they claim.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import Algorithm
from tests.algorithms.kinds import KINDS, inputs_of
from tests.mechanisms import MOVING_KINDS, mechanism, relative_error

ROBOT = mechanism(
    4,
    ["free", "revolute", *MOVING_KINDS, "revolute", "fixed"],
    parents=[-1, 0, 1, 2, 0, 4, 5, 6, -1, 8, 9, 1, 11, 12],
    geometries=["oblique", "aligned", "in plane", "almost aligned"] * 3 + ["aligned", "oblique"],
    armature=[False, True] * 7,
)
CHOICES: dict[str, list[Any]] = {
    "frame": ["b13_tool", "b5", "world_tool"],
    "frames": [None, ("b13_tool", "world", "b2")],
    "reference": ["local", "world", "local_world_aligned"],
    "fallback": [None, "prox_ltl"],
    "method": [None, "prox_ltl"],
    "weight": [1e3],
    "accurate": [False, True],
    "packed": [False, True],
    "minimum_norm": [False, True],
    "mu": [None],
    "tolerance": [1e-9],
    "max_iterations": [2],  # CasADi writes them out
    "rank_tolerance": [1e-7],
    "motors": [(), ("b0_1_input_joint",)],
    "order": [None],  # of this model's links: tests/planning has others
    "clusters": [()],  # likewise
    "solver": [None, "prox_bbo"],
    "closed": [1e-9],
}
EMBEDDED_FRAMES = ["tip_0", "b0_0_rod", "world"]  # of the model with clusters
BATCH = 3
TOLERANCE = 1e-10
STIFF = ("lcaba", "constrained_aba", "hybrid")  # penalties of 1e6 beside inertias cost them as many digits


def option_sets(algorithm: Algorithm) -> list[dict[str, Any]]:
    """Every choice for every option of an algorithm, one option varying at a time."""
    missing = [name for name in algorithm.options if name not in CHOICES]
    assert not missing, f"add choices for the options {missing} of {algorithm.name} to CHOICES"
    choices = CHOICES | ({"frame": EMBEDDED_FRAMES} if algorithm.needs else {})
    base = {name: choices[name][0] for name in algorithm.options}
    return [base] + [base | {name: x} for name in algorithm.options for x in choices[name][1:]]


def input_sets(algorithm: Algorithm) -> list[tuple[str, ...]]:
    """All inputs, only those that are needed, and those that stand in for others."""
    every = tuple(x.name for x in algorithm.inputs if x.instead_of is None)
    instead = {x.instead_of: x.name for x in algorithm.inputs if x.instead_of}
    needed = tuple(x for x in every if x in algorithm.required or x == "k")
    return list(dict.fromkeys([every, needed, tuple(instead.get(x, x) for x in every)]))


def richest(algorithm: Algorithm) -> str:
    """The kind of model with most of what it supports; "" is the robot with every joint type."""
    able = [
        kind
        for kind, (has, _) in KINDS.items()
        if has in algorithm.supports and algorithm.needs in has and has & sarrus.Feature.CONSTRAINTS
    ]
    return able[-1] if able else "embedded" if algorithm.needs else ""


class Case(NamedTuple):
    algorithm: Algorithm
    names: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return f"{self.algorithm.name}({', '.join([*self.names, *(str(x) for _, x in self.options)])})"

    @property
    def tolerance(self) -> float:
        return 1e-8 if self.algorithm.name in STIFF else TOLERANCE

    @property
    def model(self) -> sarrus.Model:
        kind = richest(self.algorithm)
        return inputs_of(kind).model if kind else ROBOT.model

    def inputs(self) -> dict[str, np.ndarray]:
        """(BATCH, ...) each."""
        kind = richest(self.algorithm)
        if not kind:
            return ROBOT.state(BATCH).arguments(self.names)
        states = [inputs_of(kind, seed).arguments(self.names) for seed in range(1, BATCH + 1)]
        return {name: np.stack([state[name] for state in states]) for name in self.names}

    def first(self) -> dict[str, np.ndarray]:
        return {name: x[0] for name, x in self.inputs().items()}

    def call(self, inputs: dict[str, Any]) -> tuple[Any, ...]:
        return fields(self.algorithm(self.model, **inputs, **dict(self.options)))


def cases_of(algorithm: Algorithm) -> list[Case]:
    """All options with all inputs, the first ones with fewer inputs; of functions of the tree, all with all."""
    inputs, options = input_sets(algorithm), option_sets(algorithm)
    pairs = [(names, x) for names in inputs for x in options if names == inputs[0] or x == options[0]]
    if algorithm.family == "tree":
        pairs = [(names, x) for names in inputs for x in options]
    return [Case(algorithm, names, tuple(x.items())) for names, x in pairs]


CASES = [case for algorithm in sarrus.catalog().values() for case in cases_of(algorithm)]
FIRST = {case.algorithm.name: case for case in reversed(CASES)}  # with all inputs
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def fields(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


@cache
def on_floats(case: Case, k: int = 0) -> list[np.ndarray]:
    """The algorithm's own text, unchecked, on one state."""
    inputs = {name: x[k] for name, x in case.inputs().items()}
    return [np.asarray(x, dtype=float) for x in fields(case.algorithm.text(case.model, **inputs, **dict(case.options)))]


def test_all_algorithms_are_here():
    assert {case.algorithm.name for case in CASES} == set(sarrus.catalog())


@every_case
def test_a_call_is_the_text(case):
    for x, y in zip(case.call(case.first()), on_floats(case), strict=True):
        if case.algorithm.structural:  # a call traces it
            assert relative_error(x, y, 1.0) < case.tolerance
        else:
            assert np.array_equal(x, y)


@pytest.mark.parametrize(
    "case", [x for x in CASES if x.algorithm.family == "tree" or x.names == FIRST[x.algorithm.name].names], ids=str
)
def test_casadi_is_the_text(case):
    inputs = case.first()
    symbols = {key: ca.SX.sym(key, *x.shape) for key, x in inputs.items()}
    expressions = case.call(symbols)
    flat = [x for field in expressions for x in (field if isinstance(field, list) else [field])]
    values = ca.Function("f", list(symbols.values()), flat)(*inputs.values())
    values = list(values) if isinstance(values, tuple) else [values]
    for field, expected in zip(expressions, on_floats(case), strict=True):
        count = len(field) if isinstance(field, list) else 1
        got = np.array([np.array(values.pop(0)) for _ in range(count)]).reshape(expected.shape)
        assert relative_error(got, expected, 1.0) < case.tolerance


@every_case
def test_a_batch_is_the_text_of_every_state(case):
    got = case.call(case.inputs())
    for k in range(BATCH):
        for x, expected in zip(got, on_floats(case, k), strict=True):
            assert x.shape == (BATCH, *expected.shape)
            assert relative_error(x[k], expected, 1.0) < case.tolerance


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
def test_native_code_is_the_text(case):
    kernel = case.algorithm.compile(case.model, inputs=case.names, **dict(case.options))
    result = kernel(**case.inputs())
    assert type(result) is (case.algorithm.result_type if case.algorithm.outputs is None else np.ndarray)
    got = fields(result)
    for k in range(BATCH):
        for x, expected in zip(got, on_floats(case, k), strict=True):
            assert x.shape == (BATCH, *expected.shape)
            assert relative_error(x[k], expected, 1.0) < case.tolerance
    assert all(np.array_equal(x[0], y) for x, y in zip(got, fields(kernel(**case.first())), strict=True))


@pytest.mark.parametrize("name", sarrus.catalog())
def test_result_types(name):
    """One output: an array. Several: a NamedTuple, whichever way it was computed; single numbers are floats."""
    case = FIRST[name]
    one, many = (case.algorithm(case.model, **x, **dict(case.options)) for x in (case.first(), case.inputs()))
    if case.algorithm.outputs is None:
        assert type(one) is type(many) is case.algorithm.result_type
        for output, x in one._asdict().items():
            assert isinstance(x, int if output in case.algorithm.whole_numbers else (float, np.ndarray))
    else:
        assert isinstance(one, np.ndarray)
        assert isinstance(many, np.ndarray)
