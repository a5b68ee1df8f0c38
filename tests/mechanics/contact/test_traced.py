"""The contact solver as a kernel: what the text says, and how large it is."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, tape_of
from sarrus.mechanics.contact.solve import solve
from sarrus.spatial.precision import precision
from sarrus.spatial.replacement import replace_where
from sarrus.status import Status
from tests.mechanics.contact.problems import box_problem, corners, random_problem, traced
from tests.oracles.contact import violation

BATCH = 37


@pytest.mark.parametrize(("nb", "nu", "nc"), [(0, 0, 4), (3, 2, 2), (0, 2, 0), (2, 0, 0)])
def test_text_and_kernel_agree(nb, nu, nc):
    rng = np.random.default_rng(nb + 10 * nc)
    problems = [random_problem(rng, nb, nu, nc, ratio=rng.choice([1.0, 100.0])) for _ in range(BATCH)]
    m = len(problems[0].g)
    tape, _ = traced(problems[0], tolerance=1e-9)
    rows = [{**problem._asdict(), "start": np.zeros(m)} for problem in problems]
    inputs = [np.stack([row[port.name] for row in rows]).reshape(BATCH, -1) for port in tape.inputs]
    expected = [solve(problem, np.zeros(m), tolerance=1e-9) for problem in problems]
    assert all(found.status == Status.OK for found in expected)

    impulses, velocities, _, (iterations,), (status,) = interpret.run(tape, [x.T for x in inputs])
    np.testing.assert_allclose(np.array(impulses).T, [found.impulses for found in expected], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.array(velocities).T, [found.velocities for found in expected], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(iterations, [found.iterations for found in expected])
    np.testing.assert_array_equal(status, Status.OK)

    # Native code rounds otherwise (multiply-adds): it may take another way to the solution, or to another one.
    outputs = [np.empty((BATCH, m)), np.empty((BATCH, m)), *(np.empty((BATCH, 1)) for _ in range(3))]
    build_native(tape, cache=False).run(inputs, outputs, BATCH)
    np.testing.assert_array_equal(outputs[4], Status.OK)
    same = [np.allclose(a, found.impulses, rtol=1e-6, atol=1e-6) for a, found in zip(outputs[0], expected, strict=True)]
    assert np.mean(same) > 0.95
    for x, v, problem in zip(*outputs[:2], problems, strict=True):
        np.testing.assert_allclose(v, problem.G @ x + problem.g, atol=1e-12)
        assert violation(problem, x) < 1e-8


def test_a_kernel_says_what_is_not_a_number():
    problem = box_problem(corners(4), np.array([0.1, 0.0, -1.0, 0.0, 0.0, 0.0]), 0.5)
    tape, arrays = traced(problem)
    kernel = build_native(tape, cache=False)
    arrays[1] = np.where(np.arange(12) == 5, np.nan, arrays[1])
    outputs = [np.empty((1, 12)), np.empty((1, 12)), *(np.empty((1, 1)) for _ in range(3))]
    kernel.run([x[None].copy() for x in arrays], outputs, 1)
    assert outputs[4][0, 0] == Status.NOT_FINITE
    assert outputs[3][0, 0] == 0.0


def test_it_may_be_for_some_states_only():
    """A step on the ground looks at more contacts only where there are some."""
    problem = box_problem(corners(2), np.array([0.5, 0.0, -1.0, 0.0, 0.0, 0.0]), 0.5)

    def text(g, wanted):
        return replace_where(wanted[0], (g,), lambda: (solve(problem._replace(g=g), tolerance=1e-10).velocities,))[0]

    graph = Graph()
    found = text(graph.inputs(0, 6), graph.inputs(1, 1))
    kernel = build_native(tape_of(graph, (Port("g", (6,)), Port("wanted", (1,))), {"v": found}), cache=False)
    inputs, v = [np.tile(problem.g, (8, 1)), np.tile([[0.0], [1.0]], (4, 1))], np.empty((8, 6))
    kernel.run(inputs, [v], 8)
    np.testing.assert_array_equal(v[::2], inputs[0][::2])
    np.testing.assert_allclose(v[1::2], np.tile(solve(problem, tolerance=1e-10).velocities, (4, 1)), atol=1e-8)


def test_single_precision():
    rng = np.random.default_rng(1)
    problems = [random_problem(rng) for _ in range(BATCH)]
    with precision(np.dtype(np.float32)):
        tape, _ = traced(problems[0])
    rows = [{**problem._asdict(), "start": np.zeros(12)} for problem in problems]
    inputs = [np.stack([row[port.name] for row in rows]).astype(np.float32) for port in tape.inputs]
    outputs = [np.empty((BATCH, 12), np.float32) for _ in range(2)] + [np.empty((BATCH, 1), np.float32) for _ in "123"]
    build_native(tape, dtype="float32", cache=False).run(inputs, outputs, BATCH)
    np.testing.assert_array_equal(outputs[4], Status.OK)
    assert max(violation(problem, x.astype(float)) for problem, x in zip(problems, outputs[0], strict=True)) < 1e-3


def test_sixteen_contacts_are_a_program_of_bearable_size():
    tape, _ = traced(box_problem(np.repeat(corners(8), 2, axis=0), np.zeros(6), 0.5))
    assert len(fuse(tape)) < 120_000
