"""The Jacobian of constraints of every type: rows on several nodes, with the zeros that loops have.

Once all blocks of a constraint between links have met, at their nearest common ancestor, what is left is the rows'
response to a rigid motion of the whole loop. That is zero for everything measured from one of the links (coordinates,
angles, distances), and for the coincidence of two points `w x offset`, which vanishes where they coincide: it has no
linear part. A cluster on whose bodies the sides hang apart moves the loop as any joint does; its parent does not.
Y = J L^-1 fills in all velocities that move the nodes; zeros of J save only their own computation.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies.relative_motion import path_to_root
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, Node
from sarrus.mechanics.solvers.loop_roots import loop_root
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Constraint, Distance, LoopClosure
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage

COINCIDENT = ("weld", "connect", "spherical", "revolute", "universal")  # closures that begin with `coincide`


def loop_jacobian(at: Mechanism, rows: list[Rows]) -> tuple[Array, list[list[int]]]:
    """J (m, nv) of constraints of every type, and per row the velocities that Y = J L^-1 depends on."""
    model, tree, nodes = at.model, at.tree, at.nodes
    J = np.zeros((sum(len(r.k) for r in rows), tree.nv), dtype=np.result_type(float, *(n.H for n in nodes)))
    supports: list[list[int]] = []
    with stage("jacobian"):
        for constraint, r in zip(model.active_constraints, rows, strict=True):
            span = r.span
            moving = {v for b in r.blocks for i in path_to_root(tree, b.node) for v in _velocities(nodes[i])}
            supports += [sorted(moving)] * len(r.k)
            for i, E in r.relation:
                J[span, nodes[i].v] = J[span, nodes[i].v] + E
            root = loop_root(tree, r) if _between_links(model, constraint) else WORLD
            pending: dict[int, Array] = {}
            met = False
            for block in () if r.relation else r.blocks:
                pending[block.node] = pending.get(block.node, 0.0) + block.K
            while pending:
                i = max(pending)
                K = pending.pop(i)
                met = met or i == root
                if met and _on_one_body(K):
                    K = _of_rigid_motion(constraint, K)
                    if not len(K):
                        break
                    span = slice(span.start, span.start + len(K))
                parent, v, X, S, *_ = nodes[i]
                J[span, v] = K @ S
                if parent >= 0:
                    pending[parent] = pending.get(parent, 0.0) + rows_T(X, K)
    return J, supports


def _between_links(model: Model, constraint: Constraint) -> bool:
    """Whether it is a closure or a distance of which neither side is the world."""
    if not isinstance(constraint, (LoopClosure, Distance)):
        return False
    return all(model.frame(name).body != WORLD for name in (constraint.frame_a, constraint.frame_b))


def _on_one_body(K: Array) -> bool:
    """Of a cluster's bodies: those on which both sides of a loop hang, or on which it hung further out."""
    return sum(any(not is_structurally_zero(x) for x in K[:, n : n + 6].flat) for n in range(0, K.shape[1], 6)) <= 1


def _of_rigid_motion(constraint: Constraint, K: Array) -> Array:
    """The rows, all blocks added up, that respond to a motion of both links as one body: coincidences come first."""
    if not (isinstance(constraint, LoopClosure) and constraint.joint in COINCIDENT):
        return K[:0]
    angular = K[:3].copy()
    for n in range(0, K.shape[1], 6):
        angular[:, n : n + 3] = 0.0
    return angular


def _velocities(node: Node) -> range:
    return range(node.v.start, node.v.stop)
