"""`function`: an algorithm on a robot as a JAX function, native code called by XLA."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import UnsupportedError
from sarrus.hooks.arguments import checked, in_order
from sarrus.hooks.jacobian import Jacobian
from sarrus.hooks.jax.call_frame import jax_package
from sarrus.hooks.jax.handler import target_of
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.registry.table import find


def function(
    model: Model,
    method: str | AnyAlgorithm = "aba",
    *,
    dtype: Any = None,
    external_forces: bool = False,
    inputs: tuple[str, ...] | None = None,
    **options: Any,
) -> Function:
    """An algorithm on this robot as a function of JAX arrays, for jit, vmap, scan, grad, jacfwd and jacrev.

    dtype  float64 or float32; default: as `jax_enable_x64` says. Other arguments as those of `sarrus.compile`

    Arrays are (n,), or (..., n) for many states, which one call of the batched kernel computes; so does `vmap`. Results
    have the kernel's bits. Derivatives with respect to q are those with respect to its components, see
    `sarrus/hooks/components.py`; results that are statuses and counts have none.

    >>> f = sarrus.jax.function(model, "aba")
    >>> jax.jit(jax.vmap(f))(q, v, tau)
    """
    jax = jax_package()
    kind = np.dtype(dtype or ("float64" if jax.config.jax_enable_x64 else "float32"))
    if kind == np.float64 and not jax.config.jax_enable_x64:
        raise UnsupportedError('float64 in JAX needs jax.config.update("jax_enable_x64", True), before arrays are made')
    algorithm = find(method)
    asked: dict[str, Any] = {"external_forces": external_forces, "inputs": inputs, **options}
    kernel = compile(model, algorithm, dtype=kind, **asked)
    return Function(kernel, algorithm, Jacobian(model, algorithm, kernel, asked))


class Function:
    """A kernel as a function of JAX arrays."""

    def __init__(self, kernel: Kernel, algorithm: AnyAlgorithm, jacobian: Jacobian) -> None:
        self.kernel, self._algorithm = kernel, algorithm
        self._call = differentiable(kernel, jacobian)

    def __repr__(self) -> str:
        return f"<sarrus.jax.Function {', '.join(self.kernel.input_names)} -> {', '.join(self.kernel.output_names)}>"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """What the algorithm gives for arrays in the order of the kernel's inputs, or by name."""
        kernel = self.kernel
        results = self._call(*arrays_of(kernel, in_order(kernel, arrays, named, "arrays")))
        whole = self._algorithm.whole_numbers
        pairs = zip(kernel.output_names, results, strict=True)
        values = [x.astype("int32") if name in whole else x for name, x in pairs]
        return self._algorithm.result(values)


def differentiable(kernel: Kernel, jacobian: Jacobian) -> Any:
    """The call of a kernel, with a rule for its derivatives: how results vary, times what varies."""
    jax = jax_package()
    jnp, zero = jax.numpy, jax.custom_derivatives.SymbolicZero

    @jax.custom_jvp
    def call(*arrays: Any) -> Any:
        return native(kernel, arrays)

    def rule(primals: Any, tangents: Any) -> Any:
        pairs = zip(kernel.input_names, tangents, strict=True)
        moving = {name: dx for name, dx in pairs if name in jacobian.inputs and not isinstance(dx, zero)}
        values = call(*primals)
        changes = [jnp.zeros_like(x) for x in values]
        matrices = jacobian.matrices(tuple(moving), primals, lambda k, x: refusing(k)(*x), jnp.matmul)
        for (output, name), J in matrices.items():
            dx = moving[name].reshape(*J.shape[:-2], -1, 1)
            changes[output] = changes[output] + jnp.matmul(J, dx).reshape(changes[output].shape)
        return values, tuple(changes)

    call.defjvp(rule, symbolic_zeros=True)
    return call


def arrays_of(kernel: Kernel, given: list[Any]) -> list[Any]:
    """Arrays of the kernel's type, with the same leading dimensions; errors in words while JAX traces."""
    jax = jax_package()
    jnp = jax.numpy

    def convert(x: Any) -> Any:
        return x if isinstance(x, jax.Array) else jnp.asarray(x, kernel.dtype)

    def fault(x: Any) -> str:
        if x.dtype == kernel.dtype:
            return ""
        return f": convert it, or ask for a function with dtype={str(x.dtype)!r}"

    return checked(kernel, given, kernel.dtype, convert, fault, jnp.broadcast_to)


def native(kernel: Kernel, arrays: Any) -> tuple[Any, ...]:
    """The kernel's outputs, by native code."""
    jax = jax_package()
    first = kernel.tape.inputs[0]
    batch = arrays[0].shape[: arrays[0].ndim - len(first.shape)]
    shapes = [jax.ShapeDtypeStruct((*batch, *port.shape), kernel.dtype) for port in kernel.tape.outputs]
    return tuple(jax.ffi.ffi_call(target_of(kernel), shapes, vmap_method="broadcast_all")(*arrays))


def refusing(kernel: Kernel) -> Any:
    """The call of a kernel that has no derivatives itself."""

    @jax_package().custom_jvp
    def last(*arrays: Any) -> Any:
        return native(kernel, arrays)

    @last.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        raise UnsupportedError(
            f"{kernel.method}: this has no derivatives (of derivatives there are none, nor of projections)"
        )

    return last
