"""Forward dynamics with embedded constraints: the constraint-embedding articulated-body algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.aba import articulated_bodies
from sarrus.errors import UnsupportedError
from sarrus.mechanics.mechanism import mechanism
from sarrus.mechanics.solvers.proof import if_finite
from sarrus.mechanics.solvers.result import spanning
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.status import Status


class EmbeddedDynamicsResult(NamedTuple):
    """Accelerations in both coordinates: qdd = G ydd + g. `status` is a `sarrus.Status`."""

    qdd: Array  # (nv,) of all joints
    ydd: Array  # (ny,) of the independent ones
    status: Array  # ()


@algorithm(
    inputs=("q", "v|yd", "tau|tau_y", "external_forces?"),
    outputs=None,
    cost="O(n)",
    references=("chignoli2025", "jain2011"),
    supports=("embedded constraints",),
    family="embedded",
)
def ce_aba(
    model: Model,
    q: Array,
    v: Array | None = None,
    tau: Array | None = None,
    yd: Array | None = None,
    tau_y: Array | None = None,
    external_forces: Array | None = None,
) -> EmbeddedDynamicsResult:
    """Joint accelerations of a model whose constraints are embedded (`sarrus.embed`): ABA on its cluster tree.

    Algorithm 1 of the constraint-embedding paper, eqs (55) and (56), about the bias motion, in which the dependent
    joints accelerate by g. Of a cluster only bodies that others see take part in the sweeps (`cluster_passages.py`).

    v or yd      velocities of all joints, or of the independent ones
    tau or tau_y forces on all joints, or on the independent velocities
    """
    check_embedded(model, "ce_aba")
    if model.active_constraints:
        left = ", ".join(repr(c.name) for c in model.active_constraints)
        raise UnsupportedError(f"ce_aba knows no constraints but embedded ones, and {left} is not. Take lcaba, pv, ...")
    given = np.zeros(model.nv) if tau is None else tau
    at = mechanism(model, q, v, given, external_forces, yd=yd, tau_y=tau_y)
    ydd = articulated_bodies(at.nodes).qdd
    qdd, status = spanning(at, ydd, if_finite(Status.OK, ydd))
    return EmbeddedDynamicsResult(qdd, ydd, np.asarray(status, dtype=object))


def check_embedded(model: Model, method: str) -> None:
    """A model in which nothing is embedded is an error in words."""
    if model.embedding is None:
        raise UnsupportedError(
            f"{method} needs a model with embedded constraints, and {model.name!r} has none: `sarrus.embed(model)` "
            f"embeds its loops and couplings"
        )
