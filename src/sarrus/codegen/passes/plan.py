"""From an ordered tape to steps of bounded size that pass values through a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sarrus.codegen.passes.slots import fixed_slots, with_slots
from sarrus.codegen.passes.steps import (
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
from sarrus.codegen.passes.vectors import InPlace, lay_out
from sarrus.codegen.tape.graph import APART, Op
from sarrus.codegen.tape.tape import IDLE, Loop, Tape

_APART = sorted(APART)
_FUNCTIONS = {Op.ATAN2: "atan2", Op.EXP: "exp", Op.LOG: "log", Op.TANH: "tanh"}


def plan(tape: Tape, orders: list[list[int]], chunk_size: int) -> Plan:
    """Cut each segment's instructions, in the order given, into steps and give values their slots."""
    steps: list[Step] = []
    segments = list(tape.segments)
    pieces = [_steps(tape, *piece[:2], order, chunk_size) for piece, order in zip(segments, orders, strict=True)]
    bodies = {loop: body for (_, _, loop), x in zip(segments, pieces, strict=True) if loop and (body := _body(loop, x))}
    layout = lay_out(tape, list(bodies), fixed_slots(tape))
    for (start, stop, loop), straight in zip(segments, pieces, strict=True):
        first, last = tape.guard_at(start, stop)
        steps += [] if first is None else [Enter(first)]
        if loop is None:
            steps += straight
        elif loop in bodies:
            before = Chunk([])
            if steps and isinstance(steps[-1], Chunk):
                before = steps[-1]
                steps.pop()
            steps += _in_place(tape, loop, layout.loops[start], before, bodies[loop])
        else:
            steps += _repeated(tape, loop, straight)
        steps += [] if last is None else [Leave()]
    direct = IDLE | APART
    is_result = np.zeros(len(tape), dtype=bool)
    is_result[np.concatenate([np.zeros(0, np.int32), *tape.results])] = True
    copies = np.flatnonzero(is_result & np.isin(tape.op, list(direct))).tolist()
    if copies:
        steps.append(Chunk([], copies))
    return with_slots(tape, steps, layout)


def _body(loop: Loop, steps: Sequence[Step]) -> Chunk | None:
    """The code of a repetition that works in place."""
    chunks = [step for step in steps if isinstance(step, Chunk)]
    return chunks[0] if loop.is_repetition and len(steps) == len(chunks) == 1 else None


def _in_place(tape: Tape, loop: Loop, found: InPlace, before: Chunk, body: Chunk) -> list[Step]:
    """A repetition as one step, and the chunk before it, which also puts values where it finds them."""
    initial = [(int(tape.arg[k, 0]), k) for k in loop.carried]
    moves = [*before.moves, *found.copies, *initial]
    following = [(u, k) for k, u in zip(loop.carried, loop.updated, strict=True) if u != k]
    body = Chunk(body.instructions, moves=following)
    places = sorted(found.places.union(k for _, k in found.copies))
    step = Repeat(loop, body, found.vectors, found.entries, [*found.collected, *found.unwanted], places)
    before = Chunk(before.instructions, before.copies, moves)
    return [before, step] if before != Chunk([]) else [step]


def _repeated(tape: Tape, loop: Loop, steps: Sequence[Step]) -> list[Step]:
    """Steps of one application, with what makes them a loop around them."""
    entries = (loop.start + np.flatnonzero(tape.op[loop.start : loop.stop] == Op.ENTRY)).tolist()
    collected = np.flatnonzero(tape.op == Op.COLLECTED)
    source = tape.arg[collected, 0]
    mine = collected[(source >= loop.start) & (source < loop.stop)].tolist()
    fetch, keep = [Fetch(entries)] if entries else [], [Keep(mine)] if mine else []
    return [Begin(loop, mine), *fetch, *steps, *keep, Again(loop)]


def _steps(tape: Tape, start: int, stop: int, order: list[int], chunk_size: int) -> list[Chunk | Table | Picks]:
    """The steps of the instructions start .. stop - 1. What they use from before is there already."""
    level, phase, last = _phases(tape, start, stop)
    by_phase: list[list[int]] = [[] for _ in range(last + 1)]
    apart: list[list[int]] = [[] for _ in range(last + 1)]
    is_apart = np.isin(tape.op[order], _APART)
    for k in np.array(order, dtype=int)[is_apart].tolist():
        apart[level[k]].append(k)
    for k in np.array(order, dtype=int)[~is_apart].tolist():
        by_phase[phase.get(k, last)].append(k)

    steps: list[Chunk | Table | Picks] = []
    for p in range(last + 1):
        picks = [k for k in apart[p] if tape.op[k] == Op.PICK]
        steps += [Picks(picks)] if picks else []
        for table in _tables(tape, apart[p]):
            constants = sorted({a for arguments in table.arguments for a in arguments if tape.op[a] == Op.CONST})
            steps += [Chunk([], constants), table] if constants else [table]
        instructions = by_phase[p]
        count = max(1, -(-len(instructions) // chunk_size))
        cuts = [len(instructions) * i // count for i in range(count + 1)]
        steps += [Chunk(instructions[a:b]) for a, b in pairwise(cuts) if b > a]
    return steps


def _phases(tape: Tape, start: int, stop: int) -> tuple[dict[int, int], dict[int, int], int]:
    """Levels: how many instructions that are no part of a chunk are on the longest way to a value, itself included. The
    phase of an instruction: before which level of those it must be done; and the last phase.

    Both only of those instructions and what they are made of; all others are done in the last phase.
    """
    waiting = (start + np.flatnonzero(np.isin(tape.op[start:stop], _APART))).tolist()
    operands: dict[int, list[int]] = {}
    while waiting:
        found = tape.operands(waiting)
        inside = [[a for a in used if start <= a < stop] for used in found]
        operands.update(zip(waiting, inside, strict=True))
        waiting = list({a for used in inside for a in used if a not in operands})
    level: dict[int, int] = {}
    codes = dict(zip(operands, tape.op[list(operands)].tolist(), strict=True))
    for k in sorted(operands):
        idle = codes[k] in IDLE
        level[k] = 0 if idle else max([level[a] for a in operands[k]], default=0) + (codes[k] in APART)
    last = max(level.values(), default=0)
    phase: dict[int, int] = {}
    for k in sorted(operands, reverse=True):
        mine = level[k] - 1 if codes[k] in APART else phase[k]
        for a in operands[k]:
            phase[a] = min(phase.get(a, last), mine)
    return level, phase, last


def _tables(tape: Tape, instructions: list[int]) -> list[Table]:
    """Sines and cosines, arc tangents, exponentials, ... in one table each."""
    pairs: dict[int, list[int]] = {}
    arguments: dict[str, list[tuple[int, ...]]] = {}
    results: dict[str, list[tuple[int, ...]]] = {}
    for k, code, (first, second, _) in zip(
        instructions, tape.op[instructions].tolist(), tape.arg[instructions].tolist(), strict=True
    ):
        if code in (Op.SIN, Op.COS):
            pairs.setdefault(first, [-1, -1])[code == Op.COS] = k
        elif code != Op.PICK:
            name = _FUNCTIONS[code]
            arguments.setdefault(name, []).append((first, second) if code == Op.ATAN2 else (first,))
            results.setdefault(name, []).append((k,))
    tables = [Table("sincos", [(x,) for x in pairs], [tuple(r) for r in pairs.values()])] if pairs else []
    return tables + [Table(name, arguments[name], results[name]) for name in _FUNCTIONS.values() if name in arguments]
