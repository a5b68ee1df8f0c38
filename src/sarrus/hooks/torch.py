"""Algorithms as PyTorch operators (`pip install "sarrus[torch]"`), on CPU tensors, without copies.

Each kernel is an operator of `torch.library`, `sarrus::NAME`, with what PyTorch asks of one: shapes without numbers
(for `torch.compile`), derivatives (for autograd), batches (for `vmap`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import UnsupportedError, optional_package
from sarrus.hooks.arguments import checked, in_order
from sarrus.hooks.jacobian import Jacobian
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.registry.table import find

__all__ = ["Function", "function"]

torch: Any = optional_package("torch", "sarrus.torch needs PyTorch", "'sarrus[torch]'")

_registered: dict[str, Any] = {}  # operators by name: PyTorch keeps them as long as the process lives


def function(
    model: Model,
    method: str | AnyAlgorithm = "aba",
    *,
    dtype: Any = "float64",
    external_forces: bool = False,
    inputs: tuple[str, ...] | None = None,
    **options: Any,
) -> Function:
    """An algorithm on this robot as a function of CPU tensors, for autograd, vmap and torch.compile.

    dtype  float64 or float32, of all tensors. Other arguments as those of `sarrus.compile`

    Tensors are (n,), or (..., n) for many states, which one call of the batched kernel computes. Derivatives with
    respect to q are those with respect to its components, see `sarrus/hooks/components.py`; results that are statuses
    and counts have none.

    >>> f = sarrus.torch.function(model, "aba")
    >>> f(q, v, tau).square().sum().backward()
    """
    algorithm = find(method)
    asked: dict[str, Any] = {"external_forces": external_forces, "inputs": inputs, **options}
    kernel = compile(model, algorithm, dtype=str(dtype).removeprefix("torch."), **asked)
    return Function(kernel, algorithm, Jacobian(model, algorithm, kernel, asked))


class Function:
    """A kernel as a function of tensors."""

    def __init__(self, kernel: Kernel, algorithm: AnyAlgorithm, jacobian: Jacobian) -> None:
        self.kernel, self._algorithm = kernel, algorithm
        self.operator, self._call = operator_of(kernel, jacobian), _call_of(kernel, jacobian)

    def __repr__(self) -> str:
        return f"<sarrus.torch.Function {', '.join(self.kernel.input_names)} -> {', '.join(self.kernel.output_names)}>"

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        """What the algorithm gives for tensors in the order of the kernel's inputs, or by name."""
        kernel = self.kernel
        ready = tensors_of(kernel, in_order(kernel, tensors, named, "tensors"))
        results = self._call(ready)
        whole = self._algorithm.whole_numbers
        pairs = zip(kernel.output_names, results, strict=True)
        return self._algorithm.result([x.to(torch.int32) if name in whole else x for name, x in pairs])


def operator_of(kernel: Kernel, jacobian: Jacobian | None) -> Any:
    """The kernel as an operator from a list of tensors, with equal leading dimensions, to a list of tensors.

    jacobian  its derivatives; None: it has none
    """
    what = f"{kernel.source_hash} {kernel.dtype} {kernel.native.lanes} {jacobian is not None}"
    name = f"{kernel.method}_{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    if name not in _registered:
        _registered[name] = _registered_operator(name, kernel, jacobian)
    return _registered[name]


