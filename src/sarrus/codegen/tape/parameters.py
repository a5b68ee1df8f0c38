"""A model's symbols, and their way into a traced graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.spatial.parameter import Parameter


def symbols_of(model: Model) -> list[Any]:
    """The CasADi symbols in a model's fields, each once, in order of appearance."""
    if model.is_numeric:
        return []
    import casadi as ca

    found: dict[int, Any] = {}
    for parameter in _parameters_of(model):
        for symbol in ca.symvar(parameter.expression):
            found.setdefault(symbol.element_hash(), symbol)
    return list(found.values())


def _parameters_of(model: Model) -> Iterator[Parameter]:
    for body in model.bodies:
        fields = [
            [body.inertia.mass], body.inertia.h, body.inertia.Sigma, body.placement.R, body.placement.p,
            body.joint.armature, body.joint.type.constants,
        ]  # fmt: skip
        for field in fields:
            for x in np.asarray(field, dtype=object).flat:
                if isinstance(x, Parameter):
                    yield x
    for placed in (*model.frames, *model.geometries):
        for x in (*placed.placement.R.flat, *placed.placement.p):
            if isinstance(x, Parameter):
                yield x
    for constraint in model.constraints:
        yield from constraint.parameters


_FROM_CASADI = {
    "OP_ADD": Op.ADD, "OP_SUB": Op.SUB, "OP_MUL": Op.MUL, "OP_DIV": Op.DIV, "OP_NEG": Op.NEG, "OP_SQRT": Op.SQRT,
    "OP_SIN": Op.SIN, "OP_COS": Op.COS, "OP_FABS": Op.ABS, "OP_FMIN": Op.MIN, "OP_FMAX": Op.MAX,
    "OP_COPYSIGN": Op.COPYSIGN, "OP_ATAN2": Op.ATAN2, "OP_EXP": Op.EXP, "OP_LOG": Op.LOG, "OP_TANH": Op.TANH,
}  # fmt: skip


class ParameterLifter:
    """Turns CasADi expressions of given symbols into nodes of a graph, where input `slot` holds the symbols' values."""

    def __init__(self, symbols: Sequence[Any], slot: int) -> None:
        self._symbols = list(symbols)
        self._slot = slot
        # The expression is kept with its symbol: a hash is an address, which another expression may get once this one
        # is gone.
        self._known: dict[int, tuple[Any, Symbol | float]] = {}

    def lift(self, graph: Graph, parameter: Parameter) -> Symbol | float:
        key = parameter.expression.element_hash()
        if key not in self._known:
            self._known[key] = (parameter.expression, self._convert(graph, parameter.expression))
        return self._known[key][1]

    def _convert(self, graph: Graph, expression: Any) -> Symbol | float:
        import casadi as ca

        names = {getattr(ca, name): op for name, op in _FROM_CASADI.items()}
        missing = [s for s in ca.symvar(expression) if not any(ca.is_equal(s, known) for known in self._symbols)]
        if missing:
            raise UnsupportedError(f"the model depends on {missing}, which `parameters` does not list")
        f = ca.Function("parameter", self._symbols, [expression])
        work: dict[int, Any] = {}
        result: Any = 0.0
        for k in range(f.n_instructions()):
            op, ins, outs = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
            if op == ca.OP_INPUT:
                work[outs[0]] = graph.node(Op.INPUT, self._slot, ins[0])
            elif op == ca.OP_CONST:
                work[outs[0]] = f.instruction_constant(k)
            elif op == ca.OP_OUTPUT:
                result = work[ins[0]]
            else:
                work[outs[0]] = _apply(graph, names, op, [work[i] for i in ins], expression)
        return result


def _apply(graph: Graph, names: dict[int, Op], op: int, arguments: list[Any], expression: Any) -> Symbol | float:
    import casadi as ca

    if op == ca.OP_SQ:
        return arguments[0] * arguments[0]
    if op == ca.OP_TWICE:
        return arguments[0] + arguments[0]
    if op == ca.OP_INV:
        return 1.0 / arguments[0]
    if op == ca.OP_LT:
        return graph.binary(Op.LESS, arguments[0], arguments[1])
    if op == ca.OP_LE:
        return graph.select(graph.binary(Op.LESS, arguments[1], arguments[0]), 0.0, 1.0)
    if op == ca.OP_NOT:
        return graph.select(arguments[0], 0.0, 1.0)
    if op == ca.OP_IF_ELSE_ZERO:
        return graph.select(arguments[0], arguments[1], 0.0)
    if op not in names:
        raise UnsupportedError(
            f"{expression}: an operation that model parameters may not use. Valid: {list(_FROM_CASADI)}"
        )
    kind = names[op]
    simple = {Op.ADD: "__add__", Op.SUB: "__sub__", Op.MUL: "__mul__", Op.DIV: "__truediv__"}
    if kind in simple:
        x, y = graph.lift(arguments[0]), arguments[1]
        return getattr(x, simple[kind])(y)
    if kind == Op.NEG:
        return -arguments[0]
    if len(arguments) == 1:
        return graph.unary(kind, graph.lift(arguments[0]))
    return graph.binary(kind, arguments[0], arguments[1])
