"""From an ordered tape to steps of bounded size that pass values through a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sarrus.codegen.passes.slots import with_slots
from sarrus.codegen.passes.steps import Again, Begin, Chunk, Enter, Fetch, Keep, Leave, Picks, Plan, Step, Table
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import IDLE, Loop, Tape

_OF_ONE = {Op.EXP: "exp", Op.LOG: "log", Op.TANH: "tanh"}
APART = frozenset((Op.SIN, Op.COS, Op.ATAN2, *_OF_ONE, Op.PICK))  # done by steps of their own, from slots to slots


def plan(tape: Tape, orders: list[list[int]], chunk_size: int) -> Plan:
    """Cut each segment's instructions, in the order given, into steps and give values their slots."""
    steps: list[Step] = []
    for (start, stop, loop), order in zip(tape.segments, orders, strict=True):
        first, last = tape.guard_at(start, stop)
        straight = _steps(tape, start, stop, order, chunk_size)
        steps += [] if first is None else [Enter(first)]
        steps += straight if loop is None else _repeated(tape, loop, straight)
        steps += [] if last is None else [Leave()]
    direct = IDLE | APART
    copies = sorted({k for result in tape.results for k in result.tolist() if tape.op[k] in direct})
    if copies:
        steps.append(Chunk([], copies))
    return with_slots(tape, steps)


def _repeated(tape: Tape, loop: Loop, steps: Sequence[Step]) -> list[Step]:
    """Steps of one application, with what makes them a loop around them."""
    entries = [k for k in range(loop.start, loop.stop) if tape.op[k] == Op.ENTRY]
    collected = np.flatnonzero(tape.op == Op.COLLECTED)
    source = tape.arg[collected, 0]
    mine = collected[(source >= loop.start) & (source < loop.stop)].tolist()
    fetch, keep = [Fetch(entries)] if entries else [], [Keep(mine)] if mine else []
    return [Begin(loop, mine), *fetch, *steps, *keep, Again(loop)]


def _steps(tape: Tape, start: int, stop: int, order: list[int], chunk_size: int) -> list[Chunk | Table | Picks]:
    """The steps of the instructions start .. stop - 1. What they use from before is there already."""
    op, arg, operands = tape.op.tolist(), tape.arg.tolist(), tape.operands(list(range(start, stop)))
    level = [0] * len(op)  # instructions that are no part of a chunk on the longest way to this value
    for k in range(start, stop):
        if op[k] not in IDLE:
            level[k] = max((level[a] for a in operands[k - start]), default=0) + (op[k] in APART)
    # The phase of an instruction: before which level of those it must be done.
    last = max(level, default=0)
    phase = [last] * len(op)
    for k in range(stop - 1, start - 1, -1):
        mine = level[k] - 1 if op[k] in APART else phase[k]
        for a in operands[k - start]:
            phase[a] = min(phase[a], mine)
    by_phase: list[list[int]] = [[] for _ in range(last + 1)]
    apart: list[list[int]] = [[] for _ in range(last + 1)]
    for k in order:
        if op[k] in APART:
            apart[level[k]].append(k)
        else:
            by_phase[phase[k]].append(k)

    steps: list[Chunk | Table | Picks] = []
    for p in range(last + 1):
        picks = [k for k in apart[p] if op[k] == Op.PICK]
        steps += [Picks(picks)] if picks else []
        for table in _tables(apart[p], op, arg):
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
