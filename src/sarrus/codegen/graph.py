"""The tracer: a scalar that records what is done to it.

Algorithms are plain NumPy text. Run on object arrays whose elements are `Symbol`s, the same text
leaves a graph of scalar operations behind. Every rule that makes the graph small lives here:

- constants fold: a structural zero or one of this robot never becomes an operation;
- hash-consing: an expression that exists is found, not made again (common subexpressions);
- signs float outwards: `(-a) * b = -(a * b)`, `a + (-b) = a - b`, so that almost no negation survives;
- `x * (1 / x) = 1`: which is how ABA's rank-one update yields exact zeros in the row of the joint axis.

A Python scalar costs about a microsecond per operation; a CasADi SX scalar costs twenty. So tracing
is done here and CasADi expressions are produced from the finished tape (`interpret.run`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum

import numpy as np

from sarrus.spatial.choice import AbstractScalar, choose
from sarrus.spatial.parameter import Parameter
from sarrus.spatial.stages import current_stage


class Op(IntEnum):
    """The whole instruction set. `Tape` documents the meaning of the arguments."""

    CONST = 0
    INPUT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    NEG = 6
    SQRT = 7
    SIN = 8
    COS = 9
    ABS = 10
    MIN = 11
    MAX = 12
    COPYSIGN = 13
    LESS = 14  # 1.0 where a < b, else 0.0
    SELECT = 15  # b where a != 0, else c
    ATAN2 = 16
    FMA = 17  # a * b + c
    FNMA = 18  # c - a * b
    FMS = 19  # a * b - c


_FOLD = {
    Op.SQRT: math.sqrt,
    Op.SIN: math.sin,
    Op.COS: math.cos,
    Op.ABS: abs,
    Op.MIN: min,
    Op.MAX: max,
    Op.COPYSIGN: math.copysign,
    Op.LESS: lambda a, b: 1.0 if a < b else 0.0,
    Op.ATAN2: math.atan2,
}


class Graph:
    """Operations in the order in which they were first needed."""

    def __init__(self, parameters: Callable[[Graph, Parameter], Symbol | float] | None = None) -> None:
        self._lift_parameter = parameters
        self.op: list[int] = []
        self.a: list[int] = []
        self.b: list[int] = []
        self.c: list[int] = []
        self.stage: list[str] = []
        self.constants: list[float] = []
        self._symbols: list[Symbol] = []
        self._known: dict[tuple[int, int, int, int], Symbol] = {}
        self._constant_of: dict[str, Symbol] = {}

    def node(self, op: int, a: int, b: int = -1, c: int = -1) -> Symbol:
        """The symbol of this operation on these nodes: found, or recorded."""
        key = (op, a, b, c)
        found = self._known.get(key)
        if found is not None:
            return found
        symbol = Symbol(self, len(self.op))
        self.op.append(op)
        self.a.append(a)
        self.b.append(b)
        self.c.append(c)
        self.stage.append(current_stage())
        self._symbols.append(symbol)
        self._known[key] = symbol
        return symbol

    def symbol(self, index: int) -> Symbol:
        return self._symbols[index]

    def inputs(self, slot: int, count: int) -> np.ndarray:
        """An object vector of `count` fresh symbols: elements of input number `slot`."""
        vector = np.empty(count, dtype=object)
        for k in range(count):
            vector[k] = self.node(Op.INPUT, slot, k)
        return vector

    def constant(self, value: float) -> Symbol:
        """The symbol of a number (by its bits: -0.0 is not 0.0)."""
        key = float(value).hex()
        found = self._constant_of.get(key)
        if found is None:
            self.constants.append(float(value))
            found = self.node(Op.CONST, len(self.constants) - 1)
            self._constant_of[key] = found
        return found

    def value(self, index: int) -> float:
        """The number behind a CONST node."""
        return self.constants[self.a[index]]

    def lift(self, x: Symbol | Parameter | float) -> Symbol:
        """x as a symbol of this graph."""
        return _lift(self, x)

    def unary(self, op: Op, x: Symbol) -> Symbol | float:
        if self.op[x.index] == Op.CONST:
            return float(_FOLD[op](self.value(x.index)))
        return self.node(op, x.index)

    def binary(self, op: Op, x: Symbol | float, y: Symbol | float) -> Symbol | float:
        x_, y_ = _lift(self, x), _lift(self, y)
        if self.op[x_.index] == Op.CONST and self.op[y_.index] == Op.CONST:
            return float(_FOLD[op](self.value(x_.index), self.value(y_.index)))
        return self.node(op, x_.index, y_.index)

    def select(self, condition: Symbol | float, x: Symbol | float, y: Symbol | float) -> Symbol | float:
        if type(condition) is not Symbol:
            return x if condition else y
        if x is y:
            return x
        return self.node(Op.SELECT, condition.index, _lift(self, x).index, _lift(self, y).index)


def _lift(graph: Graph, x) -> Symbol:
    x = _known(graph, x)
    return x if type(x) is Symbol else graph.constant(float(x))


def _known(graph: Graph, x) -> Symbol | float:
    """x, where a model's parameter is replaced by its symbol in this graph."""
    if isinstance(x, Parameter):
        if graph._lift_parameter is None:
            raise TypeError(f"{x}: this graph was made for a model without parameters")
        return graph._lift_parameter(graph, x)
    return x


