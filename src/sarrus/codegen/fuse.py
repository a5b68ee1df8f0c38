"""Choose fused multiply-adds on the tape, so that no compiler has to and every kernel has the same bits.

A product is absorbed by the additions that use it when all its uses can absorb it: then it is never computed by
itself and the number of instructions falls. (A product with several uses is absorbed by each of them: as many
multiplications as before are done, inside the additions.) A product from before a loop stays there.
"""

from __future__ import annotations

import numpy as np

from sarrus.codegen.graph import Op
from sarrus.codegen.tape import ARITY, Loop, Tape


def fuse(tape: Tape) -> Tape:
    """The same tape with `a * b + c` as one instruction wherever the product is not needed by itself."""
    op, arg = tape.op.tolist(), tape.arg.tolist()
    arity = ARITY[tape.op].tolist()
    users: list[list[int]] = [[] for _ in op]
    for k, count in enumerate(arity):
        for column in range(count):
            users[arg[k][column]].append(k)
    is_result = np.zeros(len(op), dtype=bool)
    for result in tape.results:
        is_result[result] = True
    piece = np.zeros(len(op), dtype=int)
    for number, (start, stop, loop) in enumerate(tape.segments):
        piece[start:stop] = number
        if loop is not None:
            is_result[[*loop.updated, loop.condition]] = True

    absorbed_by: dict[int, int] = {}  # an addition -> the product that it absorbs
    # Later products first: of two products in one sum the earlier is then the addend, which is ready sooner.
    for product in reversed(range(len(op))):
        if op[product] != Op.MUL or is_result[product] or not users[product]:
            continue
        uses = users[product]
        fits = all(op[k] in (Op.ADD, Op.SUB) and k not in absorbed_by and piece[k] == piece[product] for k in uses)
        if fits and len(set(uses)) == len(uses):
            absorbed_by.update(dict.fromkeys(uses, product))

    absorbed = set(absorbed_by.values())
    new_op, new_arg, new_stage = [], [], []
    number = [-1] * len(op)
    for k in range(len(op)):
        if k in absorbed:
            continue
        code, args = op[k], list(arg[k])
        product = absorbed_by.get(k)
        if product is not None:
            a, b, _ = arg[product]
            if code == Op.ADD:
                code, addend = Op.FMA, args[1] if args[0] == product else args[0]
            elif args[1] == product:
                code, addend = Op.FNMA, args[0]
            else:
                code, addend = Op.FMS, args[1]
            args = [number[a], number[b], number[addend]]
        else:
            for column in range(arity[k]):
                args[column] = number[args[column]]
        number[k] = len(new_op)
        new_op.append(int(code))
        new_arg.append(args)
        new_stage.append(tape.stage[k])
    renumber = np.array(number, dtype=np.int32)
    return Tape(
        op=np.array(new_op, dtype=np.uint8),
        arg=np.array(new_arg, dtype=np.int32).reshape(-1, 3),
        stage=tuple(new_stage),
        constants=tape.constants,
        inputs=tape.inputs,
        outputs=tape.outputs,
        results=tuple(renumber[result] for result in tape.results),
        loops=tuple(_renumbered(loop, renumber) for loop in tape.loops),
    )


def _renumbered(loop: Loop, number: np.ndarray) -> Loop:
    # A loop begins with a carried value, which is never absorbed; its last instruction may be.
    start, stop = int(number[loop.start]), int(number[loop.start : loop.stop].max()) + 1
    return Loop(start, stop, tuple(number[list(loop.updated)].tolist()), int(number[loop.condition]), loop.limit)
