"""Bytes of instructions: functions `f(workspace, constants)` by the System V convention, which run wherever they are.
Those with a loop in them have a third argument, a table (`loops.py`).

Everything but the choice of windows (`passes/windows.py`) is done for all instructions of all chunks at once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.codegen.passes.allocate import Action
from sarrus.codegen.passes.steps import IN_VECTOR
from sarrus.codegen.passes.windows import most_used
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.x86.forms import (
    IMMEDIATE,
    LOGIC,
    MAP,
    MASKS,
    OPCODE,
    PREFIX,
    SOURCE,
    WIDE,
    Form,
    encodings,
    wide_encodings,
)
from sarrus.codegen.x86.loops import RESERVED, Turns
from sarrus.codegen.x86.patterns import HEADER_BYTES, PATTERN_BYTES
from sarrus.codegen.x86.registers import REGISTER, VALUES, WIDE_VALUES, Assignment

_WORKSPACE, _CONSTANTS = 7, 6  # rdi, rsi
# For the windows, the most used first: rax, rcx, rdx, rbx, rbp, r8 .. r11, r13 .. r15. Those below 8 make an
# instruction shorter; r12 would make it longer. Some belong to the caller and are saved, for four bytes at most.
_BASES = (0, 1, 2, 3, 5, 8, 9, 10, 11, 13, 14, 15)
_CALLERS = (3, 5, 13, 14, 15)
_REACH = (
    256  # what a displacement of one byte reaches, in bytes (AVX-512: registers): from 128 below the base to 127 above
)
_LEAST_BYTES = 16  # of a register
_MASK = 1  # the register of masks that comparisons of AVX-512 write
_VZEROUPPER, _RET = b"\xc5\xf8\x77", b"\xc3"


def can_encode(bits: int, count: int) -> bool:
    """Whether a value of so many lanes fits one register."""
    return bits in (32, 64) and (count == 1 or bits * count in (128, 256, 512))


def chunk_code(tape: Tape, actions: Sequence[Action], bits: int, count: int, values: int = VALUES) -> bytes:
    """The function of one chunk, for `count` lanes of `bits` bits, and so many values in registers."""
    assignment = Assignment(tape, values)
    assignment.add(actions)
    return encoded(assignment, bits, count)[0]


def encoded(assignment: Assignment, bits: int, count: int) -> list[bytes]:
    """The function of each chunk."""
    words, slot = np.array(assignment.words, dtype=np.int32), np.array(assignment.slots, dtype=np.int32)
    form, r, v, base = words & 255, words >> 8 & 31, words >> 13 & 31, words >> 18 & 31
    in_memory = slot != REGISTER
    offset = np.zeros(len(words), dtype=np.int32)
    places = np.flatnonzero(in_memory)
    slot_bytes = bits * count // 8
    is_wide = bits * count == 512
    unit = slot_bytes if is_wide else 1  # of short displacements
    spread = bits // 8 if is_wide else 0  # bytes of a constant, where one number serves all lanes
    frames, turns = [], []
    for chunk, (first, last) in enumerate(pairwise(np.searchsorted(places, assignment.ends).tolist())):
        here, repeat = places[first:last], assignment.repeats.get(chunk)
        if repeat is None:
            base[here], offset[here], frame = _addresses(slot[here], slot_bytes, unit, spread, _BASES)
            turns.append(None)
        else:
            free = [register for register in _BASES if register not in RESERVED]
            of_loop = Turns(repeat, here, slot[here], slot_bytes, unit, free)
            base[of_loop.places], offset[of_loop.places] = of_loop.base, of_loop.offset
            rest = here[(slot[here] < IN_VECTOR) | (slot[here] >= REGISTER)]
            base[rest], offset[rest], frame = _addresses(slot[rest], slot_bytes, unit, spread, of_loop.left)
            saved = [register for register in of_loop.used if register in _CALLERS]
            frame = _saved(saved, frame)
            turns.append(of_loop)
        frames.append(frame)

    has_offset = (offset != 0) | in_memory & (base & 7 == 5)  # (rbp and r13 without one mean something else)
    if is_wide or assignment.values == WIDE_VALUES:
        operands = Operands(form, r, v, base, offset, slot)
        of_form, prefix, in_use, units = _wide_prefixes(operands, bits, count)
    else:
        of_form, units = encodings(bits, count == 1)[form], 1
        prefix, in_use = _prefix(of_form, r, v, base, bits * count == 256)
    short = offset // units
    is_far = (short < -_REACH // 2) | (short >= _REACH // 2)
    column, kept = np.empty((len(words), 11), np.uint8), np.ones((len(words), 11), bool)
    column[:, :4], kept[:, :4] = prefix, in_use
    column[:, 4] = of_form >> OPCODE
    mode = np.where(in_memory, has_offset.astype(np.int32) + is_far, 3)
    column[:, 5] = mode << 6 | (r & 7) << 3 | base & 7
    column[:, 6:10] = np.where(is_far, offset, short).astype("<i4").view(np.uint8).reshape(-1, 4)
    column[:, 10] = words >> 23
    kept[:, 6] = has_offset
    kept[:, 7:10] = is_far[:, None]
    kept[:, 10] = of_form >> IMMEDIATE & 1
    body = column[kept].tobytes()
    begins = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    # Others may go on with instructions that are slow while upper halves of registers are in use.
    clean = _VZEROUPPER if bits * count >= 256 else b""
    pieces = [
        body[begins[a] : begins[b]] if loop is None else loop.around(body, begins, a, b)
        for (a, b), loop in zip(pairwise(assignment.ends), turns, strict=True)
    ]
    return [before + piece + clean + after + _RET for (before, after), piece in zip(frames, pieces, strict=True)]


class Operands(NamedTuple):
    """Of each instruction. base: m, or the register that an address is counted from."""

    form: np.ndarray
    r: np.ndarray
    v: np.ndarray
    base: np.ndarray
    offset: np.ndarray
    slot: np.ndarray


def _wide_prefixes(operands: Operands, bits: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """With 32 registers: encodings, prefixes in four columns, which of them are used, units of short displacements.

    The long prefix of AVX-512 knows all of these, and masks, and counts displacements in operands. One number, as it is
    in every single state, has the shorter prefixes of AVX where they do, too.
    """
    form, r, v, base, offset, slot = operands
    is_spread = (slot < 0) & (count > 1)
    form[is_spread & (form == Form.LOAD)] = Form.SPREAD
    of_form = wide_encodings(bits, count == 1)[form]
    v[of_form >> SOURCE & 1 == 0] = 0
    r[form == Form.COMPARE] = _MASK
    units = np.where(is_spread, bits // 8, bits * count // 8)
    prefix = _wide_prefix(of_form, r, v, base, is_spread & (form != Form.SPREAD), count > 1)
    in_use = np.ones(prefix.shape, bool)
    if count == 1:
        units = np.where(np.isin(form, LOGIC), _LEAST_BYTES, units)
        of_short = encodings(bits, is_scalar=True)[form]
        reach = _REACH // 2
        is_short = (np.maximum(np.maximum(r, v), base) < 16) & (form != Form.COMPARE) & (of_form >> MASKS & 1 == 0)
        is_short &= (abs(offset) < reach) | (abs(offset) >= reach * units)
        of_form, units = np.where(is_short, of_short, of_form), np.where(is_short, 1, units)
        short, in_short = _prefix(of_form, r, v, base, False)
        prefix[is_short], in_use[is_short] = short[is_short], in_short[is_short]
    return of_form, prefix, in_use, units


def _prefix(
    of_form: np.ndarray, r: np.ndarray, v: np.ndarray, base: np.ndarray, is_long_register: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The prefix of AVX, of two bytes or three, in four columns; and which of them are used."""
    v = np.where(of_form >> SOURCE & 1, v, 0)
    table = of_form >> MAP & 3
    is_long = (table != 1) | (base > 7)
    low = (15 - v) << 3 | is_long_register << 2 | of_form >> PREFIX & 3
    r_is_low = (r < 8).astype(np.int32) << 7
    column, kept = np.zeros((len(r), 4), np.uint8), np.zeros((len(r), 4), bool)
    column[:, 0] = np.where(is_long, 0xC4, 0xC5)
    column[:, 1] = np.where(is_long, r_is_low | 0x40 | (base < 8).astype(np.int32) << 5 | table, r_is_low | low)
    column[:, 2] = (of_form >> WIDE & 1) << 7 | low
    kept[:, :2], kept[:, 2] = True, is_long
    return column, kept


