"""LLVM IR of `Fetch` and `Keep`: values of one application of a loop, to where the loop works on them and back.

Where they are in each application is data (`words.py`), the same for all lanes.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.words import MOVES_BEGIN
from sarrus.codegen.emit.writer import Writer


def emit_moves(lane: Lane, name: str, inwards: bool) -> str:
    """A function `name(workspace, constants, step) -> words to the next step`: all moves of one step."""
    w = Writer(f"internal i64 @{name}(ptr %w, ptr %k, ptr %step)")
    following, counter, count = (_word(w, "%step", n) for n in range(1, MOVES_BEGIN))
    application = w.value(f"load i64, ptr {_slot(w, lane, counter)}, align {min(8, lane.alignment)}")
    # Entries of this application, for all lists
    entries = w.offset("%step", w.value(f"mul i64 {application}, 8"))
    with w.loop(count) as i:
        pair = w.offset("%step", w.value(f"add i64 {w.value(f'mul i64 {i}, 16')}, {8 * MOVES_BEGIN}"))
        value, begin = _word(w, pair, 0), _word(w, pair, 1)
        other = w.value(f"load i64, ptr {w.offset(entries, w.value(f'mul i64 {begin}, 8'))}, align 8")
        source, target = (other, value) if inwards else (value, other)
        is_constant = w.value(f"icmp slt i64 {source}, 0")
        base = w.value(f"select i1 {is_constant}, ptr %k, ptr %w")
        number = w.value(f"xor i64 {source}, {w.value(f'ashr i64 {source}, 63')}")  # -1 - source where it is negative
        place = w.offset(base, w.value(f"mul i64 {number}, {lane.bytes}"))
        x = w.value(f"load {lane.type}, ptr {place}, align {lane.alignment}")
        w.do(f"store {lane.type} {x}, ptr {_slot(w, lane, target)}, align {lane.alignment}")
    return w.finish(f"ret i64 {following}")


def _word(w: Writer, words: str, number: int) -> str:
    return w.value(f"load i64, ptr {w.offset(words, 8 * number)}, align 8")


def _slot(w: Writer, lane: Lane, slot: str) -> str:
    return w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
