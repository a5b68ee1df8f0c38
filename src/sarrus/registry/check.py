"""Whether an algorithm can do a model: the one place that says so, before anything is traced or run."""

from __future__ import annotations

from sarrus.errors import IllPosedError, UnsupportedError
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.registry.features import Feature, found_in, kind_of
from sarrus.registry.table import catalog


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
            f"{name} needs a model with embedded constraints, and {model.name!r} has none: `sarrus.embed(model)` "
            f"embeds its loops and couplings"
        )
    if Feature.EMBEDDED in unknown:
        raise UnsupportedError(
            f"{name} is for trees of bodies, and {model.name!r} has embedded constraints: take ce_{name}, or "
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
    instead = f"Take {', '.join(able)}, or " if able else "Take "
    culprit = next((c for c in model.active_constraints if kind_of(c) in unknown), None)
    if culprit is None:
        return f"does not know {unknown}, which {model.name!r} has. {instead}another model"
    known = algorithm.supports & Feature.CONSTRAINTS or algorithm.supports & Feature.EMBEDDED
    return (
        f"knows no constraints{f' but {known}' if known else ''}, and {culprit.name!r} is a {type(culprit).__name__}. "
        f"{instead}`model.without_constraints()`"
    )
