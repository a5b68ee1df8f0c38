"""One text, three ways to run it: on floats, as CasADi expressions, as a batched tape. For all of the registry."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.registry import table as registry
from tests.mechanisms import MOVING_KINDS, Mechanism, mechanism, relative_error

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
}


def option_sets(entry: registry.Algorithm) -> list[dict[str, Any]]:
    """Every choice for every option of an algorithm, one option varying at a time."""
    missing = [name for name in entry.options if name not in CHOICES]
    assert not missing, f"add choices for the options {missing} of {entry.name} to CHOICES"
    base = {name: CHOICES[name][0] for name in entry.options}
    return [base] + [base | {name: x} for name in entry.options for x in CHOICES[name][1:]]


def input_sets(entry: registry.Algorithm) -> list[tuple[str, ...]]:
    """All inputs, and only those that are needed."""
    needed = tuple(port.name for port in entry.inputs if not port.optional)
    return list(dict.fromkeys([tuple(port.name for port in entry.inputs), needed]))


# What supports constraints needs some: tested on constrained robots, elsewhere.
ENTRIES = [entry for entry in registry.algorithms().values() if not getattr(entry, "supports", ())]
CASES = [
    pytest.param(entry.name, names, options, id=f"{entry.name}({', '.join([*names, *map(str, options.values())])})")
    for entry in ENTRIES
    for names in input_sets(entry)
    for options in option_sets(entry)
]


def fields(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def on_floats(case: Mechanism, name: str, inputs: dict[str, np.ndarray], options: dict[str, Any]) -> list[np.ndarray]:
    """The algorithm's own text, without the eager wrapper."""
    return [np.asarray(x) for x in fields(registry.find(name).function(case.model, **inputs, **options))]


@pytest.mark.parametrize(("name", "names", "options"), CASES)
def test_eager_is_the_text(name, names, options):
    inputs = ROBOT.state().arguments(names)
    got = fields(getattr(sarrus, name)(ROBOT.model, **inputs, **options))
    for x, y in zip(got, on_floats(ROBOT, name, inputs, options), strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize(("name", "names", "options"), CASES)
def test_casadi_is_numpy(name, names, options):
    inputs = ROBOT.state().arguments(names)
    symbols = {key: ca.SX.sym(key, *x.shape) for key, x in inputs.items()}
    expressions = fields(getattr(sarrus, name)(ROBOT.model, **symbols, **options))
    flat = [x for field in expressions for x in (field if isinstance(field, list) else [field])]
    values = ca.Function("f", list(symbols.values()), flat)(*inputs.values())
    values = list(values) if isinstance(values, tuple) else [values]
    for field, expected in zip(expressions, on_floats(ROBOT, name, inputs, options), strict=True):
        count = len(field) if isinstance(field, list) else 1
        got = np.array([np.array(values.pop(0)) for _ in range(count)]).reshape(expected.shape)
        assert relative_error(got, expected, 1.0) < 1e-10


@pytest.mark.parametrize(("name", "names", "options"), CASES)
def test_batches_are_loops(name, names, options):
    batch = 3
    inputs = ROBOT.state(batch).arguments(names)
    got = fields(getattr(sarrus, name)(ROBOT.model, **inputs, **options))
    for k in range(batch):
        one = on_floats(ROBOT, name, {key: x[k] for key, x in inputs.items()}, options)
        for x, expected in zip(got, one, strict=True):
            assert x.shape == (batch, *expected.shape)
            assert relative_error(x[k], expected, 1.0) < 1e-10


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_result_types(name):
    """One output: an array. Several: a NamedTuple, whichever way it was computed; single numbers are floats."""
    entry = registry.find(name)
    options = option_sets(entry)[0]
    names = input_sets(entry)[0]
    one = getattr(sarrus, name)(ROBOT.model, **ROBOT.state().arguments(names), **options)
    many = getattr(sarrus, name)(ROBOT.model, **ROBOT.state(2).arguments(names), **options)
    if entry.outputs is None:
        assert type(one) is type(many) is entry.result_type
        assert all(isinstance(x, (float, np.ndarray)) for x in one)
    else:
        assert isinstance(one, np.ndarray)
        assert isinstance(many, np.ndarray)


@pytest.mark.parametrize("name", registry.algorithms())
def test_every_entry_says_what_it_is(name):
    entry = registry.find(name)
    assert entry.summary
    assert entry.cost.startswith("O(")
