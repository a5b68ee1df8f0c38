"""Long chains of links that are alike: the sweeps of an algorithm as loops over them, instead of code for every link.

Links that are alike, every one or every few (joints about x, y, z in turn), differ in numbers only: angles, inertias,
shifts. A *window* of them is a short chain whose numbers are those of any. An algorithm's own sweeps run on windows,
repeated along the chain (`spatial/repetition.py`): so code and the time to compile it do not grow with the links.

It pays where a chain's code would no longer fit the processor's caches: 2,000 links compile in a tenth of the time and
run faster; 300 links would run longer (`python -m benchmarks.long_chains`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import Motion, joint_kinematics, outward_motion, resultant_forces
from sarrus.mechanics.mechanism import Node
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.tree import Node as TreeNode
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import Ldl, ldl_solve
from sarrus.spatial.repetition import sweep
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Dense, Shift, Transform, Turn

LONG = 1000  # links: written out, their code is twice the second cache of most processors
_PERIODS = range(1, 7)  # links that may differ in structure before they repeat
_TURNS = ("revolute", "continuous")  # joints that turn about z
_UPPER = np.triu_indices(6)
Wrench = tuple[Array, Array]  # H (6, 6) and f (6,)


class Freed(NamedTuple):
    """A joint that was eliminated."""

    D: Ldl  # S^T H S + A, factored
    UD: Array  # (s, n) U D^-1
    u: Array  # (n,) the force that accelerates it
    Ha: Array | None = None  # (s, s) H - U D^-1 U^T, if somebody carries it


Inward = Callable[[list[Node], Wrench | None], tuple[list[Freed], Wrench]]
Outward = Callable[[list[Node], list[Freed], Array | None], tuple[list[Array], list[Array]]]


class Chain(NamedTuple):
    """A tree without branches. Its links are alike, each `period` of them, but for the first ones."""

    tree: Tree
    first: int  # links that are written out
    period: int


@per_model
def long_chain(model: Model) -> Chain | None:
    """The model as such a chain; None if it is none, or not long."""
    if model.nb < LONG or not model.is_numeric or model.embedding is not None:
        return None
    tree = tree_of(model)
    if any(node.parent != i - 1 or node.joint.name not in _TURNS for i, node in enumerate(tree.nodes)):
        return None
    for period in _PERIODS:
        pairs = zip(tree.nodes[period:], tree.nodes[2 * period :], strict=False)
        if all(_structure(a) == _structure(b) for a, b in pairs):
            return Chain(tree, period + (model.nb - period) % period, period)
    return None


def _structure(node: TreeNode) -> tuple[object, ...]:
    """What must be equal in links that are alike."""
    found: list[object] = [node.joint.name]
    for factor in node.fixed.factors:
        if isinstance(factor, Shift):
            found.append(Shift)
        elif isinstance(factor, Turn):
            found.append((factor.axis, float(factor.c), float(factor.s)))
        elif isinstance(factor, Dense):
            found.append(factor.R.tobytes())
        else:
            return (node,)  # like no other
    return tuple(found)


class _Window(NamedTuple):
    """Links of one period: what they have in common."""

    tree: Tree
    joints: list[Kinematics]

    def links(self, values: Array) -> list[tuple[TreeNode, Transform, Array]]:
        """Per link: itself and its transform, with these numbers, and what else is given."""
        found, at = [], 0
        own = [len(_numbers(*pair)) for pair in zip(self.tree.nodes, self.joints, strict=True)]
        given = (len(values) - sum(own)) // len(own)
        for node, joint, count in zip(self.tree.nodes, self.joints, own, strict=True):
            x, rest = np.split(values[at : at + count + given], [count])
            shifts = iter(x[16:].reshape(-1, 3))
            factors = [Shift(next(shifts)) if isinstance(factor, Shift) else factor for factor in joint.X.factors[:-1]]
            like = replace(node, inertia=Inertia(x[2], x[3:6], x[6:15].reshape(3, 3)), armature=x[15:16])
            found.append((like, Transform((*factors, Turn(2, x[0], x[1]))), rest))
            at += count + given
        return found

    def motion(self, state: Array, values: Array) -> tuple[Array, Array]:
        """From how the parent moves to how the last link does; and the forces that this takes."""
        ground, links = Motion(state[:3], state[3:6], state[6:9], state[9:].reshape(3, 3)), self.links(values)
        joints = [
            Kinematics(X, joint.S, joint.S @ qd, joint.cJ) for (_, X, qd), joint in zip(links, self.joints, strict=True)
        ]
        tree = replace(self.tree, nodes=tuple(node for node, _, _ in links))
        motions = outward_motion(tree, joints, on=ground)
        return _flat(motions[-1]), np.concatenate(resultant_forces(tree, motions, None))

    def nodes(self, values: Array) -> tuple[list[Node], list[Array]]:
        """As the linear dynamics see them, and what is given with each: forces f and tau first, if it is as much."""
        found, given = [], []
        for (node, X, rest), joint in zip(self.links(values), self.joints, strict=True):
            found.append(_node(node, X, joint.S, rest[:6], rest[6:7]))
            given.append(rest)
        return found, given

    def inward(self, state: Array, values: Array, text: Inward) -> tuple[Array, Array]:
        """From H and f of what hangs on the last link to those of all on the parent; joints."""
        H, f = np.zeros((6, 6), dtype=state.dtype), state[21:]
        H[_UPPER] = H.T[_UPPER] = state[:21]
        joints, felt = text(self.nodes(values)[0], (H, f))
        return vector(*felt[0][_UPPER], *felt[1]), np.concatenate([_freed(joint) for joint in joints])

    def outward(self, state: Array, values: Array, text: Outward) -> tuple[Array, Array]:
        """From the parent's acceleration to the last link's; accelerations of joints."""
        nodes, given = self.nodes(values)
        qdd, a = text(nodes, [_as_freed(x) for x in given], state)
        return a[-1], np.concatenate(qdd)


def along_chain(chain: Chain, q: Array, v: Array, tau: Array, inward: Inward, outward: Outward) -> Array:
    """Accelerations of the joints of a chain, by the sweeps of an algorithm."""
    tree, first, period = chain
    joints = joint_kinematics(tree, q, v)
    n = len(tree.nodes)
    start = replace(tree, nodes=tree.nodes[:first])
    alike = [replace(node, parent=k - 1) for k, node in enumerate(tree.nodes[first : first + period])]
    window = _Window(replace(tree, nodes=tuple(alike)), joints[first : first + period])
    numbers = [_numbers(*pair) for pair in zip(tree.nodes[first:], joints[first:], strict=True)]

    def sets(given: Array) -> Array:
        rows = [x for pair in zip(numbers, given, strict=True) for x in pair]
        return np.concatenate(rows).reshape((n - first) // period, -1)

    motions = outward_motion(start, joints[:first])
    forces = resultant_forces(start, motions, None)
    _, rest = sweep(window.motion, _flat(motions[-1]), sets(v[first:, None]))
    loads = np.concatenate([rest.reshape(-1, 6), tau[first:, None]], axis=1)
    felt, freed = sweep(lambda state, x: window.inward(state, x, inward), np.zeros(27), sets(loads)[::-1])
    nodes = [
        _node(node, joint.X, joint.S, f, tau[k : k + 1])
        for k, (node, joint, f) in enumerate(zip(start.nodes, joints, forces, strict=False))
    ]
    H = np.zeros((6, 6), dtype=felt.dtype)
    H[_UPPER] = H.T[_UPPER] = felt[:21]
    qdd, a = outward(nodes, inward(nodes, (H, felt[21:]))[0], None)
    _, rest = sweep(lambda state, x: window.outward(state, x, outward), a[-1], sets(freed[::-1].reshape(-1, 7)))
    return np.concatenate([*qdd, rest.reshape(-1)])


def _numbers(node: TreeNode, joint: Kinematics) -> Array:
    """What may differ between links that are alike."""
    turn, inertia = joint.X.factors[-1], node.inertia
    shifts = [x for factor in joint.X.factors if isinstance(factor, Shift) for x in factor.p]
    assert isinstance(turn, Turn)
    return vector(turn.c, turn.s, inertia.mass, *inertia.h, *inertia.Sigma.flat, *node.armature, *shifts)


def _node(node: TreeNode, X: Transform, S: Array, f: Array, tau: Array) -> Node:
    none = np.zeros((6, 1))
    H = np.array(node.inertia.matrix(), dtype=np.result_type(f.dtype, node.inertia.matrix()))
    armature: Scalar = node.armature[0]
    return Node(node.parent, node.v, X, S, np.array([[armature]]), none, none, (node.inertia,), H, f, tau)


def _flat(motion: Motion) -> Array:
    return vector(*motion.w, *motion.alpha, *motion.a, *motion.Gamma.flat)


def _freed(joint: Freed) -> Array:
    with stage("outward acceleration"):  # as where it is written out
        return vector(*joint.UD[:, 0], *ldl_solve(joint.D, joint.u))


def _as_freed(values: Array) -> Freed:
    """A joint whose pivot is divided by already."""
    return Freed(Ldl(np.eye(1), np.ones(1)), values[:6, None], values[6:7])
