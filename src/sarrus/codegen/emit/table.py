"""LLVM IR of a `Table`: a loop over many evaluations of one transcendental function.

One evaluation is a long chain of dependent operations, so several are done at once, as one wide vector. Where they are
read and written is data: a list of workspace slots, one row per evaluation.
"""

from __future__ import annotations

from sarrus.codegen.emit.artifact import FUNCTION_TABLE_BYTES
from sarrus.codegen.emit.exponential import FUNCTIONS
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.sincos import limit_of, write_sincos
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.steps import Plan, Table

WIDE_SCALARS = 8  # evaluations at once in a one-lane kernel
SIN_POINTER, COS_POINTER, ATAN2_POINTER = 0, 8, 16  # bytes into the table of C functions


def emit_table(plan: Plan, table: Table, lane: Lane, name: str) -> str:
    """A function `name(workspace, constants)` that loops over the evaluations of `table`."""
    together = WIDE_SCALARS if lane.count == 1 else 2
    wide = Lane(lane.bits, lane.count * together, lane.fma)
    nowhere = plan.slots - 1  # where results go that nobody wants
    rows = []
    for arguments, results in zip(table.arguments, table.results, strict=True):
        rows.append([plan.slot[a] for a in arguments] + [plan.slot[k] if k >= 0 else nowhere for k in results])
    arity, columns = len(table.arguments[0]), len(rows[0])
    rows += [rows[-1][:arity] + [nowhere] * (columns - arity)] * (-len(rows) % together)
    flat = ", ".join(f"i32 {slot * lane.bytes}" for row in rows for slot in row)
    data = f"@{name}.slots = private unnamed_addr constant [{len(rows) * columns} x i32] [{flat}], align 16"
    w = Writer(f"internal void @{name}(ptr %w, ptr %k)")
    functions = w.offset("%k", -FUNCTION_TABLE_BYTES)
    huge = _Beyond(w, wide, limit_of(lane)) if table.function == "sincos" else None
    with w.loop(len(rows) // together) as i:
        first = w.offset(f"@{name}.slots", w.value(f"mul i64 {i}, {4 * columns * together}"))
        pointers = [_places(w, w.offset(first, 4 * columns * number), columns) for number in range(together)]
        x = [_joined(w, lane, wide, [row[column] for row in pointers]) for column in range(arity)]
        if huge is not None:
            results = write_sincos(w, wide, x[0])
            huge.include(x[0])
        elif table.function in FUNCTIONS:
            results = (FUNCTIONS[table.function](w, wide, x[0]),)
        else:
            function = w.value(f"load ptr, ptr {w.offset(functions, ATAN2_POINTER)}, align 8")
            results = (_call_per_lane(w, wide, function, x),)
        for column, value in enumerate(results, start=arity):
            _split(w, lane, wide, value, [row[column] for row in pointers])
    if huge is not None:
        with w.when(huge.any()):
            _write_exact(w, lane, f"@{name}.slots", len(rows), functions)
    return data + "\n" + w.finish()


def _places(w: Writer, row: str, columns: int) -> list[str]:
    """The addresses in the workspace that one row of the list of slots names."""
    offsets = [w.value(f"load i32, ptr {w.offset(row, 4 * column)}, align 4") for column in range(columns)]
    return [w.offset("%w", w.value(f"zext i32 {offset} to i64")) for offset in offsets]


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


def _write_exact(w: Writer, lane: Lane, slots: str, rows: int, functions: str) -> None:
    """Put the C library's sines and cosines where the argument is beyond the limit, one lane after the other."""
    one = Lane(lane.bits, 1, lane.fma)
    with w.loop(rows) as i:
        places = _places(w, w.offset(slots, w.value(f"mul i64 {i}, {4 * 3}")), 3)
        with w.loop(lane.count) as number:
            shift = w.value(f"mul i64 {number}, {lane.scalar_bytes}")
            argument, *results = [w.offset(place, shift) for place in places]
            x = w.value(f"load {one.type}, ptr {argument}, align {lane.scalar_bytes}")
            magnitude = w.value(f"call {one.type} @llvm.fabs.{one.suffix}({one.type} {x})")
            with w.when(w.value(f"fcmp ogt {one.type} {magnitude}, {one.constant(limit_of(lane))}")):
                for place, pointer in zip(results, (SIN_POINTER, COS_POINTER), strict=True):
                    function = w.value(f"load ptr, ptr {w.offset(functions, pointer)}, align 8")
                    exact = _call_per_lane(w, one, function, [x])
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
