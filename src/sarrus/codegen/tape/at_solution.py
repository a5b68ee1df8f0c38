"""Derivatives of an algorithm that iterates until something holds, by one step of Newton's method from where it ended.

With x the solution of F(x, y) = 0, and x - (dF/dx)^-1 F(x, y) a step from there with x held, the step's derivative with
respect to y is -(dF/dx)^-1 dF/dy, that of the solution: the implicit function theorem, in straight text that goes on
from the solution as if that were an input (`Algorithm.at_solution`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sarrus.codegen.tape.graph import Symbol
from sarrus.codegen.tape.replay import replay
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Input

_FOUND = "found"  # the solution, as an input


def at_solution_tape(
    model: Model,
    algorithm: AnyAlgorithm,
    differentiate: Callable[..., Tape],
    kind: str,
    wrt: tuple[str, ...],
    tape: Tape,
    options: dict[str, Any],
) -> Tape:
    """A derivative of an algorithm (its tape), whose first output is the solution."""
    going_on, solution = algorithm.at_solution, tape.outputs[0]
    assert going_on is not None
    inputs = tuple(Input(port.name, False, port.shape) for port in tape.inputs)
    held = Input(_FOUND, False, solution.shape)
    fields = algorithm.output_names[:2]
    straight = trace(model, Algorithm(going_on.__name__, going_on, (*inputs, held), None, fields=fields))
    derivative = differentiate(model, straight, wrt)
    more = [port for port in derivative.inputs if port.name not in {x.name for x in (*inputs, held)}]
    products = [port for port in derivative.outputs if port.name not in fields]

    def text(model: Model, **arrays: Any) -> tuple[Any, ...]:
        result = algorithm.text(model, **{x.name: arrays[x.name] for x in inputs}, **options)
        given = arrays | {_FOUND: result[0]}
        graph = next(x for x in np.ravel(result[0]) if isinstance(x, Symbol)).graph
        values = replay(derivative, graph, [np.ravel(given[port.name]) for port in derivative.inputs])
        found = {p.name: x.reshape(p.shape) for p, x in zip(derivative.outputs, values, strict=True)}
        return (*result, *(found[port.name] for port in products))

    names = (*algorithm.output_names, *(port.name for port in products))
    takes = (*inputs, *(Input(port.name, False, port.shape) for port in more))
    return trace(model, Algorithm(f"{algorithm.name}_{kind}", text, takes, None, fields=names))
