"""How the joints of a tree answer torques on each other, and variations of each other's positions and rates.

Four sweeps fill three matrices, each element by one product of a force and an acceleration:

    torques      g: what a link feels per unit torque on a joint before it, outward              rows of ancestors
    variations   g: what a link feels of variations of joints beyond it, outward                 diagonal
    answers      rho, kappa: how a joint beyond answers what a link feels and y, inward          rows of descendants
    branches     rho of one branch times g of another, at the link where they part               all other rows

What a link *feels* is its acceleration with the opposite sign, as passengers do: a joint answers it by qdd = UD^T g,
and the next link feels g - S qdd. By reciprocity the g of a torque, times the force phi of a variation, is how the
torque's joint answers the variation. All vectors of a link pass its joint by the same text, which is a repetition.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.derivatives.articulated_joints import ArticulatedJoint
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import minus_product, symmetric_product
from sarrus.spatial.repetition import repeat
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform

_DEEP = 4  # joints before one of a chain: from there on its mobility is cheaper than a sum along the path


class Responses(NamedTuple):
    """Accelerations of all joints (rows) per position, rate and torque (columns)."""

    q: Array  # (nv, nv)
    v: Array  # (nv, nv)
    tau: Array  # (nv, nv)


class Vectors(NamedTuple):
    """Vectors of one link, one per velocity of other joints."""

    columns: list[int]  # which velocities
    rows: Array  # (k, 6)


class Torques(NamedTuple):
    """What unit torques do, beside the matrix."""

    under: list[Array]  # (6, n) what a joint feels of unit torques on itself
    g: list[dict[int, Array]]  # (6,) what every link feels of those on joints beyond it


class Mobility:
    """(6, 6): how links accelerate per unit force on them, where nothing else does; found when asked for."""

    def __init__(self, joints: list[ArticulatedJoint]) -> None:
        self._joints = joints
        self._found: dict[int, Array] = {}

    def before(self, i: int) -> Array:
        """Of the link before a joint, as the joint sees it."""
        return self._joints[i].X.congruence_of_motions(self.of_link(self._joints[i].parent))

    def of_link(self, i: int) -> Array:
        if i not in self._found:
            joint = self._joints[i]
            own = symmetric_product(joint.S @ joint.D_inv, joint.S.T)
            if joint.parent >= 0:
                held = np.eye(6) - joint.UD @ joint.S.T  # how much of a force goes on to the link before
                own = symmetric_product(held.T, self.before(i) @ held) + own
            self._found[i] = own
        return self._found[i]


class Shape(NamedTuple):
    """Of a tree."""

    children: list[list[int]]
    paths: list[list[int]]  # what is before each node, from the root on

    @staticmethod
    def of(joints: Sequence[ArticulatedJoint]) -> Shape:
        children: list[list[int]] = [[] for _ in joints]
        paths: list[list[int]] = []
        for i, joint in enumerate(joints):
            paths.append([] if joint.parent < 0 else [*paths[joint.parent], joint.parent])
            if joint.parent >= 0:
                children[joint.parent].append(i)
        return Shape(children, paths)

    def is_deep_in_a_chain(self, i: int) -> bool:
        """Nobody else needs accelerations of the links before it."""
        return len(self.paths[i]) > _DEEP and all(len(self.children[c]) == 1 for c in self.paths[i])

    def velocities_beyond(self, joints: list[ArticulatedJoint]) -> list[list[int]]:
        """Those of every node's joint and of all joints beyond it."""
        found = [list(range(joint.v.start, joint.v.stop)) for joint in joints]
        for i in reversed(range(len(joints))):
            if joints[i].parent >= 0:
                found[joints[i].parent] += found[i]
        return found

    def last_needed(self, i: int) -> int:
        """How many links of its path have to know their accelerations by variations of a node's joint."""
        path = self.paths[i]
        if self.is_deep_in_a_chain(i):
            return 0
        if self.children[i]:
            return len(path)
        return max((k + 1 for k, c in enumerate(path) if len(self.children[c]) > 1), default=0)


