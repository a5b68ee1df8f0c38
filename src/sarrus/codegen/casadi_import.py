"""A CasADi Function on our own scalars: its instructions, one after the other, on floats or symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.choice import choose

_HIGHEST_POWER = 64


def _unary(function: Any) -> Callable[[Scalar], Scalar]:
    return lambda x: each(function, vector(x))[0]


def _truth(x: Scalar, yes: Scalar = 1.0, no: Scalar = 0.0) -> Scalar:
    """`yes` where x is not 0."""
    return choose(x, 0.0, yes, choose(0.0, x, yes, no))


def _power(x: Scalar, exponent: Scalar) -> Scalar:
    n = int(exponent) if isinstance(exponent, float) and float(exponent).is_integer() else None
    if n is None or abs(n) > _HIGHEST_POWER:
        raise UnsupportedError(f"a power of {exponent} in a CasADi expression: only whole numbers are supported")
    result: Scalar = 1.0
    for _ in range(abs(n)):
        result = result * x
    return result if n >= 0 else 1.0 / result


_OPERATIONS: dict[str, Callable[..., Scalar]] = {
    "OP_ASSIGN": lambda x: x,
    "OP_ADD": lambda x, y: x + y, "OP_SUB": lambda x, y: x - y, "OP_MUL": lambda x, y: x * y,
    "OP_DIV": lambda x, y: x / y, "OP_NEG": lambda x: -x, "OP_SQ": lambda x: x * x, "OP_TWICE": lambda x: x + x,
    "OP_INV": lambda x: 1.0 / x, "OP_FABS": abs, "OP_SQRT": _unary(np.sqrt), "OP_SIN": _unary(np.sin),
    "OP_COS": _unary(np.cos), "OP_TAN": lambda x: _unary(np.sin)(x) / _unary(np.cos)(x),
    "OP_ATAN2": lambda y, x: np.arctan2(vector(y), vector(x))[0],
    "OP_ATAN": lambda x: np.arctan2(vector(x), vector(1.0 + 0.0 * x))[0],
    "OP_FMIN": lambda x, y: choose(x, y, x, y), "OP_FMAX": lambda x, y: choose(x, y, y, x),
    "OP_POW": _power, "OP_CONSTPOW": _power,
    "OP_SIGN": lambda x: choose(x, 0.0, -1.0, choose(0.0, x, 1.0, 0.0)),
    "OP_LT": lambda x, y: choose(x, y, 1.0, 0.0), "OP_LE": lambda x, y: choose(y, x, 0.0, 1.0),
    "OP_NE": lambda x, y: _truth(x - y), "OP_EQ": lambda x, y: _truth(x - y, 0.0, 1.0),
    "OP_NOT": lambda x: _truth(x, 0.0, 1.0), "OP_AND": lambda x, y: _truth(x, _truth(y), 0.0),
    "OP_OR": lambda x, y: _truth(x, 1.0, _truth(y)), "OP_IF_ELSE_ZERO": lambda x, y: _truth(x, y, 0.0),
}  # fmt: skip


def evaluate(function: Any, arguments: list[Array]) -> list[Array]:
    """The outputs of a `casadi.Function` (of SX, or one that expands to it) of vectors: flat, column by column."""
    import casadi as ca

    f = function if function.is_a("SXFunction") else function.expand()
    names = {getattr(ca, name): name for name in _OPERATIONS if hasattr(ca, name)}
    work: dict[int, Scalar] = {}
    outputs: list[list[Scalar]] = [[0.0] * f.numel_out(k) for k in range(f.n_out())]
    for k in range(f.n_instructions()):
        op, ins, outs = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if op == ca.OP_INPUT:
            work[outs[0]] = arguments[ins[0]][_row_of(f.sparsity_in(ins[0]), ins[1])]
        elif op == ca.OP_CONST:
            work[outs[0]] = float(f.instruction_constant(k))
        elif op == ca.OP_OUTPUT:
            outputs[outs[0]][_row_of(f.sparsity_out(outs[0]), outs[1])] = work[ins[0]]
        elif op in names:
            work[outs[0]] = _OPERATIONS[names[op]](*(work[i] for i in ins))
        else:
            name = next((x for x in dir(ca) if x.startswith("OP_") and getattr(ca, x) == op), f"operation {op}")
            valid = ", ".join(x.removeprefix("OP_").lower() for x in _OPERATIONS)
            raise UnsupportedError(f"{f.name()}: {name} cannot be compiled. Valid: {valid}")
    return [vector(*x) for x in outputs]


def _row_of(sparsity: Any, k: int) -> int:
    """Where the k-th structural nonzero lies among all elements, counted down columns."""
    row, column = sparsity.row(k), sparsity.get_col()[k]
    return row + column * sparsity.size1()
