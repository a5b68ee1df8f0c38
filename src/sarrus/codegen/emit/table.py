"""LLVM IR of a `Table`: a loop over many evaluations of one transcendental function.

One evaluation is a long chain of dependent operations, so several are done at once, as one wide vector. Where they are
read and written is data: rows of workspace slots (`words.py`).
"""

from __future__ import annotations

from sarrus.codegen.emit.exponential import FUNCTIONS
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.sincos import limit_of, write_sincos
from sarrus.codegen.emit.words import HEADER_BYTES, WIDE, Header
from sarrus.codegen.emit.writer import Writer

_ARITY = {"atan2": 2}  # of functions of more than one argument
_RESULTS = {"sincos": 2}  # of functions with more than one


def emit_table(function: str, lane: Lane, name: str) -> str:
    """A function `name(workspace, constants, step) -> words to the next step` that does all rows of a table."""
    together = WIDE if lane.count == 1 else 2
    wide = Lane(lane.bits, lane.count * together, lane.fma)
    arity = _ARITY.get(function, 1)
    columns = arity + _RESULTS.get(function, 1)
    w = Writer(f"i64 @{name}(ptr %w, ptr %k, ptr %step)")
    rows = w.value(f"load i64, ptr {w.offset('%step', 8)}, align 8")
    slots, header = w.offset("%step", 16), w.offset("%k", -HEADER_BYTES)
    huge = _Beyond(w, wide, limit_of(lane)) if function == "sincos" else None
    with w.loop(w.value(f"udiv i64 {w.value(f'add i64 {rows}, {together - 1}')}, {together}")) as i:
        first = w.offset(slots, w.value(f"mul i64 {i}, {8 * columns * together}"))
        pointers = [_places(w, lane, w.offset(first, 8 * columns * number), columns) for number in range(together)]
        x = [_joined(w, lane, wide, [row[column] for row in pointers]) for column in range(arity)]
        if huge is not None:
            results = write_sincos(w, wide, x[0])
            huge.include(x[0])
        elif function in FUNCTIONS:
            results = (FUNCTIONS[function](w, wide, x[0]),)
        else:
            results = (_call_per_lane(w, wide, _c_function(w, header, Header.ATAN2), x),)
        for column, value in enumerate(results, start=arity):
            _split(w, lane, wide, value, [row[column] for row in pointers])
    if huge is not None:
        with w.when(huge.any()):
            _write_exact(w, lane, slots, rows, header)
    groups = w.value(f"udiv i64 {w.value(f'add i64 {rows}, {WIDE - 1}')}, {WIDE}")
    words = w.value(f"mul i64 {groups}, {WIDE * columns}")
    return w.finish(f"ret i64 {w.value(f'add i64 {words}, 2')}")


def _places(w: Writer, lane: Lane, row: str, columns: int) -> list[str]:
    """The addresses in the workspace that one row of slots names."""
    slots = [w.value(f"load i64, ptr {w.offset(row, 8 * column)}, align 8") for column in range(columns)]
    return [w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}")) for slot in slots]


def _c_function(w: Writer, header: str, which: Header) -> str:
    return w.value(f"load ptr, ptr {w.offset(header, 8 * which)}, align 8")


class _Beyond:
    """Whether an argument was beyond a limit, per lane, kept over the turns of a loop. What is no number is not."""

    def __init__(self, w: Writer, lane: Lane, limit: float) -> None:
        self._w, self._lane, self._limit = w, lane, limit
        self._place = w.value(f"alloca {lane.integer}, align {lane.alignment}")
        self._store(lane.integer_constant(0))

    def _store(self, seen: str) -> None:
        self._w.do(f"store {self._lane.integer} {seen}, ptr {self._place}, align {self._lane.alignment}")

    def _load(self) -> str:
        return self._w.value(f"load {self._lane.integer}, ptr {self._place}, align {self._lane.alignment}")

    def include(self, x: str) -> None:
        w, lane = self._w, self._lane
        magnitude = w.value(f"call {lane.type} @llvm.fabs.{lane.suffix}({lane.type} {x})")
        beyond = w.value(f"fcmp ogt {lane.type} {magnitude}, {lane.constant(self._limit)}")
        beyond = w.value(f"sext {lane.mask} {beyond} to {lane.integer}")
        self._store(w.value(f"or {lane.integer} {self._load()}, {beyond}"))

    def any(self) -> str:
        w, lane = self._w, self._lane
        seen = w.value(f"icmp ne {lane.integer} {self._load()}, {lane.integer_constant(0)}")
        bits = w.value(f"bitcast {lane.mask} {seen} to i{lane.count}")
        return w.value(f"icmp ne i{lane.count} {bits}, 0")


