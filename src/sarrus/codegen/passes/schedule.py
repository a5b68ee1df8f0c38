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
CANDIDATES = 64  # of the ready ones, how many are looked at: it keeps the time linear


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
    position = {k: i for i, k in enumerate(base)}
    users: list[list[int]] = [[] for _ in op]
    followers: dict[int, list[int]] = {}
    missing = [0] * len(op)
    for k in base:
        for a in operands[k]:
            users[a].append(k)
            missing[k] += a in position
        for a in members.get(k, ()):
            if a in position:
                followers.setdefault(a, []).append(k)
                missing[k] += 1
    uses_left = [len(u) for u in users]
    next_user = [0] * len(op)  # per value: how many of its users, in base order, are known to be done

    waiting = [position[k] for k in base if missing[k] == 0]  # ready, but perhaps too far ahead
    heapq.heapify(waiting)
    candidates: list[int] = []
    done = [False] * len(op)
    held: set[int] = set()
    order: list[int] = []
    front = 0
    ready_at = [0.0] * len(op)  # when a value can be used, counted in instructions
    latency = [LATENCY.get(code, 4.0) * ISSUE for code in op]
    for now in range(len(base)):
        while done[base[front]]:
            front += 1
        while waiting and waiting[0] <= front + WINDOW and len(candidates) < CANDIDATES:
            candidates.append(base[heapq.heappop(waiting)])
        best, best_cost = -1, 1e30
        for k in candidates:
            cost = (position[k] - front) / WINDOW
            for a in operands[k]:
                if a not in held:
                    cost += 1.0
                if uses_left[a] == 1:
                    cost -= 1.0
                stall = ready_at[a] - now
                if stall > 0.0:
                    cost += stall * STALL
            if cost < best_cost:
                best, best_cost = k, cost
        k = best
        candidates.remove(k)
        done[k] = True
        ready_at[k] = max([now, *(ready_at[a] for a in operands[k])]) + latency[k]
        order.append(k)
        for a in operands[k]:
            uses_left[a] -= 1
            if uses_left[a]:
                held.add(a)
            else:
                held.discard(a)
        if uses_left[k]:
            held.add(k)
        for user in users[k] if k not in followers else users[k] + followers[k]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(waiting, position[user])
        while len(held) > REGISTERS:
            furthest, distance = -1, -1
            for a in held:
                mine, i = users[a], next_user[a]
                while done[mine[i]]:
                    i += 1
                next_user[a] = i
                if position[mine[i]] > distance:
                    furthest, distance = a, position[mine[i]]
            held.discard(furthest)
    return order
