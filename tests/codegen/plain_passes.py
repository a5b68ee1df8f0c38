"""Fusing and rewriting one instruction after the other: slow, plain, and what the quick passes must agree with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from sarrus.codegen.passes.rewrite import segment_of, wanted
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, LISTED, Guard, Tape


def plain_fuse(tape: Tape) -> Tape:
    op, arg = tape.op.tolist(), tape.arg.tolist()
    users: list[list[int]] = [[] for _ in op]
    for k, count in enumerate(ARITY[tape.op].tolist()):
        for column in range(count):
            users[arg[k][column]].append(k)
        for member in tape.lists[arg[k][1]].tolist() if op[k] in LISTED else ():
            users[member].append(k)
    stays, segment = wanted(tape), segment_of(tape)
    absorbed_by: dict[int, int] = {}
    for product in reversed(range(len(op))):
        uses = users[product]
        if op[product] != Op.MUL or product in stays or not uses or len(set(uses)) < len(uses):
            continue
        if all(op[k] in (Op.ADD, Op.SUB) and k not in absorbed_by and segment[k] == segment[product] for k in uses):
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
    return plain_rewritten(tape, np.array(op), np.array(arg), set(absorbed_by.values()), ())


def plain_rewritten(tape: Tape, op: np.ndarray, arg: np.ndarray, gone: Collection[int], moved: Collection[int]) -> Tape:
    order: list[int] = []
    number = np.full(len(op), -1, np.int32)

    def place(k: int) -> None:
        for a in arg[k, : ARITY[op[k]]].tolist():
            if a in moved and number[a] < 0:
                place(a)
        if number[k] < 0:
            number[k] = len(order)
            order.append(k)

    for k in range(len(op)):
        if k not in gone and k not in moved:
            place(k)
    new_arg = arg[order].astype(np.int32).reshape(-1, 3)
    for row, code in zip(new_arg, op[order].tolist(), strict=True):
        row[: ARITY[code]] = number[row[: ARITY[code]]]
    loops = []
    for loop in tape.loops:
        inside = number[loop.start : loop.stop]
        entry = loop.entry if loop.entry < 0 else int(number[loop.entry])
        loops.append(
            replace(
                loop, start=int(inside[0]), stop=int(inside.max()) + 1, condition=int(number[loop.condition]),
                updated=tuple(number[list(loop.updated)].tolist()), entry=entry,
            )
        )  # fmt: skip
    guards = []
    for guard in tape.guards:
        inside = [x for x in number[guard.start : guard.stop].tolist() if x >= 0]
        guards.append(Guard(min(inside), max(inside) + 1, int(number[guard.condition])))
    return replace(
        tape, op=op[order].astype(np.uint8), arg=new_arg, stage=tuple(tape.stage[k] for k in order),
        results=tuple(number[result] for result in tape.results), loops=tuple(loops), guards=tuple(guards),
        lists=tuple(number[members] for members in tape.lists),
    )  # fmt: skip
