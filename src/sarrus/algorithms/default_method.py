"""Which method of forward dynamics a model gets if nobody names one."""

from __future__ import annotations

from sarrus.model.constraints import CenterOfMass, LinkConstraint
from sarrus.model.model import Model

TREE = "aba"
EMBEDDED = "ce_aba"
CONTACTS = "constrained_aba"  # like the next, it needs no full rank: redundant contacts and loops are no surprise
LOOPS = "lcaba"
ALL_BODIES = "prox_bbo"  # rows on every body make all links neighbours, which costs lcaba several times as much


def default_method(model: Model) -> str:
    """aba without constraints, ce_aba if all are embedded, constrained_aba if they are of links, lcaba with loops."""
    constraints = model.active_constraints
    if not constraints:
        return TREE if model.embedding is None else EMBEDDED
    if any(isinstance(c, CenterOfMass) for c in constraints):
        return ALL_BODIES
    return CONTACTS if all(isinstance(c, LinkConstraint) for c in constraints) else LOOPS