def _write_exact(w: Writer, lane: Lane, slots: str, rows: str, header: str) -> None:
    """Put the C library's sines and cosines where the argument is beyond the limit, one lane after the other."""
    one = Lane(lane.bits, 1, lane.fma)
    with w.loop(rows) as i:
        places = _places(w, lane, w.offset(slots, w.value(f"mul i64 {i}, {8 * 3}")), 3)
        with w.loop(lane.count) as number:
            shift = w.value(f"mul i64 {number}, {lane.scalar_bytes}")
            argument, *results = [w.offset(place, shift) for place in places]
            x = w.value(f"load {one.type}, ptr {argument}, align {lane.scalar_bytes}")
            magnitude = w.value(f"call {one.type} @llvm.fabs.{one.suffix}({one.type} {x})")
            with w.when(w.value(f"fcmp ogt {one.type} {magnitude}, {one.constant(limit_of(lane))}")):
                for place, which in zip(results, (Header.SIN, Header.COS), strict=True):
                    exact = _call_per_lane(w, one, _c_function(w, header, which), [x])
                    w.do(f"store {one.type} {exact}, ptr {place}, align {lane.scalar_bytes}")


def _call_per_lane(w: Writer, lane: Lane, function: str, arguments: list[str]) -> str:
    """A C function of doubles, applied to each lane by itself."""
    result = "poison"
    for number in range(lane.count):
        scalars = []
        for x in arguments:
            y = x if lane.count == 1 else w.value(f"extractelement {lane.type} {x}, i32 {number}")
            scalars.append(y if lane.bits == 64 else w.value(f"fpext float {y} to double"))
        y = w.value(f"call double {function}({', '.join(f'double {s}' for s in scalars)})")
        if lane.bits == 32:
            y = w.value(f"fptrunc double {y} to float")
        if lane.count == 1:
            return y
        result = w.value(f"insertelement {lane.type} {result}, {lane.scalar} {y}, i32 {number}")
    return result


def _joined(w: Writer, lane: Lane, wide: Lane, pointers: list[str]) -> str:
    """The values at `pointers` side by side."""
    parts = [w.value(f"load {lane.type}, ptr {p}, align {lane.alignment}") for p in pointers]
    if lane.count > 1:
        mask = ", ".join(f"i32 {k}" for k in range(wide.count))
        return w.value(f"shufflevector {lane.type} {parts[0]}, {lane.type} {parts[1]}, <{wide.count} x i32> <{mask}>")
    joined = "poison"
    for number, part in enumerate(parts):
        joined = w.value(f"insertelement {wide.type} {joined}, {lane.scalar} {part}, i32 {number}")
    return joined


def _split(w: Writer, lane: Lane, wide: Lane, value: str, pointers: list[str]) -> None:
    """Store the parts of `value`, one to each pointer."""
    for number, pointer in enumerate(pointers):
        if lane.count > 1:
            mask = ", ".join(f"i32 {number * lane.count + k}" for k in range(lane.count))
            part = w.value(f"shufflevector {wide.type} {value}, {wide.type} poison, <{lane.count} x i32> <{mask}>")
        else:
            part = w.value(f"extractelement {wide.type} {value}, i32 {number}")
        w.do(f"store {lane.type} {part}, ptr {pointer}, align {lane.alignment}")
