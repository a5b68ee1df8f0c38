"""Which methods of forward dynamics there are, and which one a model gets if nobody names one."""

from __future__ import annotations

from sarrus.errors import UnsupportedError, unknown_name
from sarrus.model.constraints import Kind
from sarrus.model.model import Model
from sarrus.registry import table as registry

TREE = "aba"
EMBEDDED = "ce_aba"
CONTACTS = "constrained_aba"  # like the next, it needs no full rank: redundant contacts and loops are no surprise
LOOPS = "lcaba"
ALL_BODIES = "prox_bbo"  # rows on every body make all links neighbours, which costs lcaba several times as much


def default_method(model: Model) -> str:
    """aba without constraints, ce_aba if all are embedded, constrained_aba if they are of links, lcaba with loops."""
    kinds = {c.kind for c in model.active_constraints}
    if not kinds:
        return TREE if model.embedding is None else EMBEDDED
    if Kind.CENTER_OF_MASS in kinds:
        return ALL_BODIES
    return CONTACTS if kinds == {Kind.LINK} else LOOPS


def dynamics_methods() -> dict[str, registry.Algorithm]:
    """Every method of forward dynamics, by name."""
    table = registry.algorithms()
    return {n: e for n, e in table.items() if n in (TREE, EMBEDDED) or e.family == "constrained dynamics"}


def method_for(model: Model, method: str | None) -> str:
    """The method's name, or the default one; an error in words if there is none of that name, or not for this model."""
    if method is None:
        return default_method(model)
    table = dynamics_methods()
    if method not in table:
        raise unknown_name("method of forward dynamics", method, table)
    table[method].check_model(model)
    if method == TREE and model.active_constraints:
        raise UnsupportedError(
            f"aba knows no constraints, and {model.name!r} has {len(model.active_constraints)}. Take another method "
            f"({', '.join(x for x in table if x != TREE)}), or `model.without_constraints()`"
        )
    return method
