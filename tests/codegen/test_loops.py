"""Loops: one recorded application of a step, repeated per state until it is done, the same wherever it runs."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sarrus.codegen.emit import host
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.c_export import write_c
from sarrus.codegen.tape.casadi_export import casadi_function
from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.codegen.tape.tape import Loop, Port, Tape, tape_of
from sarrus.errors import UnsupportedError
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.stages import stage
from tests.codegen.random_tapes import empty_outputs, random_inputs

LANES = [1, 2, 4, 8]


def array(*values) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


# --- problems: text that runs on floats and on symbols ----------------------------------------------------------


def newton_root(a, limit: int = 60):
    """The square root of a by Newton's method, and how many steps it took: more, the further a is from 1."""

    def step(state):
        (x,) = state
        following = 0.5 * (x + a / x)
        return (following,), choose(1e-13 * x[0], abs(following[0] - x[0]), 1.0, 0.0)

    (x,), count = iterate(step, (array(1.0),), limit)
    return {"root": x, "count": np.array(count, dtype=object)}


def fixed_point(b, limit: int = 200):
    """x = A x + b with ||A|| < 1 that depends on b: an iteration on a vector, with work before and after it."""
    A = np.array([[0.3, -0.2, 0.0], [0.1, 0.25, 0.3], [0.0, 0.2, -0.4]]) / (1.0 + b[0] * b[0])  # a loop invariant

    def step(state):
        x, _ = state
        following = A @ x + b
        moved = following - x
        return (following, array(moved @ moved)), choose(1e-20, moved @ moved, 1.0, 0.0)

    (x, moved), count = iterate(step, (np.zeros(3), np.ones(1)), limit)
    residual = A @ x + b - x  # the same text as inside, but of the final x
    return {"x": x, "moved": moved, "count": np.array(count, dtype=object), "residual": residual}


def two_in_sequence(a):
    """A root, then the angle whose cosine is a function of that root, with sines and cosines inside the loop."""
    first = newton_root(abs(a[:1]) + 0.5)
    target = 1.0 / (1.0 + first["root"][0])

    def step(state):
        (x,) = state
        following = x - (np.cos(x) - target) / (-np.sin(x))
        return (following,), choose(1e-12, abs(following[0] - x[0]), 1.0, 0.0)

    (angle,), count = iterate(step, (a[1:2] * 0.01 + 1.0,), 30)
    counts = array(first["count"][()], count)
    return {"root": first["root"], "angle": angle, "counts": counts, "sum": angle + first["root"]}


def swap(a):
    """Values that change places: all carried values change at once."""

    def step(state):
        (x, y, n) = state
        return (y, x, n + a[2:]), choose(n[0], 5.0, 1.0, 0.0)

    (x, y, n), count = iterate(step, (a[:1], a[1:2], np.zeros(1)), 9)
    return {"xyn": np.concatenate([x, y, n]), "count": np.array(count, dtype=object)}


def nothing_but_the_limit(a):
    """A step that never stops by itself."""

    def step(state):
        (x,) = state
        return (np.sin(x) + a,), 1.0

    (x,), count = iterate(step, (a,), 7)
    return {"x": x, "count": np.array(count, dtype=object)}


PROBLEMS = {
    "newton_root": (newton_root, 1, lambda x: np.exp(5.0 * x)),
    "newton_root_limited": (lambda a: newton_root(a, 4), 1, lambda x: np.exp(5.0 * x)),
    "fixed_point": (fixed_point, 3, lambda x: 2.0 * x),
    "two_in_sequence": (two_in_sequence, 2, lambda x: x),
    "swap": (swap, 3, lambda x: np.abs(x)),
    "nothing_but_the_limit": (nothing_but_the_limit, 2, lambda x: x),
}


@cache
def traced(name: str) -> Tape:
    function, size, _ = PROBLEMS[name]
    graph = Graph()
    return tape_of(graph, (Port("a", (size,)),), function(graph.inputs(0, size)))


@cache
def compiled(name: str, lanes: int | str = "auto"):
    return build_native(traced(name), lanes=lanes, cache=False)


def states(name: str, batch: int) -> np.ndarray:
    _, size, shaped = PROBLEMS[name]
    return shaped(np.random.default_rng(3).normal(size=(batch, size)))


