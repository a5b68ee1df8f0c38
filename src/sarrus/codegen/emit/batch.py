"""The driver of a batch, as IR: rows of states into lanes, all steps, lanes back into rows, for one kind of lane.

The end of a batch is padded with copies of its last state, whose results go nowhere: every state meets the same
instructions in a batch of any size. While a block is computed, the memory of the next one is fetched, unless that is so
much that it would drive the workspace out of the cache. Where it is asked to, it looks at the arguments, once they are
in lanes: all finite, quaternions of length one.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import CACHE_LINE
from sarrus.codegen.emit.transfer import move_rows, rows_of_block, scatter_listed
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
    n_inputs, n_outputs, workspace = (w.value(f"load i64, ptr {w.offset(ports, 8 * n)}, align 8") for n in range(3))
    invalid = w.offset("%w", workspace)
    padding = w.offset(invalid, CACHE_LINE)
    inputs = w.offset(ports, 8 * PORTS_BEGIN)
    outputs = w.offset(inputs, w.value(f"mul i64 {n_inputs}, {8 * PORT_WORDS}"))
    end = w.value("add i64 %first, %count")
    checks = w.value(f"icmp sge i64 {w.value(f'load i64, ptr {invalid}, align 8')}, 0")
    blocks = w.value(f"udiv i64 {w.value(f'add i64 %count, {lanes - 1}')}, {lanes}")
    gather, scatter = (in_header(w, x) for x in (Header.GATHER, Header.SCATTER))
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
            list_begins = w.value(f"load i64, ptr {_port_word(w, outputs, i, PORT_LIST)}, align 8")
            is_listed = w.value(f"icmp ne i64 {list_begins}, 0")
            with w.when(is_listed):
                words = w.offset(ports, w.value(f"mul i64 {list_begins}, 8"))
                scatter_listed(w, lane, rows, "%w", words, size)
            with w.when(w.value(f"xor i1 {is_listed}, true")):
                move_rows(w, lane, rows, slots, size, to_rows=True)
    return w.finish()


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
