"""The driver of a kernel's steps, as IR: it reads the words of `words.py`, for one kind of lane.

Each kind of step has a function `(workspace, constants, step) -> words to the next step`, whose address is in the list
of handlers; chunks and repetitions, which are the kernel's own code, are called directly.
"""

from __future__ import annotations

from sarrus.codegen.emit.kinds import Kind
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.words import ENTER_WORDS, NONE, REPEAT_BEGIN, WHOLE_SHARE, Header, in_header
from sarrus.codegen.emit.writer import Writer


def emit_run(name: str, which: Header = Header.HANDLERS) -> str:
    """`name(workspace, constants)`: every step, one after the other; those of a loop until all lanes are done, those of
    a guard if any lane needs them. It is the same for all lanes. which: the list of handlers
    """
    w = Writer(f"void @{name}(ptr %w, ptr %k)")
    steps, chunks, handlers = (in_header(w, x) for x in (Header.STEPS, Header.CHUNKS, which))
    place = w.value("alloca ptr, align 8")
    w.do(f"store ptr {steps}, ptr {place}, align 8")
    w.do("br label %next")
    w.label("next")
    step = w.value(f"load ptr, ptr {place}, align 8")
    kind = w.value(f"load i64, ptr {step}, align 8")
    is_chunk = w.value(f"icmp eq i64 {kind}, {Kind.CHUNK:d}")
    w.do(f"br i1 {is_chunk}, label %chunk, label %no_chunk")
    w.label("no_chunk")
    w.do(f"switch i64 {kind}, label %other [i64 {Kind.END:d}, label %end i64 {Kind.REPEAT:d}, label %repeat]")

    def function(table: str, number: str) -> str:
        return w.value(f"load ptr, ptr {w.offset(table, w.value(f'mul i64 {number}, 8'))}, align 8")

    def on(words: str) -> None:
        w.do(f"store ptr {w.offset(step, w.value(f'mul i64 {words}, 8'))}, ptr {place}, align 8")
        w.do("br label %next")

    w.label("chunk")
    number = w.value(f"load i64, ptr {w.offset(step, 8)}, align 8")
    w.do(f"call void {function(chunks, number)}(ptr %w, ptr %k)")
    on("2")
    w.label("repeat")
    number = w.value(f"load i64, ptr {w.offset(step, 16)}, align 8")
    w.do(f"call void {function(chunks, number)}(ptr %w, ptr %k, ptr {w.offset(step, 8 * REPEAT_BEGIN)})")
    on(w.value(f"load i64, ptr {w.offset(step, 8)}, align 8"))
    w.label("other")
    on(w.value(f"call i64 {function(handlers, kind)}(ptr %w, ptr %k, ptr {step})"))
    w.label("end")
    return w.finish()


def emit_begin(lane: Lane, name: str) -> str:
    """Carried values become their initial ones; on to the loop if any lane enters it, else past it."""
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    count = _word(w, 5)
    _copies(w, lane, w.offset("%step", 48), count)
    counter = w.offset("%w", w.value(f"mul i64 {_word(w, 4)}, {lane.bytes}"))
    w.do(f"store i64 0, ptr {counter}, align {min(8, lane.alignment)}")
    inside = w.value(f"add i64 {w.value(f'mul i64 {count}, 2')}, 6")
    entry, mask = _word(w, 2), _word(w, 3)
    result = w.value("alloca i64, align 8")
    w.do(f"store i64 {inside}, ptr {result}, align 8")
    asks = w.value(f"icmp ne i64 {entry}, {NONE}")
    with w.when(asks):
        enters, anybody = _positive(w, lane, entry)
        if lane.count > 1:
            _store_mask(w, lane, mask, w.value(f"sext {lane.mask} {enters} to {lane.integer}"))
        with w.when(w.value(f"xor i1 {anybody}, true")):
            w.do(f"store i64 {_word(w, 1)}, ptr {result}, align 8")
    if lane.count > 1:
        all_enter = w.value(f"and i1 {w.value(f'xor i1 {asks}, true')}, {w.value(f'icmp sge i64 {mask}, 0')}")
        with w.when(all_enter):
            _store_mask(w, lane, mask, lane.integer_constant(-1))
    return w.finish(f"ret i64 {w.value(f'load i64, ptr {result}, align 8')}")


def emit_enter(lane: Lane, name: str) -> str:
    """On to the guarded steps if any lane needs them, else past them."""
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    _, anybody = _positive(w, lane, _word(w, 2))
    return w.finish(f"ret i64 {w.value(f'select i1 {anybody}, i64 {ENTER_WORDS}, i64 {_word(w, 1)}')}")


def emit_enter_if_many(lane: Lane, name: str) -> str:
    """The same, but past them if only a few lanes need them: their bits are then set in the driver's scratch."""
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    late = late_lanes(w)
    where, anybody = _positive(w, lane, _word(w, 2))
    bits = w.value(f"zext i{lane.count} {_bits(w, lane, where)} to i64")
    count = w.value(f"call i64 @llvm.ctpop.i64(i64 {bits})")
    share = w.value(f"mul i64 {_word(w, 3)}, {lane.count}")
    few = w.value(f"icmp ule i64 {w.value(f'mul i64 {count}, {WHOLE_SHARE}')}, {share}")
    with w.when(few):
        before = w.value(f"load i64, ptr {late}, align 8")
        w.do(f"store i64 {w.value(f'or i64 {before}, {bits}')}, ptr {late}, align 8")
    enters = w.value(f"and i1 {anybody}, {w.value(f'xor i1 {few}, true')}")
    return w.finish(f"ret i64 {w.value(f'select i1 {enters}, i64 {ENTER_WORDS}, i64 {_word(w, 1)}')}")


