"""Text for many sets of values: recorded once, the same bits as written out, wherever it runs."""

from __future__ import annotations

import shutil
from functools import cache

import numpy as np
import pytest

from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import graph as graph_module
from sarrus.codegen.tape.casadi_export import casadi_function
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.repetition import repeat, sweep, written_out
from tests.codegen.random_picks import picking_states
from tests.codegen.random_sweeps import random_sweeps
from tests.codegen.random_tapes import empty_outputs
from tests.codegen.test_picks import BACKENDS, compiled_c, interpreted, native, same_bits

SEEDS = range(8)
tape_of_seed = cache(random_sweeps)


@pytest.fixture
def recorded_once(monkeypatch) -> None:
    """However short text is, it is not written out."""
    monkeypatch.setattr(graph_module, "TOGETHER", 0)


def horner(state, values):
    """A polynomial of state[1], coefficient by coefficient; every intermediate value is a result."""
    y = state[0] * state[1] + values[0]
    return vector(y, state[1]), vector(y)


def polynomial_tape(degree: int) -> Tape:
    graph = Graph()
    x, coefficients = graph.inputs(0, 1), graph.inputs(1, degree + 1)
    last, partial = sweep(horner, vector(0.0, x[0]), coefficients[:, None])
    return tape_of(graph, (Port("x", (1,)), Port("c", (degree + 1,))), {"y": last[:1], "partial": partial[:, 0]})


# --- what it means ----------------------------------------------------------------------------------------------


def test_floats():
    last, partial = sweep(horner, np.array([0.0, 2.0]), np.array([[1.0], [0.0], [-3.0]]))
    np.testing.assert_array_equal(last, [1.0, 2.0])
    np.testing.assert_array_equal(partial, [[1.0], [2.0], [1.0]])
    sets = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(
        repeat(lambda x: vector(x[0] * x[1], x[0]), sets), [[0.0, 0.0], [6.0, 2.0], [20.0, 4.0]]
    )
    with pytest.raises(ValueError, match="no set of values"):
        repeat(lambda x: x, np.zeros((0, 2)))


@pytest.mark.parametrize("together", [0, 9, 15, 1000])
def test_polynomials(together, monkeypatch):
    monkeypatch.setattr(graph_module, "TOGETHER", together)
    tape = polynomial_tape(9)
    assert len(tape.loops) == (together < 1000)
    assert tape.op_count.total == (20 if tape.loops else 18)  # written out, 0 x + c is known to be c
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=(7, 1)), rng.normal(size=(7, 10))
    expected = np.array([np.polyval(row, x0) for row, (x0,) in zip(c, x, strict=True)])
    for got in (interpreted(tape, [x, c]), native(tape, [x, c]), native(tape, [x, c], lanes=1)):
        np.testing.assert_allclose(got[0][:, 0], expected, rtol=1e-12)
        np.testing.assert_array_equal(got[0][:, 0], got[1][:, -1])


# --- what is recorded -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("recorded_once")
def test_text_is_recorded_once_and_counted_as_often_as_it_is_done():
    for degree in (3, 50):
        tape = polynomial_tape(degree)
        computing = [Op(op) for op in tape.op if op in (Op.ADD, Op.MUL)]
        assert computing == [Op.MUL, Op.ADD]
        assert tape.op_count.by_kind == {"add": degree + 1, "mul": degree + 1, "div": 0, "sqrt": 0, "trig": 0}
        assert tape.op_count.per_iteration == 0
    graph = Graph()
    c = graph.inputs(0, 5)
    once = tape_of(graph, (Port("c", (5,)),), {"y": repeat(lambda x: vector(x[0].sin() * 2.0), c[:, None])})
    assert (once.op_count.total, once.op_count.by_kind["trig"]) == (10, 5)


