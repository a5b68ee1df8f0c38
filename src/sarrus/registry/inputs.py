"""The arrays that algorithms take: their names, their shapes for a model, which may be left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from sarrus.errors import StateError
from sarrus.model.independent import independent_positions
from sarrus.model.model import Model

_SHAPES: dict[str, Callable[[Model], tuple[int, ...]]] = {
    "q": lambda model: (model.nq,),
    "v": lambda model: (model.nv,),
    "a": lambda model: (model.nv,),
    "tau": lambda model: (model.nv,),
    "external_forces": lambda model: (model.nb, 6),
    "k": lambda model: (model.n_input_rows,),
    "forces0": lambda model: (model.n_rows,),
    "rhs": lambda model: (model.n_rows,),
    "held": lambda model: (model.nv,),
    "y": lambda model: (len(independent_positions(model)),),
    "near": lambda model: (model.nq,),
    "yd": lambda model: (model.ny,),
    "ydd": lambda model: (model.ny,),
    "tau_y": lambda model: (model.ny,),
}
_INSTEAD_OF = {"yd": "v", "ydd": "a", "tau_y": "tau"}


@dataclass(frozen=True)
class Input:
    """An array that an algorithm takes. An optional one may be left out, which means zero."""

    name: str
    optional: bool
    size: tuple[int, ...] | None = None  # its shape, where the name does not tell
    instead_of: str | None = None  # the input that it takes the place of

    def shape(self, model: Model) -> tuple[int, ...]:
        return _SHAPES[self.name](model) if self.size is None else self.size


def inputs_of(text: Callable[..., Any]) -> tuple[Input, ...]:
    """The arrays among a function's parameters, by their names; those with a default may be left out.

    Where both are parameters, one of `v` and `yd` is needed: independent velocities may stand in for all of them.
    """
    parameters, found = signature(text).parameters, []
    stand_in = {other: name for name, other in _INSTEAD_OF.items() if name in parameters}
    for name in parameters:
        if name in _SHAPES and _INSTEAD_OF.get(name) not in parameters:
            optional = parameters[name].default is None and name not in stand_in
            found += [Input(name, optional), *([Input(stand_in[name], True, None, name)] if name in stand_in else ())]
    return tuple(found)


def batch_size(sizes: dict[str, int]) -> int | None:
    """How many states arrays have, by name, of those that have several; None: each has one."""
    if len(set(sizes.values())) > 1:
        raise StateError(f"batches of different sizes: {', '.join(f'{k} has {n}' for k, n in sizes.items())}")
    return next(iter(sizes.values()), None)
