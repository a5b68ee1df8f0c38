"""Sums of products as chains of multiply-adds, on a tape that has been fused.

Fused, `(a b + c d) + e` is a product, a multiply-add and an addition. As `a b + (c d + e)` it is two multiply-adds: the
addend begins the chain instead of ending it. So an addition with a chain among its operands, one that begins with a
product and that nothing else uses, gives its other operand to that product, and is gone. Signs change on the way down
as they must.

What was added last is now needed first, so a chain can end later than the addition did. `PATIENCE` says by how much it
may.
"""

from __future__ import annotations

import numpy as np

from sarrus.codegen.passes.rewrite import rewritten, segment_of, wanted
from sarrus.codegen.passes.schedule import LATENCY
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, Tape

PATIENCE = 8.0  # cycles
_MUL, _ADD, _PICK = int(Op.MUL), int(Op.ADD), int(Op.PICK)  # (names of an enumeration are slow to look up)
_SUMS, _FUSED = (_ADD, int(Op.SUB)), (int(Op.FMA), int(Op.FNMA), int(Op.FMS))
# How e joins a value v: v + e, v - e or e - v. Per way and operation of v: the operation that results, and the way in
# which e joins the addend of v.
_PLUS, _MINUS, _FROM = range(3)
_JOINED = {
    (_PLUS, Op.FMA): (Op.FMA, _PLUS),
    (_PLUS, Op.FNMA): (Op.FNMA, _PLUS),
    (_PLUS, Op.FMS): (Op.FMS, _MINUS),
    (_MINUS, Op.FMA): (Op.FMA, _MINUS),
    (_MINUS, Op.FNMA): (Op.FNMA, _MINUS),
    (_MINUS, Op.FMS): (Op.FMS, _PLUS),
    (_FROM, Op.FMA): (Op.FNMA, _FROM),
    (_FROM, Op.FNMA): (Op.FMA, _FROM),
    (_FROM, Op.FMS): (Op.FNMA, _PLUS),
}
_BEGUN = {_PLUS: Op.FMA, _MINUS: Op.FMS, _FROM: Op.FNMA}  # what a product becomes


def chain(tape: Tape) -> Tape:
    """The same tape with fewer additions: those of a value and a sum of products are inside the sum."""
    op, arg = tape.op.tolist(), tape.arg.tolist()
    arity = ARITY[tape.op].tolist()
    uses = np.bincount(tape.uses[0], minlength=len(op)).tolist()
    for k in wanted(tape):
        uses[k] += 2  # it is never inside a chain
    segment = segment_of(tape)

    def links(top: int, where: int) -> list[int] | None:
        """The chain that ends in `top`, down to its product; None if it is not one, or not for this sum alone."""
        found = []
        while uses[top] == 1 and segment[top] == where:
            found.append(top)
            if op[top] == _MUL:
                return found
            if op[top] not in _FUSED:
                return None
            top = arg[top][2]
        return None

    ready = [0.0] * len(op)
    latency = [LATENCY.get(code, 4.0) for code in Op]
    gone: set[int] = set()
    moved: set[int] = set()
    for k in range(len(op)):
        count = arity[k]
        if not count:
            continue
        a, b, c = arg[k]
        latest = ready[a]
        if count > 1 and ready[b] > latest:
            latest = ready[b]
        if count > 2 and ready[c] > latest:
            latest = ready[c]
        if op[k] == _PICK:
            latest = max(latest, *(ready[x] for x in tape.lists[b].tolist()))
        ready[k] = latest + latency[op[k]]
        if op[k] not in _SUMS:
            continue
        best, choice = ready[k] + PATIENCE, None
        for mine in (0, 1):
            top, e = arg[k][mine], arg[k][1 - mine]
            found = links(top, segment[k])
            if found is None:
                continue
            end = ready[e]
            for link in reversed(found):
                end = max(end, ready[arg[link][0]], ready[arg[link][1]]) + 4.0
            if end <= best:
                best, choice = end, (found, e, _PLUS if op[k] == _ADD else _MINUS if mine == 0 else _FROM)
        if choice is None:
            continue
        found, e, way = choice
        place = [k, *found[1:]]  # the sum becomes the end of the chain, which has as many links as before
        for link, target in zip(found, place, strict=True):
            a, b, addend = arg[link]
            if op[link] == _MUL:
                op[target], arg[target] = int(_BEGUN[way]), [a, b, e]
            else:
                code, way = _JOINED[way, op[link]]
                op[target], arg[target] = int(code), [a, b, addend]
            arity[target] = 3
        end = ready[e]
        for target in reversed(place):
            end = max(end, ready[arg[target][0]], ready[arg[target][1]]) + 4.0
            ready[target] = end
        gone.add(found[0])
        moved.update(found[1:])
    return rewritten(tape, np.array(op, np.uint8), np.array(arg, np.int32).reshape(-1, 3), gone, moved)
