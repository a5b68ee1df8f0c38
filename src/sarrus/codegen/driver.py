"""The native code around a kernel: rows of a batch into lanes, all steps, lanes back into rows.

The end of a batch is padded with copies of its last state, whose results go nowhere: every state meets the same
instructions in a batch of any size. While a block is computed, the memory of the next one is fetched.
"""

from __future__ import annotations

from collections.abc import Callable

from sarrus.codegen.artifact import Scratch
from sarrus.codegen.lane import Lane
from sarrus.codegen.memory import CACHE_LINE
from sarrus.codegen.steps import Again, Begin, Plan
from sarrus.codegen.tape import Port
from sarrus.codegen.writer import Writer

PREFETCHES = 16  # cache lines asked for in one turn of a loop


def scratch_layout(plan: Plan, slots: int, lane: Lane) -> Scratch:
    workspace = -(-slots * lane.bytes // CACHE_LINE) * CACHE_LINE
    longest = max((port.size for port in plan.tape.outputs), default=0)
    return Scratch(workspace, longest * lane.scalar_bytes + CACHE_LINE)


def emit_run(plan: Plan, step_names: list[str], name: str) -> str:
    """`name(workspace, constants)`: every step, one after the other; those of a loop until all lanes are done."""
    w = Writer(f"internal void @{name}(ptr %w, ptr %k)")
    end_loop = None
    for step, function in zip(plan.steps, step_names, strict=True):
        if isinstance(step, Again) and end_loop is not None:
            end_loop(w.value(f"call i1 @{function}(ptr %w, ptr %k)"))
            continue
        w.do(f"call void @{function}(ptr %w, ptr %k)")
        if isinstance(step, Begin):
            end_loop = w.repeat(step.loop.limit)
    return w.finish()


def emit_entry(run: str, name: str) -> str:
    """`run` under a name that other native code can call (`program.py`)."""
    w = Writer(f"void @{name}(ptr %w, ptr %k)")
    w.do(f"call void @{run}(ptr %w, ptr %k)")
    return w.finish()


def emit_batch(plan: Plan, lane: Lane, scratch: Scratch, run: str, name: str) -> str:
    """`name(inputs, outputs, first, count, scratch, constants)`: states first .. first + count - 1 of a batch.

    `inputs` and `outputs` are arrays of pointers to row-major arrays, one row per state.
    """
    lanes, size = lane.count, lane.scalar_bytes
    w = Writer(f"void @{name}(ptr %inputs, ptr %outputs, i64 %first, i64 %count, ptr %w, ptr %k)")
    unwanted = w.offset("%w", scratch.workspace)
    end = w.value("add i64 %first, %count")
    last = w.value(f"sub i64 {end}, 1")
    blocks = w.value(f"add i64 %count, {lanes - 1}")
    blocks = w.value(f"udiv i64 {blocks}, {lanes}")
    inputs = _ports(w, plan.tape.inputs, plan.input_slot, "%inputs")
    outputs = _ports(w, plan.tape.outputs, plan.output_slot, "%outputs")

    def rows(port_size: int, base: str, state: str, padding: str | None) -> list[str]:
        """The address of each lane's row; lanes beyond the end get the last row, or `padding`."""
        addresses = []
        for number in range(lanes):
            index = w.value(f"add i64 {state}, {number}")
            inside = w.value(f"icmp ult i64 {index}, {end}")
            index = w.value(f"select i1 {inside}, i64 {index}, i64 {last}")
            address = w.offset(base, w.value(f"mul i64 {index}, {port_size * size}"))
            if padding is not None:
                address = w.value(f"select i1 {inside}, ptr {address}, ptr {padding}")
            addresses.append(address)
        return addresses

    def fetch_next(port_size: int, base: str, state: str, to_write: bool) -> None:
        """The rows of the next block are one piece of memory (a prefetch beyond the end does no harm)."""
        following = w.value(f"add i64 {state}, {lanes}")
        address = w.offset(base, w.value(f"mul i64 {following}, {port_size * size}"))
        lines = -(-lanes * port_size * size // CACHE_LINE)
        with w.loop(-(-lines // PREFETCHES)) as i:
            piece = w.offset(address, w.value(f"mul i64 {i}, {CACHE_LINE * PREFETCHES}"))
            for number in range(min(PREFETCHES, lines)):
                line = w.offset(piece, CACHE_LINE * number)
                w.do(f"call void @llvm.prefetch.p0(ptr {line}, i32 {int(to_write)}, i32 3, i32 1)")

    with w.loop(blocks) as block:
        state = w.value(f"mul i64 {block}, {lanes}")
        state = w.value(f"add i64 {state}, %first")
        for port_size, base, slot in inputs:
            _write_gather(w, lane, rows(port_size, base, state, None), port_size, w.offset("%w", slot * lane.bytes))
        for ports, to_write in ((inputs, False), (outputs, True)):
            for port_size, base, _ in ports:
                fetch_next(port_size, base, state, to_write)
        w.do(f"call void @{run}(ptr %w, ptr %k)")
        for port_size, base, slot in outputs:
            target = rows(port_size, base, state, unwanted)
            _write_scatter(w, lane, target, port_size, w.offset("%w", slot * lane.bytes))
    return w.finish()


def _ports(w: Writer, ports: tuple[Port, ...], slots: list[int], pointers: str) -> list[tuple[int, str, int]]:
    """(size, address, first slot) of each port that has elements."""
    return [
        (port.size, w.value(f"load ptr, ptr {w.offset(pointers, 8 * number)}, align 8"), slots[number])
        for number, port in enumerate(ports)
        if port.size
    ]


def _write_gather(w: Writer, lane: Lane, rows: list[str], count: int, slots: str) -> None:
    """One row of `count` scalars per lane becomes `count` slots."""
    T, size = lane.type, lane.scalar_bytes

    def square(column: str | int, slot: str | int) -> None:
        """As many columns as there are lanes: byte `column` of the rows, byte `slot` of the slots."""
        loaded = [w.value(f"load {T}, ptr {w.offset(row, column)}, align {size}") for row in rows]
        target = w.offset(slots, slot)
        for number, x in enumerate(transposed(w, lane, loaded)):
            w.do(f"store {T} {x}, ptr {w.offset(target, number * lane.bytes)}, align {lane.alignment}")

    def single(column: int) -> None:
        for number, row in enumerate(rows):
            x = w.value(f"load {lane.scalar}, ptr {w.offset(row, column * size)}, align {size}")
            w.do(f"store {lane.scalar} {x}, ptr {w.offset(slots, column * lane.bytes + number * size)}, align {size}")

    _in_squares(w, lane, count, square, single)


def _write_scatter(w: Writer, lane: Lane, rows: list[str], count: int, slots: str) -> None:
    """`count` slots become one row of `count` scalars per lane."""
    T, size = lane.type, lane.scalar_bytes

    def square(column: str | int, slot: str | int) -> None:
        source = w.offset(slots, slot)
        places = [w.offset(source, number * lane.bytes) for number in range(lane.count)]
        loaded = [w.value(f"load {T}, ptr {place}, align {lane.alignment}") for place in places]
        for row, x in zip(rows, transposed(w, lane, loaded), strict=True):
            w.do(f"store {T} {x}, ptr {w.offset(row, column)}, align {size}")

    def single(column: int) -> None:
        for number, row in enumerate(rows):
            source = w.offset(slots, column * lane.bytes + number * size)
            x = w.value(f"load {lane.scalar}, ptr {source}, align {size}")
            w.do(f"store {lane.scalar} {x}, ptr {w.offset(row, column * size)}, align {size}")

    _in_squares(w, lane, count, square, single)


def _in_squares(
    w: Writer, lane: Lane, count: int, square: Callable[[str | int, str | int], None], single: Callable[[int], None]
) -> None:
    """`count` columns in squares; the last one overlaps the one before where they do not come out even.

    (Scalar stores, of which a vector is loaded soon after, would make that load wait.)
    """
    with w.loop(count // lane.count) as i:
        square(w.value(f"mul i64 {i}, {lane.bytes}"), w.value(f"mul i64 {i}, {lane.count * lane.bytes}"))
    if count % lane.count and count > lane.count:
        square((count - lane.count) * lane.scalar_bytes, (count - lane.count) * lane.bytes)
    elif count % lane.count:
        for column in range(count):
            single(column)


def transposed(w: Writer, lane: Lane, vectors: list[str]) -> list[str]:
    """The square matrix whose rows are `vectors`, transposed: blocks of 1, 2, 4 ... change places."""
    lanes, T = lane.count, lane.type
    distance = 1
    while distance < lanes:
        exchanged = list(vectors)
        for i in range(lanes):
            if i & distance:
                continue
            other = i | distance
            kept = [(j ^ distance) + lanes if j & distance else j for j in range(lanes)]
            moved = [j + lanes if j & distance else j ^ distance for j in range(lanes)]
            for row, picks in ((i, kept), (other, moved)):
                mask = ", ".join(f"i32 {p}" for p in picks)
                exchanged[row] = w.value(
                    f"shufflevector {T} {vectors[i]}, {T} {vectors[other]}, <{lanes} x i32> <{mask}>"
                )
        vectors = exchanged
        distance *= 2
    return vectors
