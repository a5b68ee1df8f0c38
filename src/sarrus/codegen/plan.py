"""From an ordered tape to steps of bounded size that pass values through a workspace.

A `Chunk` is straight-line code: one native function. A `Table` is a native *loop* over many evaluations of one
transcendental function, driven by a table of workspace slots: sines and cosines of all joint angles are a loop of fifty
instructions instead of thousands, and their rare slow path does not cut straight-line code. A loop of the tape is the
steps from `Begin` to `Again`; its carried values live in slots of their own, which only these two write, so that the
chunks between them are like all others.

Workspace slots hold one scalar (of all lanes) each: first the inputs, then the outputs, then values that outlive their
step, whose slots are used again as soon as they are dead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sarrus.codegen.graph import Op
from sarrus.codegen.tape import ARITY, IDLE, Loop, Tape

_OF_ONE = {Op.EXP: "exp", Op.LOG: "log", Op.TANH: "tanh"}
TRANSCENDENTAL = (Op.SIN, Op.COS, Op.ATAN2, *_OF_ONE)


@dataclass(frozen=True)
class Chunk:
    """Instructions (numbers of the tape) of one straight-line function, in order.

    `copies` are values that exist already (constants, inputs, results of tables) and only go to their slots.
    """

    instructions: list[int]
    copies: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    """Evaluations of one function: `arguments[i]` (values) gives `results[i]` (values, -1 where unwanted).

    `function` is "sincos" (results: sine, cosine), "atan2" or one of `exponential.FUNCTIONS`.
    """

    function: str
    arguments: list[tuple[int, ...]]
    results: list[tuple[int, ...]]


@dataclass(frozen=True)
class Begin:
    """Carried values become their initial ones. The steps from the next one to `Again` are then repeated."""

    loop: Loop
    mask_slot: int = -1  # where it says which lanes still go on; -1: nobody asks, because all do until the limit


@dataclass(frozen=True)
class Again:
    """Carried values become their updated ones where the loop goes on."""

    loop: Loop
    mask_slot: int = -1  # as that of `Begin`


Step = Chunk | Table | Begin | Again


@dataclass(frozen=True)
class Plan:
    """What the emitter needs beside the tape."""

    tape: Tape
    steps: list[Step]
    slot: list[int]  # per value: where it lives between steps; -1: nowhere
    stores: dict[int, list[int]]  # per value: every slot that it must reach (its own and the outputs')
    input_slot: list[int]  # per input port: its first slot
    output_slot: list[int]  # per output port: its first slot
    slots: int


def plan(tape: Tape, orders: list[list[int]], chunk_size: int) -> Plan:
    """Cut each segment's instructions, in the order given, into steps and give values their slots."""
    steps: list[Step] = []
    for (start, stop, loop), order in zip(tape.segments, orders, strict=True):
        straight = _steps(tape, start, stop, order, chunk_size)
        steps += straight if loop is None else [Begin(loop), *straight, Again(loop)]
    direct = (*IDLE, *TRANSCENDENTAL)
    copies = sorted({k for result in tape.results for k in result.tolist() if tape.op[k] in direct})
    if copies:
        steps.append(Chunk([], copies))
    return _with_slots(tape, steps)


