"""Forward dynamics of a tree: the articulated-body algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import Node, mechanism
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_solve, subtract_product
from sarrus.spatial.stages import stage


@algorithm(
    outputs="qdd",
    cost="O(n)",
    references=("featherstone2008",),
    ignores=Feature.ROWS,
    derivatives="aba_derivatives",
    inverse="rnea",
)
def aba(model: Model, q: Array, v: Array, tau: Array, external_forces: Array | None = None) -> Array:
    """Joint accelerations qdd with M qdd + c = tau + J^T f_ext.

    Featherstone, Rigid Body Dynamics Algorithms (2008), Table 7.1, about the bias motion.

    Friction, damping and springs are not included: add them to tau.
    """
    return articulated_bodies(mechanism(model, q, v, tau, external_forces).nodes).qdd


class ArticulatedResult(NamedTuple):
    qdd: Array  # (nv,)
    a: list[Array]  # accelerations of the nodes in excess of the bias motion
    D: list[Ldl]  # of every joint, factored
    UD: list[Array]  # (6, n) U D^-1
    Ha: dict[int, Array]  # (6, 6) H - U D^-1 U^T, of nodes with a parent

    @property
    def pivots(self) -> list[Array]:
        """Inverse pivots of every joint's D."""
        return [D.d_inv for D in self.D]


def articulated_bodies(nodes: list[Node]) -> ArticulatedResult:
    """The two sweeps of Table 7.1 that are linear in accelerations, on any nodes: bodies, or clusters of them."""
    H, f = [node.H for node in nodes], [node.f for node in nodes]
    D, UD, Ha, u, qdd, a = {}, {}, {}, {}, {}, {}
    with stage("inward"):
        for i, (parent, _, X, S, A, E, _, _, _, _, tau) in reversed(list(enumerate(nodes))):
            U = H[i] @ S + E
            D[i] = ldl(S.T @ (H[i] @ S) + A)
            UD[i] = ldl_solve(D[i], U.T).T
            u[i] = tau + S.T @ f[i]
            if parent >= 0:
                Ha[i] = subtract_product(H[i], UD[i], U)  # H - U D^-1 U^T
                fa = f[i] - UD[i] @ u[i]
                H[parent] = H[parent] + X.congruence(Ha[i])
                f[parent] = f[parent] + X.apply_T(fa)
    with stage("outward acceleration"):
        for i, (parent, _, X, S, *_) in enumerate(nodes):
            qdd[i] = ldl_solve(D[i], u[i])
            a[i] = S @ qdd[i]
            if parent >= 0:
                a_parent = X.apply(a[parent])
                qdd[i] = qdd[i] - UD[i].T @ a_parent
                a[i] = a_parent + S @ qdd[i]
    joined = np.concatenate([np.zeros(0), *qdd.values()])
    order = range(len(nodes))
    return ArticulatedResult(joined, list(a.values()), [D[i] for i in order], [UD[i] for i in order], Ha)
