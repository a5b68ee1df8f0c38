"""Parts of a tape that only some states need, and loops that a state may skip: the same wherever they run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from sarrus.codegen.emit.words import WHOLE_SHARE, shares_of
from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Enter
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.c_export import write_c
from sarrus.codegen.tape.casadi_export import casadi_function
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.errors import UnsupportedError
from sarrus.spatial.iteration import iterate
from sarrus.spatial.replacement import replace_where

BATCH = 50


def roots(x, y):
    """Square roots of x where x[0] > 1, by Newton; where y[0] > 1/2 something else instead, which has a loop, too."""

    def newton(state):
        (r,) = state
        following = 0.5 * (r + x / r)
        moved = following - r
        return (following,), moved @ moved - 1e-20

    (a,), count = iterate(newton, (x + 1.0,), 20, x[0] - 1.0)

    def robust():
        b = x * y * 3.0
        (c,), halved = iterate(lambda state: ((state[0] * 0.5,), state[0][0] - 0.1), (b * x + a,), 7)
        return c + b, np.array([halved + 1.0], dtype=object)

    return replace_where(y[0] - 0.5, (a, np.array([count], dtype=object)), robust)


def nested(x, y):
    """The same, where within what some states need there is more that only some of them need."""
    (a, n) = roots(x, y)

    def outer():
        b = a * x + y[2]

        def inner():
            (c,), halved = iterate(lambda state: ((state[0] * 0.5 + b,), 0.4 - state[0][0]), (b * x,), 7, y[2] - 0.3)
            return c + b, np.array([halved + 2.0], dtype=object)

        c, count = replace_where(y[1] - 0.4, (b, n), inner)
        (d,) = replace_where(x[2] - 2.0, (c,), lambda: (c * b,))
        return d - a, count

    return replace_where(x[1] - 1.5, (a, n), outer)


@pytest.fixture(scope="module", params=[roots, nested])
def text(request):
    return request.param


@pytest.fixture(scope="module")
def tape(text) -> Tape:
    graph = Graph()
    found = text(graph.inputs(0, 3), graph.inputs(1, 3))
    return tape_of(graph, (Port("x", (3,)), Port("y", (3,))), {"a": found[0], "n": found[1]})


@pytest.fixture(scope="module")
def states() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.2, 4.0, (BATCH, 3)), rng.uniform(0.0, 1.0, (BATCH, 3))
    y[:8, 0] = 0.0  # whole blocks of lanes that need nothing
    x[:8, 1] = 0.5
    return x, y


@pytest.fixture(scope="module")
def expected(text, states) -> tuple[np.ndarray, np.ndarray]:
    found = [text(x, y) for x, y in zip(*states, strict=True)]
    return np.array([a for a, _ in found]), np.array([float(n[0]) for _, n in found])


def test_the_text_enters_a_loop_only_where_it_should(states, expected):
    x, y = states
    skipped = (x[:, 0] < 1.0) & (y[:, 0] < 0.5) & (x[:, 1] < 1.5)
    assert skipped.any()
    np.testing.assert_array_equal(expected[0][skipped], x[skipped] + 1.0)
    np.testing.assert_array_equal(expected[1][skipped], 0.0)


def test_the_interpreter(tape, states, expected):
    a, (n,) = interpret.run(tape, [x.T for x in states])
    np.testing.assert_allclose(np.stack(a, axis=1), expected[0], rtol=1e-14)
    np.testing.assert_array_equal(n, expected[1])


def test_the_interpreter_skips_what_no_state_needs(tape, states):
    x, y = states
    interpret.run(tape, [x[:8].T, y[:8].T])  # would divide by values that were never computed


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_native_code(tape, states, expected, lanes):
    kernel = build_native(tape, lanes=lanes, cache=False)
    for batch in (1, 3, BATCH):
        outputs = [np.empty((batch, 3)), np.empty((batch, 1))]
        kernel.run([x[:batch].copy() for x in states], outputs, batch)
        np.testing.assert_allclose(outputs[0], expected[0][:batch], rtol=1e-14)
        np.testing.assert_array_equal(outputs[1][:, 0], expected[1][:batch])


def test_a_state_does_not_depend_on_its_neighbours(tape, states):
    kernel = build_native(tape, cache=False)
    x, y = states
    whole = [np.empty((BATCH, 3)), np.empty((BATCH, 1))]
    kernel.run([x, y], whole, BATCH)
    for k in range(BATCH):
        alone = [np.empty((1, 3)), np.empty((1, 1))]
        kernel.run([x[k : k + 1].copy(), y[k : k + 1].copy()], alone, 1)
        np.testing.assert_array_equal(alone[0][0], whole[0][k])


def late(x, y):
    """Little that all states need; much, with a loop in it, where y[0] > 1/2, and more of it where y[1] > 1/2; and a
    guard after these, which is too small to be put off.
    """
    a = np.sqrt(x * x + y)

    def robust():
        b = a
        for _ in range(20):
            b = b * y + x / (1.0 + b * b)
        (c,), count = iterate(lambda state: ((state[0] * 0.5 + b,), 3.0 - state[0][0]), (b,), 5)
        (c,) = replace_where(y[1] - 0.5, (c,), lambda: (np.sqrt(c * c + b * b),))
        return c, np.array([count], dtype=object)

    a, n = replace_where(y[0] - 0.5, (a, np.array([0.0], dtype=object)), robust)
    return replace_where(y[2] - 0.5, (a, n), lambda: (a + x, n + 10.0))


@pytest.fixture(scope="module")
def late_tape() -> Tape:
    graph = Graph()
    a, n = late(graph.inputs(0, 3), graph.inputs(1, 3))
    return tape_of(graph, (Port("x", (3,)), Port("y", (3,))), {"a": a, "n": n})


def test_large_guards_are_worth_putting_off_and_small_ones_are_not(late_tape):
    planned = plan(late_tape, schedule(late_tape), 300)
    first, *others = [n for n, step in enumerate(planned.steps) if isinstance(step, Enter)]
    shares = shares_of(planned.steps)
    assert shares[first] > WHOLE_SHARE * 3 // 4
    assert len(others) == 2
    assert all(shares.get(n, 0) < WHOLE_SHARE // 8 for n in others)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_states_that_are_put_off_have_the_same_bits(late_tape, lanes):
    """However many there are, wherever they are, in batches of any size, with padding, on any number of threads."""
    kernel = build_native(late_tape, lanes=lanes, cache=False)
    rng = np.random.default_rng(lanes)
    x, y = rng.uniform(0.2, 4.0, (203, 3)), rng.uniform(0.0, 1.0, (203, 3))
    for needy in (0.0, 0.01, 0.1, 0.3, 0.6, 1.0):
        y[:, 0] = rng.random(203) < needy
        y[-1, 0] = needy > 0.0  # the last one is what others are padded with
        alone = [np.empty((203, 3)), np.empty((203, 1))]
        for k in range(203):
            kernel.run([x[k : k + 1], y[k : k + 1]], [z[k : k + 1] for z in alone], 1)
        assert (alone[1] % 10.0 > 0.0).sum() == y[:, 0].sum()
        for first, threads in ((0, 1), (0, 3), (1, 1), (203 - 8 * lanes, 1), (203 - 9 * lanes + 1, 2), (198, 1)):
            together = [np.full((203 - first, 3), np.nan), np.full((203 - first, 1), np.nan)]
            kernel.run([x[first:], y[first:]], together, 203 - first, threads)
            for ours, theirs in zip(together, alone, strict=True):
                np.testing.assert_array_equal(ours, theirs[first:])


def test_states_that_are_put_off_may_overwrite_their_arguments(late_tape):
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.2, 4.0, (200, 3)), rng.uniform(0.0, 1.0, (200, 3))
    y[:, 0] = rng.random(200) < 0.1
    kernel = build_native(late_tape, cache=False)
    apart, counts = np.empty((200, 3)), np.empty((200, 1))
    kernel.run([x, y], [apart, counts], 200)
    kernel.run([x, y], [x, counts], 200)
    np.testing.assert_array_equal(x, apart)


def test_a_state_that_is_no_number_needs_nothing(tape, states):
    x, y = (array.copy() for array in states)
    y[:, 0] = np.nan
    outputs = [np.empty((BATCH, 3)), np.empty((BATCH, 1))]
    build_native(tape, cache=False).run([x, y], outputs, BATCH)
    assert np.isfinite(outputs[0]).all()


def test_casadi(tape, states, expected):
    function = casadi_function(tape, "roots")
    for k in range(6):
        a, n = function(states[0][k], states[1][k])
        np.testing.assert_allclose(np.array(a).ravel(), expected[0][k], rtol=1e-12)
        assert float(n) == expected[1][k]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_c(tape, states, expected, tmp_path):
    source = write_c(tape, tmp_path, "roots", np.dtype(float))
    library = tmp_path / "roots.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).roots
    pointer = ctypes.POINTER(ctypes.c_double)
    for k in range(BATCH):
        arrays = [states[0][k].copy(), states[1][k].copy(), np.empty(3), np.empty(1)]
        function(*(x.ctypes.data_as(pointer) for x in arrays))
        np.testing.assert_allclose(arrays[2], expected[0][k], rtol=1e-14)
        assert arrays[3][0] == expected[1][k]


def test_what_only_some_states_need_is_counted_apart(tape):
    count = tape.op_count
    assert count.fallback > 0
    plain = Graph()
    x, y = plain.inputs(0, 3), plain.inputs(1, 3)
    kept = tape_of(plain, tape.inputs, {"a": replace_where(-1.0, (x * y,), lambda: (x / y,))[0]})
    assert (kept.op_count.total, kept.op_count.fallback, kept.guards) == (3, 0, ())


def test_bytes_and_back(tape):
    again = Tape.from_bytes(tape.to_bytes())
    assert (again.digest, again.guards, again.loops) == (tape.digest, tape.guards, tape.loops)


def test_what_cannot_be_traced_is_said():
    graph = Graph()
    x = graph.inputs(0, 1)
    with pytest.raises(UnsupportedError, match="step of an iteration"):
        iterate(lambda s: (replace_where(s[0][0], s, lambda: (s[0] * 2.0,)), 1.0), (x,), 5)
    with pytest.raises(ValueError, match="shapes"):
        replace_where(Graph().inputs(0, 1)[0], (np.zeros(2),), lambda: (np.zeros(3),))