class Symbol(AbstractScalar):
    """One scalar of a `Graph`. Python and NumPy numbers mix freely with it."""

    __slots__ = ("graph", "index")
    __hash__ = object.__hash__

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __repr__(self) -> str:
        g, i = self.graph, self.index
        return f"<{Op(g.op[i]).name.lower()} {i}>"

    def __neg__(self):
        g = self.graph
        if g.op[self.index] == Op.NEG:
            return g.symbol(g.a[self.index])
        return g.node(Op.NEG, self.index)

    def __pos__(self):
        return self

    def __add__(self, other):
        g = self.graph
        if type(other) is not Symbol:
            if isinstance(other, np.ndarray):
                return NotImplemented
            if isinstance(other, Parameter):
                return self + _known(self.graph, other)
            if other == 0.0:
                return self
            other = g.constant(other)
        i, j = self.index, other.index
        ops = g.op
        if ops[j] == Op.NEG:
            return self - g.symbol(g.a[j])
        if ops[i] == Op.NEG:
            return other - g.symbol(g.a[i])
        return g.node(Op.ADD, i, j) if i <= j else g.node(Op.ADD, j, i)

    __radd__ = __add__

    def __sub__(self, other):
        g = self.graph
        if type(other) is not Symbol:
            if isinstance(other, np.ndarray):
                return NotImplemented
            if isinstance(other, Parameter):
                return self - _known(self.graph, other)
            if other == 0.0:
                return self
            other = g.constant(other)
        i, j = self.index, other.index
        if i == j:
            return 0.0
        ops = g.op
        if ops[j] == Op.NEG:
            return self + g.symbol(g.a[j])
        if ops[i] == Op.NEG:
            return -(g.symbol(g.a[i]) + other)
        if (Op.SUB, j, i, -1) in g._known:
            return -g.node(Op.SUB, j, i)
        return g.node(Op.SUB, i, j)

    def __rsub__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Parameter):
            return _known(self.graph, other) - self
        if other == 0.0:
            return -self
        return self.graph.constant(other) - self

    def __mul__(self, other):
        g = self.graph
        i = self.index
        ops = g.op
        if type(other) is not Symbol:
            if isinstance(other, np.ndarray):
                return NotImplemented
            if isinstance(other, Parameter):
                return self * _known(self.graph, other)
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other < 0.0:
                return -(self * -other)
            if ops[i] == Op.NEG:
                return -(g.symbol(g.a[i]) * other)
            if ops[i] == Op.MUL and ops[g.a[i]] == Op.CONST:
                return g.symbol(g.b[i]) * (g.value(g.a[i]) * float(other))
            if ops[i] == Op.CONST:
                return g.value(i) * float(other)
            return g.node(Op.MUL, g.constant(other).index, i)
        j = other.index
        if ops[j] == Op.NEG:
            return -(self * g.symbol(g.a[j]))
        if ops[i] == Op.NEG:
            return -(g.symbol(g.a[i]) * other)
        if ops[j] == Op.CONST:
            return self * g.value(j)
        if ops[i] == Op.CONST:
            return other * g.value(i)
        if _is_reciprocal(g, j, i) or _is_reciprocal(g, i, j):
            return 1.0
        return g.node(Op.MUL, i, j) if i <= j else g.node(Op.MUL, j, i)

    __rmul__ = __mul__

    def __truediv__(self, other):
        g = self.graph
        if type(other) is not Symbol:
            if isinstance(other, np.ndarray):
                return NotImplemented
            if isinstance(other, Parameter):
                return self / _known(self.graph, other)
            return self * (1.0 / other)
        i, j = self.index, other.index
        if i == j:
            return 1.0
        if g.op[j] == Op.NEG:
            return -(self / g.symbol(g.a[j]))
        if g.op[i] == Op.NEG:
            return -(g.symbol(g.a[i]) / other)
        if g.op[j] == Op.CONST:
            return self * (1.0 / g.value(j))
        return g.node(Op.DIV, i, j)

    def __rtruediv__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Parameter):
            return _known(self.graph, other) / self
        if other == 0.0:
            return 0.0
        if other < 0.0:
            return -((-other) / self)
        return self.graph.constant(other) / self

    def __abs__(self):
        return self.graph.unary(Op.ABS, self)

    def choose_if_less(self, bound, yes, no):
        return self.graph.select(self.graph.binary(Op.LESS, self, bound), yes, no)

    def choose_if_greater(self, bound, yes, no):
        return self.graph.select(self.graph.binary(Op.LESS, bound, self), yes, no)

    def iterate(self, step, state, limit):
        # Unrolled: once a lane is done, its state is kept.
        count, go_on = 0.0, 1.0
        for _ in range(limit):
            following, wants_more = step(state)
            if not isinstance(go_on, float):
                following = tuple(_chosen(go_on, x, y) for x, y in zip(following, state, strict=True))
                wants_more = choose(0.5, go_on, wants_more, 0.0)
            state, count, go_on = following, count + go_on, wants_more
        return state, count

    # NumPy calls these methods on the elements of object arrays: np.sin(q) works on both.
    def sin(self):
        return self.graph.unary(Op.SIN, self)

    def cos(self):
        return self.graph.unary(Op.COS, self)

    def sqrt(self):
        return self.graph.unary(Op.SQRT, self)

    def arctan2(self, x):
        return self.graph.binary(Op.ATAN2, self, x)


def _chosen(go_on, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """new where go_on is 1, else old."""
    out = np.empty(np.shape(new), dtype=object)
    for index in np.ndindex(out.shape):
        out[index] = choose(0.5, go_on, new[index], old[index])
    return out


def _is_reciprocal(g: Graph, i: int, j: int) -> bool:
    """Whether node i is 1 / (node j)."""
    if g.op[i] != Op.DIV or g.b[i] != j:
        return False
    numerator = g.a[i]
    return g.op[numerator] == Op.CONST and g.value(numerator) == 1.0
