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

import heapq

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
    outside = sorted(set(operands.reshape(-1).tolist()).difference(base.tolist(), [-1]))
    number = {k: i for i, k in enumerate([*base.tolist(), *outside])}
    needs = [[number[a] for a in row if a >= 0] for row in operands.tolist()]
    users: list[list[int]] = [[] for _ in number]  # the next one last; those that are done are dropped at times
    for i in range(count - 1, -1, -1):
        for a in needs[i]:
            users[a].append(i)
    missing = [sum([a < count for a in used]) for used in needs]
    followers: dict[int, list[int]] = {}
    for i, used in members.items():
        for a in {number[member] for member in used if number.get(member, count) < count}:
            followers.setdefault(a, []).append(i)
            missing[i] += 1
    uses_left = [len(u) for u in users]
    # What each instruction costs if it is next, but for its wait. It changes where a value gets into a register or out
    # of it, or has one use left: that is rare, so that it is not counted again for every candidate.
    cost = [i + sum([_RELOAD for a in used if uses_left[a] > 1]) for i, used in enumerate(needs)]

    waiting = [i for i in range(count) if missing[i] == 0]  # ready, but perhaps too far ahead; in order, hence a heap
    candidates: list[int] = []
    done = [False] * count
    held: set[int] = set()
    order: list[int] = []
    front = 0
    settled_at = [0] * count  # when all values that an instruction needs are there
    for now in range(0, _INSTRUCTION * count, _INSTRUCTION):
        while done[front]:
            front += 1
        while waiting and waiting[0] <= front + WINDOW and len(candidates) < CANDIDATES:
            candidates.append(heapq.heappop(waiting))
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
            change = (left == 1) + (a not in held)
            if change:
                held.add(a)
                for user in users[a]:
                    cost[user] -= change * _RELOAD
        if uses_left[best]:
            held.add(best)
        there = max(now, settled_at[best]) + latency[best]
        for user in users[best]:
            cost[user] -= _RELOAD
            if settled_at[user] < there:
                settled_at[user] = there
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(waiting, user)
        for user in followers.get(best, ()):
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(waiting, user)
        while len(held) >= registers:
            furthest, distance = -1, -1
            for a in held:
                mine = users[a]
                while done[mine[-1]]:
                    mine.pop()
                if mine[-1] > distance:
                    furthest, distance = a, mine[-1]
            held.discard(furthest)
            for user in users[furthest]:
                cost[user] += _RELOAD
    return order
