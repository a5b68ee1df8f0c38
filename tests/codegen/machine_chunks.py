"""Tapes of every instruction on nasty numbers, and chunks of machine code run by themselves: no driver, no LLVM."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sarrus.codegen.emit.backend import encoder_fits
from sarrus.codegen.emit.host import has_wide_registers
from sarrus.codegen.emit.image import ExecutableMemory
from sarrus.codegen.emit.memory import address_of, aligned
from sarrus.codegen.passes.allocate import allocate
from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.steps import Chunk
from sarrus.codegen.runtime.native import constants_in_memory
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, Port, Tape
from sarrus.codegen.x86.encode import chunk_code
from sarrus.codegen.x86.registers import VALUES, WIDE_VALUES

needs_x86 = pytest.mark.skipif(not encoder_fits(), reason="the encoder is for Linux on x86-64 with AVX2 and FMA")
TYPES = [(64, 1), (64, 2), (64, 4), (32, 1), (32, 4), (32, 8)]
TYPES += [(64, 8), (32, 16)] if has_wide_registers() else []
NASTY = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 5e-324, 3e38, -1e300, 2.5, 1e-160]
STRAIGHT = [
    Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.SQRT, Op.ABS, Op.MIN, Op.MAX, Op.COPYSIGN, Op.LESS, Op.SELECT,
    Op.FMA, Op.FNMA, Op.FMS,
]  # fmt: skip
INPUTS = 9


def dtype_of(bits: int) -> type:
    return {64: np.float64, 32: np.float32}[bits]


def raw_tape(op: Sequence[int], arg: list[list[int]], constants: list[float], inputs: int) -> Tape:
    """A tape as it stands, without the tracer's simplifications. Every value that no instruction uses is an output."""
    used = {a for code, row in zip(op, arg, strict=True) for a in row[: ARITY[code]]}
    result = np.array([k for k in range(len(op)) if k not in used], dtype=np.int32)
    return Tape(
        op=np.array(op, np.uint8), arg=np.array(arg, np.int32).reshape(-1, 3), stage=("",) * len(op),
        constants=np.array(constants, float), inputs=(Port("x", (inputs,)),), outputs=(Port("y", (len(result),)),),
        results=(result,),
    )  # fmt: skip


def nasty_tape(seed: int, size: int, constants: int = 12, reach: float = 12.0) -> Tape:
    """Every straight-line instruction, operands often equal, from `reach` instructions back or anywhere."""
    rng = np.random.default_rng(seed)
    op = [int(Op.INPUT)] * INPUTS + [int(Op.CONST)] * constants
    arg = [[0, k, -1] for k in range(INPUTS)] + [[k, -1, -1] for k in range(constants)]
    harmless = [0.5, *rng.choice([0.0, -0.0, 1.0, -2.0, 0.1, np.inf], constants - 1)]
    half = INPUTS
    often = rng.choice([Op.ADD, Op.SUB, Op.MUL, Op.FMA, Op.FNMA, Op.FMS], 2)

    def operand() -> int:
        if rng.random() < 0.25:
            return int(rng.integers(len(op)))
        return max(0, len(op) - 1 - int(rng.exponential(reach)))

    def add(code: int, *operands: int) -> int:
        op.append(int(code))
        arg.append([*operands, -1, -1, -1][:3])
        return len(op) - 1

    while len(op) < size:
        code = rng.choice(often) if rng.random() < 0.5 else rng.choice(STRAIGHT)
        operands = [operand() for _ in range(ARITY[code])]
        if len(operands) > 1 and rng.random() < 0.2:
            operands[int(rng.integers(len(operands)))] = operands[0]
        if code == Op.COPYSIGN:  # not of what may be no number: the sign of that is nobody's promise
            operands[1] = add(Op.SUB, add(Op.LESS, operands[1], half), half)
        add(code, *operands)
    return raw_tape(op, arg, harmless, INPUTS)


