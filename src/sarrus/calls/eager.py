"""Calling an algorithm directly: `sarrus.aba(model, q, v, tau)`.

The text of the algorithm runs on single states as it stands (but for those that look at the structure of zeros, which
only tracing knows). A batch `(B, n)` runs the traced tape, a chunk of states
per NumPy call. CasADi inputs (or a model with symbols) give CasADi expressions. All three are the same algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.parameters import symbols_of
from sarrus.codegen.tape.trace import trace
from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.registry import table as registry
from sarrus.spatial.parameter import is_casadi

P = ParamSpec("P")
R = TypeVar("R")
_CHUNK = 256  # states per NumPy call of a batch: bounds the memory of the intermediate values


def eager(function: Callable[P, R]) -> Callable[P, R]:
    """The public form of an algorithm: checked arguments, single states, batches and symbols."""
    entry = registry.entry_of(function)
    parameters = signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        bound = parameters.bind(*args, **kwargs)
        model: Model = bound.arguments.pop("model")
        if not isinstance(model, Model):
            raise StateError(f"{entry.name}: the first argument is a sarrus Model, got {type(model).__name__}")
        entry.check_model(model)
        names = {port.name for port in entry.inputs}
        given = {name: x for name, x in bound.arguments.items() if name in names and x is not None}
        options = {name: x for name, x in bound.arguments.items() if name not in names}
        entry.check_given(given)
        if any(is_casadi(x) for x in given.values()) or not model.is_numeric:
            return _symbolic(model, entry, given, options)
        arrays, batch = check_inputs(model, entry, given)
        if batch is not None:
            return _batched(model, entry, arrays, batch, options)
        if entry.structural:  # on numbers, the text would take a zero of this state for one of the robot
            one = {name: array[None] for name, array in arrays.items()}
            return _plain(entry, _first(_batched(model, entry, one, 1, options)))
        return _plain(entry, entry.function(model, **arrays, **options))

    return call


def check_inputs(
    model: Model, entry: registry.Algorithm, given: dict[str, Any]
) -> tuple[dict[str, np.ndarray], int | None]:
    """Arrays of the right shape and finite, and the size of the batch (None: a single state)."""
    arrays: dict[str, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for port in entry.inputs:
        if port.name not in given:
            continue
        shape = port.shape(model)
        value = given[port.name]
        arrays[port.name] = (
            check_configuration(model, value) if port.name == "q" else as_state_array(port.name, value, shape)
        )
        if arrays[port.name].ndim > len(shape):
            sizes[port.name] = len(arrays[port.name])
    if len(set(sizes.values())) > 1:
        raise StateError(f"batches of different sizes: {', '.join(f'{k} has {n}' for k, n in sizes.items())}")
    return arrays, next(iter(sizes.values()), None)


def _batched(
    model: Model, entry: registry.Algorithm, arrays: dict[str, np.ndarray], batch: int, options: dict[str, Any]
) -> Any:
    tape = trace(model, entry.name, inputs=tuple(arrays), **options)
    flat = []
    for port in tape.inputs:
        array = np.broadcast_to(arrays[port.name], (batch, *port.shape)).reshape(batch, port.size)
        flat.append(np.ascontiguousarray(array.T))
    outputs = [np.empty((batch, port.size)) for port in tape.outputs]
    for start in range(0, batch, _CHUNK):
        stop = min(start + _CHUNK, batch)
        values = interpret.run(tape, [array[:, start:stop] for array in flat])
        for output, columns in zip(outputs, values, strict=True):
            for k, column in enumerate(columns):
                output[start:stop, k] = column
    shaped = [o.reshape(batch, *p.shape) for o, p in zip(outputs, tape.outputs, strict=True)]
    return _result(entry, registry.with_whole_numbers(entry.whole_numbers, shaped))


def _symbolic(model: Model, entry: registry.Algorithm, given: dict[str, Any], options: dict[str, Any]) -> Any:
    import casadi as ca

    ordered = {port.name: given[port.name] for port in entry.inputs if port.name in given}
    tape = trace(model, entry.name, inputs=tuple(ordered), **options)
    inputs: list[Any] = []
    for port in tape.inputs:
        if port.name == "parameters":
            inputs.append(symbols_of(model))
            continue
        value = (
            ca.SX(ordered[port.name]) if is_casadi(ordered[port.name]) else ca.SX(np.asarray(ordered[port.name], float))
        )
        if value.numel() != port.size:
            raise StateError(f"{port.name}: expected {port.size} elements, got a CasADi matrix of {value.shape}")
        tall = value.T if len(port.shape) == 2 else value  # CasADi counts down columns
        inputs.append([tall[k] for k in range(port.size)])
    values = interpret.run(tape, inputs, symbolic=True)
    shaped = [_casadi_matrix(x, port.shape) for x, port in zip(values, tape.outputs, strict=True)]
    return _result(entry, shaped)


def _casadi_matrix(values: list, shape: tuple[int, ...]) -> Any:
    import casadi as ca

    if len(shape) == 3:  # a list of matrices: CasADi has no third dimension
        size = shape[1] * shape[2]
        return [_casadi_matrix(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]
    flat = ca.vertcat(*values) if values else ca.SX(0, 1)
    return ca.reshape(flat, shape[1], shape[0]).T if len(shape) == 2 else flat


def _result(entry: registry.Algorithm, values: list[Any]) -> Any:
    return values[0] if entry.outputs is not None else entry.result_type(*values)


def _first(result: Any) -> Any:
    """The only state of a batch."""
    return type(result)(*(x[0] for x in result)) if isinstance(result, tuple) else result[0]


def _plain(entry: registry.Algorithm, result: Any) -> Any:
    """Scalars of 0-d results, whole numbers where they are some."""
    if not isinstance(result, tuple):
        return float(result) if np.ndim(result) == 0 else result
    values = [float(x) if np.ndim(x) == 0 else x for x in result]
    return type(result)(*registry.with_whole_numbers(entry.whole_numbers, values))
