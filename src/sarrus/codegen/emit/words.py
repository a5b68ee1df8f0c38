"""A planned tape as data: the words that the native drivers read.

The drivers (`drivers.py`) are the same for all kernels of one scalar type, compiled once per machine. What differs
between kernels is straight-line code, in chunks, and these lists of 64-bit integers. A kernel finds them through a
header of addresses before its constants.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

import numpy as np

from sarrus.codegen.emit.artifact import Artifact
from sarrus.codegen.emit.kinds import TABLES, Kind
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.steps import (
    FOURTHS,
    Again,
    Begin,
    Chunk,
    Enter,
    Fetch,
    Keep,
    Leave,
    Picks,
    Plan,
    Repeat,
    Step,
    Table,
)
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Port, Tape
from sarrus.codegen.x86.patterns import HEADER_BYTES

# Addresses in the header, in this order: three functions of the C library, the lists of words, the kernel's own code
# that moves whole blocks of states (`x86/transfer.py`; zero: it has none), and drivers that others call: of the steps,
# of the check of arguments, of outputs that are listed and, as a list, of the kinds of steps (zero: the kernel has none
# such); at last those that put a few states off. It begins HEADER_BYTES before the constants, which begin at a cache
# line.
Header = IntEnum(
    "Header",
    "SIN COS ATAN2 STEPS CHUNKS PORTS GATHER SCATTER RUN CHECK LISTED HANDLERS RUN_MOST MOST_HANDLERS",
    start=0,
)
WIDE = 8  # rows of a table come in such groups (evaluations at once in a one-lane kernel)
NONE = -(2**62)  # in place of a value
UNCHECKED = -1  # in a driver's scratch, in place of the number of states with arguments that are not valid
PORT_WORDS = 8  # size, slot, dimensions, three extents, whether it is a whole number, at which word its list begins
PORT_LIST = 7  # the number of the last one of these
MOST_DIMENSIONS = 3


@dataclass(frozen=True)
class Words:
    """The steps of a plan, how many slots they need, and which kinds of steps there are."""

    steps: list[int]
    slots: int
    kinds: list[int]


def in_header(w: Writer, which: Header) -> str:
    """What the header before the constants `%k` says."""
    return w.value(f"load ptr, ptr {w.offset('%k', 8 * which - HEADER_BYTES)}, align 8")


def words_of(plan: Plan, spills: int) -> Words:
    """All steps, one after the other.

    A value is named by its slot, a constant by -1 less its number. Jumps are in words, from the step's own first word.
    """
    words: list[int] = []
    slots = plan.slots + spills
    open_steps: list[tuple[int, int]] = []  # (where a loop or a guard begins, the slot of a loop's counter)
    chunks = 0
    kinds: set[int] = set()
    shares = shares_of(plan.steps)
    for number, step in enumerate(plan.steps):
        begin_of_step = len(words)
        if isinstance(step, Chunk):
            words += [Kind.CHUNK, chunks]
            chunks += 1
        elif isinstance(step, Repeat):
            rows = _rows(plan, step)
            words += [Kind.REPEAT, REPEAT_BEGIN + len(rows), chunks, *rows]
            chunks += 1
        elif isinstance(step, Table):
            words += _table(plan, step)
        elif isinstance(step, Picks):
            words += _picks(plan, step)
        elif isinstance(step, Fetch):
            lists = {k: _values(plan, plan.tape.lists[plan.tape.arg[k, 1]]) for k in step.entries}
            words += _moves(Kind.FETCH, open_steps[-1][1], [(plan.slot[k], x) for k, x in lists.items()])
        elif isinstance(step, Keep):
            words += _moves(Kind.KEEP, open_steps[-1][1], _kept(plan, step))
        elif isinstance(step, Begin):
            open_steps.append((len(words), slots))
            pairs = [(_value(plan, int(plan.tape.arg[k, 0])), plan.slot[k]) for k in step.loop.carried]
            pairs = [(value, slot) for value, slot in pairs if value != slot]  # what is not there already
            entry = NONE if step.loop.entry < 0 else _value(plan, step.loop.entry)
            words += [Kind.BEGIN, 0, entry, step.mask_slot, slots, len(pairs), *_flat(pairs)]
            slots += 2  # a counter of 64 bits, also where slots have 32
        elif isinstance(step, Again):
            begin, counter = open_steps.pop()
            temporary, again = _again(plan, step, slots)
            first = begin + 6 + 2 * words[begin + 5]  # the step after `Begin`
            words += [Kind.AGAIN, len(words) - first, counter, step.loop.limit, *again]
            slots += temporary
            words[begin + 1] = len(words) - begin
        elif isinstance(step, Enter):
            open_steps.append((len(words), -1))
            words += [Kind.ENTER, 0, _value(plan, step.guard.condition), shares.get(number, 0)]
        elif isinstance(step, Leave):
            begin, _ = open_steps.pop()
            words[begin + 1] = len(words) - begin
        kinds.update(words[begin_of_step : begin_of_step + 1])  # (a step may have none)
    return Words([*map(int, words), int(Kind.END)], slots, sorted(map(int, kinds)))


ENTER_WORDS = 4  # of `Enter`: its kind, words past the guard, its condition, its share
WHOLE_SHARE = 64  # a share is counted in so many parts


def shares_of(steps: Sequence[Step]) -> dict[int, int]:
    """Per guard that is in no loop and no other guard, by the number of its `Enter`: which part of all instructions is
    in it. As long as no larger part of the lanes needs it, it is cheaper to do these again, with others that do.
    """
    sizes = [0, *accumulate(len(step.instructions) if isinstance(step, Chunk) else 0 for step in steps)]
    found, open_steps = {}, []
    for number, step in enumerate(steps):
        if isinstance(step, (Begin, Enter)):
            open_steps.append(number)
        elif isinstance(step, (Again, Leave)):
            begin = open_steps.pop()
            if isinstance(step, Leave) and not open_steps:
                found[begin] = WHOLE_SHARE * (sizes[number] - sizes[begin]) // max(1, sizes[-1])
    return found


REPEAT_BEGIN = 3  # words of `Repeat` before the table: its kind, words to the next step, the number of its function


def _rows(plan: Plan, step: Repeat) -> list[int]:
    """The table of a repetition: per application, where each of its vectors is."""
    columns = [x.first if x.is_constant else [plan.slot[k] for k in x.first] for x in step.vectors]
    return [FOURTHS * place for row in zip(*columns, strict=True) for place in row]


def _again(plan: Plan, step: Again, slots: int) -> tuple[int, list[int]]:
    """How many temporary slots it takes, and the rest of its words.

    All carried values change at once: an old one that becomes another is read before any is written.
    """
    loop = step.loop
    changes = [(k, u) for k, u in zip(loop.carried, loop.updated, strict=True) if u != k]
    early = {u: slots + n for n, u in enumerate(dict.fromkeys(u for _, u in changes if u in loop.carried))}
    saved = [(_value(plan, u), slot) for u, slot in early.items()]
    pairs = [(early[u] if u in early else _value(plan, u), plan.slot[k]) for k, u in changes]
    condition = NONE if step.mask_slot < 0 else _value(plan, loop.condition)
    return len(early), [condition, step.mask_slot, len(saved), len(pairs), *_flat(saved), *_flat(pairs)]


def _table(plan: Plan, table: Table) -> list[int]:
    """Its kind, the number of its rows, and rows of slots in groups of `WIDE`; what is too much goes nowhere."""
    nowhere = plan.slots - 1
    rows = []
    for arguments, results in zip(table.arguments, table.results, strict=True):
        rows.append([plan.slot[a] for a in arguments] + [plan.slot[k] if k >= 0 else nowhere for k in results])
    arity, count = len(table.arguments[0]), len(rows)
    rows += [rows[-1][:arity] + [nowhere] * (len(rows[0]) - arity)] * (-count % WIDE)
    return [TABLES[table.function], count, *_flat(rows)]


PICKS_BEGIN = 3  # words of `Picks` before the first group
GROUP_WORDS = 3  # of a group, before its picks


def _picks(plan: Plan, step: Picks) -> list[int]:
    """Its kind, the words to the next step, and the number of groups; then the groups, then the lists.

    A group is the picks with one index from lists of one length, because they take the same entry: the slot of the
    index, the number of the last entry, the number of picks, and per pick the slot of its result and the word where its
    list begins. A list that several picks share is there once.
    """
    tape = plan.tape
    groups: dict[tuple[int, int], list[int]] = {}
    for k in step.instructions:
        index, number, _ = tape.arg[k].tolist()
        groups.setdefault((index, len(tape.lists[number])), []).append(k)
    top = PICKS_BEGIN + GROUP_WORDS * len(groups) + 2 * len(step.instructions)
    begins: dict[int, int] = {}
    members: list[int] = []
    for number in tape.arg[step.instructions, 1].tolist():
        if number not in begins:
            begins[number] = top + len(members)
            members += _values(plan, tape.lists[number])
    words = [Kind.PICK, top + len(members), len(groups)]
    for (index, length), picks in groups.items():
        words += [plan.slot[index], length - 1, len(picks)]
        words += _flat([(plan.slot[k], begins[int(tape.arg[k, 1])]) for k in picks])
    return words + members


MOVES_BEGIN = 5  # words of `Fetch` and `Keep` before the first value


def _moves(kind: Kind, counter: int, moves: list[tuple[int, list[int]]]) -> list[int]:
    """Kind, words to the next step, the slot of the loop's counter, two numbers of values; then these, then rows.

    Row number r says, value by value, where they come from or go to in application number r. The first number is of
    values that are never constants; those that are come after them.
    """
    moves = sorted(moves, key=lambda move: min(move[1]) < 0)
    plain = sum(min(others) >= 0 for _, others in moves)
    values, others = zip(*moves, strict=True)
    rows = _flat(list(zip(*others, strict=True)))
    return [kind, MOVES_BEGIN + len(values) + len(rows), counter, plain, len(values) - plain, *values, *rows]


def _kept(plan: Plan, step: Keep) -> list[tuple[int, list[int]]]:
    """Per value that is kept: where it goes in each application; what nobody needs goes nowhere."""
    places: dict[int, dict[int, int]] = {}
    for k in step.collected:
        source, application, _ = plan.tape.arg[k].tolist()
        places.setdefault(source, {})[application] = plan.slot[k]
    (limit,) = [loop.limit for loop in plan.tape.loops if loop.start <= next(iter(places)) < loop.stop]
    nowhere = plan.slots - 1
    return [(plan.slot[k], [of_k.get(r, nowhere) for r in range(limit)]) for k, of_k in places.items()]


def _values(plan: Plan, values: np.ndarray) -> list[int]:
    slots = np.array([plan.slot[k] for k in values.tolist()])
    return np.where(plan.tape.op[values] == Op.CONST, -1 - plan.tape.arg[values, 0], slots).tolist()


def _value(plan: Plan, k: int) -> int:
    return -1 - int(plan.tape.arg[k, 0]) if plan.tape.op[k] == Op.CONST else plan.slot[k]


def _flat(rows: Sequence[Sequence[int]]) -> list[int]:
    return [word for row in rows for word in row]


def ports_of(tape: Tape, artifact: Artifact, workspace: int, tolerance: float) -> list[int]:
    """What the drivers know of a kernel's arrays: counts, ports, where quaternions begin, and lists of outputs.

    workspace  how many bytes it has. After it, in the drivers' scratch, the number of states that are not valid, a word
               for the lanes that are put off, and where rows go that are only padding
    tolerance  by how much the squares of a quaternion may not sum up to one
    """
    inputs = [0, *accumulate(port.size for port in tape.inputs)]
    unit = [slot + start for slot, port in zip(inputs, tape.inputs, strict=False) for start in port.unit]
    bits = struct.unpack("<q", struct.pack("<d", tolerance))[0]
    counts = [len(tape.inputs), len(tape.outputs), workspace, inputs[-1], bits, len(unit)]
    words = _flat([_port(port, slot, 0) for port, slot in zip(tape.inputs, inputs, strict=False)])
    top = PORTS_BEGIN + PORT_WORDS * (len(tape.inputs) + len(tape.outputs)) + len(unit)
    for port, slot, listed in zip(tape.outputs, artifact.outputs, artifact.listed, strict=True):
        words += _port(port, slot, top if listed else 0)
        top += len(listed)
    return [*counts, *words, *unit, *_flat(artifact.listed)]


PORTS_BEGIN = 6  # words before the ports


def _port(port: Port, slot: int, list_begins: int) -> list[int]:
    extents = [*port.shape, *[0] * MOST_DIMENSIONS][:MOST_DIMENSIONS]  # of more dimensions nobody reads them
    return [port.size, slot, len(port.shape), *extents, int(port.whole), list_begins]