def nasty_inputs(batch: int, seed: int, bits: int = 64) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(batch, INPUTS))
    nasty = rng.random(x.shape) < 0.25
    nasty[: batch // 4] = False
    x[nasty] = rng.choice(NASTY, int(nasty.sum()))
    with np.errstate(over="ignore"):
        return x.astype(dtype_of(bits))


def values_in_registers(bits: int, count: int) -> list[int]:
    """How many values code for such lanes may hold in registers, on this machine."""
    if bits * count == 512:
        return [WIDE_VALUES]
    return [VALUES, WIDE_VALUES] if has_wide_registers() and count == 1 else [VALUES]


def run_chunks(tape: Tape, x: np.ndarray, bits: int, count: int, chunk_size: int = 300) -> np.ndarray:
    """The tape (one input, one output, nothing transcendental) on rows of x, `count` at a time, in its own order; the
    same with sixteen registers and, where there are so many, with 32.
    """
    first, *others = (_run_chunks(tape, x, bits, count, chunk_size, n) for n in values_in_registers(bits, count))
    for other in others:
        assert same(other, first).all()
    return first


def _run_chunks(tape: Tape, x: np.ndarray, bits: int, count: int, chunk_size: int, values: int) -> np.ndarray:
    order = [k for k, code in enumerate(tape.op.tolist()) if code not in (Op.CONST, Op.INPUT)]
    planned = plan(tape, [order], chunk_size)
    dtype, size = dtype_of(bits), bits * count // 8
    functions, slots = [], planned.slots
    for step in planned.steps:
        assert isinstance(step, Chunk)
        actions, spills = allocate(planned, step, values)
        slots = max(slots, planned.slots + spills)
        functions.append(Function(chunk_code(tape, actions, bits, count, values)))
    constants, begin = constants_in_memory(tape.constants.astype(dtype), bits, count)
    workspace = aligned(slots * size)
    lanes = workspace.view(dtype).reshape(slots, count)
    rows = []
    for block in x.reshape(-1, count, x.shape[1]):
        lanes[:] = 7.25
        lanes[: x.shape[1]] = block.T
        for function in functions:
            function(address_of(workspace), address_of(constants) + begin)
        rows.append(lanes[planned.ports.slots_of(0, tape.outputs[0].size)].T.copy())
    return np.concatenate(rows)


class Function:
    """Machine code of `f(workspace, constants)` that can be called."""

    def __init__(self, code: bytes) -> None:
        self._memory = ExecutableMemory(code)
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._memory.address)

    def __call__(self, workspace: int, constants: int) -> None:
        self._call(workspace, constants)


def exactly_interpreted(tape: Tape, x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The interpreter, in the type of x throughout, with multiply-adds rounded once and -0 below +0."""
    for op, function in _EXACT.items():
        monkeypatch.setitem(interpret._NUMPY, op, function)
    op, arg = tape.op.copy(), tape.arg.copy()
    is_constant = op == Op.CONST  # an input, so that it has the type of the others
    op[is_constant] = Op.INPUT
    arg[is_constant, 1] = arg[is_constant, 0]
    arg[is_constant, 0] = 1
    constants = np.repeat(tape.constants.astype(x.dtype)[:, None], len(x), axis=1)
    with np.errstate(all="ignore"):
        (result,) = interpret.run(replace(tape, op=op, arg=arg), [x.T, constants])
    y = np.array(result).T
    assert y.dtype == x.dtype
    return np.ascontiguousarray(y)


def _fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    library = ctypes.CDLL("libm.so.6")
    function, kind = (library.fma, ctypes.c_double) if a.dtype == np.float64 else (library.fmaf, ctypes.c_float)
    function.restype, function.argtypes = kind, [kind] * 3
    return np.array([function(*row) for row in zip(a, b, c, strict=True)], a.dtype)


def _minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    smaller = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(a) | np.isnan(b), np.array(np.nan, a.dtype), smaller)


_EXACT: dict[Op, Any] = {
    Op.FMA: _fma,
    Op.FNMA: lambda a, b, c: _fma(-a, b, c),
    Op.FMS: lambda a, b, c: _fma(a, b, -c),
    Op.MIN: _minimum,
    Op.MAX: lambda a, b: -_minimum(-a, -b),
    Op.LESS: lambda a, b: (a < b).astype(a.dtype),
}


def same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where the bits are equal, or both are not a number (its sign and payload are nobody's promise)."""
    whole = {8: np.uint64, 4: np.uint32}[x.dtype.itemsize]
    return (x.view(whole) == y.view(whole)) | (np.isnan(x) & np.isnan(y))
