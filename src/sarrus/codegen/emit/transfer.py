"""Rows of states into slots of lanes and back, as IR.

A row has one scalar per column and there is one row per lane; a slot has one scalar per lane and there is one slot per
column. As many columns as there are lanes are a square, which is transposed in registers. The slots of an output follow
each other, or a list says where they are (`passes/ports.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.ports import RUN_BITS


def rows_of_block(
    w: Writer, lane: Lane, base: str, stride: str, state: str, end: str, padding: str | None = None
) -> list[str]:
    """The address of each lane's row; lanes beyond the end get the last row, or `padding`."""
    last = w.value(f"sub i64 {end}, 1")

    def state_of(number: int) -> tuple[str, str]:
        index = w.value(f"add i64 {state}, {number}")
        inside = w.value(f"icmp ult i64 {index}, {end}")
        return inside, w.value(f"select i1 {inside}, i64 {index}, i64 {last}")

    return _rows(w, lane, base, stride, padding, state_of)


def rows_of_list(
    w: Writer, lane: Lane, base: str, stride: str, states: str, count: str, padding: str | None = None
) -> list[str]:
    """The address of each lane's row, the first `count` in a list of states; other lanes get the last, or `padding`."""
    last = w.value(f"sub i64 {count}, 1")

    def state_of(number: int) -> tuple[str, str]:
        inside = w.value(f"icmp ult i64 {number}, {count}")
        place = w.value(f"mul i64 {w.value(f'select i1 {inside}, i64 {number}, i64 {last}')}, 8")
        return inside, w.value(f"load i64, ptr {w.offset(states, place)}, align 8")

    return _rows(w, lane, base, stride, padding, state_of)


def _rows(
    w: Writer, lane: Lane, base: str, stride: str, padding: str | None, state_of: Callable[[int], tuple[str, str]]
) -> list[str]:
    """state_of: whether a lane has a state of its own, and the state whose row it reads"""
    addresses = []
    for number in range(lane.count):
        inside, state = state_of(number)
        address = w.offset(base, w.value(f"mul i64 {state}, {stride}"))
        addresses.append(address if padding is None else w.value(f"select i1 {inside}, ptr {address}, ptr {padding}"))
    return addresses


def move_rows(w: Writer, lane: Lane, rows: list[str], slots: str, count: str, to_rows: bool) -> None:
    """`count` columns, whose slots follow each other."""

    def square(column: str) -> None:
        first = w.offset(slots, w.value(f"mul i64 {column}, {lane.bytes}"))
        move_square(w, lane, rows, [w.offset(first, n * lane.bytes) for n in range(lane.count)], column, to_rows)

    def one(column: str) -> None:
        move_column(w, lane, rows, w.offset(slots, w.value(f"mul i64 {column}, {lane.bytes}")), column, to_rows)

    _in_squares(w, lane, count, square, one)


def scatter_listed(w: Writer, lane: Lane, rows: list[str], workspace: str, words: str, count: str) -> None:
    """`count` columns to rows, from the slots that a list says. A square of one constant is not transposed."""

    def slot(column: str, number: int) -> str:
        return slot_of(w, lane, workspace, words, w.value(f"add i64 {column}, {number}"))

    def square(column: str) -> None:
        word = w.value(f"load i64, ptr {w.offset(words, w.value(f'mul i64 {column}, 8'))}, align 8")
        run = w.value(f"lshr i64 {word}, {RUN_BITS}")
        is_constant = w.value(f"icmp uge i64 {run}, {lane.count}")
        with w.when(is_constant):
            x = w.value(f"load {lane.type}, ptr {slot(column, 0)}, align {lane.alignment}")
            at = w.value(f"mul i64 {column}, {lane.scalar_bytes}")
            for row in rows:
                w.do(f"store {lane.type} {x}, ptr {w.offset(row, at)}, align {lane.scalar_bytes}")
        with w.when(w.value(f"xor i1 {is_constant}, true")):
            move_square(w, lane, rows, [slot(column, n) for n in range(lane.count)], column, to_rows=True)

    def one(column: str) -> None:
        move_column(w, lane, rows, slot(column, 0), column, to_rows=True)

    _in_squares(w, lane, count, one if lane.count == 1 else square, one)


