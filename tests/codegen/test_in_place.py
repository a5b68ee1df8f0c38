"""Repetitions that work in place: where values lie, and the same bits as written out, wherever it runs."""

from __future__ import annotations

import shutil
from functools import cache

import numpy as np
import pytest

from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Chunk, Fetch, Plan, Repeat
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import graph as graph_module
from sarrus.codegen.tape.casadi_export import casadi_function
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Loop, Port, Tape, tape_of
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.repetition import repeat, sweep
from tests.codegen.random_repetitions import exact_states, random_repetitions
from tests.codegen.random_tapes import empty_outputs
from tests.codegen.test_picks import BACKENDS, compiled_c, interpreted, native, same_bits

SEEDS = range(12)
tape_of_seed = cache(random_repetitions)


@pytest.fixture(autouse=True)
def recorded_once(monkeypatch) -> None:
    """However short text is, it is not written out."""
    monkeypatch.setattr(graph_module, "TOGETHER", 0)


def planned(tape: Tape) -> Plan:
    return plan(tape, schedule(tape), 1000)


def repeats_of(tape: Tape) -> list[Repeat]:
    return [step for step in planned(tape).steps if isinstance(step, Repeat)]


def moves_of(tape: Tape) -> int:
    return sum(len(step.moves) for step in planned(tape).steps if isinstance(step, Chunk))


def _is_recursion(tape: Tape, loop: Loop) -> bool:
    """Whether an application reads what another one has made."""
    lists = [tape.lists[tape.arg[k, 1]] for k in range(loop.start, loop.stop) if tape.op[k] == Op.ENTRY]
    return any((members >= loop.stop).any() for members in lists)


def made_of(x: Array) -> Array:
    """As many values that straight-line code makes."""
    return vector(*(y * y + 0.5 for y in x))


def dot(row: Array) -> Array:
    half = len(row) // 2
    return vector(row[:half] @ row[half:], row[0] * 0.5)


# --- where values lie -------------------------------------------------------------------------------------------


def test_vectors_that_are_used_again_are_found_where_they_are():
    """Rows are pairs of vectors, each of which is in several rows: two vectors, and one of results; nothing moves."""
    graph = Graph()
    vectors = made_of(graph.inputs(0, 24)).reshape(4, 6)
    pairs = [(0, 1), (1, 0), (2, 3), (1, 3), (0, 0), (3, 2)]
    results = repeat(dot, np.array([[*vectors[i], *vectors[j]] for i, j in pairs], dtype=object))
    tape = tape_of(graph, (Port("x", (24,)),), {"y": results[:, 0] * results[:, 1]})
    (step,) = repeats_of(tape)
    assert (len(step.entries), len(step.vectors), moves_of(tape)) == (12, 3, 0)


def test_inputs_and_outputs_are_used_where_they_are():
    """Columns of a matrix are further apart than neighbours."""
    graph = Graph()
    x = graph.inputs(0, 12).reshape(3, 4)
    results = repeat(lambda row: vector(row[0] + row[1] * row[2], row[2] - row[1], row[0] * 0.5), x.T)
    tape = tape_of(graph, (Port("x", (3, 4)),), {"y": results.T})
    (step,) = planned(tape).steps
    assert isinstance(step, Repeat)
    assert len(step.vectors) == 2
    values = exact_states(5)[0][:, :12].copy()
    assert same_bits(native(tape, [values]), interpreted(tape, [values]))


def test_numbers_lie_among_the_constants():
    graph = Graph()
    x = made_of(graph.inputs(0, 8))
    sets = np.array([[y, k + 0.25, k - 0.5, 2.0] for k, y in enumerate(x)], dtype=object)
    tape = tape_of(graph, (Port("x", (8,)),), {"y": repeat(lambda r: vector(r[0] * r[1] + r[2] * r[3]), sets)})
    (step,) = repeats_of(tape)
    assert [v.is_constant for v in step.vectors] == [False, False, True]
    assert len(planned(tape).constants) == 16
    assert moves_of(tape) == 0


def test_what_cannot_lie_there_is_copied():
    """One of many is a number, one is an input, one is also elsewhere in its row."""
    graph = Graph()
    x = graph.inputs(0, 16)
    sets = made_of(x).reshape(8, 2)
    sets[3, 1], sets[4, 1], sets[5, 1] = 0.75, x[0], sets[5, 0]
    tape = tape_of(graph, (Port("x", (16,)),), {"y": repeat(lambda r: vector(r[0] - r[1] * 0.5), sets)})
    (step,) = repeats_of(tape)
    assert (len(step.vectors), len(step.places), moves_of(tape)) == (2, 3, 3)


def test_results_are_read_where_they_were_written():
    graph = Graph()
    first = repeat(lambda r: vector(r[0] + r[1], r[0] - r[1], r[1] * 0.5), made_of(graph.inputs(0, 12)).reshape(6, 2))
    again = repeat(lambda r: vector(r[0] - r[2] * r[1]), first[::-1, [2, 0, 1]])
    tape = tape_of(graph, (Port("x", (12,)),), {"y": again})
    one, other = repeats_of(tape)
    assert (len(one.vectors), len(other.vectors), moves_of(tape)) == (2, 2, 0)


def test_only_straight_text_works_in_place():
    graph = Graph()
    results = repeat(lambda r: vector(r[0].sin() * r[1]), made_of(graph.inputs(0, 8)).reshape(4, 2))
    steps = planned(tape_of(graph, (Port("x", (8,)),), {"y": results})).steps
    assert any(isinstance(step, Fetch) for step in steps)
    assert not any(isinstance(step, Repeat) for step in steps)