def _steps(tape: Tape, start: int, stop: int, order: list[int], chunk_size: int) -> list[Chunk | Table]:
    """The steps of the instructions start .. stop - 1. What they use from before is there already."""
    op, arg, arity = tape.op.tolist(), tape.arg.tolist(), ARITY[tape.op].tolist()
    level = [0] * len(op)  # transcendental functions on the longest way to this value
    for k in range(start, stop):
        if op[k] not in IDLE:
            level[k] = max((level[arg[k][c]] for c in range(arity[k])), default=0) + (op[k] in TRANSCENDENTAL)
    # The phase of an instruction: before which level of transcendental functions it must be done.
    last = max(level, default=0)
    phase = [last] * len(op)
    for k in range(stop - 1, start - 1, -1):
        mine = level[k] - 1 if op[k] in TRANSCENDENTAL else phase[k]
        for c in range(arity[k]):
            phase[arg[k][c]] = min(phase[arg[k][c]], mine)
    by_phase: list[list[int]] = [[] for _ in range(last + 1)]
    tables: list[list[int]] = [[] for _ in range(last + 1)]
    for k in order:
        if op[k] in TRANSCENDENTAL:
            tables[level[k]].append(k)
        else:
            by_phase[phase[k]].append(k)

    steps: list[Chunk | Table] = []
    for p in range(last + 1):
        for table in _tables(tables[p], op, arg):
            constants = sorted({a for arguments in table.arguments for a in arguments if op[a] == Op.CONST})
            steps += [Chunk([], constants), table] if constants else [table]
        instructions = by_phase[p]
        count = max(1, -(-len(instructions) // chunk_size))
        cuts = [len(instructions) * i // count for i in range(count + 1)]
        steps += [Chunk(instructions[a:b]) for a, b in pairwise(cuts) if b > a]
    return steps


def _tables(instructions: list[int], op: list[int], arg: list[list[int]]) -> list[Table]:
    pairs: dict[int, list[int]] = {}
    for k in instructions:
        if op[k] in (Op.SIN, Op.COS):
            pairs.setdefault(arg[k][0], [-1, -1])[op[k] == Op.COS] = k
    atan2 = [k for k in instructions if op[k] == Op.ATAN2]
    tables = []
    if pairs:
        tables.append(Table("sincos", [(x,) for x in pairs], [tuple(r) for r in pairs.values()]))
    if atan2:
        tables.append(Table("atan2", [(arg[k][0], arg[k][1]) for k in atan2], [(k,) for k in atan2]))
    for code, name in _OF_ONE.items():
        mine = [k for k in instructions if op[k] == code]
        if mine:
            tables.append(Table(name, [(arg[k][0],) for k in mine], [(k,) for k in mine]))
    return tables


def _with_slots(tape: Tape, steps: list[Step]) -> Plan:
    op, arg, arity = tape.op.tolist(), tape.arg.tolist(), ARITY[tape.op].tolist()
    offsets = np.cumsum([0] + [p.size for p in tape.inputs] + [p.size for p in tape.outputs]).tolist()
    input_slot = offsets[: len(tape.inputs)]
    output_slot = offsets[len(tape.inputs) : -1]
    top = offsets[-1]

    born, last_use = [-1] * len(op), [-1] * len(op)
    in_table = [False] * len(op)
    first = -1  # the step that begins the loop
    for s, step in enumerate(steps):
        if isinstance(step, Chunk):
            for k in step.instructions:
                born[k] = s
                for c in range(arity[k]):
                    last_use[arg[k][c]] = s
        elif isinstance(step, Begin):
            first = s
            for k in step.loop.carried:
                born[k], last_use[arg[k][0]] = s, s
        elif isinstance(step, Again):
            for k in (*step.loop.carried, *step.loop.updated, step.loop.condition):
                last_use[k] = s
            # What came into the loop is needed until it ends: its next application uses it again.
            last_use = [s if first < u < s and b <= first else u for b, u in zip(born, last_use, strict=True)]
        else:
            for arguments, results in zip(step.arguments, step.results, strict=True):
                for k in results:
                    if k >= 0:
                        born[k], in_table[k] = s, True
                for a in arguments:
                    last_use[a], in_table[a] = s, True

    slot = [-1] * len(op)
    stores: dict[int, list[int]] = {}
    dying: list[list[int]] = [[] for _ in steps]
    for number, result in enumerate(tape.results):
        for element, k in enumerate(result.tolist()):
            stores.setdefault(k, []).append(output_slot[number] + element)
    for k in range(len(op)):
        if op[k] == Op.INPUT:
            slot[k] = input_slot[arg[k][0]] + arg[k][1]
        elif k in stores and op[k] != Op.CONST:
            slot[k] = stores[k][0]
    free: list[int] = []
    mask_slot = -1
    for s, step in enumerate(steps):
        if isinstance(step, Chunk):
            made = step.instructions + [k for k in step.copies if in_table[k]]
        elif isinstance(step, Begin):
            made = list(step.loop.carried)
            if op[step.loop.condition] != Op.CONST:
                mask_slot, top = top, top + 1
            else:
                mask_slot = -1
            steps[s] = Begin(step.loop, mask_slot)
        elif isinstance(step, Again):
            made = []
            steps[s] = Again(step.loop, mask_slot)
        else:
            made = [k for r in step.results for k in r if k >= 0]
        for k in made:
            needs_home = in_table[k] or last_use[k] > s
            if slot[k] < 0 and needs_home:
                if free:
                    slot[k] = free.pop()
                else:
                    slot[k], top = top, top + 1
                stores.setdefault(k, []).append(slot[k])
                dying[max(last_use[k], s)].append(k)
        for k in dying[s]:
            free.append(slot[k])
    # One slot more takes what tables compute and nobody wants.
    return Plan(tape, steps, slot, stores, input_slot, output_slot, top + 1)
