"""The driver of a batch, as IR: rows of states into lanes, all steps, lanes back into rows, for one kind of lane.

The end of a batch is padded with copies of its last state, whose results go nowhere: every state meets the same
instructions in a batch of any size. While a block is computed, the memory of the next one is fetched, unless that is so
much that it would drive the workspace out of the cache. Where it is asked to, it looks at the arguments, once they are
in lanes: all finite, quaternions of length one.

What only a few states need (a guard: a robust method behind a quick one) is not done for the block that they are in, in
which all lanes would wait for it. These states are done again, in blocks of their own, as soon as there are enough of
them to fill one.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import CACHE_LINE
from sarrus.codegen.emit.run import late_lanes
from sarrus.codegen.emit.transfer import move_rows, rows_of_block, rows_of_list, scatter_listed
from sarrus.codegen.emit.words import PORT_LIST, PORT_WORDS, PORTS_BEGIN, Header, in_header
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.ports import MOST_FETCHED

_PREFETCHES = 8  # cache lines asked for in one turn of a loop


def emit_batch(lane: Lane, name: str) -> str:
    """`name(inputs, outputs, first, count, scratch, constants)`: states first .. first + count - 1 of a batch.

    `inputs` and `outputs` are arrays of pointers to row-major arrays, one row per state.
    """
    lanes = lane.count
    w = Writer(f"void @{name}(ptr %inputs, ptr %outputs, i64 %first, i64 %count, ptr %w, ptr %k)")
    ports, run, check = (in_header(w, x) for x in (Header.PORTS, Header.RUN, Header.CHECK))
    n_inputs, inputs, n_outputs, outputs, invalid, padding = _ports(w, ports)
    end = w.value("add i64 %first, %count")
    checks = w.value(f"icmp sge i64 {w.value(f'load i64, ptr {invalid}, align 8')}, 0")
    blocks = w.value(f"udiv i64 {w.value(f'add i64 %count, {lanes - 1}')}, {lanes}")
    gather, scatter = (in_header(w, x) for x in (Header.GATHER, Header.SCATTER))
    late = _Late(w, lanes, name, blocks) if lanes > 1 else None  # with one lane nobody waits
    run = run if late is None else late.run(run)
    with w.loop(blocks) as block:
        state = w.value(f"add i64 {w.value(f'mul i64 {block}, {lanes}')}, %first")
        following = w.value(f"add i64 {state}, {lanes}")
        whole = w.value(f"icmp ule i64 {following}, {end}")
        own = w.value(f"and i1 {whole}, {w.value(f'icmp ne ptr {gather}, null')}")
        with w.when(own):
            w.do(f"call void {gather}(ptr %inputs, i64 {state}, ptr %w, ptr %outputs)")
        with w.when(w.value(f"xor i1 {own}, true")):
            for count, table, arrays, to_write in (
                (n_inputs, inputs, "%inputs", False),
                (n_outputs, outputs, "%outputs", True),
            ):
                with w.loop(count) as i:
                    size, slots, base = _port(w, lane, table, arrays, i)
                    if not to_write:
                        move_rows(w, lane, _rows(w, lane, base, size, state, end, None), slots, size, to_rows=False)
                    bytes_of_block = w.value(f"mul i64 {size}, {lane.bytes}")
                    with w.when(w.value(f"icmp ule i64 {bytes_of_block}, {MOST_FETCHED}")):
                        _fetch(w, lane, base, size, following, to_write)
        with w.when(checks):
            w.do(f"call void {check}(ptr %w, ptr {ports}, ptr {invalid})")
        w.do(f"call void {run}(ptr %w, ptr %k)")
        own = w.value(f"and i1 {whole}, {w.value(f'icmp ne ptr {scatter}, null')}")
        with w.when(own):
            w.do(f"call void {scatter}(ptr %outputs, i64 {state}, ptr %w)")
        with w.when(w.value(f"xor i1 {own}, true")), w.loop(n_outputs) as i:
            size, slots, base = _port(w, lane, outputs, "%outputs", i)
            rows = _rows(w, lane, base, size, state, end, padding)
            _scatter(w, lane, rows, ports, outputs, i, slots, size)
        if late is not None:
            late.note(state, end)
    if late is None:
        return w.finish()
    late.finish()
    return "\n".join([_emit_again(lane, f"{name}_again"), w.finish()])


_ENOUGH_BLOCKS = 8  # of fewer, one that is not full weighs too much


class _Late:
    """States of a batch that are done again, in the function that is being written."""

    def __init__(self, w: Writer, lanes: int, name: str, blocks: str) -> None:
        self._w, self._lanes, self._name = w, lanes, name
        self._bits, self._count = late_lanes(w), w.value("alloca i64, align 8")
        self._states = w.value(f"alloca i64, i64 {2 * lanes}, align 8")
        w.do(f"store i64 0, ptr {self._bits}, align 8")
        w.do(f"store i64 0, ptr {self._count}, align 8")
        self._are_enough = w.value(f"icmp uge i64 {blocks}, {_ENOUGH_BLOCKS}")

    def run(self, every: str) -> str:
        """What runs the steps of a block: `every` does all that any lane needs."""
        w = self._w
        most = in_header(w, Header.RUN_MOST)
        allowed = w.value(f"and i1 {self._are_enough}, {w.value(f'icmp ne ptr {most}, null')}")
        return w.value(f"select i1 {allowed}, ptr {most}, ptr {every}")

    def note(self, state: str, end: str) -> None:
        """Those of the block from this state on; do a block of them if there are enough."""
        w, lanes = self._w, self._lanes
        bits = self._load(self._bits)
        with w.when(w.value(f"icmp ne i64 {bits}, 0")):
            w.do(f"store i64 0, ptr {self._bits}, align 8")
            with w.loop(lanes) as number:
                index = w.value(f"add i64 {state}, {number}")
                inside = w.value(f"icmp ult i64 {index}, {end}")  # others are copies
                is_set = w.value(f"trunc i64 {w.value(f'lshr i64 {bits}, {number}')} to i1")
                with w.when(w.value(f"and i1 {inside}, {is_set}")):
                    count = self._load(self._count)
                    place = w.offset(self._states, w.value(f"mul i64 {count}, 8"))
                    w.do(f"store i64 {index}, ptr {place}, align 8")
                    w.do(f"store i64 {w.value(f'add i64 {count}, 1')}, ptr {self._count}, align 8")
            count = self._load(self._count)
            with w.when(w.value(f"icmp uge i64 {count}, {lanes}")):
                self._again(str(lanes))
                rest = w.value(f"sub i64 {count}, {lanes}")
                w.do(f"store i64 {rest}, ptr {self._count}, align 8")
                with w.loop(rest) as i:
                    place = w.offset(self._states, w.value(f"mul i64 {i}, 8"))
                    w.do(f"store i64 {self._load(w.offset(place, 8 * lanes))}, ptr {place}, align 8")

    def finish(self) -> None:
        """What is left."""
        count = self._load(self._count)
        with self._w.when(self._w.value(f"icmp ne i64 {count}, 0")):
            self._again(count)

    def _again(self, count: str) -> None:
        arguments = f"ptr %inputs, ptr %outputs, ptr %w, ptr %k, ptr {self._states}, i64 {count}"
        self._w.do(f"call void @{self._name}_again({arguments})")

    def _load(self, place: str) -> str:
        return self._w.value(f"load i64, ptr {place}, align 8")


def _emit_again(lane: Lane, name: str) -> str:
    """`name(inputs, outputs, workspace, constants, states, count)`: one block, of the states in a list."""
    w = Writer(f"internal void @{name}(ptr %inputs, ptr %outputs, ptr %w, ptr %k, ptr %states, i64 %count)")
    ports, run = (in_header(w, x) for x in (Header.PORTS, Header.RUN))
    n_inputs, inputs, n_outputs, outputs, _, padding = _ports(w, ports)

    def rows(base: str, size: str, instead: str | None) -> list[str]:
        stride = w.value(f"mul i64 {size}, {lane.scalar_bytes}")
        return rows_of_list(w, lane, base, stride, "%states", "%count", instead)

    with w.loop(n_inputs) as i:
        size, slots, base = _port(w, lane, inputs, "%inputs", i)
        move_rows(w, lane, rows(base, size, None), slots, size, to_rows=False)
    w.do(f"call void {run}(ptr %w, ptr %k)")
    with w.loop(n_outputs) as i:
        size, slots, base = _port(w, lane, outputs, "%outputs", i)
        _scatter(w, lane, rows(base, size, padding), ports, outputs, i, slots, size)
    return w.finish()


def _scatter(w: Writer, lane: Lane, rows: list[str], ports: str, outputs: str, i: str, slots: str, size: str) -> None:
    """Output i of a block to these rows, from slots that follow each other or that a list names."""
    list_begins = w.value(f"load i64, ptr {_port_word(w, outputs, i, PORT_LIST)}, align 8")
    is_listed = w.value(f"icmp ne i64 {list_begins}, 0")
    with w.when(is_listed):
        words = w.offset(ports, w.value(f"mul i64 {list_begins}, 8"))
        scatter_listed(w, lane, rows, "%w", words, size)
    with w.when(w.value(f"xor i1 {is_listed}, true")):
        move_rows(w, lane, rows, slots, size, to_rows=True)


def _ports(w: Writer, ports: str) -> tuple[str, ...]:
    """How many inputs there are and where their words begin, the same of outputs, the count of states that are not
    valid, and where rows go that are only padding.
    """
    n_inputs, n_outputs, workspace = (w.value(f"load i64, ptr {w.offset(ports, 8 * n)}, align 8") for n in range(3))
    inputs = w.offset(ports, 8 * PORTS_BEGIN)
    outputs = w.offset(inputs, w.value(f"mul i64 {n_inputs}, {8 * PORT_WORDS}"))
    invalid = w.offset("%w", workspace)
    return n_inputs, inputs, n_outputs, outputs, invalid, w.offset(invalid, CACHE_LINE)


def _port(w: Writer, lane: Lane, table: str, arrays: str, i: str) -> tuple[str, str, str]:
    """Size, first slot and array of port i."""
    size, slot = (w.value(f"load i64, ptr {_port_word(w, table, i, n)}, align 8") for n in range(2))
    slots = w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
    base = w.value(f"load ptr, ptr {w.offset(arrays, w.value(f'mul i64 {i}, 8'))}, align 8")
    return size, slots, base


def _port_word(w: Writer, table: str, i: str, number: int) -> str:
    """Where word `number` of port i is."""
    return w.offset(w.offset(table, w.value(f"mul i64 {i}, {8 * PORT_WORDS}")), 8 * number)


def _rows(w: Writer, lane: Lane, base: str, size: str, state: str, end: str, padding: str | None) -> list[str]:
    stride = w.value(f"mul i64 {size}, {lane.scalar_bytes}")
    return rows_of_block(w, lane, base, stride, state, end, padding)


def _fetch(w: Writer, lane: Lane, base: str, size: str, state: str, to_write: bool) -> None:
    """The rows of a block are one piece of memory (a prefetch beyond the end does no harm)."""
    address = w.offset(base, w.value(f"mul i64 {w.value(f'mul i64 {state}, {size}')}, {lane.scalar_bytes}"))
    length = w.value(f"mul i64 {size}, {lane.bytes}")
    piece = CACHE_LINE * _PREFETCHES
    with w.loop(w.value(f"udiv i64 {w.value(f'add i64 {length}, {piece - 1}')}, {piece}")) as i:
        first = w.offset(address, w.value(f"mul i64 {i}, {piece}"))
        for number in range(_PREFETCHES):
            line = w.offset(first, CACHE_LINE * number)
            w.do(f"call void @llvm.prefetch.p0(ptr {line}, i32 {int(to_write)}, i32 3, i32 1)")


def emit_check(lane: Lane, name: str) -> str:
    """`name(workspace, ports, invalid)`: add one to `invalid` unless the inputs in the workspace are all valid.

    A number less itself has no bit set, unless it is not finite. (Bits are put together in one cycle, sums take four.)
    """
    T, I, align = lane.type, lane.integer, lane.alignment
    w = Writer(f"void @{name}(ptr %w, ptr %ports, ptr %invalid)")
    n_inputs, n_outputs, _, total, tolerance, n_unit = (
        w.value(f"load i64, ptr {w.offset('%ports', 8 * n)}, align 8") for n in range(6)
    )
    place = w.value(f"alloca {I}, align {align}")
    w.do(f"store {I} {lane.integer_constant(0)}, ptr {place}, align {align}")

    def include(bits: str) -> None:
        seen = w.value(f"load {I}, ptr {place}, align {align}")
        w.do(f"store {I} {w.value(f'or {I} {seen}, {bits}')}, ptr {place}, align {align}")

    def at(slot: str) -> str:
        return w.value(f"load {T}, ptr {w.offset('%w', w.value(f'mul i64 {slot}, {lane.bytes}'))}, align {align}")

    with w.loop(total) as i:
        x = at(i)
        off = w.value(f"fsub {T} {x}, {x}")
        include(w.value(f"bitcast {T} {off} to {I}"))
    all_ports = w.value(f"add i64 {n_inputs}, {n_outputs}")
    unit = w.offset(w.offset("%ports", 8 * PORTS_BEGIN), w.value(f"mul i64 {all_ports}, {8 * PORT_WORDS}"))
    bound = w.value(f"bitcast i64 {tolerance} to double")
    if lane.bits == 32:
        bound = w.value(f"fptrunc double {bound} to float")
    if lane.count > 1:
        bound = w.value(f"insertelement {T} poison, {lane.scalar} {bound}, i32 0")
        bound = w.value(f"shufflevector {T} {bound}, {T} poison, <{lane.count} x i32> zeroinitializer")
    with w.loop(n_unit) as i:
        slot = w.value(f"load i64, ptr {w.offset(unit, w.value(f'mul i64 {i}, 8'))}, align 8")
        squares = lane.constant(-1.0)
        for n in range(4):
            x = at(w.value(f"add i64 {slot}, {n}"))
            squares = w.value(f"fadd {T} {squares}, {w.value(f'fmul {T} {x}, {x}')}")
        off = w.value(f"call {T} @llvm.fabs.{lane.suffix}({T} {squares})")
        wrong = w.value(f"fcmp ugt {T} {off}, {bound}")  # also where it is not a number
        include(w.value(f"sext {lane.mask} {wrong} to {I}"))
    bad = w.value(f"icmp ne {I} {w.value(f'load {I}, ptr {place}, align {align}')}, {lane.integer_constant(0)}")
    if lane.count > 1:
        bits = w.value(f"bitcast {lane.mask} {bad} to i{lane.count}")
        bad = w.value(f"icmp ne i{lane.count} {bits}, 0")
    with w.when(bad):
        before = w.value("load i64, ptr %invalid, align 8")
        w.do(f"store i64 {w.value(f'add i64 {before}, 1')}, ptr %invalid, align 8")
    return w.finish()
