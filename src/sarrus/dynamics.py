"""Forward dynamics by any method."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.algorithms import registry
from sarrus.algorithms.constrained import ConstrainedDynamicsResult
from sarrus.eager import eager
from sarrus.errors import UnsupportedError, unknown_name
from sarrus.model.constraints import LinkConstraint
from sarrus.model.model import Model

_TREE = "aba"
_CONTACTS = "constrained_aba"  # both need no full rank, so that redundant contacts and loops are no surprise
_LOOPS = "lcaba"


def methods() -> dict[str, registry.Algorithm]:
    """Every method of forward dynamics, by name: `.cost`, `.supports`, `.summary`, `.references`."""
    return {
        name: entry
        for name, entry in registry.algorithms().items()
        if name == _TREE or entry.family == "constrained dynamics"
    }


def forward_dynamics(
    model: Model, q: Any, v: Any, tau: Any, method: str | None = None, **arguments: Any
) -> ConstrainedDynamicsResult:
    """Accelerations and constraint forces: M qdd + c = tau + J^T forces, subject to the model's constraints.

    method     one of `sarrus.methods()`; default: aba without constraints, constrained_aba with constraints of links
               against the world, lcaba with loops
    arguments  further inputs and options of the method: `k`, `external_forces`, `weight`, ...

    Arrays are (n,) or (B, n). What a method does not support is an error in words.
    """
    table = methods()
    constrained = bool(model.active_constraints)
    name = method or _default(model)
    if name not in table:
        raise unknown_name("method of forward dynamics", name, table)
    if name == _TREE:
        if constrained:
            raise UnsupportedError(
                f"aba knows no constraints, and {model.name!r} has {len(model.active_constraints)}. Take another "
                f"method "
                f"({', '.join(x for x in table if x != _TREE)}), or `model.without_constraints()`"
            )
        qdd = eager(table[name].function)(model, q, v, tau, **arguments)
        batch = np.shape(qdd)[:-1]
        empty = np.zeros((*batch, 0))
        return ConstrainedDynamicsResult(qdd, empty, empty, np.zeros(batch), np.zeros(batch))
    return eager(table[name].function)(model, q, v, tau, **arguments)


def _default(model: Model) -> str:
    if not model.active_constraints:
        return _TREE
    return _CONTACTS if all(isinstance(c, LinkConstraint) for c in model.active_constraints) else _LOOPS
