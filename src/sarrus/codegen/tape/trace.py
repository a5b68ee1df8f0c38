"""From an algorithm of the registry and a model to a tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.parameters import ParameterLifter, symbols_of
from sarrus.codegen.tape.tape import OpCount, Port, Tape, tape_of
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.registry.table import check_model, find
from sarrus.spatial.precision import epsilon


def trace(
    model: Model,
    method: str | AnyAlgorithm,
    /,
    inputs: tuple[str, ...] | None = None,
    parameters: Sequence[Any] | None = None,
    **options: Any,
) -> Tape:
    """The straight-line code of `method`, an algorithm or the name of one, for this robot.

    inputs      names of the arrays that are inputs; the others are absent. Default: all that are not optional.
    parameters  for a model with symbols: the CasADi symbols, in the order in which the tape's last input, "parameters",
                holds them. Default: all of the model's, in order of appearance (`symbols_of`).
    options     fixed arguments of the algorithm, such as a frame's name
    """
    algorithm = find(method)
    algorithm.check_options(options)
    check_model(algorithm, model)
    wanted = algorithm.required if inputs is None else inputs
    algorithm.check_given(wanted)
    symbols = tuple(symbols_of(model) if parameters is None else parameters)
    key = (algorithm, wanted, tuple(x.element_hash() for x in symbols), hashable(options), epsilon())
    known: dict[tuple, Tape] = model.remembered.setdefault(trace, {})
    if key not in known:
        known[key] = _trace(model, algorithm, wanted, symbols, options)
    return known[key]


def hashable(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Options in an order of their own, lists as tuples: what tapes and evaluators are known by."""
    return tuple((name, _with_types(options[name])) for name in sorted(options))


def _with_types(x: Any) -> tuple[Any, ...]:
    """A value with its type: 1, 1.0 and True are equal, but a method may take one and refuse another."""
    return tuple(map(_with_types, x)) if isinstance(x, (list, tuple)) else (type(x), x)


def _trace(
    model: Model, algorithm: AnyAlgorithm, wanted: tuple[str, ...], symbols: tuple[Any, ...], options: dict[str, Any]
) -> Tape:
    unit = {"q": tuple(start for _, start in model.layout.quaternions)}
    ports = tuple(Port(x.name, x.shape(model), unit=unit.get(x.name, ())) for x in algorithm.inputs if x.name in wanted)
    graph = Graph(ParameterLifter(symbols, slot=len(ports)).lift) if symbols else Graph()
    arrays = {port.name: graph.inputs(slot, port.size).reshape(port.shape) for slot, port in enumerate(ports)}
    if symbols:
        ports = (*ports, Port("parameters", (len(symbols),)))
    result = algorithm.text(model, **arrays, **options)
    values = (result,) if algorithm.outputs is not None else result
    outputs = {name: np.asarray(x) for name, x in zip(algorithm.output_names, values, strict=True)}
    tape = tape_of(graph, ports, outputs, list(algorithm.whole_numbers))
    graph.release()
    return tape


def op_count(model: Model, method: str | AnyAlgorithm, /, **options: Any) -> OpCount:
    """Exact operation counts of `method` on this robot, after common-subexpression elimination.

    method   an algorithm or its name
    options  fixed arguments of the method
    returns  an `OpCount`
    errors   `UnknownNameError`: no such method or option; `UnsupportedError`: the method does not support this model

    >>> sarrus.op_count(sarrus.zoo.chain(2), "aba").total < 100
    True
    """
    return trace(model, method, **options).op_count