def eager(name: str, a: np.ndarray) -> list[np.ndarray]:
    """One state after the other, on floats, in plain Python."""
    rows = [[np.asarray(x, float).ravel() for x in PROBLEMS[name][0](row).values()] for row in a]
    return [np.array(column) for column in zip(*rows, strict=True)]


def interpreted(tape: Tape, a: np.ndarray) -> list[np.ndarray]:
    results = interpret.run(tape, [a.T])
    return [np.array([np.broadcast_to(v, len(a)) for v in result]).T for result in results]


def run(native, tape: Tape, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    outputs = empty_outputs(tape, len(inputs[0]), str(native.dtype))
    native.run(inputs, outputs, len(inputs[0]), threads)
    return outputs


def same_bits(got, expected) -> bool:
    return all(x.tobytes() == np.ascontiguousarray(y).tobytes() for x, y in zip(got, expected, strict=True))


def near(got, expected) -> None:
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x, y.reshape(x.shape), rtol=1e-9, atol=1e-9)


# --- every way of running a tape --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_interpreted_is_eager(name):
    a = states(name, 41)
    near(interpreted(traced(name), a), eager(name, a))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("lanes", LANES)
def test_native_is_interpreted(name, lanes):
    tape, a = traced(name), states(name, 41)
    near(run(compiled(name, lanes), tape, [a]), interpreted(fuse(tape), a))


@pytest.mark.parametrize("name", PROBLEMS)
def test_fused_is_not(name):
    tape, a = traced(name), states(name, 11)
    fused = fuse(tape)
    assert [loop.limit for loop in fused.loops] == [loop.limit for loop in tape.loops]
    near(interpreted(fused, a), interpreted(tape, a))


@pytest.mark.parametrize("name", PROBLEMS)
def test_same_bits_in_every_batch_size_position_lanes_and_threads(name):
    tape, a = traced(name), states(name, 37)
    native = compiled(name)
    whole = run(native, tape, [a])
    for lanes in (*LANES, 16):
        assert same_bits(run(compiled(name, lanes), tape, [a]), whole)
    for batch in range(1, 37):
        start = (37 - batch) // 2
        part = run(native, tape, [a[start : start + batch].copy()])
        assert same_bits(part, [x[start : start + batch] for x in whole])
    shuffled = np.random.default_rng(0).permutation(37)
    assert same_bits(run(native, tape, [a[shuffled]]), [x[shuffled] for x in whole])
    for threads in (2, 5):
        assert same_bits(run(native, tape, [a], threads), whole)
    alone = native.call_new(a[7].copy())
    assert same_bits([np.asarray(x).ravel() for x in alone], [x[7] for x in whole])


def test_the_counts_differ_from_lane_to_lane():
    a = states("newton_root", 41)
    count = interpreted(traced("newton_root"), a)[1]
    assert len(np.unique(count)) > 5
    limited = interpreted(traced("newton_root_limited"), a)[1]
    np.testing.assert_array_equal(limited, np.minimum(count, 4.0))


def test_float32():
    tape, a = traced("fixed_point"), states("fixed_point", 21).astype("float32")
    native = build_native(tape, "float32", cache=False)
    got = run(native, tape, [a])
    np.testing.assert_allclose(got[0], interpreted(tape, a.astype(float))[0], rtol=1e-4, atol=1e-4)
    assert same_bits(run(build_native(tape, "float32", 1, cache=False), tape, [a]), got)


def test_without_fma(monkeypatch):
    monkeypatch.setattr(host, "has_fma", lambda: False)
    tape, a = traced("two_in_sequence"), states("two_in_sequence", 13)
    got = run(build_native(tape, cache=False), tape, [a])
    near(got, interpreted(tape, a))
    assert same_bits(run(build_native(tape, lanes=1, cache=False), tape, [a]), got)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -1.0, 0.0])
