"""The catalog of all algorithms, by name. The CLI, the docs and the tests read it; none knows an algorithm by name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from sarrus.errors import unknown_name
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, P, R
from sarrus.registry.features import Feature
from sarrus.registry.inputs import Input, inputs_of

__all__ = ["FAMILIES", "Algorithm", "Input", "algorithm", "catalog", "find"]

FAMILIES = ("tree", "position", "constrained", "embedded", "delassus")  # the rooms of `algorithms/`, in order

_entered: dict[str, AnyAlgorithm] = {}


def algorithm(
    *,
    cost: str,
    outputs: str | None = None,
    references: tuple[str, ...] = (),
    supports: Feature = Feature.MULTI_DOF,
    ignores: Feature | None = None,
    needs: Feature = Feature.NOTHING,
    structural: bool = False,
) -> Callable[[Callable[P, R]], Algorithm[P, R]]:
    """Enter a function into the catalog and make it an `Algorithm`: its arrays are inputs, other parameters options.

    outputs   the name of the array that it returns; default: it returns a NamedTuple, whose fields are the names
    supports  what of a model it takes into account; `needs`: what a model must have
    ignores   what of a model makes no difference to it. Default: all constraints, for one that supports none of them
    """
    supports |= needs
    if ignores is None:
        ignores = Feature.NOTHING if supports & (Feature.ROWS | Feature.EMBEDDED) else Feature.BESIDE_TREE

    def enter(text: Callable[P, R]) -> Algorithm[P, R]:
        inputs = inputs_of(text)
        options = tuple(name for name in signature(text).parameters if name not in ("model", *(x.name for x in inputs)))
        _entered[text.__name__] = made = Algorithm(
            text.__name__, text, inputs, outputs, options, cost, references, supports, ignores, needs, structural
        )
        return made

    return enter


def catalog() -> dict[str, AnyAlgorithm]:
    """Every algorithm, by name: `.cost`, `.supports`, `.summary`, `.op_count(model)`, `.compile(model)`, ..."""
    families = [*FAMILIES, *(x.family for x in _entered.values())]  # those of users come last
    return dict(sorted(_entered.items(), key=lambda item: (families.index(item[1].family), item[0])))


def find(name: str | AnyAlgorithm) -> AnyAlgorithm:
    """The algorithm of that name; the error for an unknown one lists the valid ones. An algorithm is its own."""
    if isinstance(name, Algorithm):
        return name
    if name not in _entered:
        raise unknown_name("algorithm", name, catalog())
    return _entered[name]
