"""The derivatives of a kernel, as the other libraries want them: matrices with respect to components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.hooks.components import CONFIGURATIONS, components_are_tangents, maps_kernel
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm

Matrices = dict[tuple[int, str], Any]  # by number of the output and name of the input: (..., output, input), flat


class Jacobian:
    """What varies with what, computed when it is asked for. Kernels are compiled once per choice of inputs."""

    def __init__(self, model: Model, algorithm: AnyAlgorithm, kernel: Kernel, asked: dict[str, Any]) -> None:
        self._model, self._algorithm, self._kernel, self._asked = model, algorithm, kernel, asked
        self._kernels: dict[tuple[str, ...], Kernel] = {}

    def kernel(self, wrt: tuple[str, ...]) -> Kernel:
        if wrt not in self._kernels:
            self._kernels[wrt] = compile(
                self._model, self._algorithm, dtype=self._kernel.dtype, derivative="jacobian", wrt=wrt, **self._asked
            )
        return self._kernels[wrt]

    def matrices(
        self,
        wrt: tuple[str, ...],
        arrays: Any,
        call: Callable[[Kernel, Any], Any],
        multiply: Callable[[Any, Any], Any],
    ) -> Matrices:
        """Of all outputs that have derivatives. `call` runs a kernel on arrays of the library, `multiply` multiplies
        its matrices.
        """
        outputs = self._kernel.tape.outputs
        if not wrt:
            return {}
        kernel = self.kernel(wrt)
        found = dict(zip(kernel.output_names, call(kernel, arrays), strict=True))
        by_name = dict(zip(self._kernel.input_names, arrays, strict=True))
        sizes = {port.name: port.size for port in self._kernel.tape.inputs}
        maps: dict[str, Any] = {}
        if not components_are_tangents(self._model):
            maps = {name: self._tangents(x, call) for name, x in by_name.items() if name in wrt and name in CONFIGURATIONS}
        out: Matrices = {}
        for number, port in enumerate(outputs):
            for name in wrt:
                J = found.get(f"d{port.name}_d{name}")
                if J is None:
                    continue
                columns = self._model.nv if name in maps else sizes[name]
                batch = by_name[name].shape[: by_name[name].ndim - len(self._shape(name))]
                J = J.reshape(*batch, -1, columns)
                out[number, name] = multiply(J, maps[name]) if name in maps else J
        return out

    def _tangents(self, q: Any, call: Callable[[Kernel, Any], Any]) -> Any:
        kernel = maps_kernel(self._model, self._kernel.dtype)
        return call(kernel, (q,))[kernel.output_names.index("tangents")]

    def _shape(self, name: str) -> tuple[int, ...]:
        return next(port.shape for port in self._kernel.tape.inputs if port.name == name)