def late_lanes(w: Writer) -> str:
    """Where a batch's driver keeps the bits of lanes that are put off: after its count of states that are not valid."""
    workspace = w.value(f"load i64, ptr {w.offset(in_header(w, Header.PORTS), 16)}, align 8")
    return w.offset(w.offset("%w", workspace), 8)


def emit_again(lane: Lane, name: str) -> str:
    """Carried values become their updated ones in the lanes that go on; back, if any does and the limit allows it.

    A lane that has stopped is not touched again, so that its result does not depend on its neighbours; with one lane
    there is nobody to wait for, and no mask.
    """
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    back, limit, condition, mask = (_word(w, n) for n in (1, 3, 4, 5))
    saved, changes = _word(w, 6), _word(w, 7)
    counter = w.offset("%w", w.value(f"mul i64 {_word(w, 2)}, {lane.bytes}"))
    align = min(8, lane.alignment)
    done = w.value(f"add i64 {w.value(f'load i64, ptr {counter}, align {align}')}, 1")
    w.do(f"store i64 {done}, ptr {counter}, align {align}")
    to_save = w.offset("%step", 64)
    to_change = w.offset(to_save, w.value(f"mul i64 {saved}, 16"))
    _copies(w, lane, to_save, saved)
    pairs = w.value(f"add i64 {saved}, {changes}")
    past = w.value(f"add i64 {w.value(f'mul i64 {pairs}, 2')}, 8")
    goes_on = w.value("alloca i1, align 1")
    w.do(f"store i1 true, ptr {goes_on}, align 1")
    asks = w.value(f"icmp ne i64 {condition}, {NONE}")
    if lane.count == 1:
        with w.when(asks):
            still, _ = _positive(w, lane, condition)
            w.do(f"store i1 {still}, ptr {goes_on}, align 1")
        _copies(w, lane, to_change, changes)
    else:
        with w.when(w.value(f"xor i1 {asks}, true")):
            _copies(w, lane, to_change, changes)
        with w.when(asks):
            place = w.offset("%w", w.value(f"mul i64 {mask}, {lane.bytes}"))
            bits = w.value(f"load {lane.integer}, ptr {place}, align {lane.alignment}")
            active = w.value(f"icmp ne {lane.integer} {bits}, {lane.integer_constant(0)}")
            still, _ = _positive(w, lane, condition)
            still = w.value(f"and {lane.mask} {active}, {still}")
            _store_mask(w, lane, mask, w.value(f"sext {lane.mask} {still} to {lane.integer}"))
            all_active = w.value(f"icmp eq i{lane.count} {_bits(w, lane, active)}, -1")
            with w.when(all_active):  # which is usual, and needs no old values
                _copies(w, lane, to_change, changes)
            with w.when(w.value(f"xor i1 {all_active}, true")):
                _copies(w, lane, to_change, changes, active)
            some = w.value(f"icmp ne i{lane.count} {_bits(w, lane, still)}, 0")
            w.do(f"store i1 {some}, ptr {goes_on}, align 1")
    may = w.value(f"icmp slt i64 {done}, {limit}")
    both = w.value(f"and i1 {may}, {w.value(f'load i1, ptr {goes_on}, align 1')}")
    back = w.value(f"sub i64 0, {back}")
    return w.finish(f"ret i64 {w.value(f'select i1 {both}, i64 {back}, i64 {past}')}")


def _word(w: Writer, number: int) -> str:
    return w.value(f"load i64, ptr {w.offset('%step', 8 * number)}, align 8")


def _place(w: Writer, lane: Lane, value: str) -> str:
    """Where a value is: in its slot, or among the constants."""
    is_constant = w.value(f"icmp slt i64 {value}, 0")
    base = w.value(f"select i1 {is_constant}, ptr %k, ptr %w")
    number = w.value(f"select i1 {is_constant}, i64 {w.value(f'sub i64 -1, {value}')}, i64 {value}")
    return w.offset(base, w.value(f"mul i64 {number}, {lane.bytes}"))


def _load(w: Writer, lane: Lane, place: str) -> str:
    return w.value(f"load {lane.type}, ptr {place}, align {lane.alignment}")


def _copies(w: Writer, lane: Lane, pairs: str, count: str, where: str | None = None) -> None:
    """Values to slots, as pairs of words say; only in the lanes of a mask, if there is one."""
    with w.loop(count) as i:
        pair = w.offset(pairs, w.value(f"mul i64 {i}, 16"))
        source = w.value(f"load i64, ptr {pair}, align 8")
        slot = w.value(f"load i64, ptr {w.offset(pair, 8)}, align 8")
        target = w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
        value = _load(w, lane, _place(w, lane, source))
        if where is not None:
            value = w.value(f"select {lane.mask} {where}, {lane.type} {value}, {lane.type} {_load(w, lane, target)}")
        w.do(f"store {lane.type} {value}, ptr {target}, align {lane.alignment}")


def _bits(w: Writer, lane: Lane, mask: str) -> str:
    return w.value(f"bitcast {lane.mask} {mask} to i{lane.count}")


def _positive(w: Writer, lane: Lane, value: str) -> tuple[str, str]:
    """In which lanes a value is greater than 0 (not a number is not), and whether it is in any."""
    where = w.value(f"fcmp ogt {lane.type} {_load(w, lane, _place(w, lane, value))}, {lane.constant(0.0)}")
    if lane.count == 1:
        return where, where
    return where, w.value(f"icmp ne i{lane.count} {_bits(w, lane, where)}, 0")


def _store_mask(w: Writer, lane: Lane, slot: str, mask: str) -> None:
    place = w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
    w.do(f"store {lane.integer} {mask}, ptr {place}, align {lane.alignment}")
