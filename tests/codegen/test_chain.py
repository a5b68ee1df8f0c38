"""Sums of products as chains of multiply-adds: fewer instructions, the same values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sarrus.codegen.passes.chain import chain
from sarrus.codegen.passes.fuse import fuse
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import IDLE, Port, Tape, tape_of
from sarrus.spatial.iteration import iterate
from tests.codegen.random_tapes import random_inputs, random_tape


def traced(f, n: int = 8) -> Tape:
    graph = Graph()
    return tape_of(graph, (Port("x", (n,)),), {"y": np.array(f(*graph.inputs(0, n)), dtype=object)})


def kinds(tape: Tape) -> Counter:
    return Counter(Op(int(op)).name for op in tape.op if op not in IDLE)


def values(tape: Tape, inputs: list[np.ndarray]) -> list[np.ndarray]:
    columns = [list(x.T) for x in inputs]
    with np.errstate(all="ignore"):
        return [
            np.array([np.broadcast_to(v, len(inputs[0])) for v in result]) for result in interpret.run(tape, columns)
        ]


def assert_same_values(before: Tape, after: Tape) -> None:
    inputs = random_inputs(before, 11)
    for a, b in zip(values(before, inputs), values(after, inputs), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)


def test_the_addend_of_a_sum_of_products_begins_the_chain():
    tape = fuse(traced(lambda a, b, c, d, e, *_: [(a * b + c * d) + e]))
    assert kinds(tape) == {"MUL": 1, "FMA": 1, "ADD": 1}
    assert kinds(chain(tape)) == {"FMA": 2}
    assert_same_values(tape, chain(tape))


@pytest.mark.parametrize("inner", [lambda p, q: p + q, lambda p, q: p - q, lambda p, q: q - p])
@pytest.mark.parametrize("outer", [lambda s, e: s + e, lambda s, e: e + s, lambda s, e: s - e, lambda s, e: e - s])
@pytest.mark.parametrize("middle", [lambda s, r: s + r, lambda s, r: s - r, lambda s, r: r - s])
def test_every_combination_of_signs(inner, middle, outer):
    tape = fuse(traced(lambda a, b, c, d, e, f, g, _: [outer(middle(inner(a * b, c * d), e * f), g)]))
    after = chain(tape)
    assert sum(kinds(after).values()) == 3
    assert_same_values(tape, after)


def test_two_sums_become_one():
    tape = fuse(traced(lambda a, b, c, d, e, f, g, h: [(a * b + c * d) + (e * f + g * h)]))
    assert kinds(chain(tape)) == {"MUL": 1, "FMA": 3}
    assert_same_values(tape, chain(tape))


def test_a_sum_that_is_used_twice_stays():
    def twice(a, b, c, d, e, f, *_):
        shared = a * b + c * d
        return [shared + e, shared + f]

    tape = fuse(traced(twice))
    assert kinds(chain(tape)) == kinds(tape)


def test_an_output_stays():
    def also_an_output(a, b, c, d, e, *_):
        shared = a * b + c * d
        return [shared, shared + e]

    tape = fuse(traced(also_an_output))
    assert kinds(chain(tape)) == kinds(tape)
    assert_same_values(tape, chain(tape))


def test_what_is_late_does_not_wait_for_a_long_chain():
    def late(a, b, c, d, e, f, g, h):
        products = a * b + c * d + e * f + g * h + a * d + b * e
        root = (a * a + 1.0).sqrt()
        return [products + root]

    tape = fuse(traced(late))
    assert kinds(chain(tape))["ADD"] == kinds(tape)["ADD"]


def test_nothing_leaves_or_enters_a_loop():
    graph = Graph()
    a, b, c, d = graph.inputs(0, 4)

    def step(state):
        (x,) = state
        following = x * 0.3 + (a * b + c * d) + x * (0.1 * c)
        return (following,), 1.0 - abs(following[0] - x[0])

    (x,), count = iterate(step, (np.array([a], dtype=object),), 10)
    after = np.array([x[0] + (a * c + b * d), count], dtype=object)
    tape = fuse(tape_of(graph, (Port("x", (4,)),), {"y": after}))
    assert len(tape.loops) == 1
    assert len(chain(tape)) < len(tape)
    assert_same_values(tape, chain(tape))


@pytest.mark.parametrize("seed", range(20))
def test_random_tapes(seed):
    tape = fuse(random_tape(400, seed))
    after = chain(tape)
    assert len(after) <= len(tape)
    assert_same_values(tape, after)
