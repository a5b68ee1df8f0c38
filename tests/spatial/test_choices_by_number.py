"""Picking, repeating, and extremes: on numbers and on symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, tape_of
from sarrus.spatial.arrays import vector
from sarrus.spatial.extremes import choose_vector, clamp, direction, larger, sign, smaller
from sarrus.spatial.iteration import iterate
from sarrus.spatial.parameter import Parameter
from sarrus.spatial.picking import pick, pick_rows
from sarrus.spatial.repetition import repeat, sweep


@pytest.mark.parametrize(
    ("index", "expected"), [(0.0, 1.0), (1.0, 2.0), (2.9, 3.0), (7.0, 3.0), (-1.0, 1.0), (np.nan, 1.0), (np.inf, 3.0)]
)
def test_an_index_outside_means_the_nearest_entry(index, expected):
    assert pick([1.0, 2.0, 3.0], index) == expected
    np.testing.assert_array_equal(pick_rows([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], index), [expected, 10 * expected])
    np.testing.assert_array_equal(pick_rows(np.array([[1.0], [2.0], [3.0]]), index), [expected])


def test_there_must_be_something_to_pick():
    with pytest.raises(ValueError, match="nothing to pick"):
        pick([], 0.0)


def test_symbols_pick_repeat_and_sweep_as_numbers_do():
    def text(x):
        rows = repeat(lambda values: vector(values[0] * values[1], values[0] + 1.0), x[:4].reshape(2, 2))
        last, sums = sweep(lambda s, values: (s + values, s * values), x[:2], x.reshape(3, 2))
        return np.concatenate([rows.reshape(-1), last, sums.reshape(-1), [pick(list(x), x[5])]])

    graph = Graph()
    tape = tape_of(graph, (Port("x", (6,)),), {"y": text(graph.inputs(0, 6))})
    x = np.array([0.5, -1.5, 2.0, 0.25, 3.0, 2.0])
    (found,) = interpret.run(tape, [x[:, None]])
    np.testing.assert_allclose(np.array(found, float).reshape(-1), text(x).astype(float), rtol=1e-14)


def test_repeating_nothing_is_an_error():
    with pytest.raises(ValueError, match="nothing"):
        repeat(lambda values: values, np.zeros((0, 2)))


def test_a_bare_parameter_can_be_repeated_but_not_iterated():
    p = Parameter(ca.SX.sym("p"))
    rows = repeat(lambda values: vector(2.0 * values[0]), np.array([[p], [1.0]], dtype=object))
    assert isinstance(rows[0, 0], Parameter)
    assert rows[1, 0] == 2.0
    with pytest.raises(TypeError, match="bare parameters"):
        iterate(lambda state: (state, 1.0), (np.array([p], dtype=object),), 3)


@pytest.mark.parametrize("x", [-2.0, -0.5, 0.0, 0.3, 4.0])
def test_extremes(x):
    assert (smaller(x, 1.0), larger(x, 1.0), clamp(x, 1.0)) == (min(x, 1.0), max(x, 1.0), min(max(x, -1.0), 1.0))
    assert sign(x) == (-1.0 if x < 0.0 else 1.0)
    np.testing.assert_array_equal(choose_vector(x, 0.0, np.ones(2), np.zeros(2)), np.ones(2) if x < 0 else np.zeros(2))
    along, length = direction(np.array([0.0, x, 0.0]), np.array([0.0, 0.0, 1.0]))
    assert length == abs(x)
    np.testing.assert_allclose(along, [0.0, 0.0, 1.0] if x == 0.0 else [0.0, sign(x), 0.0])
