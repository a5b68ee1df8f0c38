"""Run a tape in Python, on whatever scalars it is given.

On float arrays of length B this evaluates a whole batch with one NumPy call per instruction: the reference
for compiled kernels. On CasADi SX scalars it yields expressions for CasADi's own tools.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.codegen.graph import Op

if TYPE_CHECKING:
    from sarrus.codegen.tape import Tape

_NUMPY = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.DIV: operator.truediv,
    Op.NEG: operator.neg, Op.SQRT: np.sqrt, Op.SIN: np.sin, Op.COS: np.cos, Op.ABS: np.abs,
    Op.MIN: np.minimum, Op.MAX: np.maximum, Op.COPYSIGN: np.copysign, Op.ATAN2: np.arctan2,
    Op.LESS: lambda a, b: np.where(np.less(a, b), 1.0, 0.0),
    Op.SELECT: lambda a, b, c: np.where(np.not_equal(a, 0.0), b, c),
    Op.FMA: lambda a, b, c: a * b + c,
    Op.FNMA: lambda a, b, c: c - a * b,
    Op.FMS: lambda a, b, c: a * b - c,
}  # fmt: skip


def _casadi_table() -> dict:
    import casadi as ca

    return _NUMPY | {
        Op.SQRT: ca.sqrt, Op.SIN: ca.sin, Op.COS: ca.cos, Op.ABS: ca.fabs, Op.MIN: ca.fmin,
        Op.MAX: ca.fmax, Op.COPYSIGN: ca.copysign, Op.ATAN2: ca.atan2,
        Op.LESS: lambda a, b: ca.if_else(a < b, 1.0, 0.0),
        Op.SELECT: lambda a, b, c: ca.if_else(a != 0.0, b, c),
    }  # fmt: skip


def run(tape: Tape, inputs: list, symbolic: bool = False) -> list[list]:
    """Evaluate; `inputs[s][k]` is element k of input s. Returns one flat list of values per output."""
    table = _casadi_table() if symbolic else _NUMPY
    values: list[Any] = []
    constants = tape.constants.tolist()
    for op, (a, b, c) in zip(tape.op.tolist(), tape.arg.tolist(), strict=True):
        if op == Op.CONST:
            values.append(constants[a])
        elif op == Op.INPUT:
            values.append(inputs[a][b])
        elif c >= 0:
            values.append(table[op](values[a], values[b], values[c]))
        elif b >= 0:
            values.append(table[op](values[a], values[b]))
        else:
            values.append(table[op](values[a]))
    return [[values[k] for k in result.tolist()] for result in tape.results]
