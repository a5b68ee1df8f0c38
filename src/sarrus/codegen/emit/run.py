"""The driver of a kernel's steps, as IR: it reads the words of `words.py`, for one kind of lane.

Each kind of step has a function `(workspace, constants, step) -> words to the next step`; chunks and repetitions, which
are the kernel's own code, are called directly.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.moves import emit_moves
from sarrus.codegen.emit.picks import emit_picks
from sarrus.codegen.emit.table import emit_table
from sarrus.codegen.emit.words import (
    AGAIN_WORDS,
    BEGIN_WORDS,
    ENTER_WORDS,
    NONE,
    REPEAT_BEGIN,
    TABLES,
    WHOLE_SHARE,
    Header,
    Kind,
)
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.x86.patterns import HEADER_BYTES


def emit_run(lane: Lane, name: str, functions: Sequence[str]) -> str:
    """`name(workspace, constants)`: every step, one after the other; those of a loop until all lanes are done, those of
    a guard if any lane needs them. `functions` are those of `TABLES` that steps may have.

    `name_most(workspace, constants, late)`, for several lanes: the same, but where only a few lanes need the steps of a
    guard, these are left out, and the bits of those lanes are set in the word `late`: what they give is worth nothing.
    """
    handlers = {Kind.BEGIN: f"{name}_begin", Kind.AGAIN: f"{name}_again", Kind.ENTER: f"{name}_enter"}
    handlers |= {Kind.PICK: f"{name}_pick", Kind.FETCH: f"{name}_fetch", Kind.KEEP: f"{name}_keep"}
    handlers |= {TABLES[function]: f"{name}_{function}" for function in functions}
    parts = [
        _emit_begin(lane, handlers[Kind.BEGIN]),
        _emit_again(lane, handlers[Kind.AGAIN]),
        _emit_enter(lane, handlers[Kind.ENTER]),
        emit_picks(lane, handlers[Kind.PICK]),
        emit_moves(lane, handlers[Kind.FETCH], inwards=True),
        emit_moves(lane, handlers[Kind.KEEP], inwards=False),
        *(emit_table(function, lane, handlers[TABLES[function]]) for function in functions),
        _emit_steps(f"void @{name}(ptr %w, ptr %k)", handlers),
    ]
    if lane.count > 1:
        parts.append(_emit_enter_if_many(lane, f"{name}_enter_if_many"))
        handlers[Kind.ENTER] = f"{name}_enter_if_many"
        parts.append(_emit_steps(f"internal void @{name}_most(ptr %w, ptr %k, ptr %late)", handlers, ", ptr %late"))
    return "\n".join(parts)


def _emit_steps(signature: str, handlers: dict[Kind, str], of_enter: str = "") -> str:
    """All steps by these handlers. of_enter: one more argument of that of ENTER."""
    w = Writer(signature)
    header = w.offset("%k", -HEADER_BYTES)
    steps = w.value(f"load ptr, ptr {w.offset(header, 8 * Header.STEPS)}, align 8")
    chunks = w.value(f"load ptr, ptr {w.offset(header, 8 * Header.CHUNKS)}, align 8")
    place = w.value("alloca ptr, align 8")
    w.do(f"store ptr {steps}, ptr {place}, align 8")
    w.do("br label %next")
    w.label("next")
    step = w.value(f"load ptr, ptr {place}, align 8")
    kind = w.value(f"load i64, ptr {step}, align 8")
    is_chunk = w.value(f"icmp eq i64 {kind}, {Kind.CHUNK:d}")
    w.do(f"br i1 {is_chunk}, label %chunk, label %other")
    w.label("other")
    cases = " ".join(f"i64 {kind:d}, label %{kind.name.lower()}" for kind in (Kind.REPEAT, *handlers))
    w.do(f"switch i64 {kind}, label %end [{cases}]")
    w.label("chunk")
    number = w.value(f"load i64, ptr {w.offset(step, 8)}, align 8")
    code = w.value(f"load ptr, ptr {w.offset(chunks, w.value(f'mul i64 {number}, 8'))}, align 8")
    w.do(f"call void {code}(ptr %w, ptr %k)")
    w.do(f"store ptr {w.offset(step, 16)}, ptr {place}, align 8")
    w.do("br label %next")
    w.label("repeat")
    number = w.value(f"load i64, ptr {w.offset(step, 16)}, align 8")
    code = w.value(f"load ptr, ptr {w.offset(chunks, w.value(f'mul i64 {number}, 8'))}, align 8")
    w.do(f"call void {code}(ptr %w, ptr %k, ptr {w.offset(step, 8 * REPEAT_BEGIN)})")
    words = w.value(f"load i64, ptr {w.offset(step, 8)}, align 8")
    w.do(f"store ptr {w.offset(step, w.value(f'mul i64 {words}, 8'))}, ptr {place}, align 8")
    w.do("br label %next")
    for kind, handler in handlers.items():
        w.label(kind.name.lower())
        more = of_enter if kind == Kind.ENTER else ""
        words = w.value(f"call i64 @{handler}(ptr %w, ptr %k, ptr {step}{more})")
        w.do(f"store ptr {w.offset(step, w.value(f'mul i64 {words}, 8'))}, ptr {place}, align 8")
        w.do("br label %next")
    w.label("end")
    return w.finish()


def _emit_begin(lane: Lane, name: str) -> str:
    """Carried values become their initial ones; on to the loop if any lane enters it, else past it."""
    w = Writer(f"internal i64 @{name}(ptr %w, ptr %k, ptr %step)")
    count = _copies(w, lane, w.offset("%step", 8 * BEGIN_WORDS), _word(w, 5), _word(w, 6))
    counter = w.offset("%w", w.value(f"mul i64 {_word(w, 4)}, {lane.bytes}"))
    w.do(f"store i64 0, ptr {counter}, align {min(8, lane.alignment)}")
    inside = w.value(f"add i64 {w.value(f'mul i64 {count}, 2')}, {BEGIN_WORDS}")
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


def _emit_enter(lane: Lane, name: str) -> str:
    """On to the guarded steps if any lane needs them, else past them."""
    w = Writer(f"internal i64 @{name}(ptr %w, ptr %k, ptr %step)")
    _, anybody = _positive(w, lane, _word(w, 2))
    return w.finish(f"ret i64 {w.value(f'select i1 {anybody}, i64 {ENTER_WORDS}, i64 {_word(w, 1)}')}")


def _emit_enter_if_many(lane: Lane, name: str) -> str:
    """The same, but past them if only a few lanes do, whose bits are then set in `late`."""
    w = Writer(f"internal i64 @{name}(ptr %w, ptr %k, ptr %step, ptr %late)")
    where, anybody = _positive(w, lane, _word(w, 2))
    bits = w.value(f"zext i{lane.count} {_bits(w, lane, where)} to i64")
    count = w.value(f"call i64 @llvm.ctpop.i64(i64 {bits})")
    share = w.value(f"mul i64 {_word(w, 3)}, {lane.count}")
    few = w.value(f"icmp ule i64 {w.value(f'mul i64 {count}, {WHOLE_SHARE}')}, {share}")
    with w.when(few):
        before = w.value("load i64, ptr %late, align 8")
        w.do(f"store i64 {w.value(f'or i64 {before}, {bits}')}, ptr %late, align 8")
    enters = w.value(f"and i1 {anybody}, {w.value(f'xor i1 {few}, true')}")
    return w.finish(f"ret i64 {w.value(f'select i1 {enters}, i64 {ENTER_WORDS}, i64 {_word(w, 1)}')}")


def _emit_again(lane: Lane, name: str) -> str:
    """Carried values become their updated ones in the lanes that go on; back, if any does and the limit allows it.

    A lane that has stopped is not touched again, so that its result does not depend on its neighbours; with one lane
    there is nobody to wait for, and no mask.
    """
    w = Writer(f"internal i64 @{name}(ptr %w, ptr %k, ptr %step)")
    back, limit, condition, mask = (_word(w, n) for n in (1, 3, 4, 5))
    saved, changes = _word(w, 6), (_word(w, 7), _word(w, 8))
    counter = w.offset("%w", w.value(f"mul i64 {_word(w, 2)}, {lane.bytes}"))
    align = min(8, lane.alignment)
    done = w.value(f"add i64 {w.value(f'load i64, ptr {counter}, align {align}')}, 1")
    w.do(f"store i64 {done}, ptr {counter}, align {align}")
    to_save = w.offset("%step", 8 * AGAIN_WORDS)
    to_change = w.offset(to_save, w.value(f"mul i64 {saved}, 16"))
    _copies(w, lane, to_save, saved, "0")
    pairs = w.value(f"add i64 {saved}, {w.value(f'add i64 {changes[0]}, {changes[1]}')}")
    past = w.value(f"add i64 {w.value(f'mul i64 {pairs}, 2')}, {AGAIN_WORDS}")
    goes_on = w.value("alloca i1, align 1")
    w.do(f"store i1 true, ptr {goes_on}, align 1")
    asks = w.value(f"icmp ne i64 {condition}, {NONE}")
    if lane.count == 1:
        with w.when(asks):
            still, _ = _positive(w, lane, condition)
            w.do(f"store i1 {still}, ptr {goes_on}, align 1")
        _copies(w, lane, to_change, *changes)
    else:
        with w.when(w.value(f"xor i1 {asks}, true")):
            _copies(w, lane, to_change, *changes)
        with w.when(asks):
            place = w.offset("%w", w.value(f"mul i64 {mask}, {lane.bytes}"))
            bits = w.value(f"load {lane.integer}, ptr {place}, align {lane.alignment}")
            active = w.value(f"icmp ne {lane.integer} {bits}, {lane.integer_constant(0)}")
            still, _ = _positive(w, lane, condition)
            still = w.value(f"and {lane.mask} {active}, {still}")
            _store_mask(w, lane, mask, w.value(f"sext {lane.mask} {still} to {lane.integer}"))
            all_active = w.value(f"icmp eq i{lane.count} {_bits(w, lane, active)}, -1")
            with w.when(all_active):  # which is usual, and needs no old values
                _copies(w, lane, to_change, *changes)
            with w.when(w.value(f"xor i1 {all_active}, true")):
                _copies(w, lane, to_change, *changes, active)
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


def _copies(w: Writer, lane: Lane, pairs: str, values: str, constants: str, where: str | None = None) -> str:
    """Values, then constants, to slots, as pairs of words say; only in the lanes of a mask, if there is one. How many.

    A loop of its own for each: loops of solvers carry a hundred values from one application to the next.
    """
    for base, count in (("%w", values), ("%k", constants)):
        with w.loop(count) as i:
            pair = w.offset(pairs, w.value(f"mul i64 {i}, 16"))
            source, slot = (w.value(f"load i64, ptr {w.offset(pair, 8 * n)}, align 8") for n in range(2))
            if base == "%k":
                source = w.value(f"sub i64 -1, {source}")
            target = w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
            value = _load(w, lane, w.offset(base, w.value(f"mul i64 {source}, {lane.bytes}")))
            if where is not None:
                old = _load(w, lane, target)
                value = w.value(f"select {lane.mask} {where}, {lane.type} {value}, {lane.type} {old}")
            w.do(f"store {lane.type} {value}, ptr {target}, align {lane.alignment}")
        pairs = w.offset(pairs, w.value(f"mul i64 {count}, 16"))
    return w.value(f"add i64 {values}, {constants}")


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
