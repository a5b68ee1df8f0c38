"""Derivatives of instructions, choices and repetitions; what is not taken does no harm."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus import zoo
from sarrus.codegen.tape.differentiate import jacobian, jvp, vjp
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.errors import SarrusError, UnsupportedError
from sarrus.spatial.picking import pick
from sarrus.spatial.replacement import replace_where
from tests.codegen.random_repetitions import exact_states, random_repetitions
from tests.codegen.random_tapes import random_tape
from tests.mechanisms import relative_error

MODEL = zoo.chain(1)  # tapes of no robot need one only for configurations, which they have none of


def evaluated(tape: Tape, *arrays: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        values = run(tape, list(arrays))
    return [np.array(x, float) for x in values]


def made(text, size: int = 3) -> Tape:
    graph = Graph()
    x = graph.inputs(0, size)
    return tape_of(graph, (Port("x", (size,)),), {"y": np.array(text(graph, *x), dtype=object)})


def check(tape: Tape, *arrays: np.ndarray, tolerance: float = 1e-8) -> None:
    """jvp against differences, Jacobian and vjp against it."""
    names = [port.name for port in tape.inputs]
    rng = np.random.default_rng(0)
    along = [rng.normal(size=len(x)) for x in arrays]
    h = 1e-4

    def at(t: float) -> np.ndarray:
        return np.concatenate(evaluated(tape, *(x + t * u for x, u in zip(arrays, along, strict=True))))

    slope = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)
    n = len(tape.outputs)
    forwards = np.concatenate(evaluated(jvp(MODEL, tape, names), *arrays, *along)[n:])
    assert relative_error(forwards, slope, 1.0) < tolerance
    weights = [rng.normal(size=port.size) for port in tape.outputs]
    backwards = evaluated(vjp(MODEL, tape, names), *arrays, *weights)[n:]
    expected = np.concatenate(weights) @ forwards
    assert abs(sum(x @ u for x, u in zip(backwards, along, strict=True)) - expected) < 1e-9 * (1.0 + abs(expected))
    blocks = evaluated(jacobian(MODEL, tape, names), *arrays)[n:]
    summed = sum(
        np.concatenate([block.reshape(-1, len(u)) @ u for block in blocks[k * n : (k + 1) * n]])
        for k, u in enumerate(along)
    )
    assert relative_error(summed, forwards, 1.0) < 1e-10


OPERATIONS = {
    "arithmetic": lambda g, x, y, z: [x + y, x - y, x * y, x / y, -x, x * x, 3.0 / x, x / (y * y)],
    "roots": lambda g, x, y, z: [(x * x + 0.3).sqrt()],
    "angles": lambda g, x, y, z: [x.sin(), x.cos(), g.binary(Op.ATAN2, x, y), g.binary(Op.ATAN2, y, 2.0)],
    "exponentials": lambda g, x, y, z: [x.exp(), (x * x + 0.1).log(), z.tanh()],
    "choices": lambda g, x, y, z: [
        abs(x), abs(y), g.binary(Op.MIN, x, y), g.binary(Op.MAX, x, y), g.binary(Op.MIN, x * z, 0.1),
        g.binary(Op.COPYSIGN, x, y), g.binary(Op.COPYSIGN, y, x), x.choose_if_less(y, x * z, y * z),
    ],
    "one of a list": lambda g, x, y, z: [pick([x * z, y * z, z * z, x * y, 7.0], 9.0 * z), pick([x, y], z)],
    "comparisons": lambda g, x, y, z: [g.binary(Op.LESS, x, y), x * g.binary(Op.LESS, y, x)],
    "turned": lambda g, x, y, z: [
        z.cos() * x - z.sin() * y, z.sin() * x + z.cos() * y, z.sin() * x - z.cos() * y, y * z.sin() + x * z.cos(),
        z.cos() * z.cos() + z.sin() * z.cos(), z.sin() * z.sin() - z.cos() * z.sin(), x.cos() * z, x.sin() * z,
        (x * y).cos() * x + (x * y).sin() * 2.0, (x * y).cos() * 2.0 - (x * y).sin() * x,
    ],
    "constants": lambda g, x, y, z: [2.0, x, x, 0.0 * y],
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_operation(name, seed):
    check(made(OPERATIONS[name]), np.random.default_rng(seed).normal(size=3))


@pytest.mark.parametrize("seed", range(6))
def test_random_tapes(seed):
    rng = np.random.default_rng(seed)
    check(random_tape(60, seed), rng.normal(size=7), rng.normal(size=5), tolerance=1e-5)


def test_an_index_outside_of_a_list_and_one_that_is_no_number():
    tape = made(lambda g, x, y, z: [pick([x, 2.0 * x, 3.0 * x], y)], 3)
    for index, slope in ((-4.0, 1.0), (0.9, 1.0), (1.0, 2.0), (2.5, 3.0), (9.0, 3.0), (np.nan, 1.0)):
        at = np.array([0.3, index, 0.0])
        assert evaluated(tape, at)[0] == pytest.approx(0.3 * slope)
        assert evaluated(vjp(MODEL, tape, ["x"]), at, np.ones(1))[1][0] == slope
        assert evaluated(jvp(MODEL, tape, ["x"]), at, np.eye(3)[0])[1] == slope


def test_long_lists_are_refused():
    tape = made(lambda g, *x: [pick(list(x), x[0])], 100)
    with pytest.raises(UnsupportedError, match="lists of more than 64"):
        jvp(MODEL, tape, ["x"])


def test_what_is_not_chosen_may_be_anything():
    """1 / x, sqrt(x) and log(x) at 0 and below, where another branch is taken."""

    def text(g, x, y, z):
        inner = x.choose_if_greater(0.0, y * (1.0 / x) + x.sqrt(), y * y)
        outer = x.choose_if_greater(0.0, (x.log() * inner) * z, inner * z)
        return [outer, inner * x.choose_if_greater(0.0, (x * x).log(), y)]

    tape = made(text)
    for x in (-1.0, 0.0, 0.7):
        at = np.array([x, 0.4, 0.8])
        back = evaluated(vjp(MODEL, tape, ["x"]), at, np.array([1.0, 2.0]))[1]
        forwards = evaluated(jacobian(MODEL, tape, ["x"]), at)[1].reshape(2, 3)
        assert np.isfinite(forwards).all()
        assert np.allclose(back, np.array([1.0, 2.0]) @ forwards, rtol=1e-12, atol=1e-12)
        if x <= 0.0:
            assert np.allclose(forwards, [[0.0, 2 * 0.4 * 0.8, 0.16], [0.0, 3 * 0.16, 0.0]])


@pytest.mark.parametrize("seed", range(4))
def test_repetitions_are_written_out(seed):
    loops, plain = random_repetitions(seed), random_repetitions(seed, is_written_out=True)
    assert any(loop.is_repetition for loop in loops.loops)
    names = [port.name for port in loops.inputs]
    arrays = [x[0] for x in exact_states(1, seed=seed)]
    rng = np.random.default_rng(seed)
    along = [rng.normal(size=len(x)) for x in arrays]
    weights = [rng.normal(size=port.size) for port in loops.outputs]
    for differentiate, more in ((jvp, along), (vjp, weights)):
        found, expected = (evaluated(differentiate(MODEL, tape, names), *arrays, *more) for tape in (loops, plain))
        for x, y in zip(found, expected, strict=True):
            assert relative_error(x, y, 1.0) < 1e-12


def test_structural_zeros_stay_zeros():
    tape = made(lambda g, x, y, z: [x.sin(), x.sin() * y, x * y * z])
    found = jacobian(MODEL, tape, ["x"])
    assert found.pattern("dy_dx").tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert tape.pattern("y").all()
    with pytest.raises(SarrusError, match=r"dy_dz.*dy_dx"):
        found.pattern("dy_dz")


def test_what_is_computed_for_some_states_only():
    """Where it is not, its values may be anything; a guard in a guard, too."""

    def text(g, x, y, z):
        def deeper():
            return (np.array([x.log() * y], dtype=object),)

        def instead():
            inner = replace_where(x - 1.0, (np.array([x.sqrt() * y], dtype=object),), deeper)[0][0]
            return (np.array([inner * z, y / x], dtype=object),)

        (found,) = replace_where(x, (np.array([y * y, z * x], dtype=object),), instead)
        return [found[0], found[1] * y]

    tape = made(text)
    assert tape.guards
    for x in (-0.8, 0.6, 1.7):
        check(tape, np.array([x, 0.4, 0.8]))
    at = np.array([0.0, 0.4, 0.8])  # on the edge: the first branch, whose derivative is finite
    assert np.isfinite(evaluated(vjp(MODEL, tape, ["x"]), at, np.ones(2))[1]).all()
