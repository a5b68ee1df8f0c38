"""Choose fused multiply-adds on the tape, so that no compiler has to and every kernel has the same bits.

A product is absorbed by the additions that use it when all its uses can absorb it: then it is never computed by
itself and the number of instructions falls. (A product with several uses is absorbed by each of them: as many
multiplications as before are done, inside the additions.) A product from before a loop stays there.
"""

from __future__ import annotations

import numpy as np

from sarrus.codegen.passes.rewrite import rewritten, segment_of, wanted
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, Tape


def fuse(tape: Tape) -> Tape:
    """The same tape with `a * b + c` as one instruction wherever the product is not needed by itself."""
    op, arg = tape.op.tolist(), tape.arg.tolist()
    arity = ARITY[tape.op].tolist()
    users: list[list[int]] = [[] for _ in op]
    for k, count in enumerate(arity):
        for column in range(count):
            users[arg[k][column]].append(k)
    stays, segment = wanted(tape), segment_of(tape)
    sums = np.isin(tape.op, (Op.ADD, Op.SUB)).tolist()
    absorbed_by: dict[int, int] = {}  # an addition -> the product that it absorbs
    # Later products first: of two products in one sum the earlier is then the addend, which is ready sooner.
    for product in reversed(np.flatnonzero(tape.op == Op.MUL).tolist()):
        if product in stays or not users[product]:
            continue
        uses = users[product]
        fits = all(sums[k] and k not in absorbed_by and segment[k] == segment[product] for k in uses)
        if fits and len(set(uses)) == len(uses):
            absorbed_by.update(dict.fromkeys(uses, product))

    for k, product in absorbed_by.items():
        a, b, _ = arg[product]
        if op[k] == Op.ADD:
            op[k], addend = int(Op.FMA), arg[k][1] if arg[k][0] == product else arg[k][0]
        elif arg[k][1] == product:
            op[k], addend = int(Op.FNMA), arg[k][0]
        else:
            op[k], addend = int(Op.FMS), arg[k][1]
        arg[k] = [a, b, addend]
    return rewritten(tape, op, arg, gone=set(absorbed_by.values()), moved=set())
