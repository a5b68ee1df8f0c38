"""Rows of four or eight states into lanes and back, as straight-line code for one kernel's arrays.

Four columns of four rows are a square, which is transposed in registers; of eight states, the first four rows and then
the others, each into its half of the lanes. Straight-line code knows lengths and places; the drivers' own loops
(`emit/batch.py`) must ask for them. They serve where this does not: at the end of a batch, for other lanes, and for
arrays so large that the code would not stay in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.passes.ports import MOST_FETCHED

SIDE, SCALAR = 4, 8  # rows of a square, and bytes of a number
LANES = (SIDE, 2 * SIDE)  # how many states there may be
LINE = 64  # bytes of a cache line
MOST_SQUARES = 128  # 16 KB of code
_RAX, _RCX, _RDX, _RSI, _RDI = 0, 1, 2, 6, 7
_ROWS = (8, 9, 10, 11)  # r8 .. r11
_END = b"\xc5\xf8\x77\xc3"  # vzeroupper, ret


def gather_code(inputs: Sequence[int], outputs: Sequence[int], lanes: int = SIDE) -> bytes | None:
    """`f(inputs rdi, state rsi, workspace rdx, outputs rcx)`: as many rows as there are lanes, from `state` on, of the
    inputs, whose sizes these are, into slots; the memory of the next rows of inputs and outputs is fetched. None: too
    large.
    """
    if _squares(inputs, lanes) > MOST_SQUARES or _squares(outputs, lanes) > 4 * MOST_SQUARES:
        return None
    code, slot = bytearray(), 0
    for number, size in enumerate(outputs):  # first, while rcx is not needed for anything else
        code += _load_pointer(_RAX, _RCX, 8 * number) + _first_row(size)
        code += b"".join(_prefetch(_ROWS[0], place, write=True) for place in _next_block(size, lanes))
    for number, size in enumerate(inputs):
        code += _load_pointer(_RAX, _RDI, 8 * number) + _first_row(size)
        code += b"".join(_prefetch(_ROWS[0], place, write=False) for place in _next_block(size, lanes))
        code += _moves(range(slot, slot + size), lanes, to_rows=False)
        slot += size
    return bytes(code) + _END


def scatter_code(outputs: Sequence[Sequence[int]], lanes: int = SIDE) -> bytes | None:
    """`f(outputs rdi, state rsi, workspace rdx)`: slots into rows of the outputs, from `state` on. None: too large.

    outputs  of each the slots of its elements
    """
    if _squares([len(slots) for slots in outputs], lanes) > MOST_SQUARES:
        return None
    code = bytearray()
    for number, slots in enumerate(outputs):
        code += _load_pointer(_RAX, _RDI, 8 * number) + _first_row(len(slots))
        code += _moves(slots, lanes, to_rows=True)
    return bytes(code) + _END


def _squares(sizes: Sequence[int], lanes: int) -> int:
    return lanes // SIDE * sum(-(-size // SIDE) for size in sizes)


def _next_block(size: int, lanes: int) -> range:
    """Where cache lines of the rows after these begin, which are one piece of memory; none if they are many."""
    start = lanes * size * SCALAR
    return range(start, 2 * start if start <= MOST_FETCHED else start, LINE)


def _moves(slots: Sequence[int], lanes: int, to_rows: bool) -> bytes:
    """In squares, the last of which overlaps the one before where they do not come out even; few columns one by one."""
    code, size = b"", len(slots)
    firsts = list(range(0, size - SIDE + 1, SIDE))
    if firsts and size % SIDE:
        firsts.append(size - SIDE)
    for first_lane in range(0, lanes, SIDE):
        code += _following_rows(size) if first_lane else b""
        code += _other_rows(size)
        places = [(slot * lanes + first_lane) * SCALAR for slot in slots]
        if firsts:
            code += b"".join(_square(x, places[x : x + SIDE], to_rows) for x in firsts)
        else:
            code += b"".join(_column(x, place, to_rows) for x, place in enumerate(places))
    return code


def _square(column: int, places: Sequence[int], to_rows: bool) -> bytes:
    """Registers 0 .. 3 hold what is moved, 4 .. 7 and 8 .. 11 the two steps of the transposition."""
    in_rows = [(row, column * SCALAR) for row in _ROWS]
    in_slots = [(_RDX, place) for place in places]
    sources, targets = (in_slots, in_rows) if to_rows else (in_rows, in_slots)
    code = b"".join(_vector(0x10, n, *place) for n, place in enumerate(sources))
    for n, (opcode, a, b) in enumerate(((0x14, 0, 1), (0x15, 0, 1), (0x14, 2, 3), (0x15, 2, 3)), start=4):
        code += _vex(1, 1, n, a, b) + bytes([opcode, _registers(n, b)])  # vunpcklpd, vunpckhpd
    for n, (opcode, a, b, how) in enumerate(((0x18, 4, 6, 1), (0x18, 5, 7, 1), (0x06, 4, 6, 49), (0x06, 5, 7, 49))):
        code += _vex(3, 1, n + 8, a, b) + bytes([opcode, _registers(n + 8, b), how])  # vinsertf128, vperm2f128
    return code + b"".join(_vector(0x11, n + 8, *place) for n, place in enumerate(targets))


def _column(column: int, place: int, to_rows: bool) -> bytes:
    code = b""
    for n, row in enumerate(_ROWS):
        in_row, in_slot = (row, column * SCALAR), (_RDX, place + n * SCALAR)
        source, target = (in_slot, in_row) if to_rows else (in_row, in_slot)
        for opcode, (base, offset) in ((0x10, source), (0x11, target)):  # vmovsd
            code += _vex(1, 3, 0, 0, base, wide=False) + bytes([opcode]) + _memory(0, base, offset)
    return code


def _first_row(size: int) -> bytes:
    """r8 = rax + rsi * length of a row."""
    multiply = b"\x4c\x69\xc6" + (size * SCALAR).to_bytes(4, "little")  # imul r8, rsi, imm32
    return multiply + b"\x49\x01\xc0"  # add r8, rax


def _other_rows(size: int) -> bytes:
    """r9 .. r11: the rows after r8."""
    return b"".join(b"\x4d\x8d" + _memory(row, _ROWS[0], n * size * SCALAR) for n, row in enumerate(_ROWS[1:], start=1))


def _following_rows(size: int) -> bytes:
    """r8: the row after r11."""
    return b"\x4d\x8d" + _memory(_ROWS[0], _ROWS[0], SIDE * size * SCALAR)


def _load_pointer(register: int, base: int, offset: int) -> bytes:
    return b"\x48\x8b" + _memory(register, base, offset)


def _prefetch(base: int, offset: int, write: bool) -> bytes:
    return (b"\x41\x0f\x0d" if write else b"\x41\x0f\x18") + _memory(1, base, offset)  # prefetchw, prefetcht0


def _vector(opcode: int, register: int, base: int, offset: int) -> bytes:
    """vmovupd, to (0x10) or from (0x11) a register."""
    return _vex(1, 1, register, 0, base) + bytes([opcode]) + _memory(register, base, offset)


def _vex(table: int, prefix: int, r: int, v: int, b: int, wide: bool = True) -> bytes:
    """The prefix of an instruction with operands r, v and b (a register, or the base of an address)."""
    return bytes([0xC4, (r < 8) << 7 | 0x40 | (b < 8) << 5 | table, (15 - v) << 3 | wide << 2 | prefix])


def _registers(r: int, b: int) -> int:
    return 0xC0 | (r & 7) << 3 | b & 7


def _memory(r: int, base: int, offset: int) -> bytes:
    return bytes([0x80 | (r & 7) << 3 | base & 7]) + offset.to_bytes(4, "little")
