"""Picking by an index: what it means, what is recorded, and the same bits wherever it runs."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from sarrus.codegen.emit.backend import LLVM, X86, encoder_fits
from sarrus.codegen.passes.chain import chain
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.c_export import write_c
from sarrus.codegen.tape.casadi_export import casadi_function
from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.parameter import Parameter
from sarrus.spatial.picking import pick, pick_rows
from tests.codegen.random_picks import picking_states, random_picks
from tests.codegen.random_tapes import empty_outputs

BACKENDS = [X86, LLVM] if encoder_fits() else [LLVM]
SEEDS = range(8)
ENTRIES = {  # of a list of three: which one an index means
    0.0: 0, 1.0: 1, 2.0: 2, 3.0: 2, -1.0: 0, 0.99: 0, 1.5: 1, -0.5: 0,
    1e300: 2, -1e300: 0, np.inf: 2, -np.inf: 0, np.nan: 0, 4294967296.0: 2, 2147483648.0: 2, 5e-324: 0,
}  # fmt: skip
tape_of_seed = cache(random_picks)


def same_bits(got: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    return all(x.tobytes() == np.ascontiguousarray(y, x.dtype).tobytes() for x, y in zip(got, expected, strict=True))


def interpreted(tape: Tape, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """In the precision of the inputs, so the constants, which would be doubles, have it, too."""
    batch, constants = len(inputs[0]), np.empty(len(tape.constants), object)
    constants[:] = list(tape.constants.astype(inputs[0].dtype))
    results = interpret.run(replace(tape, constants=constants), [list(x.T) for x in inputs])
    return [np.array([np.broadcast_to(v, batch) for v in result]).T for result in results]


def native(tape: Tape, inputs: list[np.ndarray], **options) -> list[np.ndarray]:
    dtype = str(inputs[0].dtype)
    outputs = empty_outputs(tape, len(inputs[0]), dtype)
    build_native(tape, dtype, cache=False, **options).run(inputs, outputs, len(inputs[0]))
    return outputs


def simple_tape() -> Tape:
    graph = Graph()
    x, (i,) = graph.inputs(0, 2), graph.inputs(1, 1)
    return tape_of(graph, (Port("x", (2,)), Port("i", (1,))), {"y": vector(pick([x[0], -2.5, x[0] * x[1]], i))})


# --- what it means ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "entry"), ENTRIES.items())
def test_floats(index, entry):
    assert pick([10.0, 11.0, 12.0], index) == 10.0 + entry
    assert pick(np.array([10.0, 11.0, 12.0]), np.float64(index)) == 10.0 + entry
    rows = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(pick_rows(rows, index), rows[entry])
    np.testing.assert_array_equal(pick_rows(rows.tolist(), index), rows[entry])


def test_an_empty_list_is_refused():
    with pytest.raises(ValueError, match="nothing to pick from"):
        pick([], 0.0)


def test_every_strange_index_everywhere(tmp_path):
    """Each way of running a tape takes the entry that floats take."""
    tape = simple_tape()
    x = np.tile([0.5, 3.0], (len(ENTRIES), 1))
    inputs = [x, np.array(list(ENTRIES))[:, None]]
    expected = np.array([[0.5, -2.5, 1.5][entry] for entry in ENTRIES.values()])[:, None]
    assert same_bits(interpreted(tape, inputs), [expected])
    for backend in BACKENDS:
        for lanes in (1, 2, 4, 8):
            assert same_bits(native(tape, inputs, backend=backend, lanes=lanes), [expected])
    with np.errstate(over="ignore"):
        single = [a.astype(np.float32) for a in inputs]
    for backend in BACKENDS:
        for lanes in (1, 4, 8, 16):
            assert same_bits(native(tape, single, backend=backend, lanes=lanes), [expected.astype(np.float32)])
    function = casadi_function(tape, "picked")
    for index, wanted in zip(ENTRIES, expected[:, 0], strict=True):
        assert float(function([0.5, 3.0], index)) == wanted
    if shutil.which("cc"):
        assert same_bits(compiled_c(tape, tmp_path, inputs), [expected])


def test_parameters_of_a_model():
    a, b, k = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("k")
    values = [Parameter(a), 7.0, Parameter(b)]
    assert pick(values, 1.0) == 7.0
    function = ca.Function("f", [a, b, k], [pick(values, Parameter(k)).expression])
    assert [float(function(3.0, 4.0, index)) for index in ENTRIES] == [[3.0, 7.0, 4.0][e] for e in ENTRIES.values()]


# --- what is recorded -------------------------------------------------------------------------------------------


def test_what_is_known_folds():
    graph = Graph()
    x, (i, j) = graph.inputs(0, 3), graph.inputs(1, 2)
    assert pick(list(x), 1.0) is x[1]
    assert pick(list(x), graph.constant(7.0)) is x[2]
    assert pick([x[1]], i) is x[1]
    assert pick([x[1], x[1]], i) is x[1]
    assert pick([2.0, 2.0, 2.0], i) == 2.0
    assert pick([2.0, 3.0], graph.constant(1.0)) == 3.0
    assert Op.PICK not in graph.op
    assert isinstance(pick([0.0, -0.0], i), Symbol)  # a zero is not the other one
    assert pick(list(x), i) is pick(list(x), i)
    assert pick(list(x), i) is not pick(list(x), j)
    assert pick(list(x), i) is not pick(list(x)[::-1], i)
    assert graph.op.count(Op.PICK) == 4
    assert len(graph.lists) == 3


def test_counted_by_a_kind_of_its_own():
    count = simple_tape().op_count
    assert (count.total, count.by_kind["pick"], count.by_kind["mul"]) == (2, 1, 1)


def test_only_lists_that_are_needed_are_kept():
    graph = Graph()
    x, (i,) = graph.inputs(0, 4), graph.inputs(1, 1)
    pick([x[0].sin(), x[1]], i)
    y = pick([x[2], x[3] * 2.0], i)
    tape = tape_of(graph, (Port("x", (4,)), Port("i", (1,))), {"y": vector(y)})
    assert [Op(op) for op in tape.op] == [Op.INPUT, Op.INPUT, Op.INPUT, Op.CONST, Op.MUL, Op.PICK]
    assert [members.tolist() for members in tape.lists] == [[0, 4]]
    assert tape.arg[5].tolist() == [2, 0, -1]


def test_a_product_that_is_picked_is_not_absorbed():
    graph = Graph()
    x, (i,) = graph.inputs(0, 4), graph.inputs(1, 1)
    product, other = x[0] * x[1], x[2] * x[3]
    y = vector(product + x[2], pick([product, 1.0], i), other + x[0])
    tape = chain(fuse(tape_of(graph, (Port("x", (4,)), Port("i", (1,))), {"y": y})))
    kinds = [Op(op) for op in tape.op]
    assert (kinds.count(Op.MUL), kinds.count(Op.FMA)) == (1, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_and_back(seed):
    tape = tape_of_seed(seed)
    again = Tape.from_bytes(tape.to_bytes())
    assert again.digest == tape.digest
    assert [x.tolist() for x in again.lists] == [x.tolist() for x in tape.lists]


def test_the_digest_knows_the_lists():
    graph = Graph()
    x, (i,) = graph.inputs(0, 2), graph.inputs(1, 1)
    ports = (Port("x", (2,)), Port("i", (1,)))
    tapes = [tape_of(graph, ports, {"y": vector(pick(entries, i), x[0], x[1])}) for entries in (list(x), list(x)[::-1])]
    assert tapes[0].digest != tapes[1].digest


def test_what_is_inside_a_step_is_not_picked_outside():
    graph = Graph()
    x, (i,) = graph.inputs(0, 1), graph.inputs(1, 1)
    kept = []

    def step(state):
        kept.append(state[0][0] * 3.0)
        return (state[0] * 0.5,), choose(1.0, state[0][0], 1.0, 0.0)

    iterate(step, (x,), 5)
    with pytest.raises(UnsupportedError, match="return it as part of the state"):
        tape_of(graph, (Port("x", (1,)), Port("i", (1,))), {"y": vector(pick([kept[-1], 1.0], i))})


def test_what_a_step_picks_from_before_is_before_it():
    """A pick of values from before the loop, by an index from before, is done once."""
    graph = Graph()
    x, (i,) = graph.inputs(0, 3), graph.inputs(1, 1)

    def step(state):
        (y,) = state
        return (vector(y[0] * 0.5 + pick(list(x), i), y[1] + pick([x[0], y[0]], i)),), choose(1.0, y[0], 1.0, 0.0)

    (y,), _ = iterate(step, (x[:2],), 5)
    tape = tape_of(graph, (Port("x", (3,)), Port("i", (1,))), {"y": y})
    (loop,) = tape.loops
    picks = np.flatnonzero(tape.op == Op.PICK)
    assert [loop.start <= k < loop.stop for k in picks] == [False, True]


# --- the same bits wherever it runs -----------------------------------------------------------------------------


def test_random_tapes_have_picks_everywhere():
    inside = guarded = outside = constants = 0
    for seed in SEEDS:
        tape = tape_of_seed(seed)
        for k in np.flatnonzero(tape.op == Op.PICK).tolist():
            in_loop = any(loop.start <= k < loop.stop for loop in tape.loops)
            in_guard = any(guard.start <= k < guard.stop for guard in tape.guards)
            inside, guarded, outside = inside + in_loop, guarded + in_guard, outside + (not in_loop and not in_guard)
            constants += bool((tape.op[tape.lists[tape.arg[k, 1]]] == Op.CONST).any())
    assert min(inside, guarded, outside, constants) > 20


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_tapes(seed, dtype, backend, monkeypatch):
    from sarrus.codegen.emit import compile as pipeline

    tape, inputs = tape_of_seed(seed), picking_states(37, dtype, seed)
    expected = interpreted(tape, inputs)
    assert all(np.isfinite(x[:, :-1]).all() for x in expected)
    for lanes in (1, 2, 4, "auto"):
        assert same_bits(native(tape, inputs, backend=backend, lanes=lanes), expected)
    # Many functions, so that most values go through the workspace.
    monkeypatch.setattr(pipeline, "CHUNK_SIZES", dict.fromkeys(pipeline.CHUNK_SIZES, 5))
    assert same_bits(native(tape, inputs, backend=backend), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_fused_is_not(seed):
    tape, inputs = tape_of_seed(seed), picking_states(23, seed=seed)
    assert same_bits(interpreted(chain(fuse(tape)), inputs), interpreted(tape, inputs))


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_state_does_not_depend_on_its_neighbours(seed):
    tape, inputs = tape_of_seed(seed), picking_states(21, seed=seed)
    kernel = build_native(tape, cache=False)
    whole = native(tape, inputs)
    for batch in (1, 2, 3, 5, 20):
        outputs = empty_outputs(tape, batch)
        kernel.run([x[-batch:].copy() for x in inputs], outputs, batch)
        assert same_bits(outputs, [x[-batch:] for x in whole])
    threaded = empty_outputs(tape, 21)
    kernel.run(inputs, threaded, 21, 2)
    assert same_bits(threaded, whole)
    for k in range(5):
        alone = kernel.call_new(*(x[k].copy() for x in inputs))
        assert same_bits([np.asarray(x).ravel() for x in alone], [x[k] for x in whole])


def compiled_c(tape: Tape, directory: Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    dtype = inputs[0].dtype
    source = write_c(tape, directory, "picked", dtype)
    library = directory / "picked.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off"]
    flags.append("-Wno-maybe-uninitialized")  # a compiler does not see that a guard and its loop have one condition
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).picked
    outputs = empty_outputs(tape, len(inputs[0]), str(dtype))
    for k in range(len(inputs[0])):
        function(*(ctypes.c_void_p(x[k].ctypes.data) for x in (*inputs, *outputs)))
    return outputs


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_c(seed, dtype, tmp_path, monkeypatch):
    from sarrus.codegen.tape import c_export

    monkeypatch.setattr(c_export, "_CHUNK", 9)
    tape, inputs = tape_of_seed(seed), picking_states(23, dtype, seed)
    assert same_bits(compiled_c(tape, tmp_path, inputs), interpreted(tape, inputs))


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_casadi(seed):
    tape, inputs = tape_of_seed(seed), picking_states(9, seed=seed)
    function = casadi_function(tape, "picked")
    expected = interpreted(tape, inputs)
    for k in range(9):
        for got, wanted in zip(function(*(x[k] for x in inputs)), expected, strict=True):
            np.testing.assert_array_equal(np.array(got).ravel(), wanted[k])
