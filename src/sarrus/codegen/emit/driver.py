"""The native code around a kernel: rows of a batch into lanes, all steps, lanes back into rows.

The end of a batch is padded with copies of its last state, whose results go nowhere: every state meets the same
instructions in a batch of any size. While a block is computed, the memory of the next one is fetched.
"""

from __future__ import annotations

from contextlib import ExitStack

from sarrus.codegen.emit.artifact import Scratch
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import CACHE_LINE
from sarrus.codegen.emit.transfer import move_rows
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.steps import Again, Begin, Enter, Leave, Plan
from sarrus.codegen.tape.tape import Port

PREFETCHES = 16  # cache lines asked for in one turn of a loop


def scratch_layout(plan: Plan, slots: int, lane: Lane) -> Scratch:
    workspace = -(-slots * lane.bytes // CACHE_LINE) * CACHE_LINE
    longest = max((port.size for port in plan.tape.outputs), default=0)
    return Scratch(workspace, longest * lane.scalar_bytes + CACHE_LINE)


def emit_run(plan: Plan, step_names: list[str], name: str) -> str:
    """`name(workspace, constants)`: every step, one after the other; those of a loop until all lanes are done, those of
    a guard if any lane needs them.
    """
    w = Writer(f"internal void @{name}(ptr %w, ptr %k)")
    end_loop = None
    guard = ExitStack()
    for step, function in zip(plan.steps, step_names, strict=True):
        if isinstance(step, Leave):
            guard.close()
        elif isinstance(step, Enter):
            guard.enter_context(w.when(w.value(f"call i1 @{function}(ptr %w, ptr %k)")))
        elif isinstance(step, Begin):
            end_loop = w.repeat(step.loop.limit, w.value(f"call i1 @{function}(ptr %w, ptr %k)"))
        elif isinstance(step, Again) and end_loop is not None:
            end_loop(w.value(f"call i1 @{function}(ptr %w, ptr %k)"))
        else:
            w.do(f"call void @{function}(ptr %w, ptr %k)")
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
            move_rows(w, lane, rows(port_size, base, state, None), w.offset("%w", slot * lane.bytes), port_size, False)
        for ports, to_write in ((inputs, False), (outputs, True)):
            for port_size, base, _ in ports:
                fetch_next(port_size, base, state, to_write)
        w.do(f"call void @{run}(ptr %w, ptr %k)")
        for port_size, base, slot in outputs:
            target = rows(port_size, base, state, unwanted)
            move_rows(w, lane, target, w.offset("%w", slot * lane.bytes), port_size, to_rows=True)
    return w.finish()


def _ports(w: Writer, ports: tuple[Port, ...], slots: list[int], pointers: str) -> list[tuple[int, str, int]]:
    """(size, address, first slot) of each port that has elements."""
    return [
        (port.size, w.value(f"load ptr, ptr {w.offset(pointers, 8 * number)}, align 8"), slots[number])
        for number, port in enumerate(ports)
        if port.size
    ]
