"""LLVM IR of `Picks`: for every lane another entry of a list, from wherever in memory that is.

Where everything is, is data (`words.py`). An index is looked at once for all that it picks.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.words import GROUP_WORDS, PICKS_BEGIN
from sarrus.codegen.emit.writer import Writer


def emit_picks(lane: Lane, name: str) -> str:
    """A function `name(workspace, constants, step) -> words to the next step` that does all picks of a step."""
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    place = w.value("alloca ptr, align 8")  # of the next group
    w.do(f"store ptr {w.offset('%step', 8 * PICKS_BEGIN)}, ptr {place}, align 8")
    with w.loop(_word(w, "%step", 2)) as _:
        group = w.value(f"load ptr, ptr {place}, align 8")
        index, last, count = (_word(w, group, n) for n in range(GROUP_WORDS))
        x = w.value(f"load {lane.type}, ptr {_slot(w, lane, index)}, align {lane.alignment}")
        at = _positions(w, lane, x, last)
        picks = w.offset(group, 8 * GROUP_WORDS)
        with w.loop(count) as i:
            pick = w.offset(picks, w.value(f"mul i64 {i}, 16"))
            result, begin = (_word(w, pick, n) for n in range(2))
            members = w.offset("%step", w.value(f"mul i64 {begin}, 8"))
            value = _gathered(w, lane, members, at)
            w.do(f"store {lane.type} {value}, ptr {_slot(w, lane, result)}, align {lane.alignment}")
        w.do(f"store ptr {w.offset(picks, w.value(f'mul i64 {count}, 16'))}, ptr {place}, align 8")
    return w.finish(f"ret i64 {_word(w, '%step', 1)}")


def _positions(w: Writer, lane: Lane, index: str, last: str) -> list[str]:
    """Per lane: the number of the entry that an index means (`picking.position`), as i64."""
    T, zero = lane.type, lane.constant(0.0)
    integer = "i32" if lane.count == 1 else f"<{lane.count} x i32>"  # which the processor converts to at once
    bound = w.value(f"sitofp i64 {last} to {lane.scalar}")
    if lane.count > 1:
        bound = w.value(f"insertelement {T} poison, {lane.scalar} {bound}, i32 0")
        bound = w.value(f"shufflevector {T} {bound}, {T} poison, <{lane.count} x i32> zeroinitializer")
    below = w.value(f"fcmp olt {T} {index}, {bound}")
    inside = w.value(f"select {lane.mask} {below}, {T} {index}, {T} {bound}")
    positive = w.value(f"fcmp ogt {T} {index}, {zero}")  # not a number is not
    inside = w.value(f"select {lane.mask} {positive}, {T} {inside}, {T} {zero}")
    number = w.value(f"fptosi {T} {inside} to {integer}")
    if lane.count > 1:
        numbers = [w.value(f"extractelement {integer} {number}, i32 {n}") for n in range(lane.count)]
    else:
        numbers = [number]
    return [w.value(f"zext i32 {n} to i64") for n in numbers]


def _gathered(w: Writer, lane: Lane, members: str, at: list[str]) -> str:
    """In each lane, its own scalar of the value that the word of this number names: a slot, or -1 less a constant."""
    gathered = "poison"
    for number, position in enumerate(at):
        value = w.value(f"load i64, ptr {w.offset(members, w.value(f'mul i64 {position}, 8'))}, align 8")
        is_constant = w.value(f"icmp slt i64 {value}, 0")
        base = w.value(f"select i1 {is_constant}, ptr %k, ptr %w")
        slot = w.value(f"xor i64 {value}, {w.value(f'ashr i64 {value}, 63')}")  # -1 - value where it is negative
        vector = w.offset(base, w.value(f"mul i64 {slot}, {lane.bytes}"))
        address = w.offset(vector, number * lane.scalar_bytes)
        x = w.value(f"load {lane.scalar}, ptr {address}, align {lane.scalar_bytes}")
        if lane.count == 1:
            return x
        gathered = w.value(f"insertelement {lane.type} {gathered}, {lane.scalar} {x}, i32 {number}")
    return gathered


def _word(w: Writer, words: str, number: int) -> str:
    return w.value(f"load i64, ptr {w.offset(words, 8 * number)}, align 8")


def _slot(w: Writer, lane: Lane, slot: str) -> str:
    return w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