@pytest.mark.parametrize("name", ["newton_root", "fixed_point", "two_in_sequence"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_state_without_an_end_stops_and_disturbs_no_other(name, poison):
    tape, a, native = traced(name), states(name, 9), compiled(name)
    clean = run(native, tape, [a])
    for bad in range(9):
        spoilt = a.copy()
        spoilt[bad] = poison
        got = run(native, tape, [spoilt])
        others = np.arange(9) != bad
        assert same_bits([x[others] for x in got], [x[others] for x in clean])
        alone = native.call_new(spoilt[bad])
        assert all(np.array_equal(np.ravel(x), y[bad], equal_nan=True) for x, y in zip(alone, got, strict=True))
        near(got, interpreted(fuse(tape), spoilt))
        if np.isnan(poison) and name == "newton_root":
            assert got[1][bad] == 1.0  # a condition that is not a number stops


@pytest.mark.parametrize("name", PROBLEMS)
def test_as_casadi(name):
    tape, a = traced(name), states(name, 5)
    function = casadi_function(tape, "f")
    for row in a:
        got = function(row)
        got = got if isinstance(got, tuple) else (got,)
        near([np.array(x).ravel() for x in got], [x[0] for x in interpreted(tape, row[None])])


def test_too_long_for_casadi():
    def step(state):
        (x,) = state
        return (x * 0.5 + 1.0,), choose(1.0, x[0], 1.0, 0.0)

    graph = Graph()
    (x,), _ = iterate(step, (graph.inputs(0, 1),), 10**7)
    tape = tape_of(graph, (Port("x", (1,)),), {"y": x})
    with pytest.raises(UnsupportedError, match="CasADi has no loops: writing out 10000000 iterations"):
        casadi_function(tape, "f")
    x = np.full((3, 1), 3.0)
    near(run(build_native(tape, cache=False), tape, [x]), [np.full((3, 1), 2.0)])  # all others need not write it out


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.parametrize("name", PROBLEMS)
def test_as_c(name, tmp_path: Path):
    tape, a = traced(name), states(name, 7)
    source = write_c(tape, tmp_path, "looped", np.dtype("float64"))
    library = tmp_path / "looped.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off", "-O1", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    assert source.read_text().count("for (") == len(tape.loops)
    assert "in every iteration" in source.with_suffix(".h").read_text()
    function = ctypes.CDLL(str(library)).looped
    for row in a:
        outputs = [np.empty(port.size) for port in tape.outputs]
        function(*(ctypes.c_void_p(x.ctypes.data) for x in (np.ascontiguousarray(row), *outputs)))
        near(outputs, [x[0] for x in interpreted(tape, row[None])])


def test_bytes_pickles_and_digests():
    tapes = {name: traced(name) for name in PROBLEMS}
    assert len({tape.digest for tape in tapes.values()}) == len(tapes)  # two differ in their limits only
    for name, tape in tapes.items():
        a = states(name, 3)
        for again in (Tape.from_bytes(tape.to_bytes()), pickle.loads(pickle.dumps(tape))):
            assert again.digest == tape.digest
            assert again.loops == tape.loops
            assert same_bits(interpreted(again, a), interpreted(tape, a))


def test_kernels_are_cached_and_pickled(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path))
    tape, a = traced("fixed_point"), states("fixed_point", 9)
    native = build_native(tape)
    expected = run(native, tape, [a])
    for again in (build_native(tape), pickle.loads(pickle.dumps(native))):
        assert again.from_cache
        assert same_bits(run(again, tape, [a]), expected)
    assert not build_native(traced("newton_root")).from_cache
    assert not build_native(traced("newton_root_limited")).from_cache


def test_long_steps_are_cut_into_functions(monkeypatch):
    """More values than registers, several functions and tables inside the loop, values that live across all of them."""
    from sarrus.codegen.emit import compile as pipeline

    monkeypatch.setattr(pipeline, "CHUNK_SIZES", dict.fromkeys(pipeline.CHUNK_SIZES, 150))
    rng = np.random.default_rng(8)
    weights = rng.normal(size=(24, 24)) / 36.0

    def problem(b):
        invariant = np.sin(b) * 1.5

        def step(state):
            (x,) = state
            following = weights @ np.sin(x + invariant) + np.cos(weights.T @ x) * b
            moved = following - x
            return (following,), choose(1e-22, moved @ moved, 1.0, 0.0)

        (x,), count = iterate(step, (np.full(24, 0.5),), 100)
        return x * invariant, count

    graph = Graph()
    x, count = problem(graph.inputs(0, 24))
    tape = tape_of(graph, (Port("b", (24,)),), {"x": x, "count": np.array(count, dtype=object)})
    (b,) = random_inputs(tape, 10)
    b *= 0.3
    expected = [problem(row) for row in b]
    whole = None
    for lanes in LANES:
        native = build_native(tape, lanes=lanes, cache=False)
        assert native.stats["functions"] > 10
        got = run(native, tape, [b])
        np.testing.assert_allclose(got[0], np.array([x for x, _ in expected]), rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(got[1].ravel(), [n for _, n in expected])
        assert whole is None or same_bits(got, whole)
        whole = got


# --- what is recorded -------------------------------------------------------------------------------------------


def test_one_application_is_recorded():
    tape = traced("newton_root")
    (loop,) = tape.loops
    assert loop.limit == 60
    assert [Op(op) for op in tape.op[loop.start : loop.start + 2]] == [Op.CARRIED, Op.CARRIED]
    assert loop.carried == range(loop.start, loop.start + 2)
    assert list(tape.op).count(Op.DIV) == 1
    assert list(tape.op).count(Op.CARRIED) == 2  # the root and the count
    assert list(tape.segments) == [(0, loop.start, None), (loop.start, loop.stop, loop)]


def test_what_does_not_change_is_computed_before_the_loop():
    graph = Graph()
    a, b = graph.inputs(0, 2)

    def step(state):
        (x,) = state
        return (x * (a / b).sin() + a * b,), choose(1.0, x[0], 1.0, 0.0)

    (x,), _ = iterate(step, (array(a),), 10)
    tape = tape_of(graph, (Port("a", (2,)),), {"x": x})
    (loop,) = tape.loops
    kinds = [Op(op) for op in tape.op[loop.start : loop.stop]]
    assert sorted(kinds) == sorted([Op.CARRIED, Op.MUL, Op.ADD, Op.LESS, Op.SELECT])  # an unused count is not there
    # ... and stays there: the product a b is not absorbed by the addition inside
    assert Op.MUL in fuse(tape).op[: fuse(tape).loops[0].start]
    count = tape.op_count
    assert count.per_iteration == 4
    assert count.total == 7
    assert count.after(3) == 15


def test_numbers_that_stay_and_elements_handed_through_are_not_carried():
    graph = Graph()
    (a,) = graph.inputs(0, 1)

    def step(state):
        x, fixed, passed = state
        return (
            array(0.5 * x[0] + fixed[1] * x[1] + passed[0], -x[1]), fixed, passed
        ), choose(0.1, x[0], 1.0, 0.0)  # fmt: skip

    (x, fixed, passed), _ = iterate(step, (array(a, 0.0), np.array([2.0, 3.0]), array(a * a)), 10)
    assert (x[1], fixed[0], fixed[1]) == (0.0, 2.0, 3.0)
    assert passed[0] is a * a
    tape = tape_of(graph, (Port("a", (1,)),), {"x": x})
    assert [len(loop.updated) for loop in tape.loops] == [1]


def test_numbers_that_change_are_carried():
    """Zeros that become symbols one after the other; numbers that only count."""

    def shift(a, limit=6):
        def step(state):
            x, n = state
            return (np.concatenate([a, x[:-1]]), n + 1.0), choose(n[0], 4.0, 1.0, 0.0)

        return iterate(step, (np.zeros(7), np.zeros(1)), limit)

    graph = Graph()
    (x, n), count = shift(graph.inputs(0, 1))
    assert all(isinstance(y, Symbol) for y in n)
    tape = tape_of(graph, (Port("a", (1,)),), {"x": x, "n": n, "count": np.array(count, dtype=object)})
    a = np.array([[2.0], [3.0]])
    got = run(build_native(tape, cache=False), tape, [a])
    for row, (x, n, count) in zip(a, zip(*got, strict=True), strict=True):
        (y, m), times = shift(row)
        assert (x == y).all()
        assert (n == m).all()
        assert count == times == 5.0


def test_limits_of_nothing_and_of_one():
    graph = Graph()
    a = graph.inputs(0, 1)

    def step(state):
        return (state[0] * 2.0,), 1.0

    assert iterate(step, (a,), 0) == ((a,), 0.0)
    (x,), count = iterate(step, (a,), 1)
    assert (x[0], count) == (a[0] * 2.0, 1.0)
    (x,), count = iterate(lambda state: (step(state)[0], 0.0), (a,), 50)  # done at once, and known to be
    assert (x[0], count) == (a[0] * 2.0, 1.0)
    assert graph.loops == []
    (x,), count = iterate(step, (a,), 3)
    assert count == 3.0  # never done before the limit: a number
    assert len(graph.loops) == 1


def test_floats_count_and_stop_as_symbols_do():
    def step(state):
        return (state[0] + 1.0,), float("nan") if state[0][0] > 1.0 else 1.0

    (x,), count = iterate(step, (np.zeros(1),), 10)
    assert (x[0], count) == (3.0, 3.0)
    (x,), count = iterate(step, (np.zeros(1),), 2)
    assert (x[0], count) == (2.0, 2.0)


def test_a_loop_that_nobody_needs_is_gone():
    graph = Graph()
    a = graph.inputs(0, 1)
    newton_root(a)
    tape = tape_of(graph, (Port("a", (1,)),), {"y": a * 3.0})
    assert tape.loops == ()
    assert [Op(op) for op in tape.op] == [Op.INPUT, Op.CONST, Op.MUL]


def test_carried_values_that_nobody_needs_are_gone():
    graph = Graph()
    a = graph.inputs(0, 1)

    def step(state):
        x, total, forgotten = state
        return (x * 0.5, total + x, forgotten + np.sin(total)), choose(1e-3, x[0], 1.0, 0.0)

    (x, total, forgotten), count = iterate(step, (a, np.zeros(1), np.zeros(1)), 50)
    sizes = {}
    for name, value in {"x": x, "total": total, "forgotten": forgotten, "count": array(count)}.items():
        sizes[name] = [len(loop.updated) for loop in tape_of(graph, (Port("a", (1,)),), {"y": value}).loops]
    assert sizes == {"x": [1], "total": [2], "forgotten": [3], "count": [2]}


def test_expressions_of_the_final_value_are_not_those_inside():
    """The same text inside and after the loop: hash-consing must not find the old one."""
    graph = Graph()
    (a,) = graph.inputs(0, 1)

    def step(state):
        (x,) = state
        return (x - (x * x - a) / (2.0 * x),), choose(1e-12, abs(x[0] * x[0] - a), 1.0, 0.0)

    (x,), _ = iterate(step, (array(a + 1.0),), 50)
    tape = tape_of(graph, (Port("a", (1,)),), {"off": array(x[0] * x[0] - a), "x": x})
    values = np.array([[2.0], [3.0], [1e5]])
    off, root = interpreted(tape, values)
    np.testing.assert_array_equal(off, root * root - values)


def test_stages_are_recorded():
    graph = Graph()
    a = graph.inputs(0, 1)
    with stage("iterations"):
        result = newton_root(a)
    count = tape_of(graph, (Port("a", (1,)),), result).op_count
    assert count.by_stage == {"iterations": count.total}
    assert count.per_iteration == count.total


def test_outputs_that_are_carried_values_repeated_and_initial_values():
    graph = Graph()
    a = graph.inputs(0, 2)

    def step(state):
        (x,) = state
        return (np.array([x[1], x[0] + x[1]], dtype=object),), choose(x[1], 50.0, 1.0, 0.0)

    (x,), count = iterate(step, (a,), 20)
    outputs = {"x": np.array([x[0], x[0], x[1], a[0]], dtype=object), "y": x, "count": array(count, count)}
    tape = tape_of(graph, (Port("a", (2,)),), outputs)
    values = np.array([[0.0, 1.0], [1.0, 1.0], [60.0, 70.0], [3.0, -3.0], [2.0, 7.0]])
    for lanes in LANES:
        assert same_bits(run(build_native(tape, lanes=lanes, cache=False), tape, [values]), interpreted(tape, values))


# --- what is refused --------------------------------------------------------------------------------------------


def test_nested_iterations_are_refused():
    graph = Graph()
    a = graph.inputs(0, 1)

    def step(state):
        return (newton_root(state[0])["root"],), 1.0

    with pytest.raises(UnsupportedError, match="inside the step of another"):
        iterate(step, (a,), 5)
    assert newton_root(a)["root"][0] is not None  # the graph is whole after a step that raised


def test_values_that_leave_a_step_by_another_way_are_refused():
    graph = Graph()
    a = graph.inputs(0, 1)
    kept = []

    def step(state):
        (x,) = state
        kept.append(x * 3.0)
        return (x * 0.5,), choose(1.0, x[0], 1.0, 0.0)

    (x,), _ = iterate(step, (a,), 5)
    for value in (kept[-1], kept[-1] + x):
        with pytest.raises(UnsupportedError, match="return it as part of the state"):
            tape_of(graph, (Port("a", (1,)),), {"y": value})
    (y,), _ = iterate(lambda s: ((s[0] + kept[-1],), choose(1.0, s[0][0], 1.0, 0.0)), (a,), 5)
    with pytest.raises(UnsupportedError, match="return it as part of the state"):
        tape_of(graph, (Port("a", (1,)),), {"y": y})


def test_a_step_keeps_shapes():
    graph = Graph()
    with pytest.raises(ValueError, match=r"took arrays of shapes \[\(2,\)\] and returned \[\(1,\)\]"):
        iterate(lambda state: ((state[0][:1],), 1.0), (graph.inputs(0, 2),), 5)


def test_a_loop_is_data():
    loop = Loop(3, 9, (5, 6), 7, 10)
    assert list(loop.carried) == [3, 4]
    assert loop == Loop(3, 9, (5, 6), 7, 10)


# --- random loops: every value in the right place at the right time ----------------------------------------------


def random_loops(seed: int) -> Tape:
    """Straight-line code, a loop, straight-line code, a loop, straight-line code; each uses values of all before it."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    values = list(graph.inputs(0, 6))

    def mixed(pool: list, count: int) -> list:
        pool = list(pool)
        for _ in range(count):
            a, b, c = (pool[int(i)] for i in rng.integers(len(pool), size=3))
            kind = rng.integers(8)
            if kind < 4:
                new = a * b * 0.5 + c
            elif kind == 4:
                new = graph.lift(a).sin() + b
            elif kind == 5:
                new = graph.binary(Op.ATAN2, a, b) - c
            elif kind == 6:
                new = choose(a, b, c, a + 1.0)
            else:
                new = a - b * 0.25
            new = graph.lift(new)
            pool.append(new / (1.0 + 0.25 * (new * new)))
        return pool

    for _ in range(2):
        values = mixed(values, 15)
        carried = int(rng.integers(1, 7))
        start = array(*(values[int(i)] for i in rng.integers(len(values), size=carried)))
        if rng.random() < 0.5:
            start[0] = 0.25
        seed_of_step = int(rng.integers(1 << 30))
        known = list(values)

        def step(state, seed_of_step=seed_of_step, known=known):
            nonlocal rng
            outer, rng = rng, np.random.default_rng(seed_of_step)  # the same step in every attempt
            x, n = state
            pool = mixed([*x, *known], 30)
            following = array(*(pool[int(i)] for i in rng.integers(len(pool), size=len(x))))
            if rng.random() < 0.3:
                following = np.concatenate([following[1:], x[:1]])
            go_on = choose(pool[-1], rng.normal(), choose(n[0], float(rng.integers(3, 12)), 1.0, 0.0), 0.0)
            rng = outer
            return (following, n + 1.0), go_on

        (x, n), count = iterate(step, (start, np.zeros(1)), int(rng.integers(2, 15)))
        values += [*x, *n, count]
    values = mixed(values, 15)
    picks = array(*(values[int(i)] for i in rng.integers(len(values), size=7)))
    return tape_of(graph, (Port("a", (6,)),), {"x": picks, "y": array(*values[-5:])})


@pytest.mark.parametrize("seed", range(6))
def test_random_loops(seed, monkeypatch):
    from sarrus.codegen.emit import compile as pipeline

    # Many functions, so that most values go through the workspace.
    monkeypatch.setattr(pipeline, "CHUNK_SIZES", dict.fromkeys(pipeline.CHUNK_SIZES, 6))
    tape = random_loops(seed)
    (a,) = random_inputs(tape, 13, seed=seed)
    expected = interpreted(tape, a)
    whole = None
    for lanes in (1, 4):
        got = run(build_native(tape, lanes=lanes, cache=False), tape, [a])
        near(got, expected)
        assert whole is None or same_bits(got, whole)
        whole = got
