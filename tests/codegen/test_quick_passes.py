"""Passes that work on all instructions at once give the very tape that plain ones give."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.codegen.passes import chain as chain_module
from sarrus.codegen.passes.allocate import allocate
from sarrus.codegen.passes.chain import chain
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Chunk, Repeat
from sarrus.codegen.tape import tape as tape_module
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from tests.codegen.machine_chunks import nasty_tape
from tests.codegen.plain_passes import (
    plain_allocate,
    plain_count,
    plain_fuse,
    plain_needed,
    plain_rewritten,
    plain_schedule,
)
from tests.codegen.random_picks import random_picks
from tests.codegen.random_sweeps import random_sweeps
from tests.codegen.random_tapes import random_tape
from tests.codegen.test_loops import random_loops

TAPES = {
    **{f"random {seed}": lambda seed=seed: random_tape(250, seed) for seed in range(3)},
    **{f"nasty {seed}": lambda seed=seed: nasty_tape(seed, 300, 20, 40.0) for seed in range(6)},
    **{f"loops {seed}": lambda seed=seed: random_loops(seed) for seed in range(6)},
    **{f"picks {seed}": lambda seed=seed: random_picks(seed) for seed in range(6)},
    **{f"sweeps {seed}": lambda seed=seed: random_sweeps(seed) for seed in range(6)},
    "nothing": lambda: random_tape(0, 0),
    "crba": lambda: trace(sarrus.zoo.chain(6), sarrus.catalog()["crba"]),
    "aba": lambda: trace(sarrus.zoo.random_tree(6, 1), sarrus.catalog()["aba"]),
    "lcaba": lambda: trace(sarrus.zoo.four_bar(), sarrus.catalog()["lcaba"]),
    "a fallback": lambda: trace(sarrus.zoo.four_bar(), sarrus.catalog()["prox_bbo"]),
}


def assert_same(x: Tape, y: Tape) -> None:
    np.testing.assert_array_equal(x.op, y.op)
    np.testing.assert_array_equal(x.arg, y.arg)
    assert (x.op.dtype, x.arg.dtype) == (np.uint8, np.int32)
    assert (x.stage, x.loops, x.guards) == (y.stage, y.loops, y.guards)
    assert x.digest == y.digest


@pytest.mark.parametrize("name", TAPES)
def test_needed(name, monkeypatch):
    quick = TAPES[name]()
    monkeypatch.setattr(tape_module, "_needed", plain_needed)
    assert_same(quick, TAPES[name]())


@pytest.mark.parametrize("name", TAPES)
def test_counted(name):
    plain = TAPES[name]()
    for tape in (plain, fuse(plain)):
        count, expected = tape.op_count, plain_count(tape)
        assert count == expected
        assert list(count.by_stage) == list(expected.by_stage)


@pytest.mark.parametrize("name", TAPES)
def test_fused(name):
    tape = TAPES[name]()
    assert_same(fuse(tape), plain_fuse(tape))


@pytest.mark.parametrize("name", TAPES)
def test_moved(name, monkeypatch):
    fused = fuse(TAPES[name]())
    quick = chain(fused)
    monkeypatch.setattr(chain_module, "rewritten", plain_rewritten)
    assert_same(quick, chain(fused))


@pytest.mark.parametrize("name", TAPES)
def test_ordered(name):
    fused = fuse(TAPES[name]())
    assert schedule(fused) == plain_schedule(fused)


@pytest.mark.parametrize("registers", [4, 15])
@pytest.mark.parametrize("name", TAPES)
def test_allocated(name, registers):
    fused = fuse(TAPES[name]())
    planned = plan(fused, schedule(fused), 300)
    bodies = [step.body if isinstance(step, Repeat) else step for step in planned.steps]
    for chunk in (body for body in bodies if isinstance(body, Chunk)):
        assert allocate(planned, chunk, registers) == plain_allocate(planned, chunk, registers)
