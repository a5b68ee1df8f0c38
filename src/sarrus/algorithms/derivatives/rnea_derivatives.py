"""Derivatives of inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.rnea import armature_of
from sarrus.mechanics.bodies import joint_kinematics, outward_motion, resultant_forces
from sarrus.mechanics.derivatives.variation import Coriolis, Variations, slips, twist_on_force, variations
from sarrus.model.model import Model
from sarrus.model.pattern import mass_matrix_pattern
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.repetition import repeat
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform

_FEW = 6  # rows


class RneaDerivativesResult(NamedTuple):
    """Rows: joint forces; columns: along `integrate(q, e_j)`, v and a. Packed, matrices are vectors."""

    tau: Array  # (nv,)
    dtau_dq: Array  # (nv, nv)
    dtau_dv: Array  # (nv, nv)
    dtau_da: Array  # (nv, nv) the mass matrix M


@algorithm(cost="O(n d)", references=("carpentier2018", "singh2022", "featherstone2008"))
def rnea_derivatives(
    model: Model, q: Array, v: Array, a: Array, external_forces: Array | None = None, packed: bool = False
) -> RneaDerivativesResult:
    """Joint forces tau = M a + c - J^T f_ext and their derivatives with respect to q, v and a.

    With F the force that the composite body beyond joint i takes, H its inertia and B its Coriolis composite, the
    variation z, y of the motion (`mechanics/derivatives/variation.py`) takes H z + B y, and one of the position turns
    F, too. U = H S and b = B^T S are carried inward beside these: U^T z + b^T y answers the variation of an ancestor.

    External forces move along with their bodies.

    packed  matrices as vectors of the elements that are not structurally zero, in the order of
            `mass_matrix_pattern(model)`
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
    beyond: list[list[int]] = [[] for _ in nodes]  # velocities of joints beyond each node,
    carried: list[list[Array]] = [[] for _ in nodes]  # and their rows [U, b, dF_q, dF_v], as its frame sees them
    with stage("inward"):
        for i in reversed(range(len(nodes))):
            (parent, vi), (X, S, _, _), by, C = (nodes[i].parent, nodes[i].v), joints[i], varied[i], B[i].matrix()
            U, b = by_column(H[i].momentum, S), C.T @ S
            dF_q = by_column(H[i].momentum, by.q.z) + C @ by.q.y
            dF_v = by_column(H[i].momentum, by.v.z) + C @ by.v.y
            tau[vi] = S.T @ F[i]
            dq[vi, vi], dv[vi, vi], M[vi, vi] = S.T @ dF_q, S.T @ dF_v, S.T @ U
            for k, dS in enumerate(by.dS):
                dq[vi, vi][:, k] = dq[vi, vi][:, k] + dS.T @ F[i]
            if parent < 0:
                continue
            dF_q = dF_q + np.stack([twist_on_force(s, F[i]) for s in S.T], axis=1)
            vj, crossing = nodes[parent].v, _crossing(X, delta[i], joints[parent].S, varied[parent])
            those = [*range(vi.start, vi.stop), *beyond[i]]
            mine = np.stack([crossing(x) for x in np.concatenate([U, b, dF_q, dF_v]).T])
            rows = np.concatenate([mine, *(_of_all(crossing, part) for part in carried[i])])
            n = vj.stop - vj.start
            found = np.split(rows, n * np.arange(1, 6), axis=1)
            dq[vj, those], dv[vj, those], M[vj, those] = (x.T for x in found[:3])
            dq[those, vj], dv[those, vj], M[those, vj] = found[3], found[4], found[2]
            beyond[parent] += those
            carried[parent].append(found[5])
            moved = H[i].transformed(X)
            F[parent] = F[parent] + X.apply_T(F[i])
            B[parent] = B[parent] + B[i].transformed(X, delta[i], moved)
            H[parent] = H[parent] + moved
    armature = armature_of(tree)
    found = dq, dv, M + np.diag(armature)
    if packed:
        where = mass_matrix_pattern(model)
        found = (x[where.rows, where.columns] for x in found)
    return RneaDerivativesResult(tau + armature * a, *found)


def _of_all(text: Callable[[Array], Array], rows: Array) -> Array:
    """text(row) of all rows; of few written out, where what is zero in one of them costs nothing."""
    return repeat(text, rows) if len(rows) > _FEW else np.stack([text(row) for row in rows])


def _crossing(X: Transform, slip: Array, S: Array, by: Variations) -> Callable[[Array], Array]:
    """What is carried inward across a joint to a node with S that varies so: how both answer each other, and the rest.

    slip: Delta, twice the velocity of the joint's node relative to its parent
    """

    def crossed(x: Array) -> Array:
        U, dF_q, dF_v = X.apply_T(x[:6]), X.apply_T(x[9:15]), X.apply_T(x[15:])
        b = X.rotate(x[6:9]) + cross(slip, U[:3])
        answers = U @ by.q.z + b @ by.q.y, U @ by.v.z + b @ by.v.y
        return np.concatenate([S.T @ dF_q, S.T @ dF_v, S.T @ U, *answers, U, b, dF_q, dF_v])

    return crossed
