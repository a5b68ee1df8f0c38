"""A CasADi Function on our own scalars: its instructions, one after the other, on floats or symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sarrus.codegen.tape.graph import Op, Symbol
from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.choice import choose

_HIGHEST_POWER = 64


def _unary(function: Any) -> Callable[[Scalar], Scalar]:
    return lambda x: each(function, vector(x))[0]


def _truth(x: Scalar, yes: Scalar = 1.0, no: Scalar = 0.0) -> Scalar:
    """`yes` where x is not 0."""
    return choose(x, 0.0, yes, choose(0.0, x, yes, no))


_sin, _cos, _sqrt, _exp, _log, _tanh = (_unary(f) for f in (np.sin, np.cos, np.sqrt, np.exp, np.log, np.tanh))


def _atan2(y: Scalar, x: Scalar) -> Scalar:
    if isinstance(x, Symbol):  # NumPy would ask y, which may be a number
        return x.graph.binary(Op.ATAN2, y, x)
    return np.arctan2(vector(y), vector(x))[0]


def _near_zero(x: Scalar, near: Callable[[Scalar], Scalar], far: Scalar) -> Scalar:
    """near(x) where |x| < 1, else `far`. (Both are computed: near() then of 0, of which it makes no error.)"""
    return choose(abs(x), 1.0, near(choose(abs(x), 1.0, x, 0.0)), far)


def _expm1(x: Scalar) -> Scalar:
    def near(x: Scalar) -> Scalar:
        t = _tanh(0.5 * x)
        return 2.0 * t / (1.0 - t)

    return _near_zero(x, near, _exp(x) - 1.0)


def _log1p(x: Scalar) -> Scalar:
    def near(x: Scalar) -> Scalar:
        u = 1.0 + x
        kept = u - 1.0  # what rounding left of x
        return _truth(kept, _log(u) * (x / _truth(kept, kept, 1.0)), x)

    return _near_zero(x, near, _log(1.0 + x))


def _sinh(x: Scalar) -> Scalar:
    def near(x: Scalar) -> Scalar:
        t = _tanh(0.5 * x)
        return 2.0 * t / ((1.0 - t) * (1.0 + t))

    return _near_zero(x, near, 0.5 * (_exp(x) - _exp(-x)))


def _power(x: Scalar, exponent: Scalar) -> Scalar:
    """Whole powers are products. Others are e^(y log x), whose relative error grows with |y log x|; NaN for x < 0."""
    if not isinstance(exponent, float):
        if isinstance(x, float) and x > 0.0:
            return _exp(exponent * float(np.log(x)))
        raise UnsupportedError(
            f"a CasADi expression has a power of {exponent}: its base or its exponent must be a known number"
        )
    if exponent == 0.5:
        return _sqrt(x)
    if not exponent.is_integer() or abs(exponent) > _HIGHEST_POWER:
        return _exp(exponent * _log(x))
    n = int(exponent)
    result: Scalar = 1.0
    for _ in range(abs(n)):
        result = result * x
    return result if n >= 0 else 1.0 / result


_OPERATIONS: dict[str, Callable[..., Scalar]] = {
    "OP_ASSIGN": lambda x: x,
    "OP_ADD": lambda x, y: x + y, "OP_SUB": lambda x, y: x - y, "OP_MUL": lambda x, y: x * y,
    "OP_DIV": lambda x, y: x / y, "OP_NEG": lambda x: -x, "OP_SQ": lambda x: x * x, "OP_TWICE": lambda x: x + x,
    "OP_INV": lambda x: 1.0 / x, "OP_FABS": abs, "OP_SQRT": _sqrt, "OP_SIN": _sin, "OP_COS": _cos,
    "OP_TAN": lambda x: _sin(x) / _cos(x), "OP_ATAN2": _atan2, "OP_ATAN": lambda x: _atan2(x, 1.0),
    "OP_ASIN": lambda x: _atan2(x, _sqrt((1.0 - x) * (1.0 + x))),
    "OP_ACOS": lambda x: _atan2(_sqrt((1.0 - x) * (1.0 + x)), x),
    "OP_EXP": _exp, "OP_LOG": _log, "OP_TANH": _tanh, "OP_EXPM1": _expm1, "OP_LOG1P": _log1p, "OP_SINH": _sinh,
    "OP_COSH": lambda x: 0.5 * (_exp(x) + _exp(-x)), "OP_HYPOT": lambda x, y: _sqrt(x * x + y * y),
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
