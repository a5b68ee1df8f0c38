"""The catalog of all algorithms, by name; whether one can do a model; the publications behind it.

The CLI, the docs and the tests read the catalog; none knows an algorithm by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from pathlib import Path

from sarrus.errors import IllPosedError, UnsupportedError, unknown_name
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Implicit, Input, P, R, inputs_of
from sarrus.registry.features import Feature, found_in, kind_of

__all__ = ["FAMILIES", "Algorithm", "Input", "algorithm", "catalog", "find"]

FAMILIES = (
    "tree",
    "position",
    "constrained",
    "embedded",
    "delassus",
    "derivatives",
)  # the rooms of `algorithms/`, in order

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
    derivatives: str = "",
    inverse: str = "",
    implicit: Implicit | None = None,
    at_solution: Callable[..., tuple] | None = None,
    smallest_forces: bool = False,
) -> Callable[[Callable[P, R]], Algorithm[P, R]]:
    """Enter a function into the catalog and make it an `Algorithm`: its arrays are inputs, other parameters options.

    outputs   the name of the array that it returns; default: it returns a NamedTuple, whose fields are the names
    supports  what of a model it takes into account; `needs`: what a model must have
    ignores   what of a model makes no difference to it. Default: all constraints, for one that supports none of them
    derivatives, inverse  names of algorithms: see `codegen/tape/derivative.py`
    implicit  the equations that its values solve
    at_solution  of one that iterates: see `codegen/tape/at_solution.py`
    smallest_forces  whether redundant rows share a load by forces of the smallest norm
    """
    supports |= needs
    if ignores is None:
        ignores = Feature.NOTHING if supports & (Feature.ROWS | Feature.EMBEDDED) else Feature.BESIDE_TREE

    def enter(text: Callable[P, R]) -> Algorithm[P, R]:
        inputs = inputs_of(text)
        options = tuple(name for name in signature(text).parameters if name not in ("model", *(x.name for x in inputs)))
        _entered[text.__name__] = made = Algorithm(
            text.__name__,
            text,
            inputs,
            outputs,
            options,
            cost,
            references,
            supports,
            ignores,
            needs,
            structural,
            derivatives,
            inverse,
            implicit,
            at_solution,
            smallest_forces=smallest_forces,
        )
        return made

    return enter


def catalog() -> dict[str, AnyAlgorithm]:
    """Every algorithm, by name: `.cost`, `.supports`, `.summary`, `.op_count(model)`, `.compile(model)`, ...

    returns  algorithms by name, in the order of the rooms of `algorithms/`

    >>> sarrus.catalog()["aba"] is sarrus.aba
    True
    """
    families = [*FAMILIES, *(x.family for x in _entered.values())]  # those of users come last
    return dict(sorted(_entered.items(), key=lambda item: (families.index(item[1].family), item[0])))


def find(name: str | AnyAlgorithm) -> AnyAlgorithm:
    """The algorithm of that name; the error for an unknown one lists the valid ones. An algorithm is its own."""
    if isinstance(name, Algorithm):
        return name
    if name not in _entered:
        raise unknown_name("algorithm", name, catalog())
    return _entered[name]


def unknown_to(algorithm: AnyAlgorithm, model: Model, strict: bool = False) -> Feature:
    """What the model has and the algorithm does not know; if `strict`, also what it ignores."""
    return found_in(model) & ~(algorithm.supports if strict else algorithm.supports | algorithm.ignores)


def check_model(algorithm: AnyAlgorithm, model: Model, strict: bool = False) -> None:
    """An error in words that names the culprit and what does it instead, unless the algorithm can do this model."""
    unknown, name = unknown_to(algorithm, model, strict), algorithm.name
    if Feature.MASSLESS in unknown:
        raise IllPosedError(f"{name}: {model.ill_posed}")
    if Feature.EMBEDDED in algorithm.needs and model.embedding is None:
        raise UnsupportedError(
            f"{name} needs a model with embedded constraints, and {model.name!r} has none. "
            f"`sarrus.embed(model)` embeds its loops and couplings"
        )
    if Feature.EMBEDDED in unknown:
        raise UnsupportedError(
            f"{name} is for trees of bodies, and {model.name!r} has embedded constraints: use ce_{name}, or "
            f"`model.spanning`"
        )
    if unknown:
        raise UnsupportedError(f"{name} {_refusal(algorithm, model, unknown)}")


def _refusal(algorithm: AnyAlgorithm, model: Model, unknown: Feature) -> str:
    """What it does not know, and what does."""
    able = [
        name
        for name, x in catalog().items()
        if x.output_names[0] == algorithm.output_names[0] and x.needs in found_in(model)
        if not unknown_to(x, model, strict=True)
    ]
    instead = f"Use {', '.join(able)}, or " if able else "Use "
    culprit = next((c for c in model.active_constraints if kind_of(c) in unknown), None)
    if culprit is None:
        return f"does not support {unknown}, which {model.name!r} has. {instead}another model"
    known = algorithm.supports & Feature.CONSTRAINTS or algorithm.supports & Feature.EMBEDDED
    return (
        f"supports no constraints{f' but {known}' if known else ''}, and {culprit.name!r} is a "
        f"{type(culprit).__name__}. {instead}`model.without_constraints()`"
    )


@cache
def bibliography() -> dict[str, str]:
    """BibTeX by the keys that `@algorithm(references=...)` uses."""
    entries = Path(__file__).with_name("references.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def cite(*methods: str) -> str:
    """BibTeX entries of the publications behind these algorithms, without duplicates.

    methods  names of algorithms
    returns  BibTeX, as one string
    errors   `UnknownNameError`: no such algorithm

    >>> sarrus.cite("aba").splitlines()[0]
    '@book{featherstone2008,'
    """
    keys = dict.fromkeys(key for method in methods for key in find(method).references)
    return "\n\n".join(bibliography()[key] for key in keys)
