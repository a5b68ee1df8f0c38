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

    The derivative of a sine is the cosine of the same angle, which is there already where a joint turns.
    """
    op, value = graph.op[k], graph.symbol(k)
    nodes = operands(graph, k)
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
