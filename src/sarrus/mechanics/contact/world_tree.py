"""A tree of bodies in the world's axes, about one origin, and what wrenches on its bodies do, by sweeps.

There, bodies that do not move against each other have the same twist, so that no sweep transforms anything. A node is a
body or a cluster of several; each of its bodies that matters moves with its parent and with S y beside it:

    a = a_parent + S y        and the node costs        sum of a^T H a / 2  +  y^T A y / 2  +  y^T C^T a_parent

`response` is constrained ABA's sweep (LCABA paper, Algorithms 1 to 3): rows that give way add K^T h K to the inertia of
the body that they act on. Here h may be any matrix, that of Newton's method about Coulomb's law, which is not
symmetric: H then is not, and U = H S and V = S^T H are not each other's transposes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.contact_rows import Poses
from sarrus.mechanics.contact.delassus import solve_unpivoted
from sarrus.mechanics.mechanism import Mechanism
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import ClusterTree
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array, add_to
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_solve, subtract_product, symmetric_product
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import pose

ByBody = Mapping[int, Array]


class WorldNode(NamedTuple):
    """A body, or a cluster of bodies, with its joint. n: its velocities."""

    parent: int  # the body that it hangs on
    v: slice  # where its velocities lie among all
    S: dict[int, Array]  # by body that others hang on, or that may be touched: (6, n)
    H: dict[int, Array]  # by body that weighs something: (6, 6), with the limbs on it that are never touched
    A: Array  # (n, n)
    C: Array  # (6, n)

    @property
    def is_free(self) -> bool:
        """Whether nothing holds it, and its twist may stand for its velocities."""
        nothing = all(isinstance(x, float | np.floating) and x == 0.0 for x in self.A.flat)
        return self.parent == WORLD and len(self.A) == 6 and len(self.S) == 1 and nothing


class Mobilities(NamedTuple):
    """The diagonal blocks of what impulses do."""

    P: dict[int, Array]  # by body: (6, 6) the twist that a wrench on it gives it
    Q: dict[int, Array]  # by node: (n, n) the velocities that forces on it give it


class WorldTree(NamedTuple):
    """Those nodes that move what may be touched, or that have rows of their own."""

    origin: Array  # (3,) in the world
    nodes: dict[int, WorldNode]  # by number, parents first
    n: int  # velocities of all nodes

    def twists(self, y: Array) -> dict[int, Array]:
        """By body: (6,) where nodes have velocities y (n,)."""
        a: dict[int, Array] = {}
        for node in self.nodes.values():
            own = {b: S @ y[node.v] for b, S in node.S.items()}
            a |= {b: x + a[node.parent] if node.parent in a else x for b, x in own.items()}
        return a

    def forces(self, wrenches: ByBody) -> dict[int, Array]:
        """By node: (n,) what wrenches (6,) on bodies are on its velocities."""
        f, tau = dict(wrenches), dict[int, Array]()
        for i, node in reversed(self.nodes.items()):
            for b, S in node.S.items():
                if b in f:
                    add_to(tau, i, S.T @ f[b])
                    add_to(f, node.parent, f[b])
        return tau

    def mobilities(self) -> Mobilities:
        """What wrenches on bodies do to these, and forces on nodes."""
        D, w = dict[int, Ldl](), dict[int, Array]()
        H: dict[int, Array] = {}
        P: dict[int, Array] = {}
        Q: dict[int, Array] = {}
        with stage("mobilities"):
            for i, node in reversed(self.nodes.items()):
                D[i], U, own = _free_joint(node, H)
                w[i] = ldl_solve(D[i], U.T)
                if node.parent != WORLD:
                    add_to(H, node.parent, subtract_product(own, w[i].T, U))
            for i, node in self.nodes.items():
                Q[i], Z = ldl_solve(D[i], np.eye(len(node.A))), None
                if node.parent in P:
                    Z = w[i] @ P[node.parent]
                    Q[i] = Q[i] + symmetric_product(Z, w[i].T)
                for b, S in node.S.items():
                    P[b] = symmetric_product(S, Q[i] @ S.T)
                    if Z is not None:  # S D^-1 S^T + (1 - S w) P_parent (1 - S w)^T
                        P[b] = P[b] + P[node.parent] - (S @ Z) - (S @ Z).T
        return Mobilities(P, Q)

    def response(
        self, K: ByBody, B: ByBody, wrenches: ByBody, tau: ByBody
    ) -> tuple[dict[int, Array], dict[int, Array]]:
        """Twists of bodies and velocities of nodes by wrenches on bodies and tau on nodes.

        K  by body: (6, 6) added to what it weighs;  B  by node: (n, n) added to A
        """
        H, f = dict(K), dict(wrenches)
        Y: dict[int, Array] = {}
        a: dict[int, Array] = {}
        y: dict[int, Array] = {}
        for i, (parent, _, S, own, A, C) in reversed(self.nodes.items()):
            for b in own:
                add_to(H, b, own[b])
            if self.nodes[i].is_free:
                continue
            D = A + B[i] if i in B else A
            U, V, u = C, C.T, tau.get(i, np.zeros(len(A)))
            for b in (b for b in S if b in H):
                HS = H[b] @ S[b]
                U, V, D = U + HS, V + S[b].T @ H[b], D + S[b].T @ HS
            for b in (b for b in S if b in f):
                u = u + S[b].T @ f[b]
            if parent == WORLD:
                Y[i] = solve_unpivoted(D, u[:, None])
                continue
            Y[i] = solve_unpivoted(D, np.concatenate([V, u[:, None]], axis=1))  # D^-1 [V u]
            add_to(H, parent, sum((H[b] for b in S if b in H), np.zeros((6, 6))) - U @ Y[i][:, :6])
            add_to(f, parent, sum((f[b] for b in S if b in f), np.zeros(6)) - U @ Y[i][:, 6])
        for i, node in self.nodes.items():
            if node.is_free:
                (b,) = node.S
                a[b] = solve_unpivoted(H[b], f.get(b, np.zeros(6)))
                continue
            y[i] = Y[i][:, -1]
            if node.parent in a:
                y[i] = y[i] - Y[i][:, :6] @ a[node.parent]
            for b, S in node.S.items():
                a[b] = S @ y[i] + a[node.parent] if node.parent in a else S @ y[i]
        return a, y


def _free_joint(node: WorldNode, below: ByBody) -> tuple[Ldl, Array, Array]:
    """D, factored, U and the inertia of all bodies, where `below` hangs on them."""
    U, D, own = node.C, node.A, np.zeros((6, 6))
    for b, S in node.S.items():
        H = [x[b] for x in (node.H, below) if b in x]
        if H:
            whole = sum(H[1:], H[0])
            HS = whole @ S
            U, D, own = U + HS, D + symmetric_product(S.T, HS), own + whole
    return ldl(D), U, own


def world_tree(
    at: Mechanism, poses: Poses, added: Array, touched: Collection[int], with_rows: Collection[int]
) -> WorldTree:
    """Of a mechanism.

    added      (n, n) to the inertia of joints
    touched    bodies that may be touched
    with_rows  velocities (of the tree) that have rows of their own
    """
    clusters = at.tree if isinstance(at.tree, ClusterTree) else None
    origin = poses[0][1] if len(poses) else np.zeros(3)
    nodes: dict[int, WorldNode] = {}
    with stage("world tree"):
        axes = [_in_world(joint.S, R, p - origin) for joint, (R, p) in zip(at.joints, poses, strict=True)]
        for i, node in enumerate(at.nodes):
            own = clusters.nodes[i] if clusters is not None else None
            ports = (i,) if own is None else own.ports
            parent = node.parent
            if clusters is not None and own is not None and parent != WORLD:
                parent = clusters.nodes[parent].ports[own.at]
            where = [pose(R, p - origin) for R, p in (poses[b] for b in ports)]
            H = {b: x.transformed(X).matrix() for b, x, X in zip(ports, node.bodies, where, strict=True)}
            C = np.zeros((6, len(node.A)))
            if parent != WORLD and own is not None:
                X = pose(poses[parent][0], poses[parent][1] - origin)
                mine = node.C[6 * own.at : 6 * own.at + 6]
                C = np.stack([X.apply_T(c) for c in mine.T], axis=1) if mine.size else C
            seen = [b for b in (ports if own is None else own.bodies) if b in ports or b in touched]
            S = {b: axes[b] if own is None or own.cluster is None else _within(at, i, b, axes) for b in seen}
            nodes[i] = WorldNode(parent, node.v, S, H, node.A + added[node.v, node.v], C)
        return WorldTree(origin, _folded(nodes, touched, with_rows), len(added))


def _in_world(S: Array, R: Array, arm: Array) -> Array:
    """(6, n) of motions in a body's axes about its origin: in the world's, about what is at -arm from it."""
    linear, angular = R @ S[:3], R @ S[3:]
    return np.concatenate([linear + _crossed(arm, angular), angular])


def _crossed(arm: Array, columns: Array) -> Array:
    return np.stack([cross(arm, c) for c in columns.T], axis=1) if columns.size else columns


def _within(at: Mechanism, number: int, body: int, axes: Sequence[Array]) -> Array:
    """(6, n) how a body of a cluster moves with the cluster's velocities, its output body at rest."""
    assert at.embedded is not None
    motion, node = at.embedded.motions[number], at.embedded.tree.nodes[number]
    S, i = np.zeros((6, motion.G.shape[1])), body
    while i in node.bodies:
        S = S + axes[i] @ motion.G[motion.rows_of(at.model.layout.v[i])]
        i = tree_of(at.model).nodes[i].parent
    return S


def _folded(nodes: dict[int, WorldNode], touched: Collection[int], with_rows: Collection[int]) -> dict[int, WorldNode]:
    """Without limbs that nothing acts on: their articulated inertia is what they hang on feels, whatever happens."""
    needed: set[int] = set()  # bodies that needed nodes hang on
    kept: dict[int, WorldNode] = {}
    folded: dict[int, Array] = {}
    for i, node in reversed(nodes.items()):
        acted_on = any(b in touched or b in needed for b in node.S)
        acted_on = acted_on or any(k in with_rows for k in range(node.v.start, node.v.stop))
        if acted_on:
            needed.add(node.parent)
            H = dict(node.H)
            for b in node.S:
                if b in folded:
                    add_to(H, b, folded[b])
            kept[i] = node._replace(H=H)
        elif node.parent != WORLD:
            D, U, own = _free_joint(node, folded)
            add_to(folded, node.parent, subtract_product(own, ldl_solve(D, U.T).T, U))
    return dict(reversed(kept.items()))
