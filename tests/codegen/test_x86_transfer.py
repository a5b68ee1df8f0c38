"""Blocks of states into lanes and out again, by a kernel's own code: arrays of every size, batches of every length."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.emit.host import has_wide_registers
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.codegen.x86.transfer import LANES, MOST_SQUARES, gather_code, scatter_code
from tests.codegen.machine_chunks import needs_x86


def sums(*sizes: int) -> Tape:
    """For every input an output, a little more than the input."""
    graph = Graph()
    ports = tuple(Port(f"x{n}", (size,)) for n, size in enumerate(sizes))
    arrays = [graph.inputs(n, size) for n, size in enumerate(sizes)]
    return tape_of(graph, ports, {f"y{n}": x + (n + 1.0) for n, x in enumerate(arrays)})


@needs_x86
@pytest.mark.parametrize(
    "sizes", [(1,), (2,), (3,), (4,), (5,), (7,), (8,), (9, 1, 4), (3, 17, 6), (1, 1, 1), (64, 33)]
)
@pytest.mark.parametrize("batch", [1, 3, 4, 5, 8, 11, 19, 64])
@pytest.mark.parametrize("lanes", LANES if has_wide_registers() else LANES[:1])
def test_every_element_goes_where_it_belongs(sizes, batch, lanes):
    tape = sums(*sizes)
    native = build_native(tape, lanes=lanes)
    assert min(native.artifact.transfers) >= 0
    inputs = [np.random.default_rng(n).normal(size=(batch, size)) for n, size in enumerate(sizes)]
    outputs = [np.full((batch + 1, size), np.pi) for size in sizes]
    native.run(inputs, [y[:batch] for y in outputs], batch)
    for n, (x, y) in enumerate(zip(inputs, outputs, strict=True)):
        np.testing.assert_array_equal(y[:batch], x + (n + 1.0))
        assert (y[batch] == np.pi).all()  # nothing is written beyond the end


@needs_x86
def test_large_arrays_are_left_to_the_drivers():
    large = 4 * MOST_SQUARES + 1
    assert gather_code([large], [1]) is None
    assert scatter_code([range(large)]) is None
    native = build_native(sums(large), lanes=4)
    assert native.artifact.transfers == [-1, -1]
    x = np.random.default_rng(0).normal(size=(9, large))
    y = np.empty_like(x)
    native.run([x], [y], 9)
    np.testing.assert_array_equal(y, x + 1.0)