def test_memory_is_used_again():
    """Rows of one repetition after the other: what is done with is not kept."""

    def slots(times: int) -> int:
        graph = Graph()
        x = made_of(graph.inputs(0, 40)).reshape(20, 2)
        for _ in range(times):
            x = repeat(lambda r: vector(r[0] - r[1] * 0.5, r[1]), x)
            x = vector(*(y + 1.0 for y in x.flat)).reshape(20, 2)
        return planned(tape_of(graph, (Port("x", (40,)),), {"y": x[0]})).slots

    assert slots(12) < slots(3) + 40


# --- the same bits as written out -------------------------------------------------------------------------------


def test_random_tapes_have_everything():
    tapes = [tape_of_seed(seed) for seed in SEEDS]
    steps = [step for tape in tapes for step in repeats_of(tape)]
    assert sum(len(tape.loops) for tape in tapes) - len(steps) < len(tapes)  # but for those that end guards
    assert len(steps) > 30
    assert {bool(step.loop.updated) for step in steps} == {False, True}
    assert sum(_is_recursion(tape, loop) for tape in tapes for loop in tape.loops) > 5
    assert any(guard.start <= loop.start < guard.stop for t in tapes for guard in t.guards for loop in t.loops)
    assert any(len(step.vectors) > 12 for step in steps)  # more than there are base registers
    assert any(vector.is_constant for step in steps for vector in step.vectors)
    assert sum(bool(step.places) for step in steps) > 10


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_tapes(seed, dtype, backend, monkeypatch):
    from sarrus.codegen.emit import compile as pipeline

    tape, inputs = tape_of_seed(seed), exact_states(21, dtype, seed)
    expected = interpreted(tape, inputs)
    for x, y in zip(expected, interpreted(random_repetitions(seed, is_written_out=True), inputs), strict=True):
        np.testing.assert_array_equal(x, y)  # (where numbers fold, a zero may change its sign)
    for lanes in (1, 2, 4, 8, "auto"):
        assert same_bits(native(tape, inputs, backend=backend, lanes=lanes), expected)
    # Many functions, so that most text is too long to work in place.
    monkeypatch.setattr(pipeline, "CHUNK_SIZES", dict.fromkeys(pipeline.CHUNK_SIZES, 3))
    assert same_bits(native(tape, inputs, backend=backend), expected)


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_a_state_does_not_depend_on_its_neighbours(seed):
    tape, inputs = tape_of_seed(seed), exact_states(40, seed=seed)
    kernel, whole = build_native(tape, cache=False), native(tape, inputs)
    for batch, threads in ((1, 1), (3, 1), (6, 1), (40, 2), (37, 3)):
        outputs = empty_outputs(tape, batch)
        kernel.run([x[-batch:].copy() for x in inputs], outputs, batch, threads)
        assert same_bits(outputs, [x[-batch:] for x in whole])
    alone = kernel.call_new(*(x[2].copy() for x in inputs))
    assert same_bits([np.asarray(x).ravel() for x in alone], [x[2] for x in whole])


@pytest.mark.parametrize("backend", BACKENDS)
def test_carried_values_change_at_once(backend):
    """Three that change places, one that is what another was, one that is a number from the second time on."""

    def text(s: Array, x: Array) -> tuple[Array, Array]:
        return vector(s[1], s[2], s[0] + x[0], s[0], 1.25), vector(s[3] * 0.5 + s[4] - x[1])

    graph = Graph()
    x = graph.inputs(0, 30)
    state, results = sweep(text, x[:5], made_of(x[5:25]).reshape(10, 2))
    tape = tape_of(graph, (Port("x", (30,)),), {"state": state, "results": results})
    assert len(repeats_of(tape)) == 1
    inputs = exact_states(9)
    assert same_bits(native(tape, inputs, backend=backend), interpreted(tape, inputs))


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_values_than_registers(backend):
    """All columns are vectors of their own, all values are needed until the end, and one is far from the others."""
    graph = Graph()
    rng = np.random.default_rng(3)
    x = made_of(graph.inputs(0, 30))

    def text(row: Array) -> Array:
        differences = [a - b * 0.5 for a, b in zip(row, row[::-1], strict=True)]
        return vector(*(a + b for a, b in zip(differences, row, strict=True)))

    results = repeat(text, x[rng.integers(30, size=(7, 24))])
    tape = tape_of(graph, (Port("x", (30,)),), {"y": results.T[:, ::-1], "z": results})
    (step,) = repeats_of(tape)
    assert len(step.vectors) > 20
    inputs = exact_states(9)
    assert same_bits(native(tape, inputs, backend=backend), interpreted(tape, inputs))
    assert same_bits(native(tape, inputs, backend=backend, lanes=1), interpreted(tape, inputs))


def test_kernels_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path))
    tape, inputs = tape_of_seed(1), exact_states(6)
    kernels = [build_native(tape) for _ in range(2)]
    assert [kernel.from_cache for kernel in kernels] == [False, True]
    for kernel in kernels:
        outputs = empty_outputs(tape, 6)
        kernel.run(inputs, outputs, 6)
        assert same_bits(outputs, interpreted(tape, inputs))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize("seed", SEEDS[:5])
def test_c(seed, tmp_path):
    tape, inputs = tape_of_seed(seed), exact_states(13, seed=seed)
    assert same_bits(compiled_c(tape, tmp_path, inputs), interpreted(tape, inputs))


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_casadi(seed):
    tape, inputs = tape_of_seed(seed), exact_states(3)
    function, expected = casadi_function(tape, "in_place"), interpreted(tape, inputs)
    for k in range(3):
        for got, wanted in zip(function(*(x[k] for x in inputs)), expected, strict=True):
            np.testing.assert_array_equal(np.array(got).ravel(), wanted[k])
    assert Op.ENTRY in tape.op