def slot_of(w: Writer, lane: Lane, workspace: str, words: str, element: str) -> str:
    """Where an element of a listed output is."""
    word = w.offset(words, w.value(f"mul i64 {element}, 8"))
    found = w.value(f"zext i32 {w.value(f'load i32, ptr {word}, align 8')} to i64")
    return w.offset(workspace, w.value(f"mul i64 {found}, {lane.bytes}"))


def _in_squares(w: Writer, lane: Lane, count: str, square: Callable[[str], None], one: Callable[[str], None]) -> None:
    """All columns; the last square overlaps the one before where they do not come out even.

    (Scalar stores, of which a vector is loaded soon after, would make that load wait.)
    """
    squares = w.value(f"udiv i64 {count}, {lane.count}")
    with w.loop(squares) as i:
        square(w.value(f"mul i64 {i}, {lane.count}"))
    if lane.count == 1:
        return
    rest = w.value(f"urem i64 {count}, {lane.count}")
    some = w.value(f"icmp ne i64 {rest}, 0")
    many = w.value(f"icmp ugt i64 {count}, {lane.count}")
    with w.when(w.value(f"and i1 {some}, {many}")):
        square(w.value(f"sub i64 {count}, {lane.count}"))
    few = w.value(f"select i1 {many}, i64 0, i64 {rest}")
    with w.loop(few) as i:
        one(i)


def move_square(w: Writer, lane: Lane, rows: list[str], slots: list[str], column: str, to_rows: bool) -> None:
    """As many columns as there are lanes, from this one on, and where their slots are."""
    at = w.value(f"mul i64 {column}, {lane.scalar_bytes}")
    in_rows = [(w.offset(row, at), lane.scalar_bytes) for row in rows]
    in_slots = [(slot, lane.alignment) for slot in slots]
    sources, targets = (in_slots, in_rows) if to_rows else (in_rows, in_slots)
    loaded = [w.value(f"load {lane.type}, ptr {place}, align {align}") for place, align in sources]
    for (place, align), x in zip(targets, transposed(w, lane, loaded), strict=True):
        w.do(f"store {lane.type} {x}, ptr {place}, align {align}")


def move_column(w: Writer, lane: Lane, rows: list[str], slot: str, column: str, to_rows: bool) -> None:
    """One column, scalar by scalar."""
    size = lane.scalar_bytes
    at = w.value(f"mul i64 {column}, {size}")
    for number, row in enumerate(rows):
        in_row, in_slot = w.offset(row, at), w.offset(slot, number * size)
        source, target = (in_slot, in_row) if to_rows else (in_row, in_slot)
        x = w.value(f"load {lane.scalar}, ptr {source}, align {size}")
        w.do(f"store {lane.scalar} {x}, ptr {target}, align {size}")


def transposed(w: Writer, lane: Lane, vectors: list[str]) -> list[str]:
    """The square matrix whose rows are `vectors`, transposed: blocks of 1, 2, 4 ... change places."""
    lanes, T = lane.count, lane.type
    distance = 1
    while distance < lanes:
        exchanged = list(vectors)
        for i in range(lanes):
            if i & distance:
                continue
            other = i | distance
            kept = [(j ^ distance) + lanes if j & distance else j for j in range(lanes)]
            moved = [j + lanes if j & distance else j ^ distance for j in range(lanes)]
            for row, picks in ((i, kept), (other, moved)):
                mask = ", ".join(f"i32 {p}" for p in picks)
                exchanged[row] = w.value(
                    f"shufflevector {T} {vectors[i]}, {T} {vectors[other]}, <{lanes} x i32> <{mask}>"
                )
        vectors = exchanged
        distance *= 2
    return vectors
