"""Whole kernels whose chunks are our own machine code: the same bits as LLVM's, and kept under names of their own."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.codegen.emit.backend import LLVM, X86, backend
from sarrus.codegen.emit.host import has_wide_registers
from sarrus.codegen.runtime import cache_names
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.trace import trace
from sarrus.errors import UnsupportedError
from sarrus.spatial.precision import precision
from tests.codegen.machine_chunks import nasty_tape, needs_x86, same

ROBOTS = {
    "tree": lambda: sarrus.zoo.random_tree(7, 3),
    "leg": lambda: sarrus.zoo.humanoid_leg(),
    "welded": lambda: sarrus.zoo.chain_welded_tip(7),
    "four_bar": lambda: sarrus.zoo.four_bar(),
}
CASES = [
    ("tree", "aba"), ("tree", "rnea"), ("tree", "crba"), ("welded", "pv_early"), ("leg", "lcaba"),
    ("four_bar", "lcaba"), ("four_bar", "prox_bbo"),
]  # fmt: skip


@needs_x86
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("width", [256, 512] if has_wide_registers() else [256])
@pytest.mark.parametrize(("robot", "method"), CASES)
def test_the_same_bits_as_llvm(robot, method, width, dtype):
    model = ROBOTS[robot]()
    with precision(np.dtype(dtype)):
        tape = trace(model, sarrus.catalog()[method])
    lanes = width // 8 // np.dtype(dtype).itemsize
    ours, theirs = (build_native(tape, dtype, lanes, cache=False, backend=name) for name in (X86, LLVM))
    assert ours.artifact.code != theirs.artifact.code
    rng = np.random.default_rng(0)
    states = [sarrus.random_state(model, rng=k) for k in range(21)]
    given = {"q": [q for q, _ in states], "v": [v for _, v in states]}
    inputs = [
        np.array(given.get(port.name, rng.normal(size=(21, port.size))), dtype).reshape(21, port.size)
        for port in tape.inputs
    ]
    for batch in (21, 1):
        results = []
        for native in (ours, theirs):
            outputs = [np.full((batch, port.size), 7.25, dtype) for port in tape.outputs]
            native.run([np.ascontiguousarray(x[:batch]) for x in inputs], outputs, batch)
            results.append(outputs)
        assert all(same(x, y).all() for x, y in zip(*results, strict=True))
        assert all(np.isfinite(x).all() for x in results[0])


@needs_x86
def test_a_rollout_has_the_same_bits(monkeypatch, tmp_path):
    model = sarrus.zoo.four_bar()
    found = []
    for name in (X86, LLVM):
        monkeypatch.setenv("SARRUS_BACKEND", name)
        monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / name))
        q, v = sarrus.random_state(model, rng=1)
        found.append(sarrus.Simulation(model, dt=1e-3, record=["q", "v"]).run(q, v, steps=30))
    for field in ("q", "v"):
        x, y = (np.ascontiguousarray(getattr(trajectory, field)) for trajectory in found)
        assert same(x, y).all()


def test_the_back_end_is_part_of_a_kernels_name(monkeypatch):
    names = {cache_names.key("a tape", "float64 4", name) for name in (X86, LLVM)}
    assert len(names) == 2
    monkeypatch.setenv("SARRUS_BACKEND", LLVM)
    assert backend() == LLVM
    assert cache_names.key("a tape", "float64 4") == cache_names.key("a tape", "float64 4", LLVM)


def test_an_unknown_back_end_is_an_error(monkeypatch):
    monkeypatch.setenv("SARRUS_BACKEND", "gcc")
    with pytest.raises(UnsupportedError, match=r"'gcc'\. Valid: 'x86', 'llvm'"):
        build_native(nasty_tape(0, 30), cache=False)


def test_a_machine_without_the_encoder_uses_llvm(monkeypatch):
    from sarrus.codegen.emit import backend as module

    monkeypatch.setattr(module, "encoder_fits", lambda: False)
    monkeypatch.delenv("SARRUS_BACKEND", raising=False)
    assert backend() == LLVM
    monkeypatch.setenv("SARRUS_BACKEND", X86)
    with pytest.raises(UnsupportedError, match="AVX2"):
        backend()


@needs_x86
@pytest.mark.parametrize(("dtype", "lanes"), [("float64", 16), ("float32", 2)])
def test_lanes_that_fill_no_register_are_compiled_by_llvm(dtype, lanes):
    tape = nasty_tape(1, 60)
    by_llvm = build_native(tape, dtype, lanes, cache=False, backend=LLVM)
    assert build_native(tape, dtype, lanes, cache=False, backend=X86).artifact.code == by_llvm.artifact.code
