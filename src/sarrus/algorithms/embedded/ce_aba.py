"""Forward dynamics with embedded constraints: the constraint-embedding articulated-body algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.aba import articulated_bodies
from sarrus.mechanics.mechanism import if_regular, mechanism, spanning
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.norms import if_finite
from sarrus.status import Status


class EmbeddedDynamicsResult(NamedTuple):
    """Accelerations in both coordinates: qdd = G ydd + g. `status` is a `sarrus.Status`."""

    qdd: Array  # (nv,) of all joints
    ydd: Array  # (ny,) of the independent ones
    status: Array  # ()


@algorithm(
    cost="O(n)",
    references=("chignoli2025", "jain2011"),
    needs=Feature.EMBEDDED,
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
    joints accelerate by g. Only those bodies of a cluster that others see take part in the sweeps
    (`clusters/nodes.py`).

    v or yd       velocities of all joints, or of the independent ones
    tau or tau_y  forces on all joints, or on the independent velocities
    """
    given = np.zeros(model.nv) if tau is None else tau
    at = mechanism(model, q, v, given, external_forces, yd=yd, tau_y=tau_y)
    ydd = articulated_bodies(at.nodes).qdd
    qdd = spanning(at, ydd)
    status = if_regular(if_finite(Status.OK, Status.NOT_FINITE, qdd), at)
    return EmbeddedDynamicsResult(qdd, ydd, np.asarray(status, dtype=object))
