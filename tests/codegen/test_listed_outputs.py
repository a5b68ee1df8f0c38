"""Large outputs with equal elements: each value is kept once, and every element of every array still gets its own."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.passes.ports import RUN_BITS, ports
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of

N = 11  # no multiple of a number of lanes
BATCHES = [1, 2, 5, 8, 17, 33]


def matrix(x: np.ndarray) -> np.ndarray:
    """Symmetric: a block of products, zeros beside it, ones and sevens on its diagonal, an input twice."""
    M = np.zeros((N, N), dtype=x.dtype)
    for i in range(5):
        for j in range(i + 1):
            M[i, j] = M[j, i] = x[i] * x[j] + 1.0
    for i in range(6, N):
        M[i, i] = 1.0 if i % 2 else 7.0
    M[5, 7] = M[7, 5] = x[3]
    return M


def products() -> Tape:
    graph = Graph()
    x = graph.inputs(0, 6)
    M = matrix(x)
    return tape_of(graph, (Port("x", (6,)),), {"first": x + M[0, 1], "M": M, "again": M[:, ::-1].copy()})


def expected(x: np.ndarray) -> tuple[np.ndarray, ...]:
    M = np.stack([matrix(row) for row in x])
    return x + M[:, 0, 1, None], M, M[:, :, ::-1]


def test_each_value_has_one_slot_and_constants_their_runs():
    tape = products()
    lie = ports(tape)
    assert lie.listed[0] is None
    for number in (1, 2):
        words = lie.listed[number]
        assert words is not None
        values, slots = tape.results[number], lie.slots_of(number, N * N)
        assert len(set(zip(values.tolist(), slots.tolist(), strict=True))) == len(set(values.tolist()))
        assert lie.top < N * N
        for element, run in enumerate((words >> RUN_BITS).tolist()):
            assert (slots[element : element + run] == slots[element]).all()
            assert run == 0 or np.isin(tape.op[values[element : element + run]], Op.CONST).all()


@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 1), ("float64", 2), ("float64", 4), ("float64", 8),
                                              ("float32", 8), ("float32", 16)])  # fmt: skip
def test_every_element_is_where_it_belongs(dtype, lanes):
    native = build_native(products(), dtype, lanes)
    assert any(native.artifact.listed)
    for batch in BATCHES:
        x = np.random.default_rng(batch).normal(size=(batch, 6)).astype(dtype)
        outputs = [np.full((batch + 1, n), np.pi, dtype) for n in (6, N * N, N * N)]
        native.run([x], [y[:batch] for y in outputs], batch)
        for y, wanted in zip(outputs, expected(x.astype(float)), strict=True):
            np.testing.assert_allclose(
                y[:batch], wanted.reshape(batch, -1), rtol=0, atol=1e-5 if dtype == "float32" else 1e-14
            )
            assert (y[batch] == np.asarray(np.pi, dtype)).all()  # nothing is written beyond the end


def test_single_calls_and_programs_find_them_too():
    native = build_native(products())
    x = np.random.default_rng(0).normal(size=(9, 6))
    first, M, again = expected(x)
    for found, wanted in zip(native.call_new(x[0]), (first[0], M[0], again[0]), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)
    graph = Graph()
    copied = build_native(tape_of(graph, (Port("M", (N, N)),), {"double": 2.0 * graph.inputs(0, N * N)}))
    for batch in (1, 9):
        rows, doubles = np.full((batch, N, N), np.nan), np.full((batch, N * N), np.nan)
        moves = [Gather(0, "x", x[:batch]), Run(0), Scatter(0, "M", rows), Copy((0, "again"), (1, "M")), Run(1)]
        Program((native, copied), moves, [], [Scatter(1, "double", doubles)]).run(batch, 1)
        np.testing.assert_allclose(rows, M[:batch], atol=1e-14)
        np.testing.assert_allclose(doubles.reshape(batch, N, N), 2.0 * again[:batch], atol=1e-14)
