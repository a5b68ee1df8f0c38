"""Kernels of what is asked about contacts apart from steps, one per model and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.simulation.step import kernel_algorithm


@per_model
def _kernels(model: Model) -> dict[tuple[Callable[..., Any], str], Kernel]:
    return {}


def kernel_of(model: Model, text: Callable[..., Any], inputs: tuple[str, ...], **options: Any) -> Kernel:
    """The kernel of a text whose arrays are known by their names, for these options: compiled when first asked for."""
    known, key = _kernels(model), (text, repr(options))
    if key not in known:
        known[key] = compile(model, kernel_algorithm(text, dict.fromkeys(inputs), tuple(options)), **options)
    return known[key]
