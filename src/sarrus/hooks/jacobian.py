"""The derivatives of a kernel as other libraries want them: matrices, with respect to components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.tape.derivative import beside_values
from sarrus.codegen.tape.tangent_space import is_configuration, tangent_shape
from sarrus.codegen.tape.tape import Port
from sarrus.hooks.components import components_are_tangents, maps_kernel
from sarrus.model.model import Model
from sarrus.once import cached_property
from sarrus.registry.algorithm import AnyAlgorithm

Matrices = dict[tuple[int, str], Any]  # by number of the output and name of the input: (..., output, input), flat
Call = Callable[[Kernel, Any], Any]  # what runs a kernel on arrays of the other library
_NUMBERS = ("alive", "worst_status", "step", "dt")  # inputs of a step that nothing varies with


class Jacobian:
    """What varies with what, computed when it is asked for. Kernels are compiled once per choice of inputs."""

    def __init__(self, model: Model, algorithm: AnyAlgorithm, kernel: Kernel, asked: dict[str, Any]) -> None:
        self._model, self._algorithm, self._kernel, self._asked = model, algorithm, kernel, asked
        self._kernels: dict[tuple[str, ...], Kernel] = {}
        self._plain = components_are_tangents(model)

    @property
    def inputs(self) -> tuple[str, ...]:
        """With which results can vary."""
        return tuple(name for name in self._kernel.input_names if name not in _NUMBERS)

    def kernel(self, wrt: tuple[str, ...]) -> Kernel:
        """That of the values and of their derivatives, in tangent spaces."""
        if wrt not in self._kernels:
            how = self._asked | beside_values(self._algorithm)
            self._kernels[wrt] = compile(
                self._model, self._algorithm, dtype=self._kernel.dtype, derivative="jacobian", wrt=wrt, **how
            )
        return self._kernels[wrt]

    @cached_property
    def maps(self) -> Kernel:
        return maps_kernel(self._model, self._kernel.dtype)

    def matrices(self, wrt: tuple[str, ...], arrays: Any, call: Call, multiply: Callable[[Any, Any], Any]) -> Matrices:
        """Of all outputs that have derivatives. `multiply`: matrices of the other library."""
        if not wrt:
            return {}
        kernel, tape = self.kernel(wrt), self._kernel.tape
        found = dict(zip(kernel.output_names, call(kernel, arrays), strict=True))
        given = dict(zip(self._kernel.input_names, arrays, strict=True))
        batch = arrays[0].shape[: len(arrays[0].shape) - len(tape.inputs[0].shape)]
        varied = {port.name: port for port in tape.inputs if port.name in wrt}
        tangents = {name: self._map(call, given[name], 1) for name, port in varied.items() if self._turns(port)}
        out: Matrices = {}
        for number, port in enumerate(tape.outputs):
            rates = self._map(call, found[port.name], 0) if self._turns(port) else None
            for name, other in varied.items():
                J = found.get(f"d{port.name}_d{name}")
                if J is None:
                    continue
                J = J.reshape(*batch, self._size(port), self._size(other))
                J = multiply(J, tangents[name]) if name in tangents else J
                out[number, name] = J if rates is None else multiply(rates, J)
        return out

    def _map(self, call: Call, q: Any, which: int) -> Any:
        return call(self.maps, (q,))[which]

    def _turns(self, port: Port) -> bool:
        """Whether an array's components are not its tangents."""
        return not self._plain and is_configuration(self._model, port)

    def _size(self, port: Port) -> int:
        size = 1
        for extent in tangent_shape(self._model, port):
            size *= extent
        return size
