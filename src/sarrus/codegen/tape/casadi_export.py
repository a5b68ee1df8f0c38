"""A tape as a CasADi Function."""

from __future__ import annotations

from typing import Any

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import Port, Tape
from sarrus.errors import optional_package


def casadi_function(tape: Tape, name: str) -> Any:
    """A `casadi.Function` with the tape's names. Arrays of three dimensions are stacked into a tall matrix."""
    ca = optional_package("casadi", "CasADi functions need casadi", "'sarrus[casadi]'")
    symbols = [ca.SX.sym(port.name, *matrix_shape(port)) for port in tape.inputs]
    flat = [ca.vec(symbol.T) for symbol in symbols]  # row-major, as the tape counts
    values = interpret.run(tape, [[x[k] for k in range(x.numel())] for x in flat], symbolic=True)
    outputs = [
        _unflatten(ca, ca.vertcat(*x) if x else ca.SX(0, 1), port) for x, port in zip(values, tape.outputs, strict=True)
    ]
    return ca.Function(name, symbols, outputs, [p.name for p in tape.inputs], [p.name for p in tape.outputs])


def matrix_shape(port: Port) -> tuple[int, int]:
    """Rows and columns of an array in CasADi, which has no third dimension."""
    if len(port.shape) == 0:
        return 1, 1
    if len(port.shape) == 1:
        return port.shape[0], 1
    return port.size // port.shape[-1], port.shape[-1]


def _unflatten(ca: Any, flat: Any, port: Port) -> Any:
    rows, columns = matrix_shape(port)
    return ca.reshape(flat, columns, rows).T
