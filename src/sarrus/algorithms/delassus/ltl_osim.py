"""The Delassus matrix in joint space: Featherstone's sparse factorization."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies.joint_space import constraint_jacobian, delassus_of, ltdl
from sarrus.mechanics.bodies.mass_matrix import mass_matrix
from sarrus.mechanics.constraints.link_rows import row_matrices
from sarrus.mechanics.constraints.loop_jacobian import loop_jacobian
from sarrus.mechanics.linkage import linkage
from sarrus.mechanics.solvers.loop_delassus import has_loops, rows_at_rest
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    inputs=("q",),
    outputs="Lambda_inv",
    cost="O(n d^2 + m^2 d + m d^2)",
    references=("featherstone2010", "sathya2025osimr"),
    supports=("link constraints", "loops", "couplings", "center of mass", "multi-dof joints", "singular rows"),
)
def ltl_osim(model: Model, q: Array) -> Array:
    """Delassus matrix J M^-1 J^T (m, m) by M = L^T D L and Y = J L^-1, both with the tree's sparsity.

    Featherstone, "Exploiting sparsity in operational-space dynamics" (2010): eqs. (4) to (6) of the PV-OSIMr paper,
    in the square-root-free form L^T D L. The cost of M and of J is part of it.
    """
    if has_loops(model):
        problem = rows_at_rest(model, q, "ltl_osim")
        tree, passages = problem.tree, problem.passages
        J, supports = loop_jacobian(tree, passages, problem.rows, q.dtype)
        return delassus_of(ltdl(tree, mass_matrix(tree, passages, problem.inertias, q.dtype)), J, supports)[0]
    link = linkage(model, q)
    rows = link.rows(row_matrices(model, "ltl_osim"))
    if not rows:
        return np.zeros((0, 0))
    factor = ltdl(link.tree, mass_matrix(link.tree, link.passages, link.inertias, q.dtype))  # eq. (4)
    J, supports = constraint_jacobian(link.tree, link.passages, rows, q.dtype)
    Lambda_inv, _ = delassus_of(factor, J, supports)  # eqs. (5) and (6)
    return Lambda_inv
