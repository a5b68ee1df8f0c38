"""A CasADi expression as a scalar that NumPy leaves alone.

NumPy takes a CasADi SX for an array and CasADi takes a NumPy array for a matrix: mixed, both guess. A model whose
masses or lengths are symbols therefore holds `Parameter`s: plain scalars with arithmetic, around one 1x1 SX each.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from sarrus.spatial.choice import AbstractScalar

_NUMBERS = (int, float, np.floating, np.integer)


def is_casadi(value: Any) -> bool:
    """Whether a value is one of CasADi's, without importing CasADi."""
    return type(value).__module__.partition(".")[0] == "casadi"


class Parameter(AbstractScalar):
    """One symbolic scalar of a model."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return f"Parameter({self.expression})"

    def _with(self, other: Any, operation, swapped: bool = False):
        if isinstance(other, Parameter):
            other = other.expression
        elif isinstance(other, _NUMBERS):
            other = float(other)
        else:
            return NotImplemented
        value = operation(other, self.expression) if swapped else operation(self.expression, other)
        # A constant is a number again, so that zeros and ones fold away further on.
        return float(value) if value.is_constant() else Parameter(value)

    def __add__(self, other):
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other):
        return self._with(other, operator.sub)

    def __rsub__(self, other):
        return self._with(other, operator.sub, swapped=True)

    def __mul__(self, other):
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other):
        return self._with(other, operator.truediv, swapped=True)

    def __neg__(self):
        return Parameter(-self.expression)

    def __abs__(self):
        return Parameter(abs(self.expression))

    def choose_if_less(self, bound, yes, no):
        import casadi as ca

        return Parameter(ca.if_else(self.expression < _bare(bound), _bare(yes), _bare(no)))

    def choose_if_greater(self, bound, yes, no):
        import casadi as ca

        return Parameter(ca.if_else(_bare(bound) < self.expression, _bare(yes), _bare(no)))

    def iterate(self, step, state, limit, entry):
        raise TypeError("an iteration on a model's bare parameters: trace the algorithm instead")

    def replace(self, otherwise, make):
        raise TypeError("a replacement on a model's bare parameters: trace the algorithm instead")

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
