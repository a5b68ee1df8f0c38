"""How the linear dynamics pass a joint: a = X a_parent + S qdd.

What a joint gives way to is cheapest in the body's own frame, where it leaves zeros: first the joint, then X. For a
cluster of bodies it is cheapest at the parent, which is one: first X, then the joint. Algorithms do not see the
difference: they eliminate in the *felt* frame, and go on to the parent with `apply_T` and `congruence`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.tree import Kinematics, Node, Tree
from sarrus.spatial.arrays import Array, Scalar, is_numeric
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_solve, subtract_product
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.rotations import skew
from sarrus.spatial.stacked import StackedTransform, columns_T, rows_T
from sarrus.spatial.transforms import Transform

_WORTH = 3  # nonzeros in a row for which `kept` saves more than it costs


class Passage(NamedTuple):
    """The joint of one node, of a body or of a cluster."""

    X: Transform | StackedTransform
    S: Array  # (s, n) s: size of the node, six per body that others see
    A: Array  # (n, n) inertia of the joint's own coordinates: armature, and a cluster's bodies that nothing else sees
    unit_rows: tuple[int, ...] = ()  # where S is made of unit vectors: which
    C: Array | None = None  # (s_parent, n) a cluster's: inertia that couples the parent's acceleration with qdd
    E: Array | None = None  # (s, n) the same in the node's frame, where that is constant: then not C, and felt there

    def coupling(self, U: Array) -> Array:
        """U = H S as the felt frame has it."""
        if self.C is not None:
            return columns_T(self.X, U) + self.C
        return U if self.E is None else U + self.E

    def felt(self, a_parent: Array) -> Array:
        """The parent's acceleration in the felt frame."""
        return self.X.apply(a_parent) if self.C is None else a_parent

    def acceleration(self, a_parent: Array, felt: Array, qdd: Array) -> Array:
        """X a_parent + S qdd, where `felt` is known."""
        return (felt if self.C is None else self.X.apply(a_parent)) + self.S @ qdd

    def kept(self, D: Ldl, A: Array, H: Array) -> Scalar | None:
        """What part of a force along the joint the parent still feels; A: (n, n) of D = S^T H S + A.

        Where S is made of unit vectors, S^T U D^-1 = 1 - (A - S^T E) D^-1: those rows need no products of U, and are
        zero without inertia of the joint's own. None: no such number.
        """
        return None
        if self.E is None and is_numeric(A) and not A.any():
            return 0.0
        if len(A) != 1 or sum(not is_structurally_zero(x) for x in H[self.unit_rows[0]]) < _WORTH:
            return None
        return (A[0, 0] - self._own_coupling()) * D.d_inv[0]

    def _own_coupling(self) -> Scalar:
        return 0.0 if self.E is None else self.E[self.unit_rows[0], 0]

    def beyond_inertia(self, H: Array, V: Array, W: Array, kept: Scalar | None) -> Array:
        """H - V W^T, felt: the inertia beyond a joint that is free to move."""
        if self.C is not None:
            return subtract_product(self.X.congruence(H), V, W)
        if kept is None:
            return subtract_product(H, V, W)
        out = subtract_product(H, V, W)
        own = self._own_coupling()
        for i in self.unit_rows:
            for j in range(len(H)):
                out[i, j] = out[j, i] = kept * (H[i, j] + own) - own if i == j else kept * H[i, j]
        return out

    def beyond(self, K: Array | None, M: Array, own: Array | None, kept: Scalar | None) -> Array:
        """K - M, felt: forces K (s,) or rows (m, s) on the node, less what the joint gives way to.

        own: what acts on the joint's coordinates themselves, (n,) or (m, n). See `kept` for rows along the joint.
        """
        if self.C is not None:
            return -M if K is None else rows_T(self.X, K) - M
        left = -M if K is None else K - M
        if kept is None:
            return left
        rows = list(self.unit_rows)
        along = np.zeros(left[..., rows].shape) if K is None else K[..., rows]
        if own is None:
            left[..., rows] = kept * along
        else:
            mine = (own @ self.S.T)[..., rows]
            left[..., rows] = kept * (along + mine) - mine
        return left

    def felt_point(self, kept: Scalar | None) -> Array | None:
        """(3, 6) the acceleration of a ball joint's center: rows that pass it are (rows[:, :3]) times that."""
        is_ball = self.unit_rows == (3, 4, 5) and isinstance(self.X, Transform)
        nothing_kept = isinstance(kept, float) and kept == 0.0
        return np.hstack([np.eye(3), -skew(self.X.point(np.zeros(3)))]) if is_ball and nothing_kept else None

    def apply_T(self, felt: Array) -> Array:
        """From the felt frame to the parent: a force, or rows."""
        return rows_T(self.X, felt) if self.C is None else felt

    def congruence(self, felt: Array) -> Array:
        """An inertia from the felt frame to the parent."""
        return self.X.congruence(felt) if self.C is None else felt


def passages_of(tree: Tree, joints: list[Kinematics]) -> list[Passage]:
    """Of a tree of bodies."""
    return [passage_of(node, joint) for node, joint in zip(tree.nodes, joints, strict=True)]


def passage_of(node: Node, joint: Kinematics) -> Passage:
    return Passage(joint.X, joint.S, np.diag(node.armature), unit_rows(joint.S))


def unit_rows(S: Array) -> tuple[int, ...]:
    """Where S has its ones, if it is made of unit vectors; else nothing."""
    if not is_numeric(S):
        return ()
    rows = np.flatnonzero(S.any(axis=1))
    ones = len(rows) == S.shape[1] and np.array_equal(np.sort(S.sum(axis=0)), np.ones(S.shape[1]))
    return tuple(int(k) for k in rows) if ones and np.isin(S, (0.0, 1.0)).all() else ()


class Eliminated(NamedTuple):
    """A joint that was eliminated."""

    U: Array  # (s, n) H S, felt
    B: Array  # (n, n) S^T H S + A
    D: Ldl  # the same, factored
    UD: Array  # (s, n) U D^-1
    kept: Scalar | None  # `Passage.kept`


def eliminate_inertia(p: Passage, H: Array) -> tuple[Eliminated, Array]:
    """U, D, U D^-1 and the articulated inertia Ha, felt."""
    HS = H @ p.S
    B = p.S.T @ HS + p.A
    D = ldl(B)
    U = p.coupling(HS)
    UD = ldl_solve(D, U.T).T
    kept = p.kept(D, p.A, H)
    return Eliminated(U, B, D, UD, kept), p.beyond_inertia(H, UD, U, kept)