@pytest.mark.usefixtures("recorded_once")
def test_what_is_the_same_in_all_sets_folds_and_moves_out():
    graph = Graph()
    a = graph.inputs(0, 4)
    sets = np.array([[x, 0.0, 2.0, a[0]] for x in a], dtype=object)
    results = repeat(lambda x: vector(x[0] * x[1] + x[2], x[0] + x[3] * x[3], x[0], x[3], x[0] + x[3] * x[3]), sets)
    assert (results[:, 0] == 2.0).all()
    assert all(x is y for x, y in zip(results[:, 2], a, strict=True))
    assert all(x is a[0] for x in results[:, 3])
    assert all(x is y for x, y in zip(results[:, 4], results[:, 1], strict=True))
    tape = tape_of(graph, (Port("a", (4,)),), {"y": results[:, 1]})
    (loop,) = tape.loops
    assert [Op(op) for op in tape.op[loop.start : loop.stop]] == [Op.ENTRY, Op.ADD]
    assert list(tape.op).count(Op.MUL) == 1


@pytest.mark.usefixtures("recorded_once")
def test_numbers_of_the_state_that_stay_are_not_carried():
    graph = Graph()
    a = graph.inputs(0, 4)
    last, _ = sweep(lambda s, x: (vector(s[0] + x[0] * s[1], s[1]), x), vector(0.0, 1.0), a[:, None])
    assert last[1] == 1.0
    tape = tape_of(graph, (Port("a", (4,)),), {"y": last[:1]})
    assert Op.MUL not in tape.op
    assert len(tape.loops[0].updated) == 1


@pytest.mark.usefixtures("recorded_once")
def test_what_nobody_needs_is_gone():
    graph = Graph()
    a = graph.inputs(0, 4)
    results = repeat(lambda x: vector(x[0] * 3.0, x[0].sin()), a[:, None])
    tape = tape_of(graph, (Port("a", (4,)),), {"y": results[1:3, 0]})
    assert Op.SIN not in tape.op
    assert list(tape.op).count(Op.COLLECTED) == 2
    assert tape_of(graph, (Port("a", (4,)),), {"y": a * 2.0}).loops == ()


