"""How the motion beyond a joint varies with the joint's position and rate: what derivatives of the dynamics begin with.

Let a joint be moved by a small twist s = [s_l; s_w], in the axes of its node, everything beyond it riding along, and
look from axes that ride along, too. The acceleration of a mass at r, which moves at pdot relative to the node's
origin, then varies by

    z_l + z_w x r + 2 y x pdot

so by a field like that of a rigid body, z = [z_l; z_w], and by a Coriolis term that one vector y decides. With w' and
Gamma' those of the parent, a' the acceleration of its point under this origin, all in the axes of the node:

    position    y = w' x s_w      z = [a' x s_w + Gamma' s_l + 2 y x vJ_l;    Gamma' s_w]
    rate        y = s_w           z = [(w' + w) x s_l - vJ_l x s_w;           (w' + w) x s_w]

In a joint with one freedom the node's own motion may stand for the parent's, which costs less:

    position    y = w x s_w       z = [a x s_w + Gamma s_l;  Gamma s_w]
    rate        y = s_w           z = 2 [w x s_l;  w x s_w]

Where S depends on q, the twist of the joint and its acceleration vary, too.

What the bodies beyond take for it is a force H z + B y: H is their inertia, and B, the *Coriolis composite*, twelve
numbers: P = integral of 2 pdot dm and K = tr(T) 1 - T with T = integral of 2 pdot r^T dm,

    B y = [y x P;  K y]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import Motion, gamma
from sarrus.model.joints import Kinematics
from sarrus.model.tree import Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.rotations import cross, skew
from sarrus.spatial.transforms import Transform


class Variation(NamedTuple):
    """Of the motion beyond a joint, per unit of each of its n freedoms. See above."""

    z: Array  # (6, n)
    y: Array  # (3, n)


class Variations(NamedTuple):
    """Of a joint."""

    q: Variation  # with its position
    v: Variation  # with its rate
    dS: list[Array]  # of S with each position, where S is not constant


def variations(
    tree: Tree, joints: list[Kinematics], motions: list[Motion], q: Array, v: Array, a: Array
) -> list[Variations]:
    """Of every joint, at joint accelerations `a` and the motion that they give."""
    zero = np.zeros(3)
    ground = Motion(zero, zero, -tree.gravity, np.zeros((3, 3)))
    found = []
    for node, joint, motion in zip(tree.nodes, joints, motions, strict=True):
        if node.joint.nv == 1:
            pairs, changes = [_of_one_freedom(s, motion) for s in joint.S.T], []
        else:
            parent = under(joint.X, ground if node.parent < 0 else motions[node.parent])
            pairs = [(_position(s, joint, parent), _rate(s, joint, motion, parent)) for s in joint.S.T]
            changes = node.joint.changes_of_subspace(q[node.q], v[node.v]) or []
            for k, (dS, dc_dq, dc_dv) in enumerate(changes):
                (by_q, by_v), twist = pairs[k], _rate(dS @ v[node.v], joint, motion, parent)
                by_q = Variation(by_q.z + twist.z + (dS @ a[node.v] + dc_dq), by_q.y + twist.y)
                pairs[k] = by_q, Variation(by_v.z + dc_dv, by_v.y)
        by_q, by_v = zip(*pairs, strict=True)
        found.append(Variations(_joined(by_q), _joined(by_v), [change[0] for change in changes]))
    return found


def under(X: Transform, parent: Motion) -> Motion:
    """The parent's motion at the origin and in the axes of a node."""
    w, alpha = X.rotate_T(parent.w), X.rotate_T(parent.alpha)
    return Motion(w, alpha, X.rotate_T(parent.a + parent.Gamma @ X.p), gamma(alpha, w))


def _of_one_freedom(s: Array, m: Motion) -> tuple[Variation, Variation]:
    s_l, s_w = s[:3], s[3:]
    y, slide = cross(m.w, s_w), cross(m.w, s_l)
    by_q = Variation(np.concatenate([cross(m.a, s_w) + m.Gamma @ s_l, m.Gamma @ s_w]), y)
    return by_q, Variation(np.concatenate([slide + slide, y + y]), s_w)


def _position(s: Array, joint: Kinematics, parent: Motion) -> Variation:
    s_l, s_w = s[:3], s[3:]
    y = cross(parent.w, s_w)
    coriolis = cross(y + y, joint.vJ[:3])
    return Variation(np.concatenate([cross(parent.a, s_w) + parent.Gamma @ s_l + coriolis, parent.Gamma @ s_w]), y)


def _rate(s: Array, joint: Kinematics, m: Motion, parent: Motion) -> Variation:
    s_l, s_w = s[:3], s[3:]
    both = parent.w + m.w
    return Variation(np.concatenate([cross(both, s_l) - cross(joint.vJ[:3], s_w), cross(both, s_w)]), s_w)


def _joined(columns: Sequence[Variation]) -> Variation:
    return Variation(np.stack([x.z for x in columns], axis=1), np.stack([x.y for x in columns], axis=1))


class Coriolis(NamedTuple):
    """The Coriolis composite B of bodies, about the origin of a node and in its axes."""

    P: Array  # (3,) integral of 2 pdot dm
    K: Array  # (3, 3) tr(T) 1 - T

    @staticmethod
    def of_body(inertia: Inertia, w: Array) -> Coriolis:
        """Of one body, which turns at w: pdot = w x r."""
        w2 = w + w
        return Coriolis(cross(w2, inertia.h), _spread(skew(w2) @ inertia.Sigma, skew(-w2) @ inertia.Sigma))

    def __add__(self, other: tuple) -> Coriolis:
        return Coriolis(self.P + other[0], self.K + other[1])

    def matrix(self) -> Array:
        """B (6, 3)."""
        return np.concatenate([skew(-self.P), self.K])

    def transformed(self, X: Transform, delta: Array, moved: Inertia) -> Coriolis:
        """The same bodies seen from the parent, relative to which the node's origin moves at delta / 2.

        moved: their inertia, seen from there
        """
        P = X.rotate(self.P)
        T = np.outer(P, X.p) + np.outer(delta, moved.h)
        return Coriolis(P + moved.mass * delta, X.rotate_matrix(self.K) + _spread(T, -T))


def _spread(T: Array, minus: Array) -> Array:
    """tr(T) 1 - T, given T and -T: signs go into the sums that both are."""
    K = minus.copy()
    K[0, 0], K[1, 1], K[2, 2] = T[1, 1] + T[2, 2], T[0, 0] + T[2, 2], T[0, 0] + T[1, 1]
    return K


def slips(tree: Tree, joints: list[Kinematics], motions: list[Motion]) -> list[Array]:
    """Delta of every node: twice the velocity of its origin relative to its parent's, in the parent's axes."""
    found = []
    for node, (X, _, vJ, _) in zip(tree.nodes, joints, strict=True):
        slide = X.rotate(vJ[:3])
        turn = np.zeros(3) if node.parent < 0 else cross(motions[node.parent].w, X.p)
        found.append((turn + turn) + (slide + slide))
    return found


def twist_on_force(s: Array, f: Array) -> Array:
    """s x* f: how a force that rides along with a twist s varies."""
    return np.concatenate([cross(s[3:], f[:3]), cross(s[3:], f[3:]) + cross(s[:3], f[:3])])
