"""Choosing, counting, fusing, rewriting, ordering, allocating, one instruction after the other: slow, plain, and what
quick passes must agree with.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from sarrus.codegen.passes.allocate import REGISTERS as ALLOCATED
from sarrus.codegen.passes.allocate import Action, Compute, Load, Store
from sarrus.codegen.passes.rewrite import segment_of, wanted
from sarrus.codegen.passes.schedule import CANDIDATES, LATENCY, REGISTERS, WINDOW
from sarrus.codegen.passes.steps import Chunk, Plan
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import ARITY, IDLE, KIND, LISTED, Guard, OpCount, Tape


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


def plain_schedule(tape: Tape) -> list[list[int]]:
    """Every cost counted afresh before each choice."""
    op = tape.op.tolist()
    operands = [list(dict.fromkeys(row[: ARITY[code]])) for row, code in zip(tape.arg.tolist(), op, strict=True)]
    orders = []
    for start, stop, _ in tape.segments:
        base = [k for k in range(start, stop) if op[k] not in IDLE]
        needs = [[a for a in operands[k] if op[a] != Op.CONST] for k in base]
        outside = sorted({a for used in needs for a in used} - set(base))
        number = {k: i for i, k in enumerate([*base, *outside])}
        needs = [[number[a] for a in used] for used in needs]
        lists = {i: tape.lists[tape.arg[k, 1]].tolist() for i, k in enumerate(base) if op[k] == Op.PICK}
        before = [{*used, *(number.get(a, -1) for a in lists.get(i, ()))} for i, used in enumerate(needs)]
        waits = [[a for a in used if 0 <= a < len(base)] for used in before]
        order = _plainly_ordered(needs, waits, [LATENCY.get(op[k], 4.0) for k in base])
        orders.append([base[i] for i in order])
    return orders


def _plainly_ordered(needs: list[list[int]], waits: list[list[int]], latency: list[float]) -> list[int]:
    left = dict.fromkeys(range(len(needs)))  # in order
    candidates: list[int] = []
    held: set[int] = set()
    there: dict[int, float] = {}  # of values: in thirds of a cycle
    all_users = {a: [i for i, used in enumerate(needs) if a in used] for used in needs for a in used}

    def users(a: int) -> list[int]:
        return [i for i in all_users.get(a, ()) if i in left]

    order: list[int] = []
    while left:
        front = next(iter(left))
        for i in left:
            if i not in candidates and i <= front + WINDOW and len(candidates) < CANDIDATES:
                candidates += [] if any(a in left for a in waits[i]) else [i]
        now = 2 * len(order)
        settled = {i: max([now, *(there.get(a, 0.0) for a in needs[i])]) for i in candidates}
        reloads = {i: sum(a not in held for a in needs[i]) - sum(users(a) == [i] for a in needs[i]) for i in candidates}
        costs = {i: i + 200 * reloads[i] + 3 * (settled[i] - now) for i in candidates}
        best = min(candidates, key=costs.__getitem__)
        candidates.remove(best)
        order.append(best)
        del left[best]
        there[best] = settled[best] + 3 * latency[best]
        for a in (*needs[best], best):
            if users(a):
                held.add(a)
            else:
                held.discard(a)
        while len(held) >= REGISTERS:
            held.discard(max(held, key=lambda a: users(a)[0]))
    return order


def plain_allocate(plan: Plan, chunk: Chunk, registers: int = ALLOCATED) -> tuple[list[Action], int]:
    """What is used is looked up in what is left, before each choice."""
    tape, slot = plan.tape, plan.slot
    is_constant = [code == Op.CONST for code in tape.op.tolist()]
    moves = [(a, slot[k]) for a, k in chunk.moves if is_constant[a] or slot[a] != slot[k]]
    written = {place for _, place in moves}
    moves = [x for x in moves if slot[x[0]] in written] + [x for x in moves if slot[x[0]] not in written]
    needed = [tape.arg[k, : ARITY[tape.op[k]]].tolist() for k in chunk.instructions]
    left = [a for used in needed for a in used] + [a for a, _ in moves if not is_constant[a]]  # uses, in order
    home = {a: -1 - int(tape.arg[a, 0]) if is_constant[a] else slot[a] for a in left if is_constant[a] or slot[a] >= 0}
    in_memory = set(left) - set(chunk.instructions)
    held: set[int] = set()
    spilled: dict[int, int] = {}
    free: list[int] = []
    top = plan.slots
    actions: list[Action] = []

    def make_room(keep: list[int]) -> None:
        nonlocal top
        while len(held) >= registers:
            worst = max((a for a in held if a not in keep), key=left.index)
            held.remove(worst)
            if worst not in in_memory:
                if worst not in home:
                    home[worst] = spilled[worst] = free.pop() if free else top
                    top = max(top, home[worst] + 1)
                actions.append(Store(worst, home[worst]))
                in_memory.add(worst)

    def take(a: int, keep: list[int]) -> None:
        if a not in held:
            make_room(keep)
            actions.append(Load(a, home[a]))
            held.add(a)

    for k, used in zip(chunk.instructions, needed, strict=True):
        for a in used:
            take(a, used)
        del left[: len(used)]
        for a in dict.fromkeys(a for a in used if a not in left):
            held.remove(a)
            if a in spilled:
                free.append(spilled[a])
        make_room([])
        actions.append(Compute(k))
        for place in plan.stores.get(k, ()):
            actions.append(Store(k, place))
            home[k] = slot[k]
            in_memory.add(k)
        if k in left:
            held.add(k)
    saved = []
    for a, place in moves:
        if is_constant[a]:
            actions.append(Store(a, place))
            continue
        take(a, [a])
        left.remove(a)
        if a not in left:
            held.remove(a)
        if slot[a] in written:
            saved.append((a, top, place))
            place, top = top, top + 1
        actions.append(Store(a, place))
    for a, waits, place in saved:
        actions += [Load(a, waits), Store(a, place)]
    for k in chunk.copies:
        targets = [place for place in plan.stores[k] if place != slot[k] or is_constant[k]]
        actions += [Load(k, slot[k])] if targets and not is_constant[k] else []
        actions += [Store(k, place) for place in targets]
    return actions, top - plan.slots


def plain_needed(graph: Graph, op: np.ndarray, arg: np.ndarray, roots: np.ndarray) -> np.ndarray:
    needed = np.zeros(len(op), bool)
    waiting = roots.tolist()
    while waiting:
        k = waiting.pop()
        if needed[k]:
            continue
        needed[k] = True
        waiting += arg[k, : ARITY[op[k]]].tolist()
        waiting += graph.lists[arg[k, 1]] if op[k] in LISTED else ()
        waiting += [guard.condition for guard in graph.guards if guard.first <= graph.segment[k] <= guard.last]
        for loop in graph.loops:
            if k in loop.carried or k in loop.collected:
                waiting += [loop.condition, *([loop.entry] if loop.entry >= 0 else [])]
                waiting += [u for carried, u in zip(loop.carried, loop.updated, strict=True) if carried == k]
    return needed


def plain_count(tape: Tape) -> OpCount:
    by_kind = Counter({"add": 0, "mul": 0, "div": 0, "sqrt": 0, "trig": 0})
    by_stage: Counter[str] = Counter()
    per_iteration = fallback = 0
    for k, (code, stage) in enumerate(zip(tape.op.tolist(), tape.stage, strict=True)):
        kinds = () if code in IDLE else ("mul", "add") if code in (Op.FMA, Op.FNMA, Op.FMS) else (KIND[code],)
        mine = [loop for loop in tape.loops if loop.start <= k < loop.stop]
        times = math.prod(loop.limit for loop in mine if loop.is_repetition)
        if any(guard.start <= k < guard.stop for guard in tape.guards):
            fallback += times * len(kinds)
            continue
        by_kind.update(dict.fromkeys(kinds, times))
        if kinds:
            by_stage[stage] += times * len(kinds)
        if any(not loop.is_repetition for loop in mine):
            per_iteration += len(kinds)
    return OpCount(by_kind.total(), dict(by_kind), dict(by_stage), per_iteration, fallback)
