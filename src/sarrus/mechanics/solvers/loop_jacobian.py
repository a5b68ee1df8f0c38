"""The Jacobian of constraints of every type: rows on several nodes, with the zeros that loops have.

Once all blocks of a constraint between links have met, at their nearest common ancestor, what is left is the rows'
response to a rigid motion of the whole loop. That is zero for everything measured from one of the links (coordinates,
angles, distances), and for the coincidence of two points `w x offset`, which vanishes where they coincide: it has no
linear part. A cluster on whose bodies the sides hang apart moves the loop as any joint does; its parent does not.
Y = J L^-1 fills in all velocities that move the nodes; zeros of J save only their own computation.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism
from sarrus.mechanics.solvers.loop_roots import loop_root
from sarrus.spatial.arrays import Array, add_to
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


def loop_jacobian(at: Mechanism, rows: list[Rows]) -> tuple[Array, list[list[int]]]:
    """J (m, nv) of constraints of every type, and per row the velocities that Y = J L^-1 depends on."""
    tree, nodes = at.tree, at.nodes
    J = np.zeros((sum(len(r.k) for r in rows), tree.nv), dtype=np.result_type(float, *(n.H for n in nodes)))
    supports: list[list[int]] = []
    with stage("jacobian"):
        for r in rows:
            span = r.span
            moving = {v for b in r.blocks for i in tree.paths[b.node] for v in range(tree.nv)[nodes[i].v]}
            supports += [sorted(moving)] * len(r.k)
            for i, E in r.relation:
                J[span, nodes[i].v] = J[span, nodes[i].v] + E
            root = loop_root(tree, r)
            pending: dict[int, Array] = {} if r.relation else {block.node: block.K for block in r.blocks}
            met = False
            while pending:
                i = max(pending)
                K = pending.pop(i)
                met = met or i == root
                if met and _on_one_body(K):
                    K = _of_rigid_motion(r, K)
                    if not len(K):
                        break
                    span = slice(span.start, span.start + len(K))
                parent, v, X, S, *_ = nodes[i]
                J[span, v] = K @ S
                if parent >= 0:
                    add_to(pending, parent, rows_T(X, K))
    return J, supports


def _on_one_body(K: Array) -> bool:
    """Of a cluster's bodies: those on which both sides of a loop hang, or on which it hung further out."""
    return sum(any(not is_structurally_zero(x) for x in K[:, n : n + 6].flat) for n in range(0, K.shape[1], 6)) <= 1


def _of_rigid_motion(r: Rows, K: Array) -> Array:
    """The rows, all blocks added up, that respond to a motion of both links as one body: coincidences come first."""
    if not r.coincident:
        return K[:0]
    angular = K[:3].copy()
    for n in range(0, K.shape[1], 6):
        angular[:, n : n + 3] = 0.0
    return angular