def test_short_text_is_written_out_some_times():
    """As often as makes it worth a loop, and what is left after that; not if it works in place, and there is enough."""
    size, count = 7, 200
    x = np.random.default_rng(0).normal(size=(size, count))
    for square, expected, turns in (
        (lambda x: vector(x[0].sin() * x[0] + 1.0), np.sin(x) * x + 1.0, range(2, count // 2)),
        (lambda x: vector(x[0] * x[0] * x[0] + 1.0), x * x * x + 1.0, [count]),
    ):
        graph = Graph()
        results = repeat(square, graph.inputs(0, count)[:, None])
        tape = tape_of(graph, (Port("a", (count,)),), {"y": results})
        (loop,) = tape.loops
        assert loop.limit in turns
        assert loop.stop - loop.start < graph_module.TOGETHER
        assert tape.op_count.total == 3 * count
        np.testing.assert_allclose(native(tape, [x])[0], expected, rtol=1e-14, atol=1e-15)
        graph = Graph()
        a = graph.inputs(0, 20)
        assert tape_of(graph, (Port("a", (20,)),), {"y": repeat(square, a[:, None])}).loops == ()


def test_recursions_in_place_are_written_out_a_few_times():
    graph = Graph()
    a = graph.inputs(0, 201)
    last, _ = sweep(lambda s, x: (s * x + s * s, x), a[:1], a[1:, None])
    tape = tape_of(graph, (Port("a", (201,)),), {"y": last})
    (loop,) = tape.loops
    assert 2 < loop.limit < 50
    assert loop.stop - loop.start < graph_module.TOGETHER / 3


def test_one_set_is_no_repetition():
    graph = Graph()
    a = graph.inputs(0, 1)
    assert repeat(lambda x: x * 2.0, a[:, None])[0, 0] is a[0] * 2.0
    assert graph.loops == []


@pytest.mark.usefixtures("recorded_once")
def test_inside_of_a_loop_it_is_written_out():
    graph = Graph()
    a = graph.inputs(0, 3)

    def step(state):
        y = repeat(lambda x: vector(x[0] * x[0]), state[0][:, None])[:, 0]
        return (y,), choose(1e-3, y[0], 1.0, 0.0)

    (x,), _ = iterate(step, (a,), 9)
    tape = tape_of(graph, (Port("a", (3,)),), {"y": x})
    assert [loop.is_repetition for loop in tape.loops] == [False]
    nested = repeat(lambda x: repeat(lambda y: y * 2.0, vector(*x, 1.0)[:, None])[:, 0], a[:, None])
    assert nested.shape == (3, 2)


@pytest.mark.usefixtures("recorded_once")
def test_what_cannot_be_recorded_is_said():
    graph = Graph()
    a = graph.inputs(0, 3)
    with pytest.raises(UnsupportedError, match="inside the step of another"):
        repeat(lambda x: iterate(lambda s: ((s[0] * 0.5,), s[0][0] - 1.0), (x,), 9)[0][0], a[:, None])
    kept = []

    def text(x):
        kept.append(x[0] * 2.0)
        return x * 3.0

    repeat(text, a[:, None])
    with pytest.raises(UnsupportedError, match="used outside"):
        tape_of(graph, (Port("a", (3,)),), {"y": vector(kept[-1])})


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_and_back(seed):
    tape = tape_of_seed(seed)
    again = Tape.from_bytes(tape.to_bytes())
    assert (again.digest, again.loops, again.guards) == (tape.digest, tape.loops, tape.guards)


# --- the same bits as written out, wherever it runs --------------------------------------------------------------


def test_random_tapes_have_repetitions_everywhere():
    tapes = [tape_of_seed(seed) for seed in SEEDS]
    repetitions = [(tape, loop) for tape in tapes for loop in tape.loops if loop.is_repetition]
    guarded = [loop for tape, loop in repetitions for guard in tape.guards if guard.start <= loop.start < guard.stop]
    assert len(repetitions) > 15
    assert len(guarded) > 2
    assert {bool(loop.updated) for _, loop in repetitions} == {False, True}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("together", [0, 40])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_tapes(seed, together, dtype, backend, monkeypatch):
    from sarrus.codegen.emit import compile as pipeline

    tape, inputs = tape_of_seed(seed, together=together), picking_states(21, dtype, seed)
    expected = interpreted(random_sweeps(seed, written_out), inputs)
    assert same_bits(interpreted(tape, inputs), expected)
    for lanes in (1, 2, 4, "auto"):
        assert same_bits(native(tape, inputs, backend=backend, lanes=lanes), expected)
    # Many functions, so that most values go through the workspace.
    monkeypatch.setattr(pipeline, "CHUNK_SIZES", dict.fromkeys(pipeline.CHUNK_SIZES, 3))
    assert same_bits(native(tape, inputs, backend=backend), expected)


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_state_does_not_depend_on_its_neighbours(seed):
    tape, inputs = tape_of_seed(seed), picking_states(13, seed=seed)
    kernel, whole = build_native(tape, cache=False), native(tape, inputs)
    for batch in (1, 3, 6):
        outputs = empty_outputs(tape, batch)
        kernel.run([x[-batch:].copy() for x in inputs], outputs, batch)
        assert same_bits(outputs, [x[-batch:] for x in whole])
    alone = kernel.call_new(*(x[2].copy() for x in inputs))
    assert same_bits([np.asarray(x).ravel() for x in alone], [x[2] for x in whole])


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_c(seed, dtype, tmp_path, monkeypatch):
    from sarrus.codegen.tape import c_export

    monkeypatch.setattr(c_export, "_CHUNK", 4)
    tape, inputs = tape_of_seed(seed), picking_states(13, dtype, seed)
    assert same_bits(compiled_c(tape, tmp_path, inputs), interpreted(tape, inputs))


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_casadi(seed):
    tape, inputs = tape_of_seed(seed), picking_states(5, seed=seed)
    function, expected = casadi_function(tape, "swept"), interpreted(tape, inputs)
    for k in range(5):
        for got, wanted in zip(function(*(x[k] for x in inputs)), expected, strict=True):
            np.testing.assert_array_equal(np.array(got).ravel(), wanted[k])
