"""Forward dynamics of a tree: the articulated-body algorithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.long_chains import Freed, Wrench, along_chain, long_chain
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
    """Joint accelerations qdd of a tree: M qdd + c = tau + J^T f_ext.

    Featherstone, Rigid Body Dynamics Algorithms (2008), Table 7.1, about the bias motion.

    Friction, damping and springs are not included: add them to tau.
    """
    chain = long_chain(model)
    if chain is not None and external_forces is None:
        return along_chain(chain, q, v, tau, inward, outward)
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
    joints, _ = inward(nodes)
    qdd, a = outward(nodes, joints)
    Ha = {i: joint.Ha for i, joint in enumerate(joints) if joint.Ha is not None}
    return ArticulatedResult(np.concatenate([np.zeros(0), *qdd]), a, [x.D for x in joints], [x.UD for x in joints], Ha)


def inward(nodes: list[Node], below: Wrench | None = None) -> tuple[list[Freed], Wrench]:
    """Every joint with all that it carries, and what the parent of the first one feels.

    below  of a part of a chain: H and f of what hangs on the last node. (Without, nobody asks what the world feels.)
    """
    H, f = [node.H for node in nodes], [node.f for node in nodes]
    D, UD, Ha, u = {}, {}, {}, {}
    H, f = [*H, np.zeros((6, 6))], [*f, np.zeros(6)]  # the last ones, number -1, are what the parent of the first feels
    with stage("inward"):
        if below is not None:
            H[-2], f[-2] = H[-2] + below[0], f[-2] + below[1]
        for i, (parent, _, X, S, A, E, _, _, _, _, tau) in reversed(list(enumerate(nodes))):
            U = H[i] @ S + E
            D[i] = ldl(S.T @ (H[i] @ S) + A)
            UD[i] = ldl_solve(D[i], U.T).T
            u[i] = tau + S.T @ f[i]
            if parent >= 0 or below is not None:
                Ha[i] = subtract_product(H[i], UD[i], U)  # H - U D^-1 U^T
                fa = f[i] - UD[i] @ u[i]
                H[parent] = H[parent] + X.congruence(Ha[i])
                f[parent] = f[parent] + X.apply_T(fa)
    return [Freed(D[i], UD[i], u[i], Ha.get(i)) for i in range(len(nodes))], (H[-1], f[-1])


def outward(nodes: list[Node], joints: list[Freed], base: Array | None = None) -> tuple[list[Array], list[Array]]:
    """Accelerations of joints and of nodes. base: that of what the first node hangs on; None: of the world, zero."""
    D, UD, u = [x.D for x in joints], [x.UD for x in joints], [x.u for x in joints]
    qdd, a = {}, {} if base is None else {-1: base}
    with stage("outward acceleration"):
        for i, (parent, _, X, S, *_) in enumerate(nodes):
            qdd[i] = ldl_solve(D[i], u[i])
            a[i] = S @ qdd[i]
            if parent in a:
                a_parent = X.apply(a[parent])
                qdd[i] = qdd[i] - UD[i].T @ a_parent
                a[i] = a_parent + S @ qdd[i]
    return list(qdd.values()), [a[i] for i in range(len(nodes))]
