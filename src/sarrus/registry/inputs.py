"""The arrays that algorithms take: their names, their shapes for a model, which may be left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Input:
    """An array that an algorithm takes. An optional one may be left out, which means zero."""

    name: str
    optional: bool
    size: tuple[int, ...] | None = None  # its shape, where the name does not tell
    instead_of: str | None = None  # the input that it takes the place of

    def shape(self, model: Model) -> tuple[int, ...]:
        return _SHAPES[self.name](model) if self.size is None else self.size


def declared(names: tuple[str, ...]) -> tuple[Input, ...]:
    """What names declare: q is needed, k? optional, v|yd one of the two."""
    found: list[Input] = []
    for name, *others in (text.split("|") for text in names):
        found += [Input(name.rstrip("?"), name.endswith("?")), *(Input(x, True, instead_of=name) for x in others)]
    return tuple(found)
