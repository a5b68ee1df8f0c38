"""Recursions along trees: what they mean, and what is recorded of them. (`test_in_place.py`: the same bits.)"""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.passes.plan import plan
from sarrus.codegen.passes.schedule import schedule
from sarrus.codegen.passes.steps import Chunk, Fetch, Repeat
from sarrus.codegen.tape import graph as graph_module
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.iteration import iterate
from sarrus.spatial.repetition import recursion, recursion_written_out
from tests.codegen.test_picks import BACKENDS, interpreted, native, same_bits

PARENTS = [-1, 0, 1, 1, 0, 4, 5, 5, -1, 8]
CHILDREN = [(-1, -1), (0, -1), (1, -1), (2, 1), (-1, -1), (4, 3)]  # at most two, leaves first


@pytest.fixture
def recorded_once(monkeypatch) -> None:
    """However short text is, it is not written out."""
    monkeypatch.setattr(graph_module, "TOGETHER", 0)


def outward(own: Array, parent: Array) -> Array:
    """Depth, a velocity, something that is not handed on, and a number that stays."""
    return vector(parent[0] + 1.0, parent[1] * 0.5 + own[0], parent[2], own[0] * own[1])


def outward_tape(apply=recursion, first: float = 0.0) -> Tape:
    graph = Graph()
    x = graph.inputs(0, 2 * len(PARENTS)).reshape(-1, 2)
    results = apply(outward, x, [(p,) for p in PARENTS], vector(first, x[0, 0], 0.0))
    return tape_of(graph, (Port("x", x.shape),), {"y": results})


def states(tape: Tape, batch: int = 6) -> list[np.ndarray]:
    return [np.random.default_rng(0).integers(-64, 64, (batch, tape.inputs[0].size)) / 16.0]


# --- what it means ----------------------------------------------------------------------------------------------


def test_floats():
    masses = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    below = recursion(lambda own, a, b: own + a + b, masses[:, None], CHILDREN, np.zeros(1))
    np.testing.assert_array_equal(below[:, 0], [1.0, 3.0, 6.0, 13.0, 5.0, 24.0])


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ([(0,), (0,)], r"set 0 has the sources \(0,\)"),
        ([(-1,), (-2,)], "set 1"),
        ([(-1,)], "2 sets"),
        ([(-1,), ()], "0, 1"),
    ],
)
def test_wrong_sources(sources, words):
    with pytest.raises(ValueError, match=words):
        recursion(lambda own, parent: own, np.zeros((2, 1)), sources, np.zeros(1))


def test_nothing():
    with pytest.raises(ValueError, match="no set of values"):
        recursion(lambda own, parent: own, np.zeros((0, 1)), [], np.zeros(1))


def test_too_few_results():
    graph = Graph()
    with pytest.raises(ValueError, match="hands on 2 values"):
        recursion(lambda own, parent: own, graph.inputs(0, 3)[:, None], [(-1,)] * 3, np.zeros(2))


# --- what is recorded -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("recorded_once")
def test_text_is_recorded_once():
    tape = outward_tape()
    (loop,) = tape.loops
    assert (loop.limit, loop.updated) == (len(PARENTS), ())
    assert tape.op_count.total == 4 * len(PARENTS)
    zero = tape.results[0].reshape(-1, 4)[:, 2]
    assert (tape.op[zero] == Op.CONST).all()  # it is known to stay


@pytest.mark.usefixtures("recorded_once")
def test_what_is_handed_on_is_read_where_it_was_written():
    tape = outward_tape()
    steps = plan(tape, schedule(tape), 1000).steps
    assert sum(isinstance(step, Repeat) for step in steps) == 1
    assert sum(len(step.moves) for step in steps if isinstance(step, Chunk)) == 2  # where it starts


def test_a_short_one_is_written_out():
    assert outward_tape().loops == ()


def test_inside_of_a_loop_it_is_written_out():
    graph = Graph()
    x = graph.inputs(0, 3)
    (y,), _ = iterate(
        lambda s: (
            (recursion(lambda own, a: own + 0.5 * a, s[0][:, None], [(-1,), (0,), (1,)], x[:1])[:, 0],),
            s[0][0],
        ),
        (x,),
        5,
    )
    assert [loop.is_repetition for loop in tape_of(graph, (Port("x", (3,)),), {"y": y}).loops] == [False]


@pytest.mark.usefixtures("recorded_once")
def test_what_cannot_be_recorded_is_said():
    graph = Graph()
    x = graph.inputs(0, 3)
    with pytest.raises(UnsupportedError, match="inside the step of another"):
        recursion(
            lambda own, a: iterate(lambda s: ((s[0] * 0.5,), s[0][0] - 1.0), (own,), 9)[0][0],
            x[:, None], [(-1,), (0,), (1,)], x[:1],
        )  # fmt: skip


# --- the same numbers wherever it runs ----------------------------------------------------------------------------


@pytest.mark.usefixtures("recorded_once")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", [0.0, 2.0])
def test_along_a_tree(first, backend):
    tape = outward_tape(first=first)
    inputs = states(tape)
    expected = interpreted(outward_tape(recursion_written_out, first), inputs)
    assert same_bits(interpreted(tape, inputs), expected)
    for lanes in ("auto", 1):
        assert same_bits(native(tape, inputs, backend=backend, lanes=lanes), expected)


@pytest.mark.usefixtures("recorded_once")
@pytest.mark.parametrize("backend", BACKENDS)
def test_with_functions_inside(backend):
    """Not in place: values are fetched and kept."""

    def swinging(own: Array, parent: Array) -> Array:
        return vector(own[0].sin() + parent[0] * 0.5, parent[1] - own[0])

    tapes = []
    for apply in (recursion, recursion_written_out):
        graph = Graph()
        x = graph.inputs(0, len(PARENTS))
        results = apply(swinging, x[:, None], [(p,) for p in PARENTS], vector(0.0, x[0]))
        tapes.append(tape_of(graph, (Port("x", x.shape),), {"y": results}))
    assert any(isinstance(step, Fetch) for step in plan(tapes[0], schedule(tapes[0]), 1000).steps)
    inputs = states(tapes[0])
    got, expected = (native(tape, inputs, backend=backend) for tape in tapes)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-14, atol=1e-15)


@pytest.mark.usefixtures("recorded_once")
@pytest.mark.parametrize("backend", BACKENDS)
def test_results_that_are_no_values_of_their_own(backend):
    """Handed on as given, twice, and one that is the same in all applications but not at the start."""

    def text(own: Array, before: Array) -> Array:
        x = before[0] + own[0]
        return vector(x, x, own[1], 3.0, own[1], before[1] * before[3])

    tapes = []
    for apply in (recursion, recursion_written_out):
        graph = Graph()
        x = graph.inputs(0, 20)
        results = apply(text, x.reshape(-1, 2), [(p,) for p in PARENTS], vector(x[3], 0.0, 1.0, 2.0))
        tapes.append(tape_of(graph, (Port("x", (20,)),), {"y": results}))
    assert len(tapes[0].loops) == 1
    inputs = states(tapes[0])
    expected = interpreted(tapes[1], inputs)
    assert same_bits(interpreted(tapes[0], inputs), expected)
    assert same_bits(native(tapes[0], inputs, backend=backend), expected)
