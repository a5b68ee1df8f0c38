"""Calling an algorithm directly: `sarrus.aba(model, q, v, tau)`.

The text of the algorithm runs on single states as it stands (but for those that look at the structure of zeros, which
only tracing knows). A batch `(B, n)` runs the traced tape, a chunk of states per NumPy call. CasADi inputs (or a model
with symbols) give CasADi expressions. All three are the same algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.parameters import symbols_of
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import op_count, trace
from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.registry.algorithm import AnyAlgorithm, batch_size, install
from sarrus.registry.table import check_model
from sarrus.spatial.parameter import is_casadi

_CHUNK = 256  # states per NumPy call of a batch: bounds the memory of the intermediate values


def call(algorithm: AnyAlgorithm, /, *args: Any, **kwargs: Any) -> Any:
    """The result of an algorithm for checked arguments: for a single state, a batch or symbols."""
    arguments = algorithm.signature.bind(*args, **kwargs).arguments
    model = arguments.pop("model")
    if not isinstance(model, Model):
        raise StateError(f"{algorithm.name}: the first argument is a sarrus Model, got {type(model).__name__}")
    check_model(algorithm, model)
    given = {name: arguments[name] for name in algorithm.input_names if arguments.get(name) is not None}
    options = {name: x for name, x in arguments.items() if name not in algorithm.input_names}
    algorithm.check_given(given)
    if any(is_casadi(x) for x in given.values()) or not model.is_numeric:
        return _symbolic(model, algorithm, given, options)
    arrays, batch = check_arrays(model, algorithm, given)
    if batch is not None:
        return algorithm.result(_batched(model, algorithm, arrays, batch, options))
    if algorithm.structural:  # on numbers, the text would take a zero of this state for one of the robot
        one = {name: array[None] for name, array in arrays.items()}
        values = [x[0] for x in _batched(model, algorithm, one, 1, options)]
    else:
        result = algorithm.text(model, **arrays, **options)
        values = [result] if algorithm.outputs is not None else result
    return algorithm.result(algorithm.with_whole_numbers([float(x) if np.ndim(x) == 0 else x for x in values]))


def check_arrays(
    model: Model, algorithm: AnyAlgorithm, given: dict[str, Any]
) -> tuple[dict[str, np.ndarray], int | None]:
    """Arrays of the right shape and finite, and the size of the batch (None: a single state)."""
    shapes = {x.name: x.shape(model) for x in algorithm.inputs if x.name in given}
    arrays = {
        name: check_configuration(model, given[name]) if name == "q" else as_state_array(name, given[name], shape)
        for name, shape in shapes.items()
    }
    sizes = {name: len(array) for name, array in arrays.items() if array.ndim > len(shapes[name])}
    return arrays, batch_size(sizes)


def _batched(
    model: Model, algorithm: AnyAlgorithm, arrays: dict[str, np.ndarray], batch: int, options: dict[str, Any]
) -> list[np.ndarray]:
    """The values of the outputs, (batch, ...) each."""
    tape = trace(model, algorithm, inputs=tuple(arrays), **options)
    return algorithm.with_whole_numbers(run_tape(tape, arrays, batch))


def run_tape(tape: Tape, arrays: dict[str, np.ndarray], batch: int) -> list[np.ndarray]:
    """The values of a tape's outputs, (batch, ...) each, in NumPy; inputs of a single state serve for all."""
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
    return [o.reshape(batch, *p.shape) for o, p in zip(outputs, tape.outputs, strict=True)]


def _symbolic(model: Model, algorithm: AnyAlgorithm, given: dict[str, Any], options: dict[str, Any]) -> Any:
    import casadi as ca

    tape = trace(model, algorithm, inputs=tuple(given), **options)
    inputs: list[Any] = []
    for port in tape.inputs:
        if port.name == "parameters":
            inputs.append(symbols_of(model))
            continue
        x = given[port.name]
        value = ca.SX(x if is_casadi(x) else np.asarray(x, float))
        if value.numel() != port.size:
            raise StateError(f"{port.name}: expected {port.size} elements, got a CasADi matrix of {value.shape}")
        tall = value.T if len(port.shape) == 2 else value  # CasADi counts down columns
        inputs.append([tall[k] for k in range(port.size)])
    values = interpret.run(tape, inputs, symbolic=True)
    return algorithm.result([_casadi_matrix(x, port.shape) for x, port in zip(values, tape.outputs, strict=True)])


def _casadi_matrix(values: list, shape: tuple[int, ...]) -> Any:
    import casadi as ca

    if len(shape) == 3:  # a list of matrices: CasADi has no third dimension
        size = shape[1] * shape[2]
        return [_casadi_matrix(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]
    flat = ca.vertcat(*values) if values else ca.SX(0, 1)
    return ca.reshape(flat, shape[1], shape[0]).T if len(shape) == 2 else flat


def install_verbs() -> None:
    install(call=call, op_count=op_count, compile=_compile)


def _compile(*args: Any, **options: Any) -> Any:
    from sarrus.codegen.runtime.compile import compile  # brings LLVM, which not every program needs

    return compile(*args, **options)
