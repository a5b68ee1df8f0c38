"""The rules that make a traced graph small. Each is written as what a piece of algebra becomes."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.codegen.tape.tape import Port, tape_of
from sarrus.spatial.parameter import Parameter


@pytest.fixture
def g() -> Graph:
    return Graph()


@pytest.fixture
def xyz(g):
    return g.inputs(0, 3)


def operations(g: Graph) -> list[Op]:
    return [Op(op) for op in g.op if op not in (Op.INPUT, Op.CONST)]


def test_zeros_and_ones_fold(g, xyz):
    x = xyz[0]
    assert x + 0.0 is x
    assert 0.0 + x is x
    assert x - 0.0 is x
    assert x * 1.0 is x
    assert x / 1.0 is x
    assert +x is x
    assert x * 0.0 == 0.0
    assert 0.0 / x == 0.0
    assert operations(g) == []


def test_differences_and_quotients_of_a_thing_with_itself(g, xyz):
    x = xyz[0]
    assert x - x == 0.0
    assert x / x == 1.0
    assert operations(g) == []


def test_a_reciprocal_cancels(xyz):
    x, y, _ = xyz
    assert x * (1.0 / x) == 1.0
    assert (1.0 / x) * x == 1.0
    assert isinstance(y * (1.0 / x), Symbol)
    assert isinstance(x * (2.0 / x), Symbol)  # only an exact reciprocal


def test_a_fraction_times_its_denominator(g, xyz):
    x, y, z = xyz
    assert (y * (1.0 / x)) * x is y
    assert x * ((1.0 / x) * y) is y
    assert (3.0 * (1.0 / x)) * x == 3.0
    assert isinstance((y * (1.0 / x)) * z, Symbol)


def test_a_fraction_times_a_factor_is_found_either_way(xyz):
    x, y, z = xyz
    inverse = 1.0 / x
    assert (y * inverse) * z is (z * inverse) * y


def test_terms_that_cancel(xyz):
    x, y, z = xyz
    assert x - (x + y) == -y or (x - (x + y)) is -y
    assert (x + y) - y is x
    assert x - (x - y) is y
    assert (x - y) - x is -y
    assert (x - y) + y is x
    assert (x - y) + (y + z) is x + z
    assert (x - y) + (y - z) is x - z
    assert (x + y) - (z + y) is x - z
    assert (x + 2.0) - (x + 0.5) == 1.5
    assert isinstance((x + 1.0) - 1.0, Symbol)  # a constant does not: log1p wants what this rounds to
    assert ((x + 1.0) - 1.0) is not x
    assert ((x - 1.0) + 1.0) is not x
    assert (1.0 - (1.0 - x)) is not x


def test_what_a_fraction_leaves(g, xyz):
    """a - a p / (p + c) = a c / (p + c): what a parent feels through a joint with armature."""
    a, p, _ = xyz
    inverse = 1.0 / (p + 0.25)
    assert a - (p * inverse) * a is a * (0.25 * inverse)
    assert a - (a * inverse) * p is a * (0.25 * inverse)
    assert (p * inverse) * a - a is -(a * (0.25 * inverse))


def _random_expression(rng, leaves, depth):
    if depth == 0 or rng.random() < 0.1:
        return leaves[rng.integers(len(leaves))]
    x, y = (_random_expression(rng, leaves, depth - 1) for _ in range(2))
    inverse = 1.0 / (y if isinstance(y, Symbol) else np.float64(y))  # infinite, without an exception
    return [x + y, x - y, x * y, -x, x * inverse][rng.integers(5)]


@pytest.mark.parametrize("seed", range(200))
def test_rules_keep_the_value_of_random_expressions(seed):
    """Against the same text on numbers: where that is finite, so is the tape, and equal but for rounding."""
    values = np.random.default_rng(1000 + seed).choice([-2.0, -1.0, -0.5, 0.25, 1.0, 3.0, 7.0], size=4)
    graph, halves = Graph(), [np.float64(0.5), np.float64(2.0)]
    with np.errstate(all="ignore"):
        expected, traced = (
            _random_expression(np.random.default_rng(seed), [*leaves, *halves], 7)
            for leaves in (values, graph.inputs(0, 4))
        )
        tape = tape_of(graph, (Port("x", (4,)),), {"y": np.array([traced], dtype=object)})
        (got,) = interpret.run(tape, [values])[0]
    if np.isfinite(expected) and abs(expected) < 1e12:
        assert np.isfinite(got)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_common_subexpressions_are_found(g, xyz):
    x, y, z = xyz
    assert x + y is y + x
    assert x * y is y * x
    assert x - y is x - y
    assert np.sin(np.array([x]))[0] is x.sin()
    assert (x * y + z) is (z + y * x)
    assert operations(g) == [Op.ADD, Op.MUL, Op.SUB, Op.SIN, Op.ADD]


def test_a_difference_and_its_opposite_are_one_operation(g, xyz):
    x, y, _ = xyz
    d = x - y
    assert -(y - x) is d
    assert operations(g) == [Op.SUB, Op.NEG]


def test_the_size_of_the_opposite(g, xyz):
    x = xyz[0]
    assert abs(-x) is abs(x)
    assert operations(g) == [Op.NEG, Op.ABS]


def test_signs_float_outwards(g, xyz):
    x, y, z = xyz
    assert -(-x) is x  # noqa: B002
    assert x + (-y) is x - y
    assert (-y) + x is x - y
    assert x - (-y) is x + y
    assert (-x) * (-y) is x * y
    assert (-x) / (-y) is x / y
    assert -((-x) * y) is x * y
    assert -(x * (-y)) is x * y
    assert -((-x) / y) is x / y
    assert -(x * -2.0) is x * 2.0
    assert -(-2.0 / x) is 2.0 / x
    assert 0.0 - z is -z
    assert -(-x - y) is x + y


def test_constant_factors_collect(g, xyz):
    x = xyz[0]
    assert 2.0 * (3.0 * x) is 6.0 * x
    assert (4.0 * x) / 2.0 is 2.0 * x
    assert (0.5 * x) * 2.0 is x


def test_lifted_constants_are_numbers_again(g, xyz):
    x, two = xyz[0], g.constant(2.0)
    assert x * two is x * 2.0
    assert two * x is x * 2.0
    assert x / two is x * 0.5
    assert two * 3.0 == 6.0
    assert g.constant(2.0) is two
    assert g.constant(-0.0) is not g.constant(0.0)
    assert g.lift(x) is x
    assert g.value(g.lift(2.0).index) == 2.0


@pytest.mark.parametrize(
    "make", [lambda c: c + 1.0, lambda c: c - 1.0, lambda c: 1.0 - c, lambda c: -c, lambda c: 3.0 / c]
)
def test_arithmetic_on_lifted_constants_has_the_right_value(g, make):
    """A constant that was lifted may stay a symbol; its value must not change."""
    from sarrus.codegen.tape.interpret import run
    from sarrus.codegen.tape.tape import tape_of

    (value,) = run(tape_of(g, (), {"y": np.array([make(g.constant(2.0))], dtype=object)}), [])
    assert value == [make(2.0)]


def test_functions_of_constants_are_numbers(g):
    c = g.constant(0.3)
    assert (c.sin(), c.cos(), c.sqrt(), abs(g.constant(-2.0))) == (np.sin(0.3), np.cos(0.3), np.sqrt(0.3), 2.0)
    assert g.binary(Op.MIN, 1.0, 2.0) == 1.0
    assert g.binary(Op.LESS, 1.0, 2.0) == 1.0
    assert g.binary(Op.LESS, 2.0, 1.0) == 0.0
    assert g.binary(Op.ATAN2, 1.0, 1.0) == np.pi / 4


def test_arrays_take_symbols_as_elements(g, xyz):
    A = np.array([[1.0, 0.0], [0.0, 2.0]])
    out = A @ xyz[:2]
    assert out[0] is xyz[0]
    assert out[1] is 2.0 * xyz[1]
    for name in ("__add__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__rtruediv__"):
        assert getattr(xyz[0], name)(A) is NotImplemented  # NumPy then goes element by element
    assert (A * xyz[0])[0, 1] == 0.0
    assert (np.ones(1) - xyz[:1])[0] is 1.0 - xyz[0]
    assert (np.ones(1) / xyz[:1])[0] is 1.0 / xyz[0]


def test_parameters_need_a_graph_that_knows_them(g, xyz):
    with pytest.raises(TypeError, match="without parameters"):
        xyz[0] * Parameter(ca.SX.sym("m"))


def test_parameters_become_symbols():
    lifted = {}

    def lift(graph: Graph, parameter: Parameter) -> Symbol:
        return lifted.setdefault(str(parameter), graph.node(Op.INPUT, 1, len(lifted)))

    g = Graph(lift)
    x, p = g.inputs(0, 1)[0], Parameter(ca.SX.sym("m"))
    m = g.lift(p)
    for got, expected in (
        (x + p, x + m), (p + x, x + m), (x - p, x - m), (p - x, -(x - m)), (x * p, x * m), (p * x, x * m),
        (x / p, x / m), (p / x, m / x),
    ):  # fmt: skip
        assert got is expected


def test_symbols_say_what_they_are(xyz):
    assert repr(xyz[1]) == "<input 1>"
    assert repr(xyz[0] * xyz[1]).startswith("<mul")
