"""The order of instructions.

The next instruction is the one, of those that are ready and not far ahead in the algorithm's own order, that needs the
fewest reloads, ends the most values and, with a small weight, waits least for its last operand. The register file is
simulated on the way.

The weight of waiting is small because the processor reorders by itself; it is not zero because it looks only about a
hundred instructions ahead. Orders that spill less (depth first from the outputs: a third fewer stores) are no faster:
their dependent instructions stand closer together.

No instruction moves into a loop or out of it.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, IDLE, Tape

WINDOW = 200  # how far ahead of the oldest instruction not yet placed another may be taken
REGISTERS = 15  # that hold values; of these, one is the result of what is next
LATENCY: dict[int, float] = {Op.ADD: 3.0, Op.SUB: 3.0, Op.DIV: 13.0, Op.SQRT: 20.0}  # cycles; 4 for all others
CANDIDATES = 32  # of the ready ones, how many are looked at: it keeps the time linear
# Time is counted in thirds of a cycle: two for each instruction. Costs are counted in instructions ahead of turn.
_INSTRUCTION, _CYCLE = 2, 3
_RELOAD, _WAIT, _NEVER = 200, 3, 1 << 60
_LATENCIES = np.array([LATENCY.get(code, 4.0) for code in Op], dtype=int)


def schedule(tape: Tape, registers: int = REGISTERS) -> list[list[int]]:
    """Per segment of the tape: the instructions that compute, in an order that keeps values in so many registers."""
    is_idle = np.isin(tape.op, list(IDLE))
    # Operands that lie in registers, each once; -1 where there is none.
    operands = np.where(ARITY[tape.op][:, None] > np.arange(3), tape.arg, -1)
    operands[(operands >= 0) & (tape.op[operands] == Op.CONST)] = -1
    operands[operands[:, 1] == operands[:, 0], 1] = -1
    operands[(operands[:, 2] == operands[:, 0]) | (operands[:, 2] == operands[:, 1]), 2] = -1
    orders = []
    for start, stop, _ in tape.segments:
        base = start + np.flatnonzero(~is_idle[start:stop])
        picks = np.flatnonzero(tape.op[base] == Op.PICK).tolist()
        members = {i: tape.lists[tape.arg[base[i], 1]].tolist() for i in picks}
        latency = (_CYCLE * _LATENCIES[tape.op[base]]).tolist()
        placed = _ordered(base, operands[base], members, latency, registers)
        orders.append(base[placed].tolist())
    return orders


def _ordered(
    base: np.ndarray, operands: np.ndarray, members: dict[int, list[int]], latency: list[int], registers: int
) -> list[int]:
    """Places in `base`, in the new order. `members`: what instructions need beside their operands, but not in
    registers.
    """
    # Values by their number here: instructions by their place in `base`, then what comes from before.
    count = len(base)
    is_used = operands >= 0
    used = operands[is_used]
    places = np.searchsorted(base, used)
    inside = base[np.minimum(places, count - 1)] == used if count else np.zeros(0, bool)
    outside, numbers = np.unique(used[~inside], return_inverse=True)
    places[~inside] = count + numbers
    per_instruction = is_used.sum(axis=1)
    user = np.repeat(np.arange(count), per_instruction)
    needs = _pieces(places, per_instruction)
    uses = np.bincount(places, minlength=count + len(outside))
    by_value = np.argsort(places[::-1], kind="stable")
    users = _pieces(user[::-1][by_value], uses)  # the next one last; those that are done are dropped at times
    missing = np.bincount(user, inside, count).astype(int).tolist()
    number = {k: i for i, k in enumerate(base.tolist())} if members else {}
    followers: dict[int, list[int]] = {}
    for i, of_pick in members.items():
        for a in {number[member] for member in of_pick if member in number}:
            followers.setdefault(a, []).append(i)
            missing[i] += 1
    uses_left = uses.tolist()
    # What each instruction costs if it is next, but for its wait. It changes where a value gets into a register or out
    # of it, or has one use left: that is rare, so that it is not counted again for every candidate.
    reloads = np.bincount(user, uses[places] > 1, count).astype(int)
    cost = (np.arange(count) + _RELOAD * reloads).tolist()

    waiting = [i for i, left in enumerate(missing) if not left]  # ready, but perhaps too far ahead; in order: a heap
    candidates: list[int] = []
    done = [False] * count
    held: set[int] = set()
    next_use = [of_value[-1] if of_value else -1 for of_value in users]  # the first, in `base`, that is not done
    order: list[int] = []
    front = 0
    settled_at = [0] * count  # when all values that an instruction needs are there
    for now in range(0, _INSTRUCTION * count, _INSTRUCTION):
        while done[front]:
            front += 1
        while waiting and waiting[0] <= front + WINDOW and len(candidates) < CANDIDATES:
            candidates.append(heappop(waiting))
        best, least = -1, _NEVER
        for i in candidates:
            mine = cost[i]
            if settled_at[i] > now:
                mine += (settled_at[i] - now) * _WAIT
            if mine < least:
                best, least = i, mine
        candidates.remove(best)
        done[best] = True
        order.append(best)
        for a in needs[best]:
            left = uses_left[a] = uses_left[a] - 1
            if not left:
                held.discard(a)
                continue
            of_value = users[a]
            if next_use[a] == best:
                while done[of_value[-1]]:
                    of_value.pop()
                next_use[a] = of_value[-1]
            change = (left == 1) + (a not in held)
            if change:
                held.add(a)
                for user in of_value:
                    cost[user] -= change * _RELOAD
        if uses_left[best]:
            held.add(best)
        there = settled_at[best] if settled_at[best] > now else now
        there += latency[best]
        for user in users[best]:
            cost[user] -= _RELOAD
            if settled_at[user] < there:
                settled_at[user] = there
            missing[user] -= 1
            if not missing[user]:
                heappush(waiting, user)
        for user in followers.get(best, ()) if followers else ():
            missing[user] -= 1
            if not missing[user]:
                heappush(waiting, user)
        while len(held) >= registers:
            furthest = max(held, key=next_use.__getitem__)
            held.discard(furthest)
            for user in users[furthest]:
                cost[user] += _RELOAD
    return order


def _pieces(values: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    """The values in pieces of these lengths."""
    flat, ends = values.tolist(), np.cumsum(lengths).tolist()
    return [flat[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
