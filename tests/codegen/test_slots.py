"""Where values live: obeyed one after the other, the loads and stores of a plan give the tape's own values."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.emit.windows import BASES, Windows
from sarrus.codegen.passes.allocate import Compute, Load, allocate
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Chunk, Plan
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import ARITY, Tape
from tests.codegen.random_tapes import random_inputs, random_tape

GARBAGE = 1e300  # in every slot that nothing has been stored in


def obeyed(planned: Plan, inputs: list[np.ndarray], registers: int) -> list[np.ndarray]:
    """The outputs of a plan without tables, from its workspace, as native code leaves them there."""
    tape = planned.tape
    allocated = [allocate(planned, step, registers) for step in planned.steps if isinstance(step, Chunk)]
    workspace = np.full((planned.slots + max(spills for _, spills in allocated), len(inputs[0])), GARBAGE)
    for first, x in zip(planned.ports.inputs, inputs, strict=True):
        workspace[first : first + x.shape[1]] = x.T
    for actions, _ in allocated:
        held: dict[int, np.ndarray] = {}
        for action in actions:
            k = action.value
            if isinstance(action, Load):
                constant = action.slot < 0
                held[k] = (
                    np.full(len(inputs[0]), tape.constants[-1 - action.slot])
                    if constant
                    else workspace[action.slot].copy()
                )
            elif isinstance(action, Compute):
                code = tape.op[k]
                held[k] = interpret._NUMPY[code](*[held[a] for a in tape.arg[k, : ARITY[code]].tolist()])
            else:
                value = held.get(k)
                workspace[action.slot] = tape.constants[tape.arg[k, 0]] if value is None else value
    return [workspace[planned.ports.slots_of(n, port.size)] for n, port in enumerate(tape.outputs)]


def planned_tape(seed: int, chunk_size: int) -> tuple[Tape, Plan]:
    tape = fuse(random_tape(600, seed, transcendental=False))
    return tape, plan(tape, schedule(tape), chunk_size)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("chunk_size", "registers"), [(40, 5), (150, 15), (10_000, 8)])
def test_no_slot_is_taken_while_it_is_needed(seed, chunk_size, registers):
    tape, planned = planned_tape(seed, chunk_size)
    inputs = random_inputs(tape, 3)
    expected = interpret.run(tape, [list(x.T) for x in inputs])
    for got, wanted in zip(obeyed(planned, inputs, registers), expected, strict=True):
        for row, value in zip(got, wanted, strict=True):
            assert np.array_equal(row, np.broadcast_to(value, 3), equal_nan=True)


def test_a_slot_is_used_again_within_a_step():
    _, planned = planned_tape(0, 100)
    homes = sum(len(set(stores)) for stores in planned.stores.values())
    assert planned.slots < homes, "every value that outlives its step has a slot of its own"


@pytest.mark.parametrize("slot_bytes", [8, 32, 64])
def test_windows_change_how_an_address_is_written_not_what_it_is(slot_bytes):
    _, planned = planned_tape(1, 300)
    actions = [action for step in planned.steps if isinstance(step, Chunk) for action in allocate(planned, step)[0]]
    windows = Windows(actions, slot_bytes)
    places = {"%w": ("w", 0), "%k": ("k", 0)}

    def place(text: str) -> tuple[str, int]:
        """'getelementptr i8, ptr P, i64 N' is N bytes from P."""
        pointer, offset = text.removeprefix("getelementptr i8, ptr ").split(", i64 ")
        return places[pointer][0], places[pointer][1] + int(offset)

    for line in windows.prologue:
        name, _, text = line.strip().partition(" = ")
        if "asm" in text:
            places[name] = places[text.removesuffix(")").rpartition(" ")[2]]
        else:
            places[name] = place(text)
    assert len(places) <= 2 + 2 * BASES
    near = 0
    for action in actions:
        if not isinstance(action, Compute):
            text = windows.address(action.slot)
            near += "%near" in text
            slot = action.slot
            assert place(text) == (("w", slot * slot_bytes) if slot >= 0 else ("k", (-1 - slot) * slot_bytes))
    assert near > 0
