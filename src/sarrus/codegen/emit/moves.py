"""LLVM IR of `Fetch` and `Keep`: values of one application of a loop, to where the loop works on them and back.

Where they are in each application is data (`words.py`), the same for all lanes.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.words import MOVES_BEGIN
from sarrus.codegen.emit.writer import Writer


def emit_moves(lane: Lane, name: str, inwards: bool) -> str:
    """A function `name(workspace, constants, step) -> words to the next step`: all moves of one step."""
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    following, counter, plain, others = (_word(w, "%step", n) for n in range(1, MOVES_BEGIN))
    application = w.value(f"load i64, ptr {_slot(w, lane, counter)}, align {min(8, lane.alignment)}")
    values = w.offset("%step", 8 * MOVES_BEGIN)
    count = w.value(f"add i64 {plain}, {others}")
    before = w.value(f"mul i64 {w.value(f'add i64 {application}, 1')}, {count}")  # words: the values, rows before
    row = w.offset(values, w.value(f"mul i64 {before}, 8"))
    with w.loop(plain) as i:
        value, other = _pair(w, values, row, i)
        source, target = (other, value) if inwards else (value, other)
        _move(w, lane, _slot(w, lane, source), target)
    if inwards:
        with w.loop(others) as i:
            target, source = _pair(w, values, row, w.value(f"add i64 {i}, {plain}"))
            is_constant = w.value(f"icmp slt i64 {source}, 0")
            base = w.value(f"select i1 {is_constant}, ptr %k, ptr %w")
            number = w.value(f"xor i64 {source}, {w.value(f'ashr i64 {source}, 63')}")  # -1 - source if negative
            _move(w, lane, w.offset(base, w.value(f"mul i64 {number}, {lane.bytes}")), target)
    return w.finish(f"ret i64 {following}")


def _pair(w: Writer, values: str, row: str, number: str) -> tuple[str, str]:
    at = w.value(f"mul i64 {number}, 8")
    value, other = (w.value(f"load i64, ptr {w.offset(words, at)}, align 8") for words in (values, row))
    return value, other


def _move(w: Writer, lane: Lane, place: str, slot: str) -> None:
    x = w.value(f"load {lane.type}, ptr {place}, align {lane.alignment}")
    w.do(f"store {lane.type} {x}, ptr {_slot(w, lane, slot)}, align {lane.alignment}")


def _word(w: Writer, words: str, number: int) -> str:
    return w.value(f"load i64, ptr {w.offset(words, 8 * number)}, align 8")


def _slot(w: Writer, lane: Lane, slot: str) -> str:
    return w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