def _wide_prefix(
    of_form: np.ndarray, r: np.ndarray, v: np.ndarray, base: np.ndarray, is_spread: np.ndarray, is_wide: bool
) -> np.ndarray:
    """The prefix of AVX-512, of four bytes, with a mask where one is obeyed. is_spread: m is one number for all lanes.

    Numbers of registers stand there inverted, but for their lowest bits.
    """
    column = np.empty((len(r), 4), np.uint8)
    column[:, 0] = 0x62
    column[:, 1] = (~r & 8) << 4 | ~r & 16 | (~base & 24) << 2 | of_form >> MAP & 3
    column[:, 2] = (of_form >> WIDE & 1) << 7 | (~v & 15) << 3 | 4 | of_form >> PREFIX & 3
    obeys = of_form >> MASKS & 1
    zeroes = obeys & (of_form >> SOURCE & 1 == 0)  # KEEP; BLEND takes its first source instead
    column[:, 3] = zeroes << 7 | is_wide << 6 | is_spread << 4 | (~v & 16) >> 1 | obeys * _MASK
    return column


def _saved(registers: Sequence[int], frame: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """What stands before and after the code, with these registers saved around it."""
    before, after = frame
    for register in registers:
        before, after = _push(register) + before, after + _pop(register)
    return before, after


def _addresses(
    slot: np.ndarray, slot_bytes: int, unit: int, spread: int, bases: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, tuple[bytes, bytes]]:
    """Of each access: the base register and the bytes from there; and the instructions that set the bases and, after
    all, restore them.

    spread  bytes of a constant where it is read as one number; 0: it fills a slot
    """
    is_pattern = slot > REGISTER
    is_free = ~is_pattern  # of a window
    offset = np.where(slot >= 0, slot, -1 - slot) * slot_bytes
    offset[is_pattern] = (REGISTER - slot[is_pattern]) * PATTERN_BYTES
    base = np.where((slot >= 0) & is_free, _WORKSPACE, _CONSTANTS)
    if spread:
        offset = np.where(slot < 0, slot * spread - HEADER_BYTES, offset)
    span = _REACH * unit // slot_bytes
    before = after = b""
    for register, start in zip(bases, most_used(slot[is_free], span, len(bases)), strict=False):
        inside = (slot >= start) & (slot < start + span) if start >= 0 else (slot <= start) & (slot > start - span)
        inside &= is_free
        middle = int(offset[inside].min()) + _REACH // 2 * (spread if spread and start < 0 else unit)
        base[inside] = register
        offset[inside] -= middle
        is_free &= ~inside
        if register in _CALLERS:
            before, after = before + _push(register), _pop(register) + after
        before += _lea(register, _WORKSPACE if start >= 0 else _CONSTANTS, middle)
    return base, offset, (before, after)


def _push(register: int) -> bytes:
    return bytes([0x41, 0x50 | register & 7] if register > 7 else [0x50 | register])


def _pop(register: int) -> bytes:
    return bytes([0x41, 0x58 | register & 7] if register > 7 else [0x58 | register])


def _lea(register: int, source: int, offset: int) -> bytes:
    """register = source + offset."""
    return struct.pack("<BBBi", 0x48 | (register > 7) << 2, 0x8D, 0x80 | (register & 7) << 3 | source, offset)
