"""The pipeline from a tape to machine code: fuse, schedule, plan, allocate, encode."""

from __future__ import annotations

import time
from collections import Counter

from sarrus.codegen.emit import host
from sarrus.codegen.emit.artifact import Artifact, chunk_names
from sarrus.codegen.emit.backend import LLVM, X86
from sarrus.codegen.emit.backend import backend as default_backend
from sarrus.codegen.emit.image import NotFlatError, link_flat, side_by_side
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.words import words_of
from sarrus.codegen.passes.allocate import REGISTERS, Action, Compute, Load, Store, allocate
from sarrus.codegen.passes.chain import chain
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.ports import Ports
from sarrus.codegen.passes.roll import rolled
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Chunk, Repeat
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.x86.encode import can_encode, encoded
from sarrus.codegen.x86.registers import VALUES, WIDE_VALUES, Assignment
from sarrus.codegen.x86.transfer import LANES, SCALAR, gather_code, scatter_code

# Instructions per function. LLVM's time per instruction grows with it; ours does not, and less goes through memory.
CHUNK_SIZES = {LLVM: 300, X86: 1200}


def compile_tape(tape: Tape, lane: Lane, backend: str | None = None) -> Artifact:
    """Machine code of all chunks, for `lane` and, for single states, for one lane; and the steps as data.

    backend  who makes the code: `backend.X86` or `backend.LLVM`
    """
    clock = [time.perf_counter()]
    lanes = list(dict.fromkeys([Lane(lane.bits, 1, lane.fma), lane]))
    made_by = backend or default_backend()
    if not all(_can_encode(x) for x in lanes):
        made_by = LLVM
    if tape.loops:  # else it is recursions over links: pieces that wait for each other, so that none would be found
        tape = rolled(tape)
    fused = chain(fuse(tape)) if lane.fma else tape
    values = _values(lanes) if made_by == X86 else REGISTERS
    planned = plan(fused, schedule(fused, values), CHUNK_SIZES[made_by])
    functions = [step for step in planned.steps if isinstance(step, (Chunk, Repeat))]
    allocated = [allocate(planned, step.body if isinstance(step, Repeat) else step, values) for step in functions]
    actions = [action for action, _ in allocated]
    repeats = [step if isinstance(step, Repeat) else None for step in functions]
    words = words_of(planned, max((spills for _, spills in allocated), default=0))
    clock.append(time.perf_counter())
    code, is_flat, chunks = (_encode if made_by == X86 else _compile)(fused, actions, repeats, lanes)
    clock.append(time.perf_counter())
    kinds = Counter(map(type, (action for chunk in actions for action in chunk)))
    stats: dict[str, float] = {
        "instructions": kinds[Compute],
        "loads": kinds[Load],
        "stores": kinds[Store],
        "functions": len(actions),
        "workspace_slots": words.slots,
        "plan_seconds": clock[1] - clock[0],
        "code_seconds": clock[2] - clock[1],
    }
    transfers = [-1, -1]
    if made_by == X86 and lane.bits == 8 * SCALAR and lane.count in LANES:
        code, transfers = _with_transfers(code, tape, planned.ports, lane.count)
    places, lie = (chunks[0], chunks[-1]), planned.ports
    listed = [[] if slots is None else slots.tolist() for slots in lie.listed]
    steps = words.steps, words.kinds, words.slots
    return Artifact(code, is_flat, *places, *steps, lie.outputs, listed, transfers, planned.constants, stats)


def _can_encode(lane: Lane) -> bool:
    """Whether our encoder has such registers, and this machine, too."""
    return can_encode(lane.bits, lane.count) and (lane.bits * lane.count < 512 or host.has_wide_registers())


def _values(lanes: list[Lane]) -> int:
    """How many values registers may hold: those that only AVX-512 has are for its own lanes, and for single numbers."""
    return WIDE_VALUES if any(lane.bits * lane.count == 512 for lane in lanes) else VALUES


def _encode(
    tape: Tape, actions: list[list[Action]], repeats: list[Repeat | None], lanes: list[Lane]
) -> tuple[bytes, bool, list[list[int]]]:
    """By our own encoder. Registers are assigned once for all lanes."""
    assignment = Assignment(tape, _values(lanes))
    for chunk, repeat in zip(actions, repeats, strict=True):
        assignment.add(chunk, repeat)
    functions = [code for lane in lanes for code in encoded(assignment, lane.bits, lane.count)]
    image, places = side_by_side(functions)
    return image, True, [places[len(actions) * n : len(actions) * (n + 1)] for n in range(len(lanes))]


def _with_transfers(code: bytes, tape: Tape, lie: Ports, lanes: int) -> tuple[bytes, list[int]]:
    """The image with what moves whole blocks of states, and where that is."""
    inputs, outputs = [port.size for port in tape.inputs], [port.size for port in tape.outputs]
    slots = [lie.slots_of(number, size).tolist() for number, size in enumerate(outputs)]
    transfers = [gather_code(inputs, outputs, lanes), scatter_code(slots, lanes)]
    image, places = side_by_side([code, *(x or b"" for x in transfers)])
    return image, [-1 if x is None else place for x, place in zip(transfers, places[1:], strict=True)]


def _compile(
    tape: Tape, actions: list[list[Action]], repeats: list[Repeat | None], lanes: list[Lane]
) -> tuple[bytes, bool, list[list[int]]]:
    """By LLVM."""
    from sarrus.codegen.emit import jit
    from sarrus.codegen.emit.chunk import emit_chunk
    from sarrus.codegen.emit.declarations import with_declarations

    names = [chunk_names(lane, len(actions)) for lane in lanes]
    parts = [
        emit_chunk(tape, chunk, lane, name, repeat)
        for lane, of_lane in zip(lanes, names, strict=True)
        for chunk, name, repeat in zip(actions, of_lane, repeats, strict=True)
    ]
    obj = jit.compile_object(with_declarations("\n".join(parts)))
    flat_names = [name for of_lane in names for name in of_lane]
    try:
        image, places = link_flat(obj, flat_names)
    except NotFlatError:
        return obj, False, [[-1] * len(actions)] * len(lanes)
    return image, True, [[places[name] for name in of_lane] for of_lane in names]
