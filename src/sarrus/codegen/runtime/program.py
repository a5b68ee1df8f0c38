"""Kernels in a loop over time, in native code: a rollout never returns to Python between its steps.

A `Program` is a list of moves and runs, as data: what is done once `before` the steps of a block of states, at `each`
step, and once `after`. Rows of arrays go to a kernel's inputs (`Gather`), its inputs and outputs to rows (`Scatter`) or
to another input (`Copy`); `Run` runs a kernel. Each may be done at every step or at every k-th. What executes all
programs is one piece of native code (`codegen/emit/program.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import address_of, aligned, in_place
from sarrus.codegen.emit.program import Kind, Word, emit_program
from sarrus.codegen.runtime.crew import MOST_THREADS, share
from sarrus.codegen.runtime.module import load_module
from sarrus.codegen.runtime.native import NativeKernel
from sarrus.errors import StateError
from sarrus.model.arguments import whole_number
from sarrus.once import cached_property


@dataclass(frozen=True)
class Gather:
    """Rows of an array become an input. Axes of `array`: states (if `per_state`), steps (if `per_step`), the port's."""

    kernel: int
    port: str
    array: np.ndarray
    per_state: bool = True
    per_step: bool = False
    every: int = 1
    phase: int = 0  # it is done at steps t with t % every == phase; then the row is t // every
    first_row: int = 0  # the row of steps that the array begins with

    kind = Kind.GATHER
    from_input = True


@dataclass(frozen=True)
class Scatter(Gather):
    """An output (or, `from_input`, an input) becomes rows of an array."""

    from_input: bool = False

    kind = Kind.SCATTER


@dataclass(frozen=True)
class Copy:
    """An output (or, `from_input`, an input) becomes an input, (kernel, port) each."""

    source: tuple[int, str]
    target: tuple[int, str]
    every: int = 1
    phase: int = 0
    from_input: bool = False


@dataclass(frozen=True)
class Run:
    """A kernel runs."""

    kernel: int
    every: int = 1
    phase: int = 0


Instruction = Gather | Scatter | Copy | Run


class _Place(NamedTuple):
    """Of a port, in the workspace of its kernel."""

    size: int
    slot: int  # the first
    listed: np.ndarray | None  # where its elements are, if they do not follow the first one

    def words(self, base: int, lane: Lane) -> dict[Word, int]:
        """For an instruction. `base`: where the workspace begins."""
        if self.listed is not None:
            return {Word.SLOT: base, Word.LIST: address_of(self.listed)}
        return {Word.SLOT: base + self.slot * lane.bytes, Word.LIST: 0}


