"""What derivatives of forward dynamics need beside the sweeps of the articulated-body algorithm: the Coriolis matrix of
each articulated body, carried inward beside its inertia, and the motion and forces that result.

As the articulated inertia H answers an acceleration, the articulated Coriolis matrix C (6, 3) answers the vector y of a
variation (`variation.py`). A joint that is free to give way takes its part of both:

    k = D^-1 S^T C      Ca = C - U k      parent:  C += X^T Ca R^T - (X^T Ha X)_lin [Delta]x
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import Motion
from sarrus.mechanics.derivatives.variation import Coriolis, Variations, slips, twist_on_force, variations
from sarrus.mechanics.mechanism import Mechanism
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl_solve, minus_product, symmetric_product
from sarrus.spatial.rotations import skew
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


class ArticulatedJoint(NamedTuple):
    """A joint of n freedoms, and how the articulated body beyond it answers variations of its position and rate."""

    parent: int
    v: slice
    X: Transform
    S: Array  # (6, n)
    UD: Array  # (6, n)
    k: Array  # (n, 3) D^-1 S^T C
    D_inv: Array  # (n, n)
    phi: tuple[Array, Array]  # (6, n) force that the varied body takes from the link before it, per position and rate
    z: tuple[Array, Array]  # (6, n) minus the variations of the motion: what is felt of them
    y: tuple[Array, Array]  # (3, n)
    still: tuple[Array, Array]  # (n, n) how the joint yields to its own variations, the link before it held
    delta: Array  # (3,) twice the velocity of the origin relative to the parent's, in the parent's axes
    turned: list[Array]  # (n,) S^T F by each position, where S is not constant


def articulated_joints(
    at: Mechanism, qdd: Array, a: list[Array], D: list[Ldl], UD: list[Array], Ha: dict[int, Array], q: Array, v: Array
) -> list[ArticulatedJoint]:
    """Every joint of a tree with its answers, from what the articulated-body algorithm has found.

    a   accelerations of the nodes in excess of the bias motion
    D   of every joint, factored; UD = U D^-1
    Ha  H - U D^-1 U^T of nodes with a parent
    """
    tree, nodes = tree_of(at.model), at.nodes
    bodies, transforms = tree.nodes, [joint.X for joint in at.joints]
    C = [Coriolis.of_body(body.inertia, m.w).matrix() for body, m in zip(bodies, at.bias, strict=True)]
    delta = slips(tree, at.joints, at.bias)
    k, Ca = {}, {}
    with stage("inward"):
        for i, (parent, _, X, S, *_) in reversed(list(enumerate(nodes))):
            SC = S.T @ C[i]
            k[i] = ldl_solve(D[i], SC)
            if parent >= 0:
                Ca[i] = minus_product(C[i], UD[i], SC)
                moved = X.congruence(Ha[i])
                C[parent] = C[parent] + (_turned(transforms[i], Ca[i]) - moved[:, :3] @ skew(delta[i]))
    motions = [_in_excess(m, x) for m, x in zip(at.bias, a, strict=True)]
    varied = variations(tree, at.joints, motions, q, v, qdd)
    with stage("forces"):
        F = [body.inertia.momentum(a[i]) - nodes[i].f for i, body in enumerate(bodies)]
        for i, node in reversed(list(enumerate(nodes))):
            if node.parent >= 0:
                F[node.parent] = F[node.parent] + node.X.apply_T(F[i])
    joints = []
    for i, (node, by) in enumerate(zip(nodes, varied, strict=True)):
        S, eye, z, y = node.S, np.eye(node.S.shape[1]), (-by.q.z, -by.v.z), (-by.q.y, -by.v.y)
        D_inv = symmetric_product(eye, ldl_solve(D[i], eye))
        none = np.zeros((6, 0))
        phi = _held(S, Ha[i], Ca[i], F[i], by) if node.parent >= 0 else (none, none)
        still = UD[i].T @ z[0] + k[i] @ y[0], UD[i].T @ z[1] + k[i] @ y[1]
        turned = [dS.T @ F[i] for dS in by.dS]
        fixed = node.parent, node.v, transforms[i], S
        joints.append(ArticulatedJoint(*fixed, UD[i], k[i], D_inv, phi, z, y, still, delta[i], turned))
    return joints


def _held(S: Array, Ha: Array, Ca: Array, F: Array, by: Variations) -> tuple[Array, Array]:
    """Forces that a varied body takes from its parent; that which it took already turns with it."""
    with_it = np.stack([twist_on_force(s, F) for s in S.T], axis=1)
    return Ha @ by.q.z + Ca @ by.q.y + with_it, Ha @ by.v.z + Ca @ by.v.y


def _in_excess(bias: Motion, a: Array) -> Motion:
    """The bias motion and the acceleration in excess of it."""
    return Motion(bias.w, bias.alpha + a[3:], bias.a + a[:3], bias.Gamma + skew(a[3:]))


def _turned(X: Transform, C: Array) -> Array:
    """X^T C R^T."""
    return by_column(X.apply_T, np.stack([X.rotate(row) for row in C]))
