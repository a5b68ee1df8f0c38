"""A tape from another one, after instructions have changed, moved or gone."""

from __future__ import annotations

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


def rewritten(tape: Tape, op: list[int], arg: list[list[int]], gone: set[int], moved: set[int]) -> Tape:
    """`tape` with these operations and arguments (numbers of the old tape), without the instructions in `gone`.

    Those in `moved` stand right before the first one that uses them, which is in the same segment.
    """
    arity = ARITY[op].tolist()
    order: list[int] = []
    number = [-1] * len(op)
    for k in range(len(op)):
        if k in gone or k in moved:
            continue
        waiting = [k]
        while waiting:
            top = waiting[-1]
            first = [a for a in arg[top][: arity[top]] if number[a] < 0 and a in moved]
            waiting += first
            if not first:
                waiting.pop()
                if number[top] < 0:
                    number[top] = len(order)
                    order.append(top)
    new_arg = []
    for k in order:
        count = arity[k]
        new_arg.append([number[a] for a in arg[k][:count]] + list(arg[k][count:]))
    renumber = np.array(number, dtype=np.int32)
    return Tape(
        op=np.array([op[k] for k in order], dtype=np.uint8),
        arg=np.array(new_arg, dtype=np.int32).reshape(-1, 3),
        stage=tuple(tape.stage[k] for k in order),
        constants=tape.constants,
        inputs=tape.inputs,
        outputs=tape.outputs,
        results=tuple(renumber[result] for result in tape.results),
        loops=tuple(_renumbered(loop, renumber) for loop in tape.loops),
        guards=tuple(_renumbered_guard(guard, renumber) for guard in tape.guards),
    )


def _renumbered(loop: Loop, number: np.ndarray) -> Loop:
    # A loop begins with a carried value, which stays; its last instruction may not.
    start, stop = int(number[loop.start]), int(number[loop.start : loop.stop].max()) + 1
    entry = -1 if loop.entry < 0 else int(number[loop.entry])
    return Loop(start, stop, tuple(number[list(loop.updated)].tolist()), int(number[loop.condition]), loop.limit, entry)


def _renumbered_guard(guard: Guard, number: np.ndarray) -> Guard:
    left = number[guard.start : guard.stop]
    left = left[left >= 0]
    return Guard(int(left.min()), int(left.max()) + 1, int(number[guard.condition]))
