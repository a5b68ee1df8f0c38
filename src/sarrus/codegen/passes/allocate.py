"""Decide which values of a chunk stay in registers, and say so in loads and stores.

A compiler's register allocator is made for loops and branches. For a thousand instructions without any, the optimum
is nearly known (Belady: give up what is needed last), so it is done here on the tape, and what reaches LLVM has no more
values alive than there are registers. A reload that is used once becomes a memory operand and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.codegen.passes.steps import Chunk, Plan
from sarrus.codegen.tape.graph import Op

NEVER = 1 << 30
REGISTERS = 15  # of the sixteen that SSE and AVX have; more would only lengthen what LLVM must juggle


@dataclass(frozen=True)
class Load:
    value: int
    slot: int


@dataclass(frozen=True)
class Store:
    value: int
    slot: int


@dataclass(frozen=True)
class Compute:
    value: int


Action = Load | Store | Compute


def allocate(plan: Plan, chunk: Chunk, registers: int = REGISTERS) -> tuple[list[Action], int]:
    """Actions of `chunk` with at most `registers` values alive, and how many spill slots follow `plan.slots`.

    The slot of a constant c is -1 - c.
    """
    first_spill_slot = plan.slots
    tape = plan.tape
    sequence = chunk.instructions
    operands = tape.operands(sequence)
    uses: dict[int, list[int]] = {}
    for position, needed in enumerate(operands):
        for a in needed:
            uses.setdefault(a, []).append(position)
    moves = [(a, plan.slot[k]) for a, k in chunk.moves if tape.op[a] == Op.CONST or plan.slot[a] != plan.slot[k]]
    written = {slot for _, slot in moves}
    moves.sort(key=lambda move: plan.slot[move[0]] not in written)  # what is overwritten is read first
    for position, (a, _) in enumerate(moves, start=len(sequence)):
        if tape.op[a] != Op.CONST:
            uses.setdefault(a, []).append(position)
    for positions in uses.values():
        positions.reverse()  # the next use is the last element

    home = {a: plan.slot[a] for a in uses if plan.slot[a] >= 0}
    used = np.array(list(uses), dtype=int)
    constants = used[tape.op[used] == Op.CONST]
    home.update(zip(constants.tolist(), (-1 - tape.arg[constants, 0]).tolist(), strict=True))
    born_here = set(sequence)
    in_memory = {a for a in uses if a not in born_here}
    held: set[int] = set()
    free_spills: list[int] = []
    spill_top = first_spill_slot
    spilled: dict[int, int] = {}
    actions: list[Action] = []

    def next_use(a: int) -> int:
        positions = uses.get(a)
        return positions[-1] if positions else NEVER

    def evict(keep: set[int]) -> None:
        nonlocal spill_top
        worst, worst_distance = -1, -1
        for a in held:
            if a in keep:
                continue
            distance = next_use(a)
            if distance > worst_distance:
                worst, worst_distance = a, distance
        held.discard(worst)
        if worst_distance < NEVER and worst not in in_memory:
            slot = home.get(worst)
            if slot is None:
                if free_spills:
                    slot = free_spills.pop()
                else:
                    slot, spill_top = spill_top, spill_top + 1
                spilled[worst] = slot
                home[worst] = slot
            actions.append(Store(worst, slot))
            in_memory.add(worst)

    for position, k in enumerate(sequence):
        needed = operands[position]
        keep = set(needed)
        for a in keep:
            if a not in held:
                while len(held) >= registers:
                    evict(keep)
                actions.append(Load(a, home[a]))
                held.add(a)
        for a in needed:
            positions = uses[a]
            if positions and positions[-1] == position:
                positions.pop()
        for a in keep:
            if not uses[a]:
                held.discard(a)
                if a in spilled:
                    free_spills.append(spilled.pop(a))
        while len(held) >= registers:
            evict(set())
        actions.append(Compute(k))
        if k in plan.stores:
            for slot in plan.stores[k]:
                actions.append(Store(k, slot))
            home.setdefault(k, plan.slot[k])
            in_memory.add(k)
        if uses.get(k):
            held.add(k)
    saved: list[tuple[int, int, int]] = []  # what waits until all is written: where, and for which slot
    for a, slot in moves:
        if tape.op[a] == Op.CONST:
            actions.append(Store(a, slot))
            continue
        if a not in held:
            while len(held) >= registers:
                evict({a})
            actions.append(Load(a, home[a]))
            held.add(a)
        uses[a].pop()
        if not uses[a]:
            held.discard(a)
        if plan.slot[a] in written:
            saved.append((a, spill_top, slot))
            slot, spill_top = spill_top, spill_top + 1
        actions.append(Store(a, slot))
    for a, waits, slot in saved:
        actions += [Load(a, waits), Store(a, slot)]
    for k, is_constant in zip(chunk.copies, (tape.op[chunk.copies] == Op.CONST).tolist(), strict=True):
        targets = [slot for slot in plan.stores[k] if slot != plan.slot[k] or is_constant]
        if targets and not is_constant:
            actions.append(Load(k, plan.slot[k]))
        actions += [Store(k, slot) for slot in targets]
    return actions, spill_top - first_spill_slot
