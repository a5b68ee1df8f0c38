"""Short addresses for the memory that a chunk uses most.

Straight-line code is executed once per block of states and is larger than the nearest instruction cache, so it runs as
fast as it arrives: on the machine where this was measured 16 bytes per cycle, which is what bounds a batch. An x86
instruction that reads or writes memory has a displacement of one byte if it is near its base register and of four if
not, and most addresses of a workspace are far from its beginning. So each chunk gets a few more base registers, each in
the middle of a *window* of memory that is used often. That is 12 % less code.

A compiler would see through such a base and add it to the displacement again; an empty inline assembly hides where it
comes from.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sarrus.codegen.emit import host
from sarrus.codegen.passes.allocate import Action, Compute
from sarrus.codegen.passes.steps import DISTANCES, IN_VECTOR
from sarrus.codegen.passes.windows import most_used

BASES = 7  # registers that a function need not save
_REACH = 256  # what one byte reaches: from 128 below the base to 127 above
_VECTOR = 64  # bytes from which on displacements are counted in vectors (AVX-512)


class Windows:
    """Addresses in the workspace %w, among the constants %k and in vectors %vector0, %vector1 ..., as IR; `prologue`
    defines the bases.

    The slot of constant c is -1 - c.
    """

    def __init__(self, actions: Iterable[Action], slot_bytes: int) -> None:
        self._size = slot_bytes
        self._base: dict[int, tuple[int, int]] = {}  # slot -> (number of its base, bytes from there)
        self.prologue: list[str] = []
        if not host.is_x86():
            return  # others reach far enough
        scale = slot_bytes if slot_bytes >= _VECTOR else 1
        span = max(1, _REACH * scale // slot_bytes)
        middle = _REACH // 2 * scale
        slots = np.array([action.slot for action in actions if not isinstance(action, Compute)], dtype=int)
        slots = slots[slots < IN_VECTOR]
        for number, start in enumerate(most_used(slots, span, BASES)):
            self.prologue += [
                f" %base{number} = {self._far(start, middle)}",
                f' %near{number} = call ptr asm "", "=r,0"(ptr %base{number})',
            ]
            for i in range(span):
                slot = start + i if start >= 0 else start - i
                self._base.setdefault(slot, (number, i * slot_bytes - middle))

    def address(self, slot: int) -> str:
        if slot >= IN_VECTOR:
            number, distance = divmod(slot - IN_VECTOR, DISTANCES)
            return f"getelementptr i8, ptr %vector{number}, i64 {distance * self._size}"
        if slot in self._base:
            number, offset = self._base[slot]
            return f"getelementptr i8, ptr %near{number}, i64 {offset}"
        return self._far(slot)

    def _far(self, slot: int, beyond: int = 0) -> str:
        pointer, index = ("%w", slot) if slot >= 0 else ("%k", -1 - slot)
        return f"getelementptr i8, ptr {pointer}, i64 {index * self._size + beyond}"
