"""Kernels in a loop over time, in native code: a rollout never returns to Python between its steps.

A `Program` is a list of moves and runs, as data: what is done once `before` the steps of a block of states, at `each`
step, and once `after`. Rows of arrays go to a kernel's inputs (`Gather`), its inputs and outputs to rows (`Scatter`) or
to another input (`Copy`); `Run` runs a kernel. Each may be done at every step or at every k-th.

The native code that obeys (`emit_program`) is the same for all programs, one per kind of lane. It only moves memory, so
that the numbers are those of calling the kernels one after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import address_of, aligned, in_place
from sarrus.codegen.emit.transfer import move_column, move_square
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.runtime.crew import MOST_THREADS, share
from sarrus.codegen.runtime.module import load_module
from sarrus.codegen.runtime.native import NativeKernel
from sarrus.errors import StateError
from sarrus.model.arguments import whole_number

_GATHER, _SCATTER, _COPY, _RUN = range(4)
# Words of an instruction.
_KIND, _EVERY, _PHASE, _ADDRESS, _PER_STATE, _PER_STEP, _SLOT, _COUNT, _OTHER, _WORDS = range(10)


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


@dataclass(frozen=True)
class Scatter(Gather):
    """An output (or, `from_input`, an input) becomes rows of an array."""

    from_input: bool = False


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
        codes, _ = self._codes  # from here on no array can be resized
        for instruction in (*self.before, *self.each, *self.after):
            if not 0 <= instruction.phase < instruction.every:
                raise StateError(f"phase {instruction.phase} of every {instruction.every} steps: there is no such step")
            if isinstance(instruction, Gather):
                self._check(instruction, batch, start, steps, lane)
        native = _native(lane.bits, lane.count, lane.fma)

        threads = max(1, min(threads, -(-batch // lane.count), MOST_THREADS))
        function, variant = (native.program_single, 1) if batch == 1 else (native.program, 0)
        code, scratch_bytes = codes[variant]
        scratches = [aligned(scratch_bytes) for _ in range(threads)]
        own = [(address_of(code), start, steps, address_of(scratch)) for scratch in scratches]
        share(function, own, batch, lane.count)

    def _check(self, move: Gather, batch: int, start: int, steps: int, lane: Lane) -> None:
        size, _ = self._place(move.kernel, move.port, _is_input(move))
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
    def _places(self) -> dict[tuple[int, str, bool], tuple[int, int]]:
        """Size and first slot of every port: a workspace begins with the inputs, then come the outputs."""
        places = {}
        for number, kernel in enumerate(self.kernels):
            slot = 0
            for ports, is_input in ((kernel.tape.inputs, True), (kernel.tape.outputs, False)):
                for port in ports:
                    places[number, port.name, is_input] = port.size, slot
                    slot += port.size
        return places

    def _place(self, kernel: int, port: str, is_input: bool) -> tuple[int, int]:
        return self._places[kernel, port, is_input]

    @cached_property
    def _codes(self) -> tuple[list[tuple[np.ndarray, int]], list[Any]]:
        """The code for lanes and for one lane, and references to all arrays whose addresses are in it.

        While there are such references, nobody can make NumPy move or free an array's memory by resizing it.
        """
        held = [in_place(x.array) for x in (*self.before, *self.each, *self.after) if isinstance(x, Gather)]
        lane = self.kernels[0].lane
        kinds = lane, Lane(lane.bits, 1, lane.fma)
        return [self._code(kind, variant) for variant, kind in enumerate(kinds)], held

    def _code(self, lane: Lane, variant: int) -> tuple[np.ndarray, int]:
        """The instructions as the native code reads them, and how much memory it needs."""
        bases, total = [], 0
        for kernel in self.kernels:
            bases.append(total)
            total += kernel.workspace_bytes[variant]
        sections = [
            [self._words(x, lane, variant, bases) for x in part] for part in (self.before, self.each, self.after)
        ]
        longest = max((w[_COUNT] for part in sections for w in part), default=0)
        header = [len(part) for part in sections] + [total]
        words = [*header, *(word for part in sections for instruction in part for word in instruction)]
        return np.array(words, dtype=np.int64), total + longest * lane.scalar_bytes + 64

    def _words(self, x: Instruction, lane: Lane, variant: int, bases: list[int]) -> list[int]:
        words = [0] * _WORDS
        words[_EVERY], words[_PHASE] = x.every, x.phase
        if isinstance(x, Run):
            entry, constants = self.kernels[x.kernel].runs[variant]
            words[_KIND], words[_ADDRESS], words[_OTHER], words[_SLOT] = _RUN, entry, constants, bases[x.kernel]
        elif isinstance(x, Copy):
            (count, source), (other, target) = self._place(*x.source, x.from_input), self._place(*x.target, True)
            if count != other:
                raise StateError(f"{x.source[1]} has {count} elements and {x.target[1]} {other}")
            words[_KIND], words[_COUNT] = _COPY, count
            words[_SLOT] = bases[x.source[0]] + source * lane.bytes
            words[_OTHER] = bases[x.target[0]] + target * lane.bytes
        else:
            count, slot = self._place(x.kernel, x.port, _is_input(x))
            words[_KIND], words[_COUNT] = _SCATTER if isinstance(x, Scatter) else _GATHER, count
            words[_SLOT] = bases[x.kernel] + slot * lane.bytes
            strides = list(x.array.strides)
            words[_PER_STATE] = strides.pop(0) if x.per_state else 0
            words[_PER_STEP] = strides.pop(0) if x.per_step else 0
            words[_ADDRESS] = address_of(x.array) - x.first_row * words[_PER_STEP]
        return words


def _is_input(move: Gather) -> bool:
    return move.from_input if isinstance(move, Scatter) else True


class _Native:
    """Where the code that obeys programs is in memory."""

    def __init__(self, lane: Lane) -> None:
        ir = "\n".join([emit_program(lane, "program"), emit_program(Lane(lane.bits, 1, lane.fma), "program_single")])
        address = load_module("program", f"{lane.bits} {lane.count}", ir, ["program", "program_single"])
        self.program, self.program_single = address["program"], address["program_single"]


@functools.cache
def _native(bits: int, count: int, fma: bool) -> _Native:
    return _Native(Lane(bits, count, fma))


# --- the native code ---------------------------------------------------------------------------------


def emit_program(lane: Lane, name: str) -> str:
    """`name(code, start, first, count, steps, workspace)`: obey the code for states first .. first + count - 1."""
    lanes = lane.count
    w = Writer(f"void @{name}(ptr %code, i64 %start, i64 %first, i64 %count, i64 %steps, ptr %w)")
    counts = [w.value(f"load i64, ptr {w.offset('%code', 8 * k)}, align 8") for k in range(3)]
    padding = w.offset("%w", w.value(f"load i64, ptr {w.offset('%code', 24)}, align 8"))
    end = w.value("add i64 %first, %count")
    sections, section = [], w.offset("%code", 32)
    for count in counts:
        sections.append(section)
        section = w.offset(section, w.value(f"mul i64 {count}, {8 * _WORDS}"))
    blocks = w.value(f"udiv i64 {w.value(f'add i64 %count, {lanes - 1}')}, {lanes}")

    def obey(which: int, state: str, step: str) -> None:
        w.do(
            f"call void @{name}_obey(ptr {sections[which]}, i64 {counts[which]}, i64 {state}, i64 {end}, "
            f"i64 {step}, ptr %w, ptr {padding})"
        )

    with w.loop(blocks) as block:
        state = w.value(f"add i64 {w.value(f'mul i64 {block}, {lanes}')}, %first")
        obey(0, state, "%start")
        with w.loop("%steps") as number:
            obey(1, state, w.value(f"add i64 {number}, %start"))
        obey(2, state, "%start")
    return "\n".join([_emit_obey(lane, f"{name}_obey"), w.finish()])


def _emit_obey(lane: Lane, name: str) -> str:
    """One section of a program for one block of states at one step."""
    w = Writer(f"internal void @{name}(ptr %section, i64 %n, i64 %state, i64 %end, i64 %t, ptr %w, ptr %padding)")
    last = w.value("sub i64 %end, 1")
    with w.loop("%n") as i:
        instruction = w.offset("%section", w.value(f"mul i64 {i}, {8 * _WORDS}"))

        def word(k: int) -> str:
            return w.value(f"load i64, ptr {w.offset(instruction, 8 * k)}, align 8")

        every = word(_EVERY)
        remainder = w.value(f"urem i64 %t, {every}")
        with w.when(w.value(f"icmp eq i64 {remainder}, {word(_PHASE)}")):
            kind = word(_KIND)
            slots, count = w.offset("%w", word(_SLOT)), word(_COUNT)
            with w.when(w.value(f"icmp eq i64 {kind}, {_RUN}")):
                function = w.value(f"inttoptr i64 {word(_ADDRESS)} to ptr")
                constants = w.value(f"inttoptr i64 {word(_OTHER)} to ptr")
                w.do(f"call void {function}(ptr {slots}, ptr {constants})")
            with w.when(w.value(f"icmp eq i64 {kind}, {_COPY}")):
                _copy(w, lane, slots, w.offset("%w", word(_OTHER)), count)
            with w.when(w.value(f"icmp ult i64 {kind}, {_COPY}")):
                row = w.value(f"mul i64 {w.value(f'udiv i64 %t, {every}')}, {word(_PER_STEP)}")
                base = w.offset(w.value(f"inttoptr i64 {word(_ADDRESS)} to ptr"), row)
                stride = word(_PER_STATE)
                rows, wanted = [], []
                for number in range(lane.count):  # lanes beyond the end read the last row, and write nowhere
                    index = w.value(f"add i64 %state, {number}")
                    inside = w.value(f"icmp ult i64 {index}, %end")
                    index = w.value(f"select i1 {inside}, i64 {index}, i64 {last}")
                    address = w.offset(base, w.value(f"mul i64 {index}, {stride}"))
                    rows.append(address)
                    wanted.append(w.value(f"select i1 {inside}, ptr {address}, ptr %padding"))
                with w.when(w.value(f"icmp eq i64 {kind}, {_GATHER}")):
                    _transfer(w, lane, rows, slots, count, to_rows=False)
                with w.when(w.value(f"icmp eq i64 {kind}, {_SCATTER}")):
                    _transfer(w, lane, wanted, slots, count, to_rows=True)
    return w.finish()


def _copy(w: Writer, lane: Lane, source: str, target: str, count: str) -> None:
    T, align = lane.type, lane.alignment
    with w.loop(count) as i:
        at = w.value(f"mul i64 {i}, {lane.bytes}")
        x = w.value(f"load {T}, ptr {w.offset(source, at)}, align {align}")
        w.do(f"store {T} {x}, ptr {w.offset(target, at)}, align {align}")


def _transfer(w: Writer, lane: Lane, rows: list[str], slots: str, count: str, to_rows: bool) -> None:
    """One row of `count` scalars per lane becomes `count` slots, or the other way round."""
    whole = w.value(f"udiv i64 {count}, {lane.count}")
    with w.loop(whole) as i:
        column, slot = w.value(f"mul i64 {i}, {lane.bytes}"), w.value(f"mul i64 {i}, {lane.count * lane.bytes}")
        move_square(w, lane, rows, slots, column, slot, to_rows)
    done = w.value(f"mul i64 {whole}, {lane.count}")
    with w.loop(w.value(f"sub i64 {count}, {done}")) as i:
        number = w.value(f"add i64 {i}, {done}")
        column, slot = w.value(f"mul i64 {number}, {lane.scalar_bytes}"), w.value(f"mul i64 {number}, {lane.bytes}")
        move_column(w, lane, rows, slots, column, slot, to_rows)
