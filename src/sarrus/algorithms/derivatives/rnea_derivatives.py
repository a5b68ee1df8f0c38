"""Derivatives of inverse dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.rnea import armature_of
from sarrus.mechanics.bodies import joint_kinematics, outward_motion, resultant_forces
from sarrus.mechanics.derivatives.variation import Coriolis, slips, twist_on_force, variations
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage


class RneaDerivativesResult(NamedTuple):
    """Rows: joint forces; columns: along `integrate(q, e_j)`, v and a."""

    tau: Array  # (nv,)
    dtau_dq: Array  # (nv, nv)
    dtau_dv: Array  # (nv, nv)
    dtau_da: Array  # (nv, nv) the mass matrix M


@algorithm(cost="O(n d)", references=("carpentier2018", "singh2022", "featherstone2008"))
def rnea_derivatives(
    model: Model, q: Array, v: Array, a: Array, external_forces: Array | None = None
) -> RneaDerivativesResult:
    """Joint forces tau = M a + c - J^T f_ext and their derivatives with respect to q, v and a.

    With F the force that the composite body beyond joint i takes, H its inertia and B its Coriolis composite, the
    variation z, y of the motion (`mechanics/derivatives/variation.py`) takes H z + B y, and one of the position turns
    F, too. U = H S and b = B^T S are carried inward beside these: U^T z + b^T y answers the variation of an ancestor.

    external_forces: (nb, 6), on each body in its own frame, [force; moment about the body's origin]; they ride along.
    """
    tree = tree_of(model)
    nodes, joints = tree.nodes, joint_kinematics(tree, q, v)
    motions = outward_motion(tree, joints, a)
    F = [-f for f in resultant_forces(tree, motions, external_forces)]
    H = [node.inertia for node in nodes]
    B = [Coriolis.of_body(node.inertia, m.w) for node, m in zip(nodes, motions, strict=True)]
    varied, delta = variations(tree, joints, motions, q, v, a), slips(tree, joints, motions)
    dtype = np.result_type(q, v, a, *F)
    tau, dq, dv, M = np.zeros(tree.nv, dtype), *(np.zeros((tree.nv, tree.nv), dtype) for _ in range(3))
    with stage("inward"):
        for i in reversed(range(len(nodes))):
            vi, S, by, C = nodes[i].v, joints[i].S, varied[i], B[i].matrix()
            U, b = by_column(H[i].momentum, S), C.T @ S
            dF_q = by_column(H[i].momentum, by.q.z) + C @ by.q.y
            dF_v = by_column(H[i].momentum, by.v.z) + C @ by.v.y
            tau[vi] = S.T @ F[i]
            dq[vi, vi], dv[vi, vi], M[vi, vi] = S.T @ dF_q, S.T @ dF_v, S.T @ U
            for k, dS in enumerate(by.dS):
                dq[vi, vi][:, k] = dq[vi, vi][:, k] + dS.T @ F[i]
            dF_q = dF_q + np.stack([twist_on_force(s, F[i]) for s in S.T], axis=1)
            j = i
            while nodes[j].parent >= 0:
                X = joints[j].X
                U, dF_q, dF_v = (by_column(X.apply_T, x) for x in (U, dF_q, dF_v))
                b = by_column(X.rotate, b) + by_column(lambda u, slip=delta[j]: cross(slip, u), U[:3])
                j = nodes[j].parent
                vj, S_j, by = nodes[j].v, joints[j].S, varied[j]
                dq[vj, vi], dv[vj, vi], M[vj, vi] = S_j.T @ dF_q, S_j.T @ dF_v, S_j.T @ U
                dq[vi, vj], dv[vi, vj] = U.T @ by.q.z + b.T @ by.q.y, U.T @ by.v.z + b.T @ by.v.y
                M[vi, vj] = M[vj, vi].T
            if (parent := nodes[i].parent) >= 0:
                X = joints[i].X
                moved = H[i].transformed(X)
                F[parent] = F[parent] + X.apply_T(F[i])
                B[parent] = B[parent] + B[i].transformed(X, delta[i], moved)
                H[parent] = H[parent] + moved
    armature = armature_of(tree)
    return RneaDerivativesResult(tau + armature * a, dq, dv, M + np.diag(armature))
