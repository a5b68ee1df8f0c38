"""The mass matrix: the composite-rigid-body algorithm."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.registry import algorithm
from sarrus.algorithms.sweeps import joint_kinematics
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(inputs=("q",), outputs="M", cost="O(n d)", references=("walker1982", "featherstone2008"))
def crba(model: Model, q: Array) -> Array:
    """M(q) (nv, nv), symmetric, armature included.

    Walker and Orin (1982), method 3; Featherstone (2008), Table 6.2. A composite body is ten numbers, not a 6x6 matrix.
    """
    return mass_matrix(model.tree, joint_kinematics(model.tree, q), model.nv, q.dtype)


def mass_matrix(tree: Tree, joints: list[Kinematics], nv: int, dtype: np.dtype) -> Array:
    """M from the joints' transforms."""
    nodes = tree.nodes
    composite = [node.inertia for node in nodes]
    M = np.zeros((nv, nv), dtype=np.result_type(dtype, *(node.inertia.Sigma for node in nodes)))
    with stage("inward"):
        for i in range(len(nodes) - 1, -1, -1):
            node, (X, S, _, _) = nodes[i], joints[i]
            if node.parent >= 0:
                composite[node.parent] = composite[node.parent] + composite[i].transformed(X)
            F = np.stack([composite[i].momentum(column) for column in S.T], axis=1)  # (6, m_i)
            block = S.T @ F + np.diag(node.armature)
            M[node.v, node.v] = np.triu(block) + np.triu(block, 1).T
            j = i
            while nodes[j].parent >= 0:
                F = np.stack([joints[j].X.apply_T(column) for column in F.T], axis=1)
                j = nodes[j].parent
                M[nodes[j].v, node.v] = joints[j].S.T @ F
                M[node.v, nodes[j].v] = M[nodes[j].v, node.v].T
    return M
