"""The driver of a batch, as IR: rows of states into lanes, all steps, lanes back into rows, for one kind of lane.

The end of a batch is padded with copies of its last state, whose results go nowhere: every state meets the same
instructions in a batch of any size. While a block is computed, the memory of the next one is fetched. Where it is asked
to, it looks at the arguments, once they are in lanes: all finite, quaternions of length one.

What only a few states need (a guard: a robust method behind a quick one) is not done for the block that they are in, in
which all lanes would wait for it. These states are done again, in blocks of their own, as soon as there are enough of
them to fill one.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import CACHE_LINE
from sarrus.codegen.emit.transfer import move_rows, rows_of_block, rows_of_list
from sarrus.codegen.emit.words import PORT_WORDS, PORTS_BEGIN, Header
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.x86.patterns import HEADER_BYTES

_PREFETCHES = 8  # cache lines asked for in one turn of a loop


def emit_batch(lane: Lane, run: str, name: str) -> str:
    """`name(inputs, outputs, first, count, scratch, constants)`: states first .. first + count - 1 of a batch.

    `inputs` and `outputs` are arrays of pointers to row-major arrays, one row per state.
    """
    lanes = lane.count
    w = Writer(f"void @{name}(ptr %inputs, ptr %outputs, i64 %first, i64 %count, ptr %w, ptr %k)")
    kernel = _Ports(w)
    ports, invalid, padding = kernel.ports, kernel.invalid, kernel.padding
    (n_inputs, inputs, _), (n_outputs, outputs, _) = kernel.inputs, kernel.outputs
    end = w.value("add i64 %first, %count")
    checks = w.value(f"icmp sge i64 {w.value(f'load i64, ptr {invalid}, align 8')}, 0")
    blocks = w.value(f"udiv i64 {w.value(f'add i64 %count, {lanes - 1}')}, {lanes}")
    gather, scatter = (
        w.value(f"load ptr, ptr {w.offset('%k', 8 * which - HEADER_BYTES)}, align 8")
        for which in (Header.GATHER, Header.SCATTER)
    )
    late = _Late(w, lane, name, run, blocks)
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
                    _fetch(w, lane, base, size, following, to_write)
        with w.when(checks):
            w.do(f"call void @{name}_check(ptr %w, ptr {ports}, ptr {invalid})")
        late.run()
        own = w.value(f"and i1 {whole}, {w.value(f'icmp ne ptr {scatter}, null')}")
        with w.when(own):
            w.do(f"call void {scatter}(ptr %outputs, i64 {state}, ptr %w)")
        with w.when(w.value(f"xor i1 {own}, true")), w.loop(n_outputs) as i:
            size, slots, base = _port(w, lane, outputs, "%outputs", i)
            move_rows(w, lane, _rows(w, lane, base, size, state, end, padding), slots, size, to_rows=True)
        late.note(state, end)
    late.finish()
    return "\n".join([emit_check(lane, f"{name}_check"), *_emit_again(lane, run, f"{name}_again"), w.finish()])


_ENOUGH_BLOCKS = 8  # of fewer, one that is not full weighs too much


class _Late:
    """States of a batch that are done again, in the function that is being written."""

    def __init__(self, w: Writer, lane: Lane, name: str, run: str, blocks: str) -> None:
        self._w, self._lane, self._name, self._run = w, lane, name, run
        if lane.count == 1:  # nobody waits
            return
        self._bits, self._count = (w.value("alloca i64, align 8") for _ in range(2))
        self._states = w.value(f"alloca i64, i64 {2 * lane.count}, align 8")
        w.do(f"store i64 0, ptr {self._count}, align 8")
        w.do(f"store i64 0, ptr {self._bits}, align 8")
        self._allowed = w.value(f"icmp uge i64 {blocks}, {_ENOUGH_BLOCKS}")

    def run(self) -> None:
        """The steps of a block."""
        w, every = self._w, f"call void @{self._run}(ptr %w, ptr %k)"
        if self._lane.count == 1:
            w.do(every)
            return
        with w.when(self._allowed):
            w.do(f"call void @{self._run}_most(ptr %w, ptr %k, ptr {self._bits})")
        with w.when(w.value(f"xor i1 {self._allowed}, true")):
            w.do(every)

    def note(self, state: str, end: str) -> None:
        """Those of the block from this state on; do a block of them if there are enough."""
        if self._lane.count == 1:
            return
        w, lanes = self._w, self._lane.count
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
        if self._lane.count > 1:
            count = self._load(self._count)
            with self._w.when(self._w.value(f"icmp ne i64 {count}, 0")):
                self._again(count)

    def _again(self, count: str) -> None:
        arguments = "ptr %inputs, ptr %outputs, ptr %w, ptr %k"
        self._w.do(f"call void @{self._name}_again({arguments}, ptr {self._states}, i64 {count})")

    def _load(self, place: str) -> str:
        return self._w.value(f"load i64, ptr {place}, align 8")


def _emit_again(lane: Lane, run: str, name: str) -> list[str]:
    """`name(inputs, outputs, workspace, constants, states, count)`: one block, of the states in a list."""
    if lane.count == 1:
        return []
    w = Writer(f"internal void @{name}(ptr %inputs, ptr %outputs, ptr %w, ptr %k, ptr %states, i64 %count)")
    kernel = _Ports(w)
    for to_rows in (False, True):
        if to_rows:
            w.do(f"call void @{run}(ptr %w, ptr %k)")
        count, table, arrays = kernel.outputs if to_rows else kernel.inputs
        with w.loop(count) as i:
            size, slots, base = _port(w, lane, table, arrays, i)
            stride = w.value(f"mul i64 {size}, {lane.scalar_bytes}")
            rows = rows_of_list(w, lane, base, stride, "%states", "%count", kernel.padding if to_rows else None)
            move_rows(w, lane, rows, slots, size, to_rows)
    return [w.finish()]


class _Ports:
    """What the words of a kernel say of its arrays, and of the memory after its workspace."""

    def __init__(self, w: Writer) -> None:
        self.ports = w.value(f"load ptr, ptr {w.offset('%k', 8 * Header.PORTS - HEADER_BYTES)}, align 8")
        n_inputs, n_outputs, workspace = (
            w.value(f"load i64, ptr {w.offset(self.ports, 8 * n)}, align 8") for n in range(3)
        )
        self.invalid = w.offset("%w", workspace)
        self.padding = w.offset(self.invalid, CACHE_LINE)
        inputs = w.offset(self.ports, 8 * PORTS_BEGIN)
        outputs = w.offset(inputs, w.value(f"mul i64 {n_inputs}, {8 * PORT_WORDS}"))
        self.inputs, self.outputs = (n_inputs, inputs, "%inputs"), (n_outputs, outputs, "%outputs")


def _port(w: Writer, lane: Lane, table: str, arrays: str, i: str) -> tuple[str, str, str]:
    """Size, first slot and array of port i."""
    port = w.offset(table, w.value(f"mul i64 {i}, {8 * PORT_WORDS}"))
    size, slot = (w.value(f"load i64, ptr {w.offset(port, 8 * n)}, align 8") for n in range(2))
    slots = w.offset("%w", w.value(f"mul i64 {slot}, {lane.bytes}"))
    base = w.value(f"load ptr, ptr {w.offset(arrays, w.value(f'mul i64 {i}, 8'))}, align 8")
    return size, slots, base


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
    w = Writer(f"internal void @{name}(ptr %w, ptr %ports, ptr %invalid)")
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
