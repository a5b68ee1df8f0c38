"""Which methods could do a model's forward dynamics: by what they support, and by the rank of its rows."""

from __future__ import annotations

from sarrus.mechanics.solvers.joint_space import velocity_ancestors
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.features import Feature, found_in
from sarrus.registry.table import catalog, find, unknown_to

TREE, EMBEDDED, CONTACTS, LOOPS, ALL_BODIES = "aba", "ce_aba", "constrained_aba", "lcaba", "prox_bbo"
# In the order in which they are counted: the robust ones first, which the others are compared with.
_FOR_LINKS = ("constrained_aba", "prox_pv", "prox_ltl", "pv_early", "pv", "ltl")
_FOR_LOOPS = ("lcaba", "prox_bbo", "prox_ltl", "bbo")
_IN_JOINT_SPACE = ("ltl", "prox_ltl")


def structural_method(model: Model) -> str:
    """aba without constraints, ce_aba if all are embedded, constrained_aba if they are of links, lcaba with loops.

    With rows on every body, those of the centre of mass, lcaba costs several times as much: then it is prox_bbo.
    """
    found = found_in(model)
    if Feature.CENTER_OF_MASS in found:
        return ALL_BODIES
    rows = found & Feature.ROWS
    if rows:
        return CONTACTS if rows == Feature.LINKS else LOOPS
    return EMBEDDED if Feature.EMBEDDED in found else TREE


def possible_methods(model: Model) -> list[str]:
    """Those that take all of the model's constraints into account, robust ones first."""
    rows = found_in(model) & Feature.ROWS
    if not rows:
        return [EMBEDDED, "ltl"] if model.embedding is not None else [TREE]
    names = _FOR_LINKS if rows == Feature.LINKS else _FOR_LOOPS
    return [name for name in names if name in catalog() and not unknown_to(find(name), model, strict=True)]


def needs_full_rank(method: str) -> bool:
    """Whether rows must be independent of each other for it; else it says so, and a robust one takes over."""
    algorithm = find(method)
    return bool(algorithm.supports & Feature.ROWS) and Feature.REDUNDANT not in algorithm.supports


def joint_space_bound(model: Model, method: str) -> float:
    """About the operations by which the mass matrix is factored, for methods that do that: sum of squared depths."""
    if method not in _IN_JOINT_SPACE:
        return 0.0
    tree = tree_of(model) if model.embedding is None else cluster_tree_of(model)
    depths = [len(ancestors) for ancestors in velocity_ancestors(tree.nodes)]
    return float(sum(d * (d + 1) for d in depths))


def robust_behind(method: str) -> str | None:
    """The method that takes over where this one fails; None: it needs none."""
    if not needs_full_rank(method):
        return None
    default = find(method).signature.parameters.get("fallback")
    return None if default is None else default.default
