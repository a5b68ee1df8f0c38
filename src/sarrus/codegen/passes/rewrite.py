"""A tape from another one, after instructions have changed, moved or gone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from sarrus.codegen.tape.tape import ARITY, Guard, Loop, Tape


def segment_of(tape: Tape) -> list[int]:
    """Per instruction: the number of its segment, which it must not leave."""
    numbers = [0] * len(tape)
    for number, (start, stop, _) in enumerate(tape.segments):
        numbers[start:stop] = [number] * (stop - start)
    return numbers


def wanted(tape: Tape) -> set[int]:
    """Values that must be there by themselves: outputs, what decides on a loop or a guard, what a loop updates."""
    found = {k for result in tape.results for k in result.tolist()}
    entries = (loop.entry for loop in tape.loops if loop.entry >= 0)
    found.update(entries, (guard.condition for guard in tape.guards))
    return found.union(*((*loop.updated, loop.condition) for loop in tape.loops))


def rewritten(tape: Tape, op: np.ndarray, arg: np.ndarray, gone: Collection[int], moved: Collection[int]) -> Tape:
    """`tape` with these operations and arguments (numbers of the old tape), without the instructions in `gone`.

    Those in `moved` stand right before the first one that uses them, which is in the same segment.
    """
    order = _order(op, arg, gone, moved)
    number = np.full(len(op), -1, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    new_arg = arg[order].astype(np.int32)
    is_value = ARITY[op[order]][:, None] > np.arange(3)
    new_arg[is_value] = number[new_arg[is_value]]
    return Tape(
        op=op[order].astype(np.uint8),
        arg=new_arg,
        stage=tuple([tape.stage[k] for k in order.tolist()]),
        constants=tape.constants,
        inputs=tape.inputs,
        outputs=tape.outputs,
        results=tuple(number[result] for result in tape.results),
        loops=tuple(_renumbered(loop, number) for loop in tape.loops),
        guards=tuple(_renumbered_guard(guard, number) for guard in tape.guards),
        lists=tuple(number[members] for members in tape.lists),
    )


def _order(op: np.ndarray, arg: np.ndarray, gone: Collection[int], moved: Collection[int]) -> np.ndarray:
    """The instructions that remain, in their new order."""
    remains = np.ones(len(op), dtype=bool)
    remains[list(gone)] = False
    if not moved:
        return np.flatnonzero(remains)
    moves = np.zeros(len(op), dtype=bool)
    moves[list(moved)] = True
    is_value = ARITY[op][:, None] > np.arange(3)
    # Most instructions use none of those that move, and just follow.
    uses_moved = np.any(moves[np.where(is_value, arg, 0)] & is_value, axis=1).tolist()
    args, arity, is_moved = arg.tolist(), ARITY[op].tolist(), moves.tolist()
    placed = [False] * len(op)
    order: list[int] = []
    for k in np.flatnonzero(remains & ~moves).tolist():
        if not uses_moved[k]:
            order.append(k)
            continue
        waiting = [k]
        while waiting:
            top = waiting[-1]
            first = [a for a in args[top][: arity[top]] if is_moved[a] and not placed[a]] if uses_moved[top] else []
            waiting += first
            if not first:
                waiting.pop()
                if not placed[top]:
                    placed[top] = True
                    order.append(top)
    return np.array(order, dtype=np.int64)


def _renumbered(loop: Loop, number: np.ndarray) -> Loop:
    # A loop begins with a carried value or an entry, which stays; its last instruction may not.
    start, stop = int(number[loop.start]), int(number[loop.start : loop.stop].max()) + 1
    entry = -1 if loop.entry < 0 else int(number[loop.entry])
    updated, condition = tuple(number[list(loop.updated)].tolist()), int(number[loop.condition])
    return replace(loop, start=start, stop=stop, updated=updated, condition=condition, entry=entry)


def _renumbered_guard(guard: Guard, number: np.ndarray) -> Guard:
    left = number[guard.start : guard.stop]
    left = left[left >= 0]
    return Guard(int(left.min()), int(left.max()) + 1, int(number[guard.condition]))
