"""The order of instructions.

The next instruction is the one, of those that are ready and not far ahead in the algorithm's own order, that needs the
fewest reloads, ends the most values and, with a small weight, waits least for its operands. The register file is
simulated on the way.

The weight of waiting is small because the processor reorders by itself; it is not zero because it looks only about a
hundred instructions ahead. Orders that spill less (depth first from the outputs: a third fewer stores) are no faster:
their dependent instructions stand closer together.

No instruction moves into a loop or out of it.
"""

from __future__ import annotations

import heapq

from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, IDLE, Tape

WINDOW = 200  # how far ahead of the oldest instruction not yet placed another may be taken
REGISTERS = 14
STALL = 0.03  # the cost of one instruction's wait, in reloads
ISSUE = 1.5  # instructions per cycle, to count latencies in instructions
LATENCY: dict[int, float] = {Op.ADD: 3.0, Op.SUB: 3.0, Op.DIV: 13.0, Op.SQRT: 20.0}  # cycles; 4 for all others
CANDIDATES = 32  # of the ready ones, how many are looked at: it keeps the time linear


def schedule(tape: Tape) -> list[list[int]]:
    """Per segment of the tape: the instructions that compute, in an order that keeps values in registers."""
    op, arg, arity = tape.op.tolist(), tape.arg.tolist(), ARITY[tape.op].tolist()
    operands = [tuple({a for a in arg[k][: arity[k]] if op[a] != Op.CONST}) for k in range(len(op))]
    members = {k: set(tape.lists[arg[k][1]].tolist()) for k in range(len(op)) if op[k] == Op.PICK}
    orders = []
    for start, stop, _ in tape.segments:
        base = [k for k in range(start, stop) if op[k] not in IDLE]
        orders.append(_ordered(base, op, operands, members))
    return orders


def _ordered(
    base: list[int], op: list[int], operands: list[tuple[int, ...]], members: dict[int, set[int]]
) -> list[int]:
    """`members`: what instructions need beside their operands, but not in registers."""
    # Values by their number here: instructions by their place in `base`, then what comes from before.
    count = len(base)
    number = {k: i for i, k in enumerate(base)}
    needs = [[number.setdefault(a, len(number)) for a in operands[k]] for k in base]
    users: list[list[int]] = [[] for _ in number]
    followers: dict[int, list[int]] = {}
    missing = [0] * count
    for i, used in enumerate(needs):
        for a in used:
            users[a].append(i)
            missing[i] += a < count
        for member in members.get(base[i], ()):
            a = number.get(member, count)
            if a < count:
                followers.setdefault(a, []).append(i)
                missing[i] += 1
    uses_left = [len(u) for u in users]
    next_user = [0] * len(users)  # per value: how many of its users are known to be done

    waiting = [i for i in range(count) if missing[i] == 0]  # ready, but perhaps too far ahead; in order, hence a heap
    candidates: list[int] = []
    done = [False] * count
    held: set[int] = set()
    order: list[int] = []
    front = 0
    ready_at = [0.0] * len(users)  # when a value can be used, counted in instructions
    latency = [LATENCY.get(op[k], 4.0) * ISSUE for k in base]
    for now in range(count):
        while done[front]:
            front += 1
        while waiting and waiting[0] <= front + WINDOW and len(candidates) < CANDIDATES:
            candidates.append(heapq.heappop(waiting))
        best, best_cost = -1, 1e30
        for i in candidates:
            cost = (i - front) / WINDOW
            for a in needs[i]:
                if a not in held:
                    cost += 1.0
                if uses_left[a] == 1:
                    cost -= 1.0
                stall = ready_at[a] - now
                if stall > 0.0:
                    cost += stall * STALL
            if cost < best_cost:
                best, best_cost = i, cost
        candidates.remove(best)
        done[best] = True
        ready_at[best] = max([now, *(ready_at[a] for a in needs[best])]) + latency[best]
        order.append(base[best])
        for a in needs[best]:
            uses_left[a] -= 1
            if uses_left[a]:
                held.add(a)
            else:
                held.discard(a)
        if uses_left[best]:
            held.add(best)
        for user in users[best] if best not in followers else users[best] + followers[best]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(waiting, user)
        while len(held) > REGISTERS:
            furthest, distance = -1, -1
            for a in held:
                mine, i = users[a], next_user[a]
                while done[mine[i]]:
                    i += 1
                next_user[a] = i
                if mine[i] > distance:
                    furthest, distance = a, mine[i]
            held.discard(furthest)
    return order
