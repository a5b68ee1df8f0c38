"""Pieces that are alike as repetitions: the same operations, the same bits, less code."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import sarrus
from benchmarks import derivative_counts
from sarrus import zoo
from sarrus.codegen.passes import alike, order_of_pieces, roll
from sarrus.codegen.passes.alike import Straight, pieces_alike
from sarrus.codegen.passes.chain import chain
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.passes.roll import rolled
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.codegen.tape.trace import trace
from sarrus.importers.load import example_robots
from sarrus.spatial.arrays import Array, vector
from tests.codegen.random_repetitions import random_repetitions
from tests.codegen.test_picks import BACKENDS, interpreted, native, same_bits

INPUTS = 30
SHORT = 8  # instructions of a piece, in these tests
SEEDS = range(15)
MODELS = {
    "biped": (lambda: zoo.biped(), "aba_derivatives"),
    "stem": (lambda: zoo.stem(2, 4, length=5), "rnea_derivatives"),
    "chain": (lambda: zoo.chain(12), "aba"),
    "tree": (lambda: zoo.random_tree(3, 14), "crba"),
}


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch) -> None:
    for module in (alike, order_of_pieces):
        monkeypatch.setattr(module, "SHORTEST", SHORT)


def states(tape: Tape, batch: int, seed: int = 0) -> list[np.ndarray]:
    """Values of a few bits, so that no order of rounding matters."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-64, 64, (batch, port.size)) / 16.0 for port in tape.inputs]


def limbs(seed: int) -> Tape:
    """Text that is applied to several sets of values, between other text; some sets are made of others' results."""
    rng, graph = np.random.default_rng(seed), Graph()
    x = list(graph.inputs(0, INPUTS))
    texts = [rng.integers(6, size=(int(rng.integers(6, 25)), 4)) for _ in range(3)]
    pool, outputs = list(x), []

    def applied(text: np.ndarray, values: list, constants: np.ndarray) -> list:
        values = list(values)
        for kind, a, b, c in text.tolist():
            a, b = values[-1 - a], values[-1 - b]
            made = (a + b, a - b, a * constants[c], a * 0.5 + b * 0.25, a * constants[c] - b, -a + b)[kind]
            values.append(graph.lift(made))
        return values[-4:]

    for _ in range(int(rng.integers(4, 12))):
        text = texts[int(rng.integers(len(texts)))]
        values = [pool[int(i)] for i in rng.integers(len(pool), size=6)]
        made = applied(text, values, rng.choice([-2.0, -0.5, 0.25, 1.5, 4.0, -0.125], size=6))
        outputs += made
        pool += made if rng.random() < 0.4 else []
        if rng.random() < 0.3:
            pool.append(graph.lift(made[0] * pool[0] + made[-1]))
    return tape_of(graph, (Port("x", (INPUTS,)),), {"y": vector(*outputs)})


def saved(tape: Tape) -> int:
    return len(Straight(tape).op) - len(Straight(rolled(tape, 0)).op)


@pytest.mark.parametrize("seed", SEEDS)
def test_same_bits(seed):
    """However pieces depend on each other and on what is between them."""
    tape = limbs(seed)
    found = rolled(tape, 0)
    inputs = states(tape, 5)
    expected = interpreted(tape, inputs)
    assert same_bits(interpreted(found, inputs), expected)
    assert found.op_count.total == tape.op_count.total
    for backend in BACKENDS if seed % 3 == 0 else ():
        for lanes in (1, 8):
            assert same_bits(
                native(found, inputs, backend=backend, lanes=lanes), interpreted(chain(fuse(found)), inputs)
            )


def test_something_is_rolled():
    assert sum(saved(limbs(seed)) for seed in SEEDS) > 200


@pytest.mark.parametrize("seed", range(6))
def test_repetitions_stay_what_they_are(seed):
    tape = random_repetitions(seed)
    found = rolled(tape, 0)
    inputs = states(tape, 5)
    assert same_bits(interpreted(found, inputs), interpreted(tape, inputs))


@cache
def robot_tape(name: str) -> Tape:
    make, algorithm = MODELS[name]
    return trace(make(), algorithm)


@pytest.mark.parametrize("name", MODELS)
def test_robots(name):
    tape = robot_tape(name)
    found = rolled(tape, 0)
    model = MODELS[name][0]()
    q, v = sarrus.random_state(model, 0)
    rows = {"q": q, "v": v}
    inputs = [np.stack([rows.get(port.name, v)] * 3) for port in tape.inputs]
    assert same_bits(interpreted(found, inputs), interpreted(tape, inputs))
    assert found.op_count.by_kind == tape.op_count.by_kind


def test_equal_limbs_are_one():
    """Of four branches, three are gone."""
    tape = robot_tape("stem")
    assert saved(tape) > 0.4 * len(Straight(tape).op)


def test_small_tapes_are_left_alone():
    tape = robot_tape("stem")
    assert len(tape) < roll.LARGE
    assert rolled(tape) is tape


def test_no_instruction_is_in_two_pieces():
    straight = Straight(robot_tape("biped"))
    found = pieces_alike(straight)
    places = [x for group in found for first in group.firsts for x in range(first, first + group.length)]
    assert found
    assert len(places) == len(set(places))
    assert all(
        len({straight.segment[x] for x in (f, f + group.length - 1)}) == 1 for group in found for f in group.firsts
    )


def test_mirrored_limbs_are_alike():
    """The sign of a constant is in the constant, not in the operation."""

    def limb(x: Array, side: float) -> list:
        y = [x[i] * (0.5 * side) + x[i + 1] * (0.25 * side) - x[i + 2] for i in range(6)]
        return [a * (0.75 * side) - b * side * 0.125 for a, b in pairwise(y)]

    graph = Graph()
    x = graph.inputs(0, 16)
    tape = tape_of(graph, (Port("x", (16,)),), {"y": vector(*limb(x[:8], 1.0), *limb(x[8:], -1.0))})
    assert saved(tape) > 0.4 * len(Straight(tape).op)
    assert Op.NEG not in tape.op


def test_code_of_a_humanoid(monkeypatch):
    monkeypatch.undo()
    if "talos_full_v2" not in example_robots():
        pytest.skip("example-robot-data is not here")
    kernel = sarrus.compile(derivative_counts.robots()["Talos"], "aba_derivatives")
    for_one = kernel.native.artifact.lanes_begin
    assert kernel.native.code_bytes - for_one < derivative_counts.CODE
    assert for_one < derivative_counts.CODE


def test_no_constant_is_positive():
    """A loop has to have a condition that is; there is none, and nothing is made up."""
    graph = Graph()
    x = graph.inputs(0, 40)
    sums = [[x[i + side] * x[i + 2] + x[i + 4] - x[i] for i in range(16)] for side in (0, 20)]
    tape = tape_of(graph, (Port("x", (40,)),), {"y": vector(*sums[0], *sums[1])})
    assert rolled(tape, 0) is tape