def responses(joints: list[ArticulatedJoint], dtype: np.dtype) -> Responses:
    """Of all joints to all."""
    nv = sum(joint.S.shape[1] for joint in joints)
    out = Responses(*(np.zeros((nv, nv), dtype) for _ in range(3)))
    shape, mobility = Shape.of(joints), Mobility(joints)
    # The forces of a last joint are carried to the link before it, instead of that link's vectors to it.
    joints = [j if shape.children[i] or j.parent < 0 else _seen_from_before(j) for i, j in enumerate(joints)]
    torques = _torques(joints, shape, mobility, out)
    felt, g = _variations(joints, shape, mobility, torques, out)
    rho = _answers(joints, felt, out)
    _branches(joints, shape, rho, (*g, torques.g), out)
    for joint in joints:
        for column, force in enumerate(joint.turned, start=joint.v.start):
            out.q[:, column] = out.q[:, column] - out.tau[:, joint.v] @ force
    return out


def _seen_from_before(joint: ArticulatedJoint) -> ArticulatedJoint:
    """The forces of a joint in the frame of the link before it."""
    X = joint.X
    UD, *phi = (by_column(X.apply_T, x) for x in (joint.UD, *joint.phi))
    k = np.stack([X.rotate(k) + cross(joint.delta, ud[:3]) for k, ud in zip(joint.k, UD.T, strict=True)])
    return joint._replace(X=Transform(), UD=UD, phi=tuple(phi), k=k, delta=np.zeros(3))


def _torques(joints: list[ArticulatedJoint], shape: Shape, mobility: Mobility, out: Responses) -> Torques:
    """Outward: what is felt of torques passes every joint, which answers, and is answered by the joint's variations."""
    felt: list[Vectors] = []
    torques = Torques([], [{} for _ in joints])
    for i, joint in enumerate(joints):
        parent, v, X, S, UD, _, D_inv, phi, *_ = joint
        n, mine = S.shape[1], list(range(v.start, v.stop))
        if parent < 0:
            out.tau[v, v] = D_inv
            felt.append(Vectors(mine, -(S @ D_inv).T))
            torques.under.append(np.zeros((6, n)))
            continue

        def passed(g: Array, X=X, S=S, UD=UD, phi=phi) -> Array:
            g = X.apply(g)
            qdd = UD.T @ g
            return np.concatenate([qdd, phi[0].T @ g, phi[1].T @ g, g - S @ qdd])

        with stage("torques outward"):
            before, rows = felt[parent].columns, repeat(passed, felt[parent].rows)
            by_tau, by_q, by_v, g = np.split(rows, [n, 2 * n, 3 * n], axis=1)
            out.tau[v, before], out.tau[before, v] = by_tau.T, by_tau
            out.q[before, v], out.v[before, v] = by_q, by_v
            if shape.is_deep_in_a_chain(i):
                under = (mobility.before(i) if shape.children[i] else mobility.of_link(parent)) @ UD
            else:
                for c in shape.paths[i]:
                    for column in mine:
                        torques.g[c][column] = _next(joints[c], torques.g, column, out.tau)
                under = by_column(X.apply, np.stack([torques.g[parent][c] for c in mine], axis=1))
            out.tau[v, v] = symmetric_product(UD.T, under) + D_inv
            torques.under.append(under)
            felt.append(Vectors([*before, *mine], np.concatenate([g, (under - S @ out.tau[v, v]).T])))
    return torques


def _next(joint: ArticulatedJoint, g: list[dict[int, Array]], column: int, qdd: Array) -> Array:
    """What the link beyond a joint feels, from what that before it does."""
    own = joint.S @ qdd[joint.v, column]
    return -own if joint.parent < 0 else joint.X.apply(g[joint.parent][column]) - own


