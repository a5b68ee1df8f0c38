"""An algorithm along many states: energies of a trajectory, closure errors of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.trace import trace
from sarrus.model.model import Model
from sarrus.registry.table import Algorithm
from sarrus.spatial.arrays import Array

_WORTH_COMPILING = 20_000_000  # operations in all; fewer take the tape a second or two
_CHUNK = 512  # states per NumPy call


def along(model: Model, method: str | Algorithm, arrays: dict[str, Array], **options: Any) -> dict[str, Array]:
    """Outputs by name; inputs and outputs have any number of leading dimensions, the same for all.

    Few states run the tape with NumPy, many a compiled kernel.
    """
    names = tuple(arrays)
    tape = trace(model, method, inputs=names, **options)
    shapes = {port.name: port.shape for port in tape.inputs}
    lead = next(x.shape[: x.ndim - len(shapes[name])] for name, x in arrays.items())
    flat = {name: np.ascontiguousarray(x, dtype=float).reshape(-1, *shapes[name]) for name, x in arrays.items()}
    count = len(next(iter(flat.values())))
    if count * tape.op_count.total > _WORTH_COMPILING:
        kernel = compile(model, method, inputs=names, **options)
        result = kernel(*(flat[port.name] for port in tape.inputs))
        values = result if isinstance(result, tuple) else (result,)
        return {p.name: x.reshape(*lead, *p.shape) for p, x in zip(tape.outputs, values, strict=True)}
    outputs = {port.name: np.empty((count, port.size)) for port in tape.outputs}
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        columns = [flat[p.name].reshape(count, p.size)[start:stop].T for p in tape.inputs]
        with np.errstate(all="ignore"):  # a state that is not finite stays alone with it
            values = interpret.run(tape, columns)
        for port, found in zip(tape.outputs, values, strict=True):
            for k, x in enumerate(found):
                outputs[port.name][start:stop, k] = x
    return {p.name: outputs[p.name].reshape(*lead, *p.shape) for p in tape.outputs}


def closure_error(model: Model, q: Array) -> Array:
    """The largest closure error (metres, radians) of every configuration in q (..., nq)."""
    if not model.spanning.active_constraints:
        return np.zeros(q.shape[:-1])
    return along(model, "project", {"q": q}, max_iterations=0)["error"]
