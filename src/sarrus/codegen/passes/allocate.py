"""Decide which values of a chunk stay in registers, and say so in loads and stores.

A compiler's register allocator is made for loops and branches. For a thousand instructions without any, the optimum
is nearly known (Belady: give up what is needed last), so it is done here on the tape, and what reaches LLVM has no more
values alive than there are registers. A reload that is used once becomes a memory operand and costs nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.codegen.passes.steps import Chunk, Plan
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY

NEVER = 1 << 30
REGISTERS = 15  # of the sixteen that SSE and AVX have; more would only lengthen what LLVM must juggle


class Load(NamedTuple):
    value: int
    slot: int


class Store(NamedTuple):
    value: int
    slot: int


class Compute(NamedTuple):
    value: int


Action = Load | Store | Compute
_new = tuple.__new__  # (of all that is done here, the names of fields took the longest)


def allocate(plan: Plan, chunk: Chunk, registers: int = REGISTERS) -> tuple[list[Action], int]:
    """Actions of `chunk` with at most `registers` values alive, and how many spill slots follow `plan.slots`.

    The slot of a constant c is -1 - c.
    """
    first_spill_slot = plan.slots
    tape, sequence, stores = plan.tape, chunk.instructions, plan.stores
    moves = [(a, plan.slot[k]) for a, k in chunk.moves if tape.op[a] == Op.CONST or plan.slot[a] != plan.slot[k]]
    written = {slot for _, slot in moves}
    moves.sort(key=lambda move: plan.slot[move[0]] not in written)  # what is overwritten is read first
    moved = np.array([a for a, _ in moves if tape.op[a] != Op.CONST], dtype=int)
    counts = ARITY[tape.op[sequence]]
    operands = np.concatenate([tape.arg[sequence][counts[:, None] > np.arange(3)], moved])
    first_use, following = _uses(operands)
    uses = list(zip(operands.tolist(), following, strict=True))
    ends = np.cumsum(counts).tolist()

    home = {a: plan.slot[a] for a in first_use if plan.slot[a] >= 0}
    used = np.array(list(first_use), dtype=int)
    constants = used[tape.op[used] == Op.CONST]
    home.update(zip(constants.tolist(), (-1 - tape.arg[constants, 0]).tolist(), strict=True))
    in_memory = first_use.keys() - sequence
    next_use = first_use  # of what is held
    held: set[int] = set()
    free_spills: list[int] = []
    spill_top = first_spill_slot
    spilled: dict[int, int] = {}
    actions: list[Action] = []

    def evict() -> None:
        """Give up what is needed last; operands of the instruction at hand are needed first, so that they stay."""
        nonlocal spill_top
        worst = max(held, key=next_use.__getitem__)
        held.discard(worst)
        if worst not in in_memory:
            slot = home.get(worst)
            if slot is None:
                if free_spills:
                    slot = free_spills.pop()
                else:
                    slot, spill_top = spill_top, spill_top + 1
                spilled[worst] = slot
                home[worst] = slot
            actions.append(_new(Store, (worst, slot)))
            in_memory.add(worst)

    for k, (first, last) in zip(sequence, pairwise([0, *ends]), strict=True):
        mine = uses[first:last]
        for a, _ in mine:
            if a not in held:
                while len(held) >= registers:
                    evict()
                actions.append(_new(Load, (a, home[a])))
                held.add(a)
        for a, then in mine:
            next_use[a] = then
            if then == NEVER:
                held.discard(a)
                if a in spilled:
                    free_spills.append(spilled.pop(a))
        while len(held) >= registers:
            evict()
        actions.append(_new(Compute, (k,)))
        if k in stores:
            actions += [Store(k, slot) for slot in stores[k]]
            home.setdefault(k, plan.slot[k])
            in_memory.add(k)
        if k in first_use:
            held.add(k)
    moved_uses = iter(uses[len(uses) - len(moved) :])
    saved: list[tuple[int, int, int]] = []  # what waits until all is written: where, and for which slot
    for a, slot in moves:
        if tape.op[a] == Op.CONST:
            actions.append(Store(a, slot))
            continue
        if a not in held:
            while len(held) >= registers:
                evict()
            actions.append(Load(a, home[a]))
            held.add(a)
        _, next_use[a] = next(moved_uses)
        if next_use[a] == NEVER:
            held.discard(a)
        if plan.slot[a] in written:
            saved.append((a, spill_top, slot))
            slot, spill_top = spill_top, spill_top + 1
        actions.append(Store(a, slot))
    for a, waits, slot in saved:
        actions += [Load(a, waits), Store(a, slot)]
    for k, is_constant in zip(chunk.copies, (tape.op[list(chunk.copies)] == Op.CONST).tolist(), strict=True):
        targets = [slot for slot in plan.stores[k] if slot != plan.slot[k] or is_constant]
        if targets and not is_constant:
            actions.append(Load(k, plan.slot[k]))
        actions += [Store(k, slot) for slot in targets]
    return actions, spill_top - first_spill_slot


def _uses(values: np.ndarray) -> tuple[dict[int, int], list[int]]:
    """Values in the order in which they are used. Per value: the number of its first use; per use: the number of the
    next one of its value, or NEVER.
    """
    by_value = np.argsort(values, kind="stable")
    values = values[by_value]
    begins, ends = np.ones(len(values), bool), np.ones(len(values), bool)
    begins[1:] = ends[:-1] = values[1:] != values[:-1]
    following = np.empty(len(values), dtype=int)
    following[by_value] = np.where(ends, NEVER, np.roll(by_value, -1))
    first = dict(zip(values[begins].tolist(), by_value[begins].tolist(), strict=True))
    return first, following.tolist()
