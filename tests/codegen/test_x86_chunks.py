"""Chunks of our own machine code compute what the tape says, to the last bit, for every type and number of lanes.

Only what is not a number may differ, in its sign and payload: MIN and MAX mix the bits of both operands, a sum of two
such takes those of either, and negation inside a multiply-add does not reach them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sarrus.codegen.emit.memory import address_of, aligned
from sarrus.codegen.passes.allocate import Action, Compute, Load, Store
from sarrus.codegen.runtime.native import build_native, constants_in_memory
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY
from sarrus.codegen.x86.encode import can_encode, chunk_code
from sarrus.codegen.x86.registers import WIDE_VALUES
from tests.codegen.machine_chunks import (
    INPUTS,
    NASTY,
    STRAIGHT,
    TYPES,
    Function,
    dtype_of,
    exactly_interpreted,
    nasty_inputs,
    nasty_tape,
    needs_x86,
    raw_tape,
    run_chunks,
    same,
)

pytestmark = needs_x86


@pytest.mark.parametrize(("bits", "count"), TYPES)
@pytest.mark.parametrize("op", STRAIGHT, ids=lambda op: op.name)
def test_every_operation_on_every_combination_of_nasty_numbers(op, bits, count, monkeypatch):
    arity = int(ARITY[op])
    with np.errstate(over="ignore"):
        x = np.array(list(itertools.product(NASTY, repeat=arity)), dtype_of(bits))
    x = np.concatenate([x, x[: -len(x) % count]])
    arg = [[0, k, -1] for k in range(arity)] + [[*range(arity), -1, -1][:3]]
    tape = raw_tape([Op.INPUT] * arity + [op], arg, [], arity)
    assert same(run_chunks(tape, x, bits, count), exactly_interpreted(tape, x, monkeypatch)).all()


@pytest.mark.parametrize(("bits", "count"), TYPES)
@pytest.mark.parametrize("op", [op for op in STRAIGHT if ARITY[op] > 1], ids=lambda op: op.name)
def test_operands_that_are_one_value_and_values_that_are_needed_again(op, bits, count, monkeypatch):
    """Every way in which operands can be the same, be in memory or registers, and be used once more or not."""
    arity = int(ARITY[op])
    ops = [Op.INPUT] * 3 + [Op.CONST] * 2
    arg = [[0, k, -1] for k in range(3)] + [[0, -1, -1], [1, -1, -1]]
    for choice in itertools.product(range(5), repeat=arity):
        for again in ([], [0], [0, 1]):
            result = len(ops)
            ops += [op, *(Op.SUB for _ in again)]
            arg += [[*choice, -1, -1][:3], *([result, choice[number], -1] for number in again)]
    tape = raw_tape(ops, arg, [0.7, -1.3], 3)
    x = np.random.default_rng(1).normal(size=(2 * count, 3)).astype(dtype_of(bits))
    for chunk_size in (9, 400):
        assert same(run_chunks(tape, x, bits, count, chunk_size), exactly_interpreted(tape, x, monkeypatch)).all()


@pytest.mark.parametrize("seed", range(30))
def test_random_tapes(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    size, constants = int(rng.choice([40, 200, 900])), int(rng.choice([3, 12, 60]))
    tape = nasty_tape(seed, size, constants, reach=float(rng.choice([2.0, 12.0, 60.0])))
    for bits in (64, 32):
        x = nasty_inputs(64, seed, bits)
        expected = exactly_interpreted(tape, x, monkeypatch)
        for count in (count for width, count in TYPES if width == bits):
            got = run_chunks(tape, x, bits, count, int(rng.choice([20, 300, 2000])))
            assert same(got, expected).all(), f"{bits} bits, {count} lanes"


@pytest.mark.parametrize(("bits", "count"), TYPES)
def test_more_values_alive_than_registers(bits, count, monkeypatch):
    """All products first, then their sum from the first one on: everything is spilled."""
    n = 4 * WIDE_VALUES
    op = [int(Op.INPUT)] * 8 + [int(Op.MUL)] * n + [int(Op.FMA)] * (n - 2)
    arg = [[0, k, -1] for k in range(8)] + [[k % 8, k % 7, -1] for k in range(n)]
    for k in range(n - 2):
        arg.append([8 + k, 8 + k + 1, 8 + n + k - 1 if k else 8 + n - 1])
    tape = raw_tape(op, arg, [], 8)
    x = np.random.default_rng(2).normal(size=(16, 8)).astype(dtype_of(bits))
    assert same(run_chunks(tape, x, bits, count, 1000), exactly_interpreted(tape, x, monkeypatch)).all()


@pytest.mark.parametrize(("bits", "count"), [x for x in TYPES if x in ((64, 4), (32, 1), (64, 8))])
def test_actions_of_any_order(bits, count):
    """What `allocate` never asks for: results that nobody uses, a slot that is overwritten before its value is used."""
    tape = raw_tape([Op.INPUT, Op.INPUT, Op.ADD, Op.SUB], [[0, 0, -1], [0, 1, -1], [0, 1, -1], [2, 0, -1]], [], 2)
    actions: list[Action] = [
        Load(1, 1), Load(0, 0), Compute(2),  # for nothing
        Load(0, 0), Load(1, 1), Compute(2), Load(0, 0), Store(2, 0), Compute(3), Store(3, 2),
    ]  # fmt: skip
    workspace = aligned(3 * bits * count // 8)
    constants, begin = constants_in_memory(np.zeros(0, dtype_of(bits)), bits, count)
    lanes = workspace.view(dtype_of(bits)).reshape(3, count)
    lanes[:] = [[3.0], [4.0], [0.0]]
    code = chunk_code(tape, actions, bits, count)
    Function(code)(address_of(workspace), address_of(constants) + begin)
    assert lanes.tolist() == [[7.0] * count, [4.0] * count, [4.0] * count]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_bits_as_llvm(seed, dtype):
    tape = nasty_tape(seed, 160)
    x = nasty_inputs(41, seed, 8 * np.dtype(dtype).itemsize)
    for lanes in ("auto", 1):
        kernels = [build_native(tape, dtype, lanes, cache=False, backend=backend) for backend in ("x86", "llvm")]
        for batch in (41, 1):
            ours, theirs = (np.empty((batch, tape.outputs[0].size), dtype) for _ in range(2))
            for kernel, y in zip(kernels, (ours, theirs), strict=True):
                kernel.run([x[-batch:]], [y], batch)
            assert same(ours, theirs).all()


def test_lanes_that_fill_no_register_are_left_to_llvm():
    assert [lanes for lanes in (1, 2, 4, 8, 16) if can_encode(64, lanes)] == [1, 2, 4, 8]
    assert [lanes for lanes in (1, 2, 4, 8, 16) if can_encode(32, lanes)] == [1, 4, 8, 16]
    tape = nasty_tape(3, 60)
    x = nasty_inputs(24, 3)
    results = []
    for lanes in (4, 8, 16):
        y = np.empty((24, tape.outputs[0].size))
        build_native(tape, lanes=lanes, cache=False, backend="x86").run([x], [y], 24)
        results.append(y)
    assert all(same(results[0], y).all() for y in results[1:])
    assert x.shape[1] == INPUTS
