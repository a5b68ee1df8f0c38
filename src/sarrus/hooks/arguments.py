"""What kernels take, as arrays of other libraries: named once each, of the right shape and type, batches that agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError


def in_order(kernel: Kernel, given: Sequence[Any], named: dict[str, Any], what: str) -> list[Any]:
    """Arguments by place and by name, in the order of the kernel's inputs."""
    names = kernel.input_names
    found = dict(zip(names, given, strict=False)) | named
    if len(given) + len(named) != len(names) or set(found) != set(names):
        raise StateError(
            f"{kernel.method} takes {', '.join(names)}, each once; got {len(given)} {what} and {list(named)}"
        )
    return [found[name] for name in names]


def checked(
    kernel: Kernel,
    arrays: Sequence[Any],
    kind: Any,
    convert: Callable[[Any], Any],
    fault: Callable[[Any], str],
    expand: Callable[[Any, tuple[int, ...]], Any],
) -> list[Any]:
    """Arrays with the same leading dimensions; else errors in words. They may have symbols in place of numbers.

    kind     the type that they must have, as the library names it
    convert  what is no array of the library becomes one
    fault    what else is wrong with one, and what to do; "" if nothing is
    expand   repeats an array to a shape
    """
    ports, ready, leading = kernel.tape.inputs, [], []
    for port, given in zip(ports, arrays, strict=True):
        try:
            x = convert(given)
        except (TypeError, ValueError, RuntimeError):
            raise StateError(f"{kernel.method}: {port.name} is {given!r}: expected numbers, {port.shape}") from None
        shape = tuple(x.shape)
        said = f"{kernel.method}: {port.name} is {x.dtype} of shape {shape}; expected {kind} of shape {port.shape}"
        if len(shape) < len(port.shape) or shape[len(shape) - len(port.shape) :] != port.shape:
            raise StateError(f"{said}, or with more dimensions before")
        if wrong := fault(x):
            raise StateError(f"{said}{wrong}")
        ready.append(x)
        leading.append(shape[: len(shape) - len(port.shape)])
    try:
        common = np.broadcast_shapes(*leading)
    except ValueError:
        names = ", ".join(f"{p.name} {s}" for p, s in zip(ports, leading, strict=True))
        raise StateError(f"{kernel.method}: leading dimensions do not match: {names}") from None
    return [expand(x, (*common, *p.shape)) for x, p in zip(ready, ports, strict=True)]
