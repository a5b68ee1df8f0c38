"""An algorithm at many states: energies of a trajectory, closure errors of a batch, projections of random states."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.calls.eager import run_tape
from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.tape.trace import trace
from sarrus.model.model import Model
from sarrus.registry.table import Algorithm, find
from sarrus.spatial.arrays import Array

_FEW = 3  # states that the text of an algorithm does sooner than it is traced
_MANY_ITERATIONS = 200  # of the text, in all: as long as compiling takes
_MANY_OPERATIONS = 20_000_000  # of a tape in NumPy: a second or two


class BatchEvaluator:
    """An algorithm of one model on arrays of states: interpreted as long as that costs less than compiling.

    iterates  whether it takes many passes: then few states run its text, more of them a kernel, which is kept.
              Otherwise NumPy runs its tape, and a kernel serves for many states
    """

    def __init__(
        self, model: Model, method: str | Algorithm, inputs: tuple[str, ...], iterates: bool = False, **options: Any
    ) -> None:
        self.model, self.entry, self.inputs, self.options = model, find(method), inputs, options
        self.iterates = iterates
        self._kernel: Kernel | None = None
        self._iterations = 0

    def __call__(self, **arrays: Array) -> dict[str, Array]:
        """Outputs by name; inputs and outputs have any number of leading dimensions, the same for all."""
        shapes = {port.name: port.shape(self.model) for port in self.entry.inputs}
        first = self.inputs[0]
        lead = arrays[first].shape[: arrays[first].ndim - len(shapes[first])]
        flat = {n: np.ascontiguousarray(arrays[n], dtype=float).reshape(-1, *shapes[n]) for n in self.inputs}
        with np.errstate(all="ignore"):  # a state that is not finite does not disturb the others
            found = self._evaluate(flat, len(flat[first]))
        return {name: x.reshape(*lead, *x.shape[1:]) for name, x in found.items()}

    def _evaluate(self, arrays: dict[str, Array], count: int) -> dict[str, Array]:
        if self._kernel is None:
            if not self.iterates:
                tape = trace(self.model, self.entry, inputs=self.inputs, **self.options)
                if count * tape.op_count.total <= _MANY_OPERATIONS:
                    return dict(zip(self.entry.output_names, run_tape(tape, arrays, count), strict=True))
            elif 0 < count <= _FEW and self._iterations <= _MANY_ITERATIONS:
                return self._run_text(arrays, count)
            self._kernel = compile(self.model, self.entry, inputs=self.inputs, **self.options)
        result = self._kernel(*(arrays[name] for name in self._kernel.input_names))
        values = result if isinstance(result, tuple) else (result,)
        return dict(zip(self._kernel.output_names, values, strict=True))

    def _run_text(self, arrays: dict[str, Array], count: int) -> dict[str, Array]:
        results = []
        for k in range(count):
            result = self.entry.text(self.model, **{n: x[k] for n, x in arrays.items()}, **self.options)
            results.append({self.entry.outputs: result} if self.entry.outputs is not None else result._asdict())
        self._iterations += sum(1 + int(result.get("iterations", 0)) for result in results)
        return {name: np.array([np.asarray(result[name], float) for result in results]) for name in results[0]}


def evaluate(model: Model, method: str | Algorithm, arrays: dict[str, Array], **options: Any) -> dict[str, Array]:
    """An algorithm, once, at the states in these arrays; outputs by name."""
    return BatchEvaluator(model, method, tuple(arrays), **options)(**arrays)
