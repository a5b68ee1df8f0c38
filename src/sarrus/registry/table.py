"""What there is to compute, as data.

Every algorithm is a plain function of a model and unbatched arrays. `@algorithm` enters it here with the names of its
inputs and outputs and with what it supports. The eager calls, the tracer, the compiler, the CLI, the docs and the test
matrix all read this table; none of them knows an algorithm by name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, TypeVar

from sarrus.errors import unknown_name
from sarrus.registry.entry import Algorithm, Input, ports_of, with_whole_numbers

__all__ = ["Algorithm", "Input", "algorithm", "algorithms", "entry_of", "find", "with_whole_numbers"]

Function = TypeVar("Function", bound=Callable[..., Any])

_ALGORITHMS: dict[str, Algorithm] = {}

_MODULES = {
    "tree": (
        "forward_kinematics", "frame_jacobian", "frame_jacobian_bias", "rnea", "crba", "aba", "gravity_forces",
        "bias_forces", "energy", "center_of_mass", "centroidal_momentum", "centroidal_momentum_matrix",
    ),
    "position": ("closure", "project"),
    "constrained": (
        "pv", "pv_early", "pv_soft", "ltl", "ltl_soft", "prox_pv", "constrained_aba", "lcaba", "prox_ltl", "prox_bbo",
        "bbo",
    ),
    "embedded": ("ce_aba", "ce_rnea", "ce_bias_forces", "ce_crba", "expand", "reduce"),
    "delassus": ("ltl_osim", "kjr", "efpa", "pv_osim", "pv_osim_fast", "pv_osimr"),
}  # fmt: skip


def algorithm(
    *,
    inputs: tuple[str, ...],
    outputs: str | None,
    cost: str,
    references: tuple[str, ...] = (),
    supports: tuple[str, ...] = (),
    family: str = "tree",
    structural: bool = False,
) -> Callable[[Function], Function]:
    """Enter a function into the table. A trailing "?" marks an optional input, "a|b" one of two; other parameters are
    fixed options.
    """

    def enter(function: Function) -> Function:
        ports = tuple(port for name in inputs for port in ports_of(name))
        array_names = {port.name for port in ports}
        parameters = list(signature(function).parameters.values())[1:]
        options = tuple(p.name for p in parameters if p.name not in array_names and p.kind is not Parameter.VAR_KEYWORD)
        name = function.__name__
        _ALGORITHMS[name] = Algorithm(
            name, function, ports, outputs, options, cost, references, supports, family, structural
        )
        return function

    return enter


def entry_of(function: Callable[..., Any]) -> Algorithm:
    """The entry of a decorated function."""
    return _ALGORITHMS[function.__name__]


def find(name: str | Algorithm) -> Algorithm:
    """The entry of that name; the error for an unknown one lists the valid ones. An entry is its own."""
    if isinstance(name, Algorithm):
        return name
    table = algorithms()
    if name not in table:
        raise unknown_name("algorithm", name, table)
    return table[name]


def algorithms() -> dict[str, Algorithm]:
    """The whole table, in order."""
    for room, names in _MODULES.items():
        for name in names:
            import_module(f"sarrus.algorithms.{room}.{name}")
    return {name: _ALGORITHMS[name] for names in _MODULES.values() for name in names}
