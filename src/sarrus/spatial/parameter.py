"""A CasADi expression as a scalar that NumPy leaves alone.

NumPy takes a CasADi SX for an array and CasADi takes a NumPy array for a matrix: mixed, both guess. A model whose
masses or lengths are symbols therefore holds `Parameter`s: plain scalars with arithmetic, around one 1x1 SX each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sarrus.spatial.choice import NUMBERS, AbstractScalar


def is_casadi(value: Any) -> bool:
    """Whether a value is one of CasADi's, without importing CasADi."""
    return type(value).__module__.partition(".")[0] == "casadi"


def _binary(operation: Callable[[Any, Any], Any], swapped: bool = False) -> Callable[[Parameter, Any], Any]:
    """A method that combines a parameter with another one or with a number; swapped: the parameter is the second."""

    def method(self: Parameter, other: Any) -> Any:
        if not isinstance(other, (Parameter, *NUMBERS)):
            return NotImplemented
        given = other.expression if isinstance(other, Parameter) else float(other)
        value = operation(given, self.expression) if swapped else operation(self.expression, given)
        # A constant is a number again, so that zeros and ones fold away further on.
        return float(value) if value.is_constant() else Parameter(value)

    return method


class Parameter(AbstractScalar):
    """One symbolic scalar of a model."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return f"Parameter({self.expression})"

    __add__ = __radd__ = _binary(operator.add)
    __mul__ = __rmul__ = _binary(operator.mul)
    __sub__, __rsub__ = _binary(operator.sub), _binary(operator.sub, swapped=True)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _binary(operator.truediv, swapped=True)

    def __neg__(self):
        return Parameter(-self.expression)

    def __abs__(self):
        return Parameter(abs(self.expression))

    def choose_if_less(self, bound, yes, no):
        traced = _traced(bound, yes, no)
        if traced is not None:
            return traced.lifted(self).choose_if_less(bound, yes, no)
        return _if_else(self.expression < _bare(bound), yes, no)

    def choose_if_greater(self, bound, yes, no):
        traced = _traced(bound, yes, no)
        if traced is not None:
            return traced.lifted(self).choose_if_greater(bound, yes, no)
        return _if_else(_bare(bound) < self.expression, yes, no)

    def lifted(self, x):
        return x

    def iterate(self, step, state, limit, entry):
        raise TypeError("an iteration on a model's bare parameters: trace the algorithm instead")

    def replace(self, otherwise, make):
        raise TypeError("a replacement on a model's bare parameters: trace the algorithm instead")

    def pick(self, values, index):
        chosen = values[-1]
        for k in reversed(range(1, len(values))):
            chosen = _if_else(_bare(index) >= k, chosen, values[k - 1])
        return chosen

    def sweep(self, text, state, sets):
        raise TypeError("a repetition on a model's bare parameters: trace the algorithm instead")

    def recursion(self, text, sets, sources, start):
        raise TypeError("a recursion on a model's bare parameters: trace the algorithm instead")

    # NumPy calls these on the elements of object arrays.
    def sin(self):
        return Parameter(self.expression.sin())

    def cos(self):
        return Parameter(self.expression.cos())

    def sqrt(self):
        return Parameter(self.expression.sqrt())

    def arctan2(self, x):
        import casadi as ca

        return Parameter(ca.atan2(self.expression, _bare(x)))


def _bare(x: Any) -> Any:
    return x.expression if isinstance(x, Parameter) else x


def _traced(*scalars: Any) -> AbstractScalar | None:
    """The first of these that is traced, to whose graph the others belong then."""
    return next((x for x in scalars if isinstance(x, AbstractScalar) and not isinstance(x, Parameter)), None)


def _if_else(condition: Any, yes: Any, no: Any) -> Parameter:
    import casadi as ca

    return Parameter(ca.if_else(condition, _bare(yes), _bare(no)))
