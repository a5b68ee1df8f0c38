"""Calling an algorithm: `sarrus.aba(model, q, v, tau)`, for a single state, a batch or CasADi symbols.

Arguments are checked, by native code where a kernel is at hand: shapes, types, finite numbers, quaternions of length
one. What that declines, Python looks at: it converts what can be converted and explains the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.calls.defaults import planned_dynamics
from sarrus.calls.evaluator import evaluator_of
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.parameters import symbols_of
from sarrus.codegen.tape.trace import op_count, trace
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.model import Model, check_is_model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.registry.algorithm import AnyAlgorithm, ReadyCall, batch_size, install, interpreting
from sarrus.registry.table import check_model
from sarrus.spatial.parameter import is_casadi

_MOST_READY = 4  # calls of one algorithm, as of frames of one robot, that are looked through before any other


def call(algorithm: AnyAlgorithm, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an algorithm for arguments that are checked."""
    key = None
    if not kwargs or kwargs.keys() <= algorithm.option_names:
        cut = algorithm.first_option
        arrays, options = args[1:cut], args[cut:]
        try:
            key = algorithm.text, len(arrays), options, *kwargs.items()  # names may clash, texts do not
            key = *key, *map(type, options), *map(type, kwargs.values())  # 1 and True are equal
            evaluator = args[0].remembered.get(key)
        except (AttributeError, IndexError, TypeError):  # no model; an option that has no hash
            evaluator = key = None
        if evaluator is not None and evaluator.checked is not None and not interpreting.get():
            result = evaluator.checked(*arrays)  # native code; None: not exactly one valid state
            if result is not None:
                if all(type(x) is str for x in (*options, *kwargs.values())):
                    ready = ReadyCall(kwargs, len(arrays) if options else None, options, evaluator)
                    before = args[0].remembered.get(algorithm.text, ())
                    # (Plain tuples are quicker to take apart.)
                    args[0].remembered[algorithm.text] = tuple(ready), *before[: _MOST_READY - 1]
                return result if evaluator.wrap is None else evaluator.wrap(result)
            kernel = evaluator.kernel
            result = None if kernel is None else kernel.calls.of_valid(arrays)
            if result is not None:
                return result
    return _careful(algorithm, args, kwargs, key)


def _careful(algorithm: AnyAlgorithm, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
    arguments = algorithm.signature.bind(*args, **kwargs).arguments
    model = arguments.pop("model")
    check_is_model(algorithm.name, model)
    check_model(algorithm, model)
    given = {name: arguments[name] for name in algorithm.input_names if arguments.get(name) is not None}
    options = {name: x for name, x in arguments.items() if name not in algorithm.input_names}
    algorithm.check_given(given)
    if any(is_casadi(x) for x in given.values()) or not model.is_numeric:
        return _symbolic(model, algorithm, given, options)
    arrays, batch = check_arrays(model, algorithm, given)
    evaluator = evaluator_of(model, algorithm, tuple(arrays), options)
    result = algorithm.result(evaluator.run(model, arrays, batch))
    in_order = [name for name in algorithm.signature.parameters if name in algorithm.input_names][: len(given)]
    if key is not None and evaluator.kernel is not None and list(evaluator.kernel.input_names) == in_order:
        model.remembered[key] = evaluator
    return result


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


def _symbolic(model: Model, algorithm: AnyAlgorithm, given: dict[str, Any], options: dict[str, Any]) -> Any:
    import casadi as ca

    if not any(isinstance(x, ca.MX) for x in given.values()):
        return algorithm.result(_expressions(model, algorithm, given, options))
    if not model.is_numeric:
        raise UnsupportedError(f"{algorithm.name}: a model of symbols takes SX, not MX")
    # MX has no elements to compute with: the same expressions of SX, called as a function.
    values = {name: ca.MX(x if is_casadi(x) else ca.DM(np.asarray(x, float))) for name, x in given.items()}
    symbols = {name: ca.SX.sym(name, x.shape[0], x.shape[1]) for name, x in values.items()}
    outputs = _expressions(model, algorithm, symbols, options)
    flat = [x for output in outputs for x in (output if isinstance(output, list) else [output])]
    found = iter(ca.Function(algorithm.name, list(symbols.values()), flat).call(list(values.values())))
    return algorithm.result([[next(found) for _ in x] if isinstance(x, list) else next(found) for x in outputs])


def _expressions(model: Model, algorithm: AnyAlgorithm, given: dict[str, Any], options: dict[str, Any]) -> list[Any]:
    """The outputs as expressions of SX, or lists of them."""
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
    return [_casadi_matrix(x, port.shape) for x, port in zip(values, tape.outputs, strict=True)]


def _casadi_matrix(values: list, shape: tuple[int, ...]) -> Any:
    import casadi as ca

    if len(shape) == 3:  # a list of matrices: CasADi has no third dimension
        size = shape[1] * shape[2]
        return [_casadi_matrix(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]
    flat = ca.vertcat(*values) if values else ca.SX(0, 1)
    return ca.reshape(flat, shape[1], shape[0]).T if len(shape) == 2 else flat


def install_verbs() -> None:
    install(call=call, op_count=op_count, compile=_compile, planned_dynamics=planned_dynamics)


def _compile(*args: Any, **options: Any) -> Any:
    from sarrus.codegen.runtime.compile import compile  # native code is imported when it is needed

    return compile(*args, **options)
