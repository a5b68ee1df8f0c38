"""The mass matrix of a mechanism: composite rigid bodies."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies.node_inertia import NodeInertia
from sarrus.mechanics.bodies.passage import Passage
from sarrus.model.topology import AbstractTree
from sarrus.spatial.arrays import Array
from sarrus.spatial.stacked import columns_T, transforms_of
from sarrus.spatial.stages import stage


def mass_matrix(
    tree: AbstractTree,
    passages: list[Passage],
    inertias: list[NodeInertia],
    dtype: np.dtype,
    penalties: dict[int, Array] | None = None,
) -> Array:
    """M from what the linear dynamics see. F: forces on a node and its ancestors, per qdd of its joint.

    penalties: K^T R^-1 K by node, of soft constraints: with these, M + J^T R^-1 J, which has the same zeros
    """
    nodes, stiff = tree.nodes, dict(penalties or {})
    composite = [list(inertia.bodies) for inertia in inertias]
    numbers = [body.Sigma for x in inertias for body in x.bodies]
    M = np.zeros((tree.nv, tree.nv), dtype=np.result_type(dtype, *numbers, *stiff.values()))
    with stage("inward"):
        for i in range(len(nodes) - 1, -1, -1):
            node, p = nodes[i], passages[i]
            if node.parent >= 0:
                transforms, at = transforms_of(p.X)
                for body, X in zip(composite[i], transforms, strict=True):
                    composite[node.parent][at] = composite[node.parent][at] + body.transformed(X)
            F = NodeInertia(tuple(composite[i])).momentum(p.S)  # (s, n)
            if i in stiff:
                F = F + stiff[i] @ p.S
                if node.parent >= 0:
                    carried = p.X.congruence(stiff[i])
                    stiff[node.parent] = stiff[node.parent] + carried if node.parent in stiff else carried
            block = p.S.T @ F + p.A
            M[node.v, node.v] = np.triu(block) + np.triu(block, 1).T
            F = columns_T(p.X, F if p.E is None else F + p.E)
            j, F = i, F if p.C is None else F + p.C
            while nodes[j].parent >= 0:
                j = nodes[j].parent
                M[nodes[j].v, node.v] = passages[j].S.T @ F
                M[node.v, nodes[j].v] = M[nodes[j].v, node.v].T
                F = columns_T(passages[j].X, F)
    return M