@dataclass(frozen=True)
class Program:
    """What is done with some kernels, all of one scalar type and lane."""

    kernels: tuple[NativeKernel, ...]
    before: Sequence[Instruction]
    each: Sequence[Instruction]
    after: Sequence[Instruction]

    def run(self, batch: int, steps: int, start: int = 0, threads: int = 1) -> None:
        """Steps start .. start + steps - 1 of `batch` states. The arrays of the instructions are read and written."""
        batch, steps = whole_number("batch", batch, least=0), whole_number("steps", steps, least=0)
        start, threads = whole_number("start", start, least=0), whole_number("threads", threads, least=1)
        if batch == 0:
            return
        lane = self.kernels[0].lane
        if any(kernel.lane != lane for kernel in self.kernels):
            raise StateError("the kernels of a program must have the same scalar type and lanes")
        _ = self._references  # from here on no array can be resized
        for instruction in (*self.before, *self.each, *self.after):
            if not 0 <= instruction.phase < instruction.every:
                raise StateError(f"phase {instruction.phase} of every {instruction.every} steps: there is no such step")
            if isinstance(instruction, Gather):
                self._check(instruction, batch, start, steps, lane)
        threads = max(1, min(threads, -(-batch // lane.count), MOST_THREADS))
        variant = 1 if batch == 1 else 0
        if variant not in self._codes:
            self._codes[variant] = self._code(variant)
        code, scratch_bytes = self._codes[variant]
        scratches = [aligned(scratch_bytes) for _ in range(threads)]
        own = [(address_of(code), start, steps, address_of(scratch)) for scratch in scratches]
        share(_native_code(lane.bits, lane.count, lane.fma)[variant], own, batch, lane.count)

    def _check(self, move: Gather, batch: int, start: int, steps: int, lane: Lane) -> None:
        size, *_ = self._places[move.kernel, move.port, move.from_input]
        lead = move.per_state + move.per_step
        array = move.array
        last = start + max(steps, 1) - 1  # what is done before and after the steps sees the first one
        rows = last // move.every - move.first_row + 1 if move.per_step else 0
        fits = (
            type(array) is np.ndarray
            and array.dtype == lane.dtype
            and array.ndim >= lead
            and int(np.prod(array.shape[lead:])) == size
            and (size == 0 or array.size == 0 or array[(0,) * lead].flags.c_contiguous)
            and array.flags.aligned
            and (not move.per_state or array.shape[0] >= batch)
            and (not move.per_step or (array.shape[lead - 1] >= rows and start // move.every >= move.first_row))
            and (array.flags.writeable or not isinstance(move, Scatter))
        )
        if not fits:
            raise StateError(
                f"{move.port}: an array of {array.dtype} {array.shape} does not hold {size} elements of {batch} states"
                f"{f' and {rows} rows' if move.per_step else ''}"
            )

    @cached_property
    def _places(self) -> dict[tuple[int, str, bool], _Place]:
        """Where every port is in the workspace of its kernel."""
        places = {}
        for number, kernel in enumerate(self.kernels):
            slot = 0
            for port in kernel.tape.inputs:
                places[number, port.name, True] = _Place(port.size, slot, None)
                slot += port.size
            for port, slot, listed in zip(
                kernel.tape.outputs, kernel.artifact.outputs, kernel.artifact.listed, strict=True
            ):
                words = np.array(listed, dtype=np.int64) if listed else None
                places[number, port.name, False] = _Place(port.size, slot, words)
        return places

    @cached_property
    def _references(self) -> list[Any]:
        """Of all arrays whose addresses are in the code: while these are there, nobody can make NumPy move or free an
        array's memory by resizing it.
        """
        return [in_place(x.array) for x in (*self.before, *self.each, *self.after) if isinstance(x, Gather)]

    @cached_property
    def _codes(self) -> dict[int, tuple[np.ndarray, int]]:
        """The code for lanes (0) and for one lane (1), once they are needed."""
        return {}

    def _code(self, variant: int) -> tuple[np.ndarray, int]:
        """The instructions as the native code reads them, and how much memory it needs."""
        lane = self.kernels[0].lane
        lane = Lane(lane.bits, 1, lane.fma) if variant else lane
        bases, total = [], 0
        for kernel in self.kernels:
            bases.append(total)
            total += kernel.workspace_bytes(is_single=variant == 1)
        sections = [
            [self._words(x, lane, variant, bases) for x in part] for part in (self.before, self.each, self.after)
        ]
        longest = max((w[Word.COUNT] for part in sections for w in part), default=0)
        header = [len(part) for part in sections] + [total]
        words = [*header, *(word for part in sections for instruction in part for word in instruction)]
        return np.array(words, dtype=np.int64), total + longest * lane.scalar_bytes + 64

    def _words(self, x: Instruction, lane: Lane, variant: int, bases: list[int]) -> list[int]:
        words = dict.fromkeys(Word, 0) | {Word.EVERY: x.every, Word.PHASE: x.phase}
        if isinstance(x, Run):
            address, constants = self.kernels[x.kernel].run_on(is_single=variant == 1)
            words |= {Word.KIND: Kind.RUN, Word.ADDRESS: address, Word.OTHER: constants, Word.SLOT: bases[x.kernel]}
        elif isinstance(x, Copy):
            source, target = self._places[(*x.source, x.from_input)], self._places[(*x.target, True)]
            if source.size != target.size:
                raise StateError(f"{x.source[1]} has {source.size} elements and {x.target[1]} {target.size}")
            words |= {Word.KIND: Kind.COPY, Word.COUNT: source.size}
            words |= source.words(bases[x.source[0]], lane)
            words[Word.OTHER] = bases[x.target[0]] + target.slot * lane.bytes
        else:
            place = self._places[x.kernel, x.port, x.from_input]
            strides = list(x.array.strides)
            per_state = strides.pop(0) if x.per_state else 0
            per_step = strides.pop(0) if x.per_step else 0
            words |= {Word.KIND: x.kind, Word.COUNT: place.size, Word.PER_STATE: per_state, Word.PER_STEP: per_step}
            words |= place.words(bases[x.kernel], lane)
            words[Word.ADDRESS] = address_of(x.array) - x.first_row * per_step
        return list(words.values())


@cache
def _native_code(bits: int, count: int, fma: bool) -> tuple[int, int]:
    """Where the code that executes programs is in memory: for lanes, and for one lane."""
    names, lanes = ["program", "program_single"], (Lane(bits, count, fma), Lane(bits, 1, fma))
    pairs = zip(lanes, names, strict=True)
    addresses = load_module("program", f"{bits} {count}", lambda: "\n".join(emit_program(*x) for x in pairs), names)
    return addresses["program"], addresses["program_single"]
