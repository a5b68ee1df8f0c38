"""Choose fused multiply-adds on the tape, so that no compiler has to and every kernel has the same bits.

A product is absorbed by the additions that use it when all its uses can absorb it: then it is never computed by
itself and the number of instructions falls. (A product with several uses is absorbed by each of them: as many
multiplications as before are done, inside the additions.) A product from before a loop stays there.
"""

from __future__ import annotations

import numpy as np

from sarrus.codegen.passes.rewrite import rewritten, segment_of, wanted
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Tape


def fuse(tape: Tape) -> Tape:
    """The same tape with `a * b + c` as one instruction wherever the product is not needed by itself."""
    op, arg, size = tape.op, tape.arg, len(tape)
    # Every use of a value, by value: `used` is one of them, `user` the instruction that uses it.
    used, user = tape.uses
    segment = np.array(segment_of(tape), dtype=int)
    is_sum = (op == Op.ADD) | (op == Op.SUB)
    fits = is_sum[user] & (segment[user] == segment[used])
    may = (op == Op.MUL) & (np.bincount(used, minlength=size) > 0)
    may[used[~fits]] = False
    may[list(wanted(tape))] = False
    used, user = used[may[used]], user[may[used]]
    by_value = np.argsort(used, kind="stable")
    products = np.flatnonzero(may)
    ends = np.searchsorted(used[by_value], np.append(products, size)).tolist()
    users = user[by_value].tolist()
    absorbed_by: dict[int, int] = {}  # an addition -> the product that it absorbs
    # Later products first: of two products in one sum the earlier is then the addend, which is ready sooner.
    for number, product in reversed(list(enumerate(products.tolist()))):
        begin, end = ends[number], ends[number + 1]
        if end == begin + 1:  # which is usual
            absorbed_by.setdefault(users[begin], product)
            continue
        uses = users[begin:end]
        if len(set(uses)) == len(uses) and absorbed_by.keys().isdisjoint(uses):
            absorbed_by.update(dict.fromkeys(uses, product))

    new_op, new_arg = op.copy(), arg.copy()
    sums, absorbed = (np.array(list(x), dtype=int) for x in (absorbed_by, absorbed_by.values()))
    is_first = arg[sums, 0] == absorbed
    new_op[sums] = np.where(op[sums] == Op.ADD, Op.FMA, np.where(is_first, Op.FMS, Op.FNMA))
    new_arg[sums, :2] = arg[absorbed, :2]
    new_arg[sums, 2] = np.where(is_first, arg[sums, 1], arg[sums, 0])
    return rewritten(tape, new_op, new_arg, gone=set(absorbed.tolist()), moved=())
