"""Tapes of derivatives from tapes of values: along a direction, of a weighted sum, or whole Jacobians."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.codegen.tape.differentiate_forward import Directions, forward
from sarrus.codegen.tape.differentiate_reverse import reverse
from sarrus.codegen.tape.graph import Graph, Symbol
from sarrus.codegen.tape.partials import work
from sarrus.codegen.tape.replay import replay
from sarrus.codegen.tape.tangent_space import is_configuration, rates, tangent_shape, tangents
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, Scalar


class _Values:
    """What a tape computes, as symbols of a graph to which derivatives are added."""

    def __init__(self, model: Model, tape: Tape, wrt: Sequence[str]) -> None:
        self.model, self.tape, self.graph = model, tape, Graph()
        self.arrays = [self.graph.inputs(slot, port.size) for slot, port in enumerate(tape.inputs)]
        self.outputs = replay(tape, self.graph, self.arrays)
        slot_of = {port.name: slot for slot, port in enumerate(tape.inputs)}
        self.varied = [(tape.inputs[slot_of[name]], self.arrays[slot_of[name]]) for name in wrt]
        self.smooth = [(port, x) for port, x in zip(tape.outputs, self.outputs, strict=True) if not port.whole]
        self.flat = [x for _, values in self.smooth for x in values]

    def fresh(self, ports: Sequence[tuple[Port, Array]], name: str) -> tuple[list[Port], list[Array]]:
        """More inputs, in the tangent spaces of these."""
        made = [Port(name.format(port.name), tangent_shape(self.model, port)) for port, _ in ports]
        return made, [self.graph.inputs(len(self.arrays) + k, port.size) for k, port in enumerate(made)]

    def as_tangents(self, derivatives: Sequence[Scalar]) -> list[Array]:
        """Derivatives of the elements of all outputs, one after the other, per output and in its tangent space."""
        out, start = [], 0
        for port, values in self.smooth:
            mine = _array(derivatives[start : start + port.size])
            out.append(tangents(self.model, values) @ mine if is_configuration(self.model, port) else mine)
            start += port.size
        return out

    def finished(self, more: Sequence[Port], found: dict[str, Array]) -> Tape:
        """The tape of the values and of what was found, with more inputs; arrays in the shapes of outputs."""
        outputs = {p.name: x.reshape(p.shape) for p, x in zip(self.tape.outputs, self.outputs, strict=True)}
        whole = [port.name for port in self.tape.outputs if port.whole]
        tape = tape_of(self.graph, (*self.tape.inputs, *more), outputs | found, whole)
        self.graph.release()
        return tape


def jvp(model: Model, tape: Tape, wrt: Sequence[str]) -> Tape:
    """Values, and how they vary along a direction: inputs `dq`, ...; outputs `dqdd`, ..."""
    at = _Values(model, tape, wrt)
    more, directions = at.fresh(at.varied, "d{}")
    seeds: dict[int, Directions] = {}
    for (port, x), u in zip(at.varied, directions, strict=True):
        change = rates(model, x) @ u if is_configuration(model, port) else u
        seeds |= {symbol.index: {0: d} for symbol, d in zip(x, change, strict=True)}
    found = at.as_tangents([d.get(0, 0.0) for d in forward(at.graph, at.flat, seeds)])
    named = zip(at.smooth, found, strict=True)
    return at.finished(more, {f"d{port.name}": x.reshape(tangent_shape(model, port)) for (port, _), x in named})


def vjp(model: Model, tape: Tape, wrt: Sequence[str]) -> Tape:
    """Values, and the gradient of their weighted sum: inputs `qdd_bar`, ...; outputs `q_bar`, ..."""
    at = _Values(model, tape, wrt)
    more, bars = at.fresh(at.smooth, "{}_bar")
    weights: list[Scalar] = []
    for (port, values), bar in zip(at.smooth, bars, strict=True):
        weights += (tangents(model, values).T @ bar if is_configuration(model, port) else bar).tolist()
    gradient = reverse(at.graph, at.flat, weights, [x.index for _, array in at.varied for x in array])
    found = {f"{port.name}_bar": _gradient(model, port, x, gradient) for port, x in at.varied}
    return at.finished(more, found)


def jacobian(model: Model, tape: Tape, wrt: Sequence[str]) -> Tape:
    """Values, and their derivatives with respect to every input: outputs `dqdd_dq`, ..., forwards or backwards."""
    at = _Values(model, tape, wrt)
    ways = work(at.graph, at.flat, [x.index for _, array in at.varied for x in array])
    columns = _columns_forward(at) if ways.forward <= ways.reverse else _columns_reverse(at)
    found: dict[str, Array] = {}
    for (port, _), of_input in zip(at.varied, columns, strict=True):
        by_output = [np.stack(x, axis=-1) for x in zip(*of_input, strict=True)] if of_input else None
        for k, (output, _) in enumerate(at.smooth):
            shape = (*tangent_shape(model, output), *tangent_shape(model, port))
            found[f"d{output.name}_d{port.name}"] = (
                np.zeros(shape) if by_output is None else by_output[k].reshape(shape)
            )
    return at.finished((), found)


def _columns_forward(at: _Values) -> list[list[list[Array]]]:
    """Per input, per direction of its tangent space: the derivatives of every output."""
    seeds: dict[int, Directions] = {}
    first, spans = 0, []
    for port, x in at.varied:
        N = rates(at.model, x) if is_configuration(at.model, port) else np.eye(port.size)
        for symbol, row in zip(x, N, strict=True):
            seeds[symbol.index] = {first + j: d for j, d in enumerate(row) if isinstance(d, Symbol) or d != 0.0}
        spans.append(range(first, first + N.shape[1]))
        first += N.shape[1]
    found = forward(at.graph, at.flat, seeds)
    return [[at.as_tangents([d.get(j, 0.0) for d in found]) for j in span] for span in spans]


def _columns_reverse(at: _Values) -> list[list[list[Array]]]:
    """The same, by one sweep backwards per element of the outputs."""
    nodes = [x.index for _, array in at.varied for x in array]
    rows = [reverse(at.graph, [x], [1.0], nodes) for x in at.flat]
    columns = []
    for port, x in at.varied:
        table = [_gradient(at.model, port, x, row).reshape(-1) for row in rows]
        columns.append([at.as_tangents(list(column)) for column in zip(*table, strict=True)])
    return columns


def _gradient(model: Model, port: Port, x: Array, gradient: dict[int, Scalar]) -> Array:
    """In the tangent space of an input."""
    bar = _array([gradient[symbol.index] for symbol in x])
    return (rates(model, x).T @ bar if is_configuration(model, port) else bar).reshape(tangent_shape(model, port))


def _array(elements: Sequence[Scalar]) -> Array:
    out = np.empty(len(elements), dtype=object)
    out[:] = elements
    return out
