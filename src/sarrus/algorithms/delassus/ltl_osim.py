"""The Delassus matrix in joint space: Featherstone's sparse factorization."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.mechanism import mechanism, rows_of_links
from sarrus.mechanics.solvers.joint_space import constraint_jacobian, delassus_of, ltdl
from sarrus.mechanics.solvers.loop_delassus import has_loops, rows_at_rest
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    outputs="Lambda_inv",
    cost="O(n d^2 + m^2 d + m d^2)",
    references=("featherstone2010", "sathya2025osimr"),
    supports=Feature.ON_ALL | Feature.REDUNDANT,
)
def ltl_osim(model: Model, q: Array) -> Array:
    """Delassus matrix J M^-1 J^T (m, m) by M = L^T D L and Y = J L^-1, both with the tree's sparsity.

    Featherstone, "Exploiting sparsity in operational-space dynamics" (2010): eqs. (4) to (6) of the PV-OSIMr paper,
    in the square-root-free form L^T D L. The cost includes M and J.
    """
    if has_loops(model):
        at, rows = rows_at_rest(model, q, "ltl_osim")
        J, supports = loop_jacobian(at, rows)
    else:
        at = mechanism(model, q)
        rows = rows_of_links(at, "ltl_osim")
        J, supports = constraint_jacobian(at.nodes, rows)
    if not rows:
        return np.zeros((0, 0))
    factor = ltdl(at.nodes, composite_bodies(at.nodes))  # eq. (4)
    Lambda_inv, _ = delassus_of(factor, J, supports)  # eqs. (5) and (6)
    return Lambda_inv
