"""A tape as a CasADi Function, and the Jacobian that CasADi takes for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tangent_space import is_configuration, tangent_shape, tangents
from sarrus.codegen.tape.tape import Port, Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import optional_package
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input


def casadi_function(tape: Tape, name: str, jacobian: Any = None) -> Any:
    """A `casadi.Function` with the tape's names. Arrays of three dimensions are stacked into a tall matrix. An output
    with an input's name, which CasADi does not allow, is called `q_out`.

    jacobian  what `casadi_jacobian` made for it; None: CasADi differentiates the expression itself. With one,
              quaternions are made one long first: CasADi takes of a Jacobian what it thinks that the expression depends
              on, and elements of a rotation matrix do not look as if they depended on all of a quaternion
    """
    ca = optional_package("casadi", "CasADi functions need casadi", "'sarrus[casadi]'")
    symbols = [ca.SX.sym(port.name, *matrix_shape(port)) for port in tape.inputs]
    taken = symbols
    if jacobian is not None:
        taken = [_normalized(ca, x, port)[0] for x, port in zip(symbols, tape.inputs, strict=True)]
    flat = [ca.vec(x.T) for x in taken]  # row-major, as the tape counts
    values = interpret.run(tape, [[x[k] for k in range(x.numel())] for x in flat], symbolic=True)
    outputs = [
        _unflatten(ca, ca.vertcat(*x) if x else ca.SX(0, 1), port) for x, port in zip(values, tape.outputs, strict=True)
    ]
    # Without a way of its own, forwards and backwards, every derivative goes by the Jacobian, in maps too.
    given = {} if jacobian is None else {"custom_jacobian": jacobian, "jac_penalty": 0}
    given |= {} if jacobian is None else {"enable_forward": False, "enable_reverse": False}
    return ca.Function(name, symbols, outputs, [p.name for p in tape.inputs], output_names(tape), given)


def output_names(tape: Tape) -> list[str]:
    """None of them that of an input."""
    inputs = {port.name for port in tape.inputs}
    return [f"{port.name}_out" if port.name in inputs else port.name for port in tape.outputs]


def casadi_jacobian(model: Model, tape: Tape, derivative: Tape, values: Any, name: str) -> Any:
    """What CasADi takes as the Jacobian of a function NAME: blocks per output and input, of inputs and outputs.

    With respect to the components of q: what varies with tangents u by J varies with these by J T (`tangents`).

    derivative, values  the tape of the method's Jacobian, and that as a CasADi function
    """
    ca = optional_package("casadi", "CasADi functions need casadi", "'sarrus[casadi]'")
    symbol = ca.SX if values.is_a("SXFunction") else ca.MX
    symbols = [symbol.sym(p.name, *matrix_shape(p)) for p in tape.inputs]
    outputs = output_names(tape)
    nominal = [symbol.sym(f"out_{x}", *matrix_shape(p)) for x, p in zip(outputs, tape.outputs, strict=True)]
    written_out = symbol is ca.SX
    taken = [_normalized(ca, x, p) if written_out else (x, None) for x, p in zip(symbols, tape.inputs, strict=True)]
    found = dict(zip((p.name for p in derivative.outputs), values.call([x for x, _ in taken]), strict=True))
    shapes = {p.name: p for p in derivative.outputs}
    blocks, names = [], []
    for name_of_out, out in zip(outputs, tape.outputs, strict=True):
        for port, (at, lengths) in zip(tape.inputs, taken, strict=True):
            names.append(f"jac_{name_of_out}_{port.name}")
            key = f"d{out.name}_d{port.name}"
            if key not in found:  # statuses and counts
                blocks.append(symbol(out.size, port.size))
                continue
            size = int(np.prod(tangent_shape(model, port), dtype=int))
            block = _as_block(ca, found[key], shapes[key], out, port, size)
            if is_configuration(model, port):
                block = block @ _tangents(model, at)
                block = block if lengths is None else block / ca.repmat(lengths.T, out.size, 1)
            blocks.append(block)
    takes = [*(p.name for p in tape.inputs), *(f"out_{x}" for x in outputs)]
    return ca.Function(f"jac_{name}", [*symbols, *nominal], blocks, takes, names)


def _normalized(ca: Any, x: Any, port: Port) -> tuple[Any, Any]:
    """A port's elements with its quaternions made one long, and per element by what it was divided."""
    out, lengths = ca.SX(x), ca.SX.ones(*x.shape)
    for start in port.unit:
        four = slice(start, start + 4)
        lengths[four] = ca.norm_2(x[four])
        out[four] = x[four] / lengths[four]
    return out, lengths


def _tangents(model: Model, q: Any) -> Any:
    """T (nv, nq); a model's parameters make no difference to it."""
    tape = trace(model, _TANGENTS)
    return casadi_function(tape, "tangents").call([q, *(0.0 for _ in tape.inputs[1:])])[0]


_TANGENTS = Algorithm("tangents", tangents, (Input("q", False),), "T")


def _as_block(ca: Any, value: Any, port: Port, out: Port, given: Port, size: int) -> Any:
    """(elements of an output, of an input), both counted down columns, of a derivative that is counted along rows."""
    order = np.arange(out.size * size).reshape(out.size, size)  # row-major, as the kernel's
    rows = np.arange(out.size).reshape(matrix_shape(out)).ravel(order="F")
    columns = np.arange(size)
    if size == given.size:
        columns = np.arange(size).reshape(matrix_shape(given)).ravel(order="F")
    wanted = order[np.ix_(rows, columns)].ravel(order="F")
    height, width = matrix_shape(port)
    at = {int(x): n for n, x in enumerate(np.arange(height * width).reshape(height, width).ravel(order="F"))}
    flat = ca.vec(value)
    return ca.reshape(flat[[at[int(x)] for x in wanted]], out.size, size)


def matrix_shape(port: Port) -> tuple[int, int]:
    """Rows and columns of an array in CasADi, which has no third dimension."""
    if len(port.shape) == 0:
        return 1, 1
    if len(port.shape) == 1:
        return port.shape[0], 1
    return int(np.prod(port.shape[:-1], dtype=int)), port.shape[-1]


def _unflatten(ca: Any, flat: Any, port: Port) -> Any:
    rows, columns = matrix_shape(port)
    return ca.reshape(flat, columns, rows).T
