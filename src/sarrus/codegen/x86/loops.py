"""The loop around the code of a repetition: where each of its vectors is, is read from a table, a row per application.

A vector has a base register of its own while it is needed; if there are more vectors than registers, the one that is
needed last gives its own up, and reads the table again. The third argument of such a function is the table: row by row,
a number per vector, in fourths of a slot, so that one table serves slots of all sizes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from sarrus.codegen.passes.steps import DISTANCES, FOURTHS, IN_VECTOR, Repeat

_WORKSPACE, _CONSTANTS, _TABLE, _END = 7, 6, 2, 1  # rdi, rsi, rdx, rcx
RESERVED = (_TABLE, _END)
_WORD = 8  # bytes
_NEAR = 128  # units that a displacement of one byte reaches, to either side
_MOST_SCALE = 3  # of an index, as a power of two


class Turns:
    """Addresses of the values in vectors, and the code around one application."""

    def __init__(
        self, repeat: Repeat, places: np.ndarray, slot: np.ndarray, slot_bytes: int, unit: int, registers: Sequence[int]
    ) -> None:
        """
        places     of all instructions, those that use memory
        slot       what they use
        unit       bytes in which short displacements are counted
        registers  that may be bases
        """
        self._repeat, self._slot_bytes = repeat, slot_bytes
        mine = (slot >= IN_VECTOR) & (slot < IN_VECTOR + len(repeat.vectors) * DISTANCES)
        self.places = places[mine]
        number, distance = np.divmod(slot[mine] - IN_VECTOR, DISTANCES)
        # The base is in the middle of what is near, if that helps.
        self._shift = [0] * len(repeat.vectors)
        for n in set(number[distance * slot_bytes >= _NEAR * unit].tolist()):
            self._shift[n] = _NEAR * unit
        self.offset = distance * slot_bytes - np.array(self._shift, dtype=np.int64)[number]
        self.base = np.zeros(len(number), dtype=np.int32)
        self._loads: list[tuple[int, bytes]] = []  # before which instruction, and what is done there
        needed = set(number.tolist())
        self.used = list(registers)[: len(needed)] if len(needed) < len(registers) else list(registers)
        self.left = list(registers)[len(self.used) :]
        self._assign(number.tolist())

    def _assign(self, numbers: list[int]) -> None:
        """A base register for each access, loaded when there is none for its vector."""
        following: dict[int, list[int]] = {}
        for i in range(len(numbers) - 1, -1, -1):
            following.setdefault(numbers[i], []).append(i)
        register: dict[int, int] = {}
        free = self.used[::-1]
        for i, number in enumerate(numbers):
            if number not in register:
                if free:
                    mine, place = free.pop(), -1  # early: nothing is given up for it
                else:
                    last = max(register, key=lambda n: following[n][-1] if following[n] else len(numbers))
                    mine, place = register.pop(last), int(self.places[i])
                register[number] = mine
                self._loads.append((place, self._load(number, mine)))
            self.base[i] = register[number]
            following[number].pop()

    def _load(self, number: int, register: int) -> bytes:
        """register = where vector `number` is in this application: mov, perhaps add to itself, lea."""
        high = register > 7
        code = bytes([0x48 | high << 2, 0x8B]) + _displaced((register & 7) << 3 | _TABLE, number * _WORD)
        scale = (self._slot_bytes // FOURTHS).bit_length() - 1
        if scale > _MOST_SCALE:
            code += bytes([0x48 | high << 2 | high, 0x01, 0xC0 | (register & 7) << 3 | register & 7])
            scale -= 1
        base = _CONSTANTS if self._repeat.vectors[number].is_constant else _WORKSPACE
        sib = bytes([scale << 6 | (register & 7) << 3 | base])
        prefix = bytes([0x48 | high << 2 | high << 1, 0x8D])
        return code + prefix + _displaced((register & 7) << 3 | 4, self._shift[number], sib)

    def around(self, body: bytes, begins: np.ndarray, first: int, last: int) -> bytes:
        """Instructions first .. last - 1, which begin in the body where `begins` says, once per row of the table."""
        pieces, done = [], first
        for place, code in sorted(self._loads, key=lambda load: load[0]):
            place = max(place, first)
            pieces += [body[begins[done] : begins[place]], code]
            done = place
        once = b"".join([*pieces, body[begins[done] : begins[last]]])
        row = _WORD * len(self._repeat.vectors)
        end = struct.pack("<BBBi", 0x48, 0x8D, 0x80 | _END << 3 | _TABLE, row * self._repeat.loop.limit)  # lea
        short = row < _NEAR
        once += struct.pack("<BBBb" if short else "<BBBi", 0x48, 0x83 if short else 0x81, 0xC0 | _TABLE, row)  # add
        once += bytes([0x48, 0x39, 0xC0 | _END << 3 | _TABLE])  # cmp
        back = struct.pack("<BBi", 0x0F, 0x85, -(len(once) + 6))  # jne
        return end + once + back


def _displaced(operands: int, displacement: int, sib: bytes = b"") -> bytes:
    """The bytes that say where memory is, with as many of the displacement as it takes."""
    if not displacement:
        return bytes([operands]) + sib
    if -_NEAR <= displacement < _NEAR:
        return bytes([0x40 | operands]) + sib + struct.pack("<b", displacement)
    return bytes([0x80 | operands]) + sib + struct.pack("<i", displacement)
