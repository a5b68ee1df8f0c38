"""Which methods of forward dynamics there are, and which one a model gets if nobody names one."""

from __future__ import annotations

from sarrus.errors import unknown_name
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm
from sarrus.registry.check import check_model
from sarrus.registry.features import Feature, found_in
from sarrus.registry.table import catalog

TREE = "aba"
EMBEDDED = "ce_aba"
CONTACTS = "constrained_aba"  # like the next, it needs no full rank: redundant contacts and loops are no surprise
LOOPS = "lcaba"
ALL_BODIES = "prox_bbo"  # rows on every body make all links neighbours, which costs lcaba several times as much


def default_method(model: Model) -> str:
    """aba without constraints, ce_aba if all are embedded, constrained_aba if they are of links, lcaba with loops."""
    found = found_in(model)
    if Feature.CENTER_OF_MASS in found:
        return ALL_BODIES
    rows = found & Feature.ROWS
    if rows:
        return CONTACTS if rows == Feature.LINKS else LOOPS
    return EMBEDDED if Feature.EMBEDDED in found else TREE


def methods() -> dict[str, AnyAlgorithm]:
    """Every method of forward dynamics, by name: `.cost`, `.supports`, `.summary`, `.references`."""
    return {name: x for name, x in catalog().items() if x.output_names[0] == "qdd"}


def method_for(model: Model, method: str | AnyAlgorithm | None) -> str:
    """The method's name, or the default one; an error in words if there is none of that name, or not for this model."""
    method = default_method(model) if method is None else method
    name, known = method.name if isinstance(method, Algorithm) else method, methods()
    if name not in known:
        raise unknown_name("method of forward dynamics", name, known)
    check_model(known[name], model, strict=True)
    return name
