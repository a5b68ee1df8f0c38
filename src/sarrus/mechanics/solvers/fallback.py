"""A robust method behind a quick one: it takes over the states that the quick one cannot do, in the same call.

Full-rank methods need rows that are independent of each other within a limb or a loop; a straight leg is enough to fail
them. Their status says so. The states that it names are solved again by a method that needs nothing of the kind; all
others pay nothing. Both run in one kernel, where they share what they have in common.
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import unknown_name
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult
from sarrus.model.model import Model
from sarrus.registry import table as registry
from sarrus.spatial.arrays import Array
from sarrus.spatial.replacement import replace_where

FOR_LINKS = ("prox_pv", "prox_ltl", "constrained_aba", "prox_bbo", "lcaba")
FOR_LOOPS = ("prox_ltl", "prox_bbo", "lcaba")


def with_fallback(
    first: ConstrainedDynamicsResult,
    fallback: str | None,
    robust: tuple[str, ...],
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None,
    external_forces: Array | None,
) -> ConstrainedDynamicsResult:
    """The result of a quick method where its status is ok, else that of the one named `fallback`, one of `robust`."""
    if fallback is None or not model.active_constraints:
        return first
    if fallback not in robust:
        raise unknown_name("fallback", fallback, (*robust, "None"))
    method = registry.find(fallback)

    def make() -> tuple[Array, ...]:
        found = method.text(model, q, v, tau, k, external_forces)
        return tuple(found._replace(fallback=np.asarray(1.0, dtype=object)))

    return ConstrainedDynamicsResult(*replace_where(first.status.item(), tuple(first), make))
