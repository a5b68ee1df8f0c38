"""Native kernels compute what the tape says, with the same bits however they are run."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sarrus.codegen.emit import host
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from tests.codegen.random_tapes import empty_outputs, random_inputs, random_tape

LANES = [1, 2, 4, 8]


def reference(tape: Tape, inputs: list[np.ndarray]) -> list[np.ndarray]:
    batch = len(inputs[0])
    results = interpret.run(tape, [x.T.astype(float) for x in inputs])
    return [np.array([np.broadcast_to(v, batch) for v in result]).T for result in results]


def run(native, tape: Tape, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    batch = len(inputs[0])
    outputs = empty_outputs(tape, batch, str(native.dtype))
    native.run(inputs, outputs, batch, threads)
    return outputs


@pytest.fixture(scope="module")
def tape() -> Tape:
    return random_tape(900, seed=1)


@pytest.fixture(scope="module")
def native(tape):
    return build_native(tape, cache=False)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("operations", [0, 1, 3, 40, 700])
def test_agrees_with_the_interpreter(operations, lanes):
    tape = random_tape(operations, seed=operations)
    inputs = random_inputs(tape, 23)
    got = run(build_native(tape, lanes=lanes, cache=False), tape, inputs)
    for x, y in zip(got, reference(fuse(tape), inputs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_float32_agrees_roughly():
    tape = random_tape(60, seed=3)
    inputs = random_inputs(tape, 19, "float32")
    native = build_native(tape, "float32", cache=False)
    assert native.lanes == 2 * host.default_lanes(64)
    for x, y in zip(run(native, tape, inputs), reference(tape, inputs), strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 16), ("float32", 1), ("float32", 16)])
def test_any_number_of_lanes(dtype, lanes):
    tape = random_tape(60, seed=4)
    inputs = random_inputs(tape, 37, dtype)
    got = run(build_native(tape, dtype, lanes, cache=False), tape, inputs)
    usual = run(build_native(tape, dtype, cache=False), tape, inputs)
    assert all((x == y).all() for x, y in zip(got, usual, strict=True))


def test_same_bits_in_every_batch_size_position_and_number_of_threads(tape, native):
    inputs = random_inputs(tape, 67)
    whole = run(native, tape, inputs)
    for batch in range(1, 68):
        start = (67 - batch) // 2
        part = run(native, tape, [x[start : start + batch].copy() for x in inputs])
        for x, y in zip(part, whole, strict=True):
            assert (x == y[start : start + batch]).all()
    for threads in (2, 3, 8, 100):
        for x, y in zip(run(native, tape, inputs, threads), whole, strict=True):
            assert (x == y).all()


def test_same_bits_in_any_number_of_lanes(tape, native):
    inputs = random_inputs(tape, 21)
    expected = run(native, tape, inputs)
    for lanes in LANES:
        for x, y in zip(run(build_native(tape, lanes=lanes, cache=False), tape, inputs), expected, strict=True):
            assert (x == y).all()


@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e300])
def test_one_bad_state_does_not_touch_the_others(tape, native, poison):
    inputs = random_inputs(tape, 9)
    clean = run(native, tape, inputs)
    for bad in range(9):
        spoilt = [x.copy() for x in inputs]
        for x in spoilt:
            x[bad] = poison
        for x, y in zip(run(native, tape, spoilt), clean, strict=True):
            others = np.arange(9) != bad
            assert (x[others] == y[others]).all()


def test_does_not_write_outside_the_outputs(tape, native):
    inputs = random_inputs(tape, 5)
    guarded = [np.full((9, port.size), 7.25) for port in tape.outputs]
    native.run(inputs, [g[2:7] for g in guarded], 5)
    for g in guarded:
        assert (g[:2] == 7.25).all()
        assert (g[7:] == 7.25).all()


def test_wrong_arrays_are_refused(tape, native):
    inputs, outputs = random_inputs(tape, 4), empty_outputs(tape, 4)
    with pytest.raises(ValueError, match=r"p: expected a C-contiguous float64 array of 4 x 7"):
        native.run([inputs[0][:3], inputs[1]], outputs, 4)
    with pytest.raises(ValueError, match="r: expected"):
        native.run([inputs[0], inputs[1].astype("float32")], outputs, 4)
    with pytest.raises(ValueError, match="p: expected"):
        native.run([np.asfortranarray(inputs[0]), inputs[1]], outputs, 4)
    with pytest.raises(ValueError, match="2 inputs"):
        native.run(inputs[:1], outputs, 4)
    outputs[0].flags.writeable = False
    with pytest.raises(ValueError, match=r"x: .*writeable"):
        native.run(inputs, outputs, 4)
    inputs[0].flags.writeable = False
    native.run(inputs, empty_outputs(tape, 4), 4)
    native.run([x[:0] for x in inputs], empty_outputs(tape, 0), 0)


def test_single_calls(tape, native):
    inputs = random_inputs(tape, 3)
    expected = run(native, tape, inputs)
    p, r = inputs[0][1].copy(), inputs[1][1].copy()
    x, y = np.empty(7), np.empty((2, 3))
    assert native.call_into(p, r, x, y) is True
    assert (x == expected[0][1]).all()
    assert (y.ravel() == expected[1][1]).all()
    new = native.call_new(p, r)
    assert (new[0] == x).all()
    assert (new[1] == y).all()
    assert new[1].shape == (2, 3)
    read_only = np.empty(7)
    read_only.flags.writeable = False
    for wrong in (
        (p, r, x), (p, r, x, y, y), (p, r, x, y.ravel()), (p[:6], r, x, y), (list(p), r, x, y), (p, r, read_only, y),
        (np.empty(14)[::2], r, x, y), (p.astype("float32"), r, x, y), (p.astype(">f8"), r, x, y), (None, r, x, y),
        (p.view(np.matrix).T, r, x, y), (np.ma.array(p), r, x, y), (),
    ):  # fmt: skip
        assert native.call_into(*wrong) is None
    assert native.call_new(p, r, x) is None
    assert native.call_new(p[None], r) is None


def test_single_calls_do_not_leak(tape, native):
    p, r = np.zeros(7), np.zeros(5)
    native.call_new(p, r)
    before = [sys.getrefcount(x) for x in (p, r, None, True, np.dtype("float64"))]
    kept = [native.call_new(p, r) for _ in range(500)]
    assert all(sys.getrefcount(pair[0]) == 2 for pair in kept)
    del kept
    after = [sys.getrefcount(x) for x in (p, r, None, True, np.dtype("float64"))]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 250  # a leak would be 500


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_whole_numbers_of_a_single_call_are_integers(dtype):
    graph = Graph()
    x = graph.inputs(0, 2)
    outputs = {"y": x * 2.0, "status": np.array(x[0] + 5.0, dtype=object), "count": np.array(x[1] * 3.0, dtype=object)}
    native = build_native(tape_of(graph, (Port("x", (2,)),), outputs, whole=("status", "count")), dtype, cache=False)
    y, status, count = native.call_new(np.array([2.0, -4.0], dtype=dtype))
    assert y.tolist() == [4.0, -8.0]
    assert (type(status), status, type(count), count) == (int, 7, int, -12)
    with pytest.raises(ValueError, match="NaN"):
        native.call_new(np.array([np.nan, 1.0], dtype=dtype))


def test_a_builtin_outlives_its_kernel(tape):
    call = build_native(tape, cache=False).call_new
    expected = build_native(tape, cache=False).call_new(np.ones(7), np.ones(5))
    assert (call(np.ones(7), np.ones(5))[0] == expected[0]).all()


def test_from_several_python_threads_at_once(tape, native):
    inputs = random_inputs(tape, 200)
    expected = run(native, tape, inputs)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: run(native, tape, inputs, 2), range(40)):
            assert all((x == y).all() for x, y in zip(got, expected, strict=True))


def test_pickles(tape, native):
    again = pickle.loads(pickle.dumps(native))
    inputs = random_inputs(tape, 6)
    assert all((x == y).all() for x, y in zip(run(again, tape, inputs), run(native, tape, inputs), strict=True))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_fork(tape, native):
    inputs = random_inputs(tape, 64)
    expected = run(native, tape, inputs, threads=2)

    def child(queue) -> None:
        queue.put(run(native, tape, inputs, threads=2))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    got = queue.get(timeout=60)
    process.join()
    assert all((x == y).all() for x, y in zip(got, expected, strict=True))


def test_outputs_that_are_constants_inputs_repeats_and_sines():
    graph = Graph()
    q = graph.inputs(0, 3)
    s = q[0].sin()
    outputs = {
        "constants": np.array([1.5, -0.0, np.inf]),
        "inputs": np.array([q[2], q[2], q[0]], dtype=object),
        "repeats": np.array([s, s, q[1] * 2.0, q[1] * 2.0], dtype=object),
        "nothing": np.zeros((0, 3)),
        "scalar": np.array(q[1].cos(), dtype=object),
    }
    tape = tape_of(graph, (Port("q", (3,)), Port("unused", (4,))), outputs)
    for lanes in LANES:
        native = build_native(tape, lanes=lanes, cache=False)
        inputs = random_inputs(tape, 11)
        for x, y in zip(run(native, tape, inputs), reference(tape, inputs), strict=True):
            np.testing.assert_allclose(x, y.reshape(x.shape), rtol=1e-15)
        constants = run(native, tape, inputs)[0]
        assert np.signbit(constants[:, 1]).all()


def test_no_inputs_and_no_instructions():
    graph = Graph()
    tape = tape_of(graph, (), {"x": np.array([3.0, 4.0])})
    native = build_native(tape, cache=False)
    out = np.empty((5, 2))
    native.run([], [out], 5)
    assert (out == [3.0, 4.0]).all()
    assert native.call_new().tolist() == [3.0, 4.0]


def test_transcendental_functions_of_constants_and_of_each_other():
    graph = Graph()
    (x,) = graph.inputs(0, 1)
    two = graph.constant(2.0)
    values = [
        graph.node(Op.SIN, two.index),
        graph.node(Op.ATAN2, x.index, two.index),
        graph.node(Op.ATAN2, two.index, x.index),
    ]
    nested = x
    for _ in range(5):
        nested = (nested.sin() * 2.0).cos() + 0.3
    tape = tape_of(graph, (Port("x", (1,)),), {"y": np.array([*values, nested], dtype=object)})
    inputs = random_inputs(tape, 9)
    for lanes in LANES:
        got = run(build_native(tape, lanes=lanes, cache=False), tape, inputs)
        np.testing.assert_allclose(got[0], reference(tape, inputs)[0], rtol=1e-14, atol=1e-15)


def test_nan_semantics_of_comparisons_are_numpys():
    graph = Graph()
    a, b = graph.inputs(0, 2)
    less = graph.binary(Op.LESS, a, b)
    outputs = [graph.binary(Op.MIN, a, b), graph.binary(Op.MAX, a, b), less, graph.select(a, a, b), abs(a), a.sqrt()]
    tape = tape_of(graph, (Port("x", (2,)),), {"y": np.array(outputs, dtype=object)})
    special = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324]
    x = np.array([[a, b] for a in special for b in special])
    with np.errstate(invalid="ignore"):
        expected = reference(tape, [x])[0]
    np.testing.assert_array_equal(run(build_native(tape, cache=False), tape, [x])[0], expected)


def test_without_fma_it_still_agrees(monkeypatch):
    monkeypatch.setattr(host, "has_fma", lambda: False)
    tape = random_tape(300, seed=5)
    inputs = random_inputs(tape, 13)
    got = run(build_native(tape, cache=False), tape, inputs)
    for x, y in zip(got, reference(tape, inputs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    one = run(build_native(tape, lanes=1, cache=False), tape, inputs)
    assert all((x == y).all() for x, y in zip(got, one, strict=True))


def test_compile_time_is_linear():
    """Of the processor, the best of several: others share the machine."""
    tapes = [random_tape(n, seed=9, transcendental=False) for n in (500, 2000)]

    def seconds(tape: Tape) -> float:
        began = time.process_time()
        build_native(tape, lanes=1, cache=False)
        return time.process_time() - began

    short, long = (min(seconds(tape) for _ in range(4)) for tape in tapes)
    assert long / short < 2.0 * len(tapes[1]) / len(tapes[0])
