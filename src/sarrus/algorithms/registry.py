"""What there is to compute, as data.

Every algorithm is a plain function of a model and unbatched arrays. `@algorithm` enters it here with the names of its
inputs and outputs and with what it supports. The eager calls, the tracer, the compiler, the CLI, the docs and the test
matrix all read this table; none of them knows an algorithm by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, TypeVar, get_type_hints

from sarrus.errors import IllPosedError, unknown_name
from sarrus.model.model import Model

Function = TypeVar("Function", bound=Callable[..., Any])

_SHAPES: dict[str, Callable[[Model], tuple[int, ...]]] = {
    "q": lambda model: (model.nq,),
    "v": lambda model: (model.nv,),
    "a": lambda model: (model.nv,),
    "tau": lambda model: (model.nv,),
    "external_forces": lambda model: (model.nb, 6),
    "k": lambda model: (model.n_input_rows,),
    "forces0": lambda model: (model.n_rows,),
    "rhs": lambda model: (model.n_rows,),
}


@dataclass(frozen=True)
class Input:
    """An array that an algorithm takes. An optional one may be left out, which means zero."""

    name: str
    optional: bool

    def shape(self, model: Model) -> tuple[int, ...]:
        return _SHAPES[self.name](model)


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

    @property
    def result_type(self) -> type:
        """The NamedTuple that the function returns (for algorithms with several outputs)."""
        return get_type_hints(self.function)["return"]

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]

    def check_model(self, model: Model) -> None:
        """Accelerations of a model in which some joint moves no inertia are undefined: an error, not infinity."""
        if model.ill_posed and (self.name == "aba" or self.family != "tree"):
            raise IllPosedError(f"{self.name}: {model.ill_posed}")

    def check_options(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in self.options:
                raise unknown_name(f"option of {self.name}:", name, self.options)


_ALGORITHMS: dict[str, Algorithm] = {}

_MODULES = (
    "forward_kinematics", "frame_jacobian", "frame_jacobian_bias", "rnea", "crba", "aba", "gravity_forces",
    "bias_forces", "energy", "center_of_mass", "centroidal_momentum", "centroidal_momentum_matrix", "closure",
    "pv", "pv_early", "pv_soft", "ltl", "ltl_soft", "prox_pv", "constrained_aba", "lcaba", "prox_ltl", "prox_bbo",
    "bbo", "ltl_osim", "kjr", "efpa", "pv_osim", "pv_osim_fast", "pv_osimr",
)  # fmt: skip


def algorithm(
    *,
    inputs: tuple[str, ...],
    outputs: str | None,
    cost: str,
    references: tuple[str, ...] = (),
    supports: tuple[str, ...] = (),
    family: str = "tree",
) -> Callable[[Function], Function]:
    """Enter a function into the table. A trailing "?" marks an optional input; other parameters are fixed options."""

    def enter(function: Function) -> Function:
        ports = tuple(Input(name.rstrip("?"), name.endswith("?")) for name in inputs)
        array_names = {port.name for port in ports}
        parameters = list(signature(function).parameters.values())[1:]
        options = tuple(p.name for p in parameters if p.name not in array_names and p.kind is not Parameter.VAR_KEYWORD)
        name = function.__name__
        _ALGORITHMS[name] = Algorithm(name, function, ports, outputs, options, cost, references, supports, family)
        return function

    return enter


def entry_of(function: Callable[..., Any]) -> Algorithm:
    """The entry of a decorated function."""
    return _ALGORITHMS[function.__name__]


def find(name: str) -> Algorithm:
    """The entry of that name; the error for an unknown one lists the valid ones."""
    table = algorithms()
    if name not in table:
        raise unknown_name("algorithm", name, table)
    return table[name]


def algorithms() -> dict[str, Algorithm]:
    """The whole table, in order."""
    for module in _MODULES:
        import_module(f"sarrus.algorithms.{module}")
    return {name: _ALGORITHMS[name] for name in _MODULES if name in _ALGORITHMS}