def _variations(
    joints: list[ArticulatedJoint], shape: Shape, mobility: Mobility, torques: Torques, out: Responses
) -> tuple[list[tuple[Array, Array]], tuple[list[dict[int, Array]], ...]]:
    """Outward: links feel variations of joints beyond them, up to those joints, which answer.

    Returns what every joint feels of its own variations, and every link of those beyond.
    """
    felt: list[tuple[Array, Array]] = []
    g: tuple[list[dict[int, Array]], ...] = tuple([{} for _ in joints] for _ in range(2))
    needed: list[list[int]] = [[] for _ in joints]
    for i, joint in enumerate(joints):
        for c in shape.paths[i][: shape.last_needed(i)]:
            needed[c] += range(joint.v.start, joint.v.stop)
    with stage("variations outward"):
        for i, joint in enumerate(joints):
            parent, v, X, S, UD, k, _, phi, z, y, still, *_ = joint
            own = list(z)
            for t, matrix in enumerate((out.q, out.v)):
                if parent >= 0 and not shape.children[i]:  # nobody asks what it feels
                    matrix[v, v] = still[t] + torques.under[i].T @ phi[t]
                else:
                    if parent >= 0 and shape.is_deep_in_a_chain(i):
                        own[t] = mobility.before(i) @ phi[t] + z[t]
                    elif parent >= 0:
                        before = np.stack([g[t][parent][c] for c in range(v.start, v.stop)], axis=1)
                        own[t] = by_column(X.apply, before) + z[t]
                    matrix[v, v] = UD.T @ own[t] + k @ y[t]
            if needed[i]:
                qdd = np.concatenate([out.q[v, needed[i]].T, out.v[v, needed[i]].T])
                if parent < 0:
                    rows = repeat(lambda x, S=S: -(S @ x), qdd)
                else:
                    before = np.stack([g[t][parent][c] for t in range(2) for c in needed[i]])
                    rows = repeat(lambda x, X=X, S=S: X.apply(x[:6]) - S @ x[6:], np.concatenate([before, qdd], axis=1))
                for t, mine in enumerate(np.split(rows, 2)):
                    g[t][i].update(zip(needed[i], mine, strict=True))
            felt.append((own[0], own[1]))
    return felt, g


def _answers(joints: list[ArticulatedJoint], felt: list[tuple[Array, Array]], out: Responses) -> list[dict[int, Array]]:
    """Inward: rho and kappa of all joints beyond pass every joint, whose variations they answer.

    Returns rho of every link, by the velocities of joints beyond it.
    """
    beyond: list[list[Vectors]] = [[] for _ in joints]
    found: list[dict[int, Array]] = [{} for _ in joints]
    with stage("answers inward"):
        for i, joint in reversed(list(enumerate(joints))):
            if joint.parent < 0:
                continue
            mine = list(range(joint.v.start, joint.v.stop))
            parts = [Vectors(mine, np.concatenate([joint.UD.T, joint.k], axis=1)), *beyond[i]]
            columns = [c for part in parts for c in part.columns]
            _, v, _, S, UD, k, _, _, _, y, *_ = joints[joint.parent]

            def passed(x: Array, X=joint.X, delta=joint.delta, S=S, UD=UD, k=k, y=y, felt=felt[joint.parent]) -> Array:
                rho = X.apply_T(x[:6])
                kappa = X.rotate(x[6:]) + cross(delta, rho[:3])
                e = S.T @ rho
                rest, kappa = minus_product(rho[:, None], UD, e[:, None])[:, 0], kappa - k.T @ e
                qdd = [rest @ felt[t] + kappa @ y[t] for t in range(2)]
                return np.concatenate([*qdd, rho, rest, kappa])

            n, sets = S.shape[1], np.concatenate([part.rows for part in parts])
            by_q, by_v, rho, rest = np.split(repeat(passed, sets), [n, 2 * n, 2 * n + 6], axis=1)
            out.q[columns, v], out.v[columns, v] = by_q, by_v
            beyond[joint.parent].append(Vectors(columns, rest))
            found[joint.parent].update(zip(columns, rho, strict=True))
    return found


def _branches(
    joints: list[ArticulatedJoint],
    shape: Shape,
    rho: list[dict[int, Array]],
    g: tuple[list[dict[int, Array]], ...],
    out: Responses,
) -> None:
    """At every link where branches part: the joints of one answer what happens in another."""
    beyond = shape.velocities_beyond(joints)
    with stage("across branches"):
        for c, children in enumerate(shape.children):
            pairs = [(r, s) for one, other in permutations(children, 2) for r in beyond[one] for s in beyond[other]]
            if not pairs:
                continue
            for matrix, by, those in (
                (out.q, g[0], pairs),
                (out.v, g[1], pairs),
                (out.tau, g[2], [(r, s) for r, s in pairs if r < s]),  # the matrix is symmetric
            ):
                sets = np.stack([np.concatenate([rho[c][r], by[c][s]]) for r, s in those])
                at = tuple(np.array(those).T)
                matrix[at] = repeat(lambda x: x[None, :6] @ x[6:], sets)[:, 0]
            at = tuple(np.array([(r, s) for r, s in pairs if r < s]).T)
            out.tau[at[::-1]] = out.tau[at]
