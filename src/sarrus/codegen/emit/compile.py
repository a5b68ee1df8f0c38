"""The pipeline from a tape to machine code: fuse, schedule, plan, emit, compile, link."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sarrus.codegen.emit import jit
from sarrus.codegen.emit.artifact import Artifact, Scratch
from sarrus.codegen.emit.backend import LLVM, X86
from sarrus.codegen.emit.backend import backend as default_backend
from sarrus.codegen.emit.driver import emit_batch, emit_entry, emit_run, scratch_layout
from sarrus.codegen.emit.emit import declarations, declare_chunk, emit_again, emit_begin, emit_chunk, emit_enter
from sarrus.codegen.emit.image import NotFlatError, link_flat
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.single import emit_single
from sarrus.codegen.emit.table import emit_table
from sarrus.codegen.passes.allocate import Action, Compute, Load, Store, allocate
from sarrus.codegen.passes.chain import chain
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Again, Begin, Chunk, Enter, Plan, Table
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.x86.encode import can_encode, encoded
from sarrus.codegen.x86.registers import Assignment

# Instructions per function. LLVM's time per instruction grows with it; ours does not, and less goes through memory.
CHUNK_SIZES = {LLVM: 300, X86: 1200}
ENTRIES = ["batch", "batch_single", "single_into", "single_new", "run", "run_single"]


def compile_tape(tape: Tape, lane: Lane, backend: str | None = None) -> Artifact:
    """Machine code for `lane` and, for single states, for one lane.

    backend  who makes the chunks: `backend.X86` or `backend.LLVM`; all around them is LLVM's
    """
    clock = [time.perf_counter()]
    ir, chunks, scratch, single_scratch, stats = module_of(tape, lane, backend or default_backend())
    clock.append(time.perf_counter())
    obj = jit.compile_object(ir)
    clock.append(time.perf_counter())
    try:
        code, entries = link_flat(obj, ENTRIES, chunks)
        is_flat = True
    except NotFlatError:
        if chunks:
            return compile_tape(tape, lane, LLVM)
        code, entries, is_flat = obj, dict.fromkeys(ENTRIES, 0), False
    stats |= {"emit_seconds": clock[1] - clock[0], "llvm_seconds": clock[2] - clock[1]}
    return Artifact(code, is_flat, entries, scratch, single_scratch, stats)


def module_of(tape: Tape, lane: Lane, backend: str) -> tuple[str, dict[str, bytes], Scratch, Scratch, dict[str, float]]:
    """The module as IR text, those of its functions that are machine code already, the memory that its two drivers
    need, and counts.
    """
    fused = chain(fuse(tape)) if lane.fma else tape
    most = CHUNK_SIZES[backend if can_encode(lane.bits, lane.count) else LLVM]
    planned = plan(fused, schedule(fused), most)
    allocated = [allocate(planned, step) if isinstance(step, Chunk) else ([], 0) for step in planned.steps]
    slots = planned.slots + max((spills for _, spills in allocated), default=0)
    actions = [action for action, _ in allocated]
    stats: dict[str, float] = {
        "instructions": sum(type(a) is Compute for step in actions for a in step),
        "loads": sum(type(a) is Load for step in actions for a in step),
        "stores": sum(type(a) is Store for step in actions for a in step),
        "functions": len(planned.steps),
        "workspace_slots": slots,
    }
    single = Lane(lane.bits, 1, lane.fma)
    single_scratch = scratch_layout(planned, slots, single)
    scratch = scratch_layout(planned, slots, lane)
    lanes = {"single": single} | ({"lanes": lane} if lane.count > 1 else {})
    chunks = _encoded_chunks(planned, actions, lanes) if backend == X86 else {}
    parts = [
        declarations(lane.bits),
        _emit_steps(planned, actions, single, "single", chunks),
        emit_batch(planned, single, single_scratch, "single_run", "batch_single"),
        emit_single(planned, single, "single_run"),
    ]
    if lane.count > 1:
        parts.append(_emit_steps(planned, actions, lane, "lanes", chunks))
    run = "lanes_run" if lane.count > 1 else "single_run"
    parts += [
        emit_batch(planned, lane, scratch, run, "batch"),
        emit_entry(run, "run"),
        emit_entry("single_run", "run_single"),
    ]
    return "\n".join(parts), chunks, scratch, single_scratch, stats


def _encoded_chunks(planned: Plan, actions: list[list[Action]], lanes: dict[str, Lane]) -> dict[str, bytes]:
    """The machine code of every chunk, by name, for those of the lanes (by prefix) that the encoder knows."""
    numbers = [number for number, step in enumerate(planned.steps) if isinstance(step, Chunk)]
    assignment = Assignment(planned.tape)
    for number in numbers:
        assignment.add(actions[number])
    return {
        f"{prefix}_step{number}": code
        for prefix, lane in lanes.items()
        if can_encode(lane.bits, lane.count)
        for number, code in zip(numbers, encoded(assignment, lane.bits, lane.count), strict=True)
    }


def _emit_steps(
    planned: Plan, actions: list[list[Action]], lane: Lane, prefix: str, chunks: Mapping[str, bytes]
) -> str:
    """All steps but those that are in `chunks`, and `<prefix>_run` that calls them."""
    parts, names = [], []
    for number, step in enumerate(planned.steps):
        name = f"{prefix}_step{number}"
        if name in chunks:
            parts.append(declare_chunk(name))
        elif isinstance(step, Chunk):
            parts.append(emit_chunk(planned.tape, actions[number], lane, name))
        elif isinstance(step, Table):
            parts.append(emit_table(planned, step, lane, name))
        elif isinstance(step, Begin):
            parts.append(emit_begin(planned, step, lane, name))
        elif isinstance(step, Enter):
            parts.append(emit_enter(planned, step, lane, name))
        elif isinstance(step, Again):
            parts.append(emit_again(planned, step, lane, name))
        names.append(name)
    return "\n".join([*parts, emit_run(planned, names, f"{prefix}_run")])
