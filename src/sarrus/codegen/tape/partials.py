"""How each instruction varies with its operands: what forward and reverse differentiation have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.codegen.tape.tape import ARITY
from sarrus.spatial.arrays import Scalar

CHOICES = frozenset((Op.SELECT, Op.MIN, Op.MAX, Op.ABS))  # they hand on one of their operands, or its opposite
_ARITY = ARITY.tolist()
_FIXED = frozenset((Op.CONST, Op.INPUT, Op.LESS))  # they vary with nothing


def operands(graph: Graph, k: int) -> tuple[int, ...]:
    """The nodes that a node is computed from."""
    return graph.nodes[k][1 : 1 + _ARITY[graph.op[k]]]


def between(graph: Graph, inputs: Iterable[int], outputs: Iterable[Scalar]) -> list[int]:
    """Nodes that vary with one of the inputs (nodes) and that one of the outputs depends on, in order."""
    needed: set[int] = set()
    waiting = [x.index for x in outputs if isinstance(x, Symbol)]
    while waiting:
        k = waiting.pop()
        if k not in needed:
            needed.add(k)
            waiting += operands(graph, k)
    varying = needed.intersection(inputs)
    for k in sorted(needed):
        if graph.op[k] not in _FIXED and not varying.isdisjoint(operands(graph, k)):
            varying.add(k)
    return sorted(varying)


def cases(graph: Graph, k: int) -> tuple[Symbol | float, tuple[int, float], tuple[int, float]]:
    """Of a choice: its condition, and what it is where that is not 0, and where it is: a node, and its sign."""
    a, b, c = (*operands(graph, k), -1, -1)[:3]
    x = graph.symbol(a)
    op = graph.op[k]
    if op == Op.SELECT:
        return x, (b, 1.0), (c, 1.0)
    if op == Op.ABS:
        return graph.binary(Op.LESS, x, 0.0), (a, -1.0), (a, 1.0)
    y = graph.symbol(b)
    condition = graph.binary(Op.LESS, x, y) if op == Op.MIN else graph.binary(Op.LESS, y, x)
    return condition, (a, 1.0), (b, 1.0)


def partials(graph: Graph, k: int) -> list[tuple[int, Scalar]]:
    """Of a node that is no choice: every operand, and the derivative with respect to it.

    The derivative of a sine is the cosine of the same angle, which is there already where a joint turns. Of what turns
    with a joint, the angle is an operand (`_turned`).
    """
    op, value = graph.op[k], graph.symbol(k)
    nodes = operands(graph, k)
    if op in (Op.ADD, Op.SUB, Op.MUL) and (turned := _turned(graph, k)):
        return turned
    values = [graph.plain(x) for x in nodes]
    if op in (Op.ADD, Op.SUB):
        return [(nodes[0], 1.0), (nodes[1], 1.0 if op == Op.ADD else -1.0)]
    if op == Op.MUL:
        return [(nodes[0], values[1]), (nodes[1], values[0])]
    if op == Op.DIV:
        inverse = 1.0 / values[1]
        return [(nodes[0], inverse), (nodes[1], -(value * inverse))]
    if op in _OF_ONE:
        return [(nodes[0], _OF_ONE[Op(op)](values[0], value))]
    if op == Op.ATAN2:
        y, x = values
        squared = x * x + y * y
        return [(nodes[0], x / squared), (nodes[1], -(y / squared))]
    if op == Op.COPYSIGN:
        signs = [graph.binary(Op.COPYSIGN, 1.0, x) for x in values]
        return [(nodes[0], signs[0] * signs[1])]
    return []  # comparisons, numbers and inputs


class _Turning(NamedTuple):
    """A product of a sine or cosine and something."""

    angle: int
    is_sine: bool
    factor: int  # the sine or cosine
    x: int


def _turning(graph: Graph, k: int) -> list[_Turning]:
    """A node as such a product: in two ways, if both factors are one."""
    if graph.op[k] != Op.MUL:
        return []
    a, b = operands(graph, k)
    pairs = [(f, x) for f, x in ((a, b), (b, a)) if graph.op[f] in (Op.SIN, Op.COS)]
    return [_Turning(operands(graph, f)[0], graph.op[f] == Op.SIN, f, x) for f, x in pairs]


def _turned(graph: Graph, k: int) -> list[tuple[int, Scalar]] | None:
    """Of c x, c x + s y and their like, c and s cosine and sine of one angle: x, y and the angle as operands.

    These are coordinates of vectors that a joint turns, and the derivative by the angle is the other coordinate, which
    is there already, if both are needed. Only then; the derivatives by c and s are what costs more.
    """
    op = graph.op[k]
    if op == Op.MUL:
        for angle, is_sine, factor, x in _turning(graph, k):
            other = _found(graph, Op.COS if is_sine else Op.SIN, angle)
            product = other and _found(graph, Op.MUL, other.index, x)
            if product:
                return [(x, graph.plain(factor)), (angle, product if is_sine else -product)]
        return None
    first, second = operands(graph, k)
    sign = 1.0 if op == Op.ADD else -1.0
    for one in _turning(graph, first):
        for two in _turning(graph, second):
            if one.angle != two.angle or one.is_sine == two.is_sine:
                continue
            # d(c x + s y) = c y - s x;  d(c x - s y) = -(s x + c y);  d(s x - c y) = c x + s y
            crossed = _found(graph, Op.MUL, two.factor, one.x), _found(graph, Op.MUL, one.factor, two.x)
            cosine, sine = crossed[::-1] if two.is_sine else crossed
            if cosine is None or sine is None:
                continue
            other = _found(graph, Op.SUB if op == Op.ADD else Op.ADD, cosine.index, sine.index)
            if other is not None:
                by_angle = -other if op == Op.SUB and two.is_sine else other
                factors = graph.plain(one.factor), sign * graph.plain(two.factor)
                return [(one.x, factors[0]), (two.x, factors[1]), (one.angle, by_angle)]
    return None


def _found(graph: Graph, op: Op, a: int, b: int = -1) -> Symbol | None:
    """The node of an operation, if it is there."""
    found = graph.found(op, a, b)
    return graph.found(op, b, a) if found is None and op in (Op.ADD, Op.MUL) else found


_OF_ONE = {
    Op.NEG: lambda x, y: -1.0,
    Op.SQRT: lambda x, y: 0.5 / y,
    Op.SIN: lambda x, y: x.cos(),
    Op.COS: lambda x, y: -x.sin(),
    Op.EXP: lambda x, y: y,
    Op.LOG: lambda x, y: 1.0 / x,
    Op.TANH: lambda x, y: 1.0 - y * y,
}


class Work(NamedTuple):
    """How many derivatives of nodes a Jacobian takes, forwards and backwards."""

    forward: int
    reverse: int


def work(graph: Graph, outputs: Sequence[Scalar], variables: Sequence[int]) -> Work:
    """By structure: forwards a node has one for every variable that reaches it, backwards for every output that it
    reaches; sets are bits of numbers.
    """
    order = between(graph, variables, outputs)
    columns = {k: 1 << j for j, k in enumerate(variables)}
    rows: dict[int, int] = {}
    for i, x in enumerate(outputs):
        if isinstance(x, Symbol):
            rows[x.index] = rows.get(x.index, 0) | 1 << i
    for k in order:
        if k not in columns:
            columns[k] = 0
            for x in operands(graph, k):
                columns[k] |= columns.get(x, 0)
    for k in reversed(order):
        for x in operands(graph, k):
            rows[x] = rows.get(x, 0) | rows.get(k, 0)
    return Work(sum(columns[k].bit_count() for k in order), sum(rows.get(k, 0).bit_count() for k in order))