def _registered_operator(name: str, kernel: Kernel, jacobian: Jacobian | None) -> Any:
    kind = getattr(torch, kernel.dtype.name)
    outputs, first = kernel.tape.outputs, kernel.tape.inputs[0]

    def run(tensors: list[Any]) -> list[Any]:
        arrays = [x.detach().contiguous().numpy() for x in tensors]
        batch = arrays[0].shape[: arrays[0].ndim - len(first.shape)]
        made = [torch.empty((*batch, *port.shape), dtype=kind) for port in outputs]
        count = math.prod(batch)
        if count:
            flat = [x.reshape(count, *p.shape) for x, p in zip(arrays, kernel.tape.inputs, strict=True)]
            rows = [x.numpy().reshape(count, *p.shape) for x, p in zip(made, outputs, strict=True)]
            kernel.native.run(flat, rows, count, kernel.calls.threads_for(count, None))
        return made

    schema = "(Tensor[] tensors) -> Tensor[]"
    made = torch.library.custom_op(f"sarrus::{name}", run, mutates_args=(), schema=schema, device_types="cpu")

    @made.register_fake
    def shapes(tensors: list[Any]) -> list[Any]:
        batch = tensors[0].shape[: tensors[0].ndim - len(first.shape)]
        return [tensors[0].new_empty((*batch, *port.shape)) for port in outputs]

    @made.register_vmap
    def batched(info: Any, in_dims: Any, tensors: list[Any]) -> tuple[list[Any], list[int]]:
        dims = in_dims[0] if isinstance(in_dims, tuple) else in_dims
        return made(_batch_first(info.batch_size, dims, tensors)), [0] * len(outputs)

    def remember(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[0])

    def backward(context: Any, gradients: list[Any]) -> list[Any]:
        return _pulled_back(kernel, jacobian, context.saved_tensors, gradients, context.needs_input_grad[0])

    made.register_autograd(backward, setup_context=remember)
    return made


def _is_transforming() -> bool:
    """Whether this is inside torch.func's grad, jacrev, vmap, ..."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def _call_of(kernel: Kernel, jacobian: Jacobian | None) -> Callable[[list[Any]], Any]:
    """The operator, or a stand-in where torch.func transforms it, which does not see what operators registered."""
    operator, count = operator_of(kernel, jacobian), len(kernel.tape.outputs)

    class Within(torch.autograd.Function):
        @staticmethod
        def forward(*tensors: Any) -> Any:
            return tuple(operator(list(tensors)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            found = _pulled_back(kernel, jacobian, ctx.saved_tensors, gradients, ctx.needs_input_grad)
            return tuple(found)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
            return Within.apply(*_batch_first(info.batch_size, in_dims, tensors)), (0,) * count

    return lambda tensors: Within.apply(*tensors) if _is_transforming() else operator(tensors)


def _batch_first(size: int, in_dims: Any, tensors: Any) -> list[Any]:
    """Tensors with the dimension of a vmap in front; those without one expanded."""
    return [
        x.unsqueeze(0).expand(size, *x.shape) if d is None else x.movedim(d, 0)
        for x, d in zip(tensors, in_dims, strict=True)
    ]


def _pulled_back(kernel: Kernel, jacobian: Jacobian | None, tensors: Any, gradients: Any, needed: Any) -> list[Any]:
    """Gradients of inputs, of those of outputs: their products with the Jacobians' rows."""
    if jacobian is None:
        raise UnsupportedError(f"{kernel.method}: second derivatives are not supported")
    wanted = [n for n, name in enumerate(kernel.input_names) if name in jacobian.inputs and needed[n]]
    names = tuple(kernel.input_names[n] for n in wanted)
    matrices = jacobian.matrices(names, list(tensors), lambda k, x: _call_of(k, None)(list(x)), torch.matmul)
    out: list[Any] = [None] * len(tensors)
    for (output, name), J in matrices.items():
        weights = gradients[output]
        if weights is None:
            continue
        n, port = kernel.input_names.index(name), kernel.tape.inputs[kernel.input_names.index(name)]
        batch = tensors[n].shape[: tensors[n].ndim - len(port.shape)]
        found = torch.matmul(weights.reshape(*batch, 1, J.shape[-2]), J).reshape(tensors[n].shape)
        out[n] = found if out[n] is None else out[n] + found
    return out


def tensors_of(kernel: Kernel, given: list[Any]) -> list[Any]:
    """Tensors of the kernel's type, on the CPU, with the same leading dimensions; else errors in words."""
    kind = getattr(torch, kernel.dtype.name)

    def convert(x: Any) -> Any:
        return x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=kind)

    def fault(x: Any) -> str:
        if x.layout != torch.strided:
            return f", dense: it is {x.layout}"
        if x.dtype == kind and x.device.type == "cpu":
            return ""
        return f" on the CPU, and it is on {x.device}: convert it, or ask for a function of another dtype"

    return checked(kernel, given, kind, convert, fault, lambda x, shape: x.expand(shape))
