"""One entry of the registry: what an algorithm takes and gives, as data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np

from sarrus.errors import IllPosedError, StateError, UnsupportedError, unknown_name
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


_WHOLE = ("status", "iterations", "fallback")  # outputs that are whole numbers


def with_whole_numbers(which: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """The values of some outputs as integers, of one state or of many (a status is a `sarrus.Status`)."""
    out = list(values)
    for k in which:
        if np.ndim(out[k]):
            out[k] = out[k].astype(np.int32)
        else:
            out[k] = int(out[k])
    return out


@dataclass(frozen=True)
class Input:
    """An array that an algorithm takes. An optional one may be left out, which means zero."""

    name: str
    optional: bool
    size: tuple[int, ...] | None = None  # its shape, where the name does not tell
    instead_of: str | None = None  # the input that it takes the place of

    def shape(self, model: Model) -> tuple[int, ...]:
        return _SHAPES[self.name](model) if self.size is None else self.size


@dataclass(frozen=True)
class Algorithm:
    """One entry of the table. `outputs` is None when the result is a NamedTuple, whose fields are the names."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[Input, ...]
    outputs: str | None
    options: tuple[str, ...]
    cost: str
    references: tuple[str, ...]
    supports: tuple[str, ...]
    family: str  # "tree", "constrained dynamics" or "delassus"
    structural: bool = False  # whether what it does depends on which elements are zero in every state of the robot

    @property
    def result_type(self) -> type:
        """The NamedTuple that the function returns (for algorithms with several outputs)."""
        return get_type_hints(self.function)["return"]

    @property
    def whole_numbers(self) -> tuple[int, ...]:
        """Which of the outputs are statuses and counts."""
        if self.outputs is not None:
            return ()
        return tuple(k for k, name in enumerate(self.result_type._fields) if name in _WHOLE)  # type: ignore[attr-defined]

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    def check_model(self, model: Model) -> None:
        """Accelerations of a model in which some joint moves no inertia are undefined: an error, not infinity."""
        if model.ill_posed and (self.name == "aba" or self.family != "tree"):
            raise IllPosedError(f"{self.name}: {model.ill_posed}")
        if model.embedding is not None and self.name == "aba":
            raise UnsupportedError(
                f"aba is for trees of bodies, and {model.name!r} has embedded constraints: take ce_aba, or "
                f"`model.spanning`"
            )

    def check_given(self, names: Collection[str]) -> None:
        """Every array that the algorithm needs is there, and none in two forms."""
        stand_in = {
            port.name: port.instead_of for port in self.inputs if port.instead_of in {p.name for p in self.inputs}
        }
        for name, other in stand_in.items():
            if name in names and other in names:
                raise UnsupportedError(f"{self.name}: the inputs {other!r} and {name!r} say the same: give one of them")
        present = {*names, *(stand_in[name] for name in names if name in stand_in)}
        missing = [port.name for port in self.inputs if not port.optional and port.name not in present]
        if missing:
            said = ", ".join(names) or "none"
            raise StateError(f"{self.name}: the input {missing[0]!r} is missing; given: {said}. It needs " + self.needs)

    @property
    def needs(self) -> str:
        """The required inputs in words: "q, v or yd"."""
        stand_in = {port.instead_of: port.name for port in self.inputs if port.instead_of}
        required = [port.name for port in self.inputs if not port.optional]
        return ", ".join(f"{name} or {stand_in[name]}" if name in stand_in else name for name in required)

    def check_options(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in self.options:
                raise unknown_name(f"option of {self.name}:", name, self.options)


def ports_of(declared: str) -> list[Input]:
    """What a name declares: q is needed, k? optional, v|yd one of the two."""
    name, *others = declared.split("|")
    first = Input(name.rstrip("?"), name.endswith("?"))
    return [first, *(Input(other, True, instead_of=name) for other in others)]
