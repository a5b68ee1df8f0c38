"""The mass matrix: the composite-rigid-body algorithm."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.mechanism import Node, mechanism
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, add_to
from sarrus.spatial.inertia import momentum
from sarrus.spatial.stacked import columns_T, transforms_of
from sarrus.spatial.stages import stage


@algorithm(outputs="M", cost="O(n d)", references=("walker1982", "featherstone2008"))
def crba(model: Model, q: Array) -> Array:
    """The mass matrix M(q) (nv, nv), symmetric, including armature.

    Walker and Orin (1982), method 3; Featherstone (2008), Table 6.2. A composite body is ten numbers, not a 6x6 matrix.
    """
    return composite_bodies(mechanism(model, q, spanning=True).nodes)


def composite_bodies(nodes: list[Node], penalties: dict[int, Array] | None = None) -> Array:
    """M of any nodes: bodies, or clusters of them. F: forces on a node and its ancestors, per qdd of its joint.

    penalties: K^T R^-1 K by node, of soft constraints: with these, M + J^T R^-1 J, which has the same zeros
    """
    composite, stiff = [list(node.bodies) for node in nodes], dict(penalties or {})
    M = np.zeros((sum(node.S.shape[1] for node in nodes),) * 2, dtype=np.result_type(float, *(n.H for n in nodes)))
    with stage("inward"):
        for i, (parent, v, X, S, A, _, C, *_) in reversed(list(enumerate(nodes))):
            F = momentum(composite[i], S)
            if i in stiff:
                F = F + stiff[i] @ S
            if parent >= 0:
                transforms, at = transforms_of(X)
                for body, X_body in zip(composite[i], transforms, strict=True):
                    composite[parent][at] = composite[parent][at] + body.transformed(X_body)
                if i in stiff:
                    add_to(stiff, parent, X.congruence(stiff[i]))
            block = S.T @ F + A
            M[v, v] = np.triu(block) + np.triu(block, 1).T
            j, F = i, columns_T(X, F) + C
            while nodes[j].parent >= 0:
                F = F if j == i else columns_T(nodes[j].X, F)
                j = nodes[j].parent
                M[nodes[j].v, v] = nodes[j].S.T @ F
                M[v, nodes[j].v] = M[nodes[j].v, v].T
    return M
