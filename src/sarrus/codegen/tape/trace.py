"""From an algorithm of the registry and a model to a tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.parameters import ParameterLifter, symbols_of
from sarrus.codegen.tape.tape import OpCount, Port, Tape, tape_of
from sarrus.errors import unknown_name
from sarrus.model.model import Model
from sarrus.registry import table as registry
from sarrus.spatial.precision import epsilon

_tapes: WeakKeyDictionary[Model, dict[tuple, Tape]] = WeakKeyDictionary()


def trace(
    model: Model,
    method: str | registry.Algorithm,
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
    entry = registry.find(method)
    entry.check_options(options)
    entry.check_model(model)
    wanted = inputs if inputs is not None else tuple(port.name for port in entry.inputs if not port.optional)
    for name in wanted:
        if name not in {port.name for port in entry.inputs}:
            raise unknown_name(f"input of {entry.name}:", name, [port.name for port in entry.inputs])
    entry.check_given(wanted)
    symbols = tuple(symbols_of(model) if parameters is None else parameters)
    key = (
        entry,
        wanted,
        tuple(x.element_hash() for x in symbols),
        tuple(sorted((k, _hashable(v)) for k, v in options.items())),
        epsilon(),
    )
    known = _tapes.setdefault(model, {})
    if key not in known:
        known[key] = _trace(model, entry, wanted, symbols, options)
    return known[key]


def _trace(
    model: Model, entry: registry.Algorithm, wanted: tuple[str, ...], symbols: tuple[Any, ...], options: dict[str, Any]
) -> Tape:
    ports = tuple(Port(port.name, port.shape(model)) for port in entry.inputs if port.name in wanted)
    if symbols:
        graph = Graph(ParameterLifter(symbols, slot=len(ports)).lift)
        ports = (*ports, Port("parameters", (len(symbols),)))
    else:
        graph = Graph()
    arrays = {
        port.name: graph.inputs(slot, port.size).reshape(port.shape)
        for slot, port in enumerate(ports)
        if port.name != "parameters"
    }
    result = entry.function(model, **arrays, **options)
    outputs = {entry.outputs: result} if entry.outputs is not None else result._asdict()
    whole = [list(outputs)[k] for k in entry.whole_numbers]
    return tape_of(graph, ports, {name: np.asarray(value) for name, value in outputs.items()}, whole)


def op_count(model: Model, method: str, **options: Any) -> OpCount:
    """Exact operation counts of `method` on this robot, after common-subexpression elimination.

    >>> sarrus.op_count(model, "aba").total
    """
    return trace(model, method, **options).op_count


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
