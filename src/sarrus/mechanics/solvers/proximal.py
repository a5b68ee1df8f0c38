"""What the proximal methods share: inputs, warm start, and what is made of the end of their iterations.

The iterations are in `conjugate_residuals.py`, the penalty mu in `penalty.py`.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.solvers.conjugate_residuals import Iterated, iterations
from sarrus.mechanics.solvers.proof import TOLERANCE
from sarrus.mechanics.solvers.result import joined
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import size
from sarrus.spatial.precision import within
from sarrus.spatial.stages import stage
from sarrus.status import Status

__all__ = ["INPUTS", "MAX_ITERATIONS", "RANK_TOLERANCE", "SUPPORTS", "confirmed", "iterations", "joined", "warm_start"]

SUPPORTS = (
    "link constraints",
    "loops",
    "couplings",
    "center of mass",
    "redundant rows",
    "conflicting rows",
    "multi-dof joints",
)
INPUTS = ("q", "v", "tau", "k?", "external_forces?", "forces0?")
MAX_ITERATIONS = 25  # by default
RANK_TOLERANCE = 1e-7  # by default


def warm_start(rows: list[Rows], forces0: Array | None) -> Array:
    """lam of the last forces, in the basis of the rows; zero without."""
    if forces0 is None:
        return np.zeros(sum(len(r.k) for r in rows))
    return joined([-r.force_of_declared(forces0[r.span]) for r in rows])


def confirmed(end: Iterated, residual: Array, seen: Scalar) -> Iterated:
    """The end of iterations that never saw the links' accelerations, with the residual of these, once they are known.

    Where they do not meet the rows although the iterations say so, rounding has decided.
    """
    with stage("result"):
        met = choose(size(residual), within(TOLERANCE, 1e3) * (1.0 + seen), end.status, Status.NOT_DETERMINED)
        return end._replace(residual=residual, status=choose(0.5, end.status, end.status, met))
