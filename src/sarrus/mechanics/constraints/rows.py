"""Constraint rows on nodes: `sum over nodes of K a = k`, a being a node's acceleration in excess of the bias motion.

Rows are made from a tree of bodies at a state, as constraints see it (`KinematicState`), by the functions of their
type. A new type of constraint is a class in `model/constraints`, and a file here with two functions and their line in
`EQUATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies import (
    Motion,
    Relative,
    Side,
    outward_motion,
    relative,
    spatial_velocities,
    world_poses,
)
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Constraint
from sarrus.model.constraints.loops import LoopConstraint
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.tree import frames_of, tree_of
from sarrus.once import cached_property
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.product import product
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


class Block(NamedTuple):
    """The part of a constraint's rows that acts on one node."""

    node: int
    K: Array  # (m, 6) in the node's frame
    gram: Array | None = None  # K^T K of the rows of a point where it is known without multiplying (a constant's
    # isometry); rows of angles, if there are some, are orthonormal

    def weighted_gram(self, mu: Array) -> Array:
        """K^T diag(mu) K, each element once; nothing at all to compute where K^T K is known.

        mu of a point may be 1e8 times that of angles, and these all that holds a link of 1e-11 kg m^2.
        """
        if self.gram is None:
            return symmetric_product((self.K.T * mu), self.K)
        of_point = mu[0] * self.gram
        return of_point if len(mu) == 3 else of_point + mu[3] * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])


class Rows(NamedTuple):
    """The rows of one constraint, on one or more nodes.

    A contact's weld is kept in its node's own frame, where K is the identity; `frame` is then the declared frame in
    the node. Some rows of a loop closure are vectors in the axes of its first node; `axes` are then the declared axes
    there.
    Rows that were declared with any length are divided by it. Else rows are as declared.
    """

    blocks: tuple[Block, ...]
    k: Array  # (m,)
    R: Array | None = None  # (m,) softness, in the declared basis
    frame: Transform | None = None
    axes: Array | None = None  # (3, 3)
    vectors: tuple[int, ...] = ()  # where the rows that are in these axes begin, three each
    relation: tuple[tuple[int, Array], ...] = ()  # the same rows on the joints' own accelerations: (node, (m, n)), ...
    lengths: Array | None = None  # (m,) of the declared rows
    span: slice = slice(0)  # where they lie among the rows of all constraints
    against_world: bool = False  # rows on several nodes that measure from the world: their root is not among the nodes
    coincident: bool = False  # whether the first three rows make two points one

    @property
    def node(self) -> int:
        """The node of a constraint that acts on one."""
        (block,) = self.blocks
        return block.node

    @property
    def K(self) -> Array:
        (block,) = self.blocks
        return block.K

    def residual(self, a: dict[int, Array] | Sequence[Array]) -> Array:
        """K a - k, in the basis of the rows."""
        return sum((block.K @ a[block.node] for block in self.blocks), -self.k)

    def declared(self) -> Rows:
        """A link's constraint with rows in the declared basis."""
        if self.lengths is not None:
            K = (self.K.T * self.lengths).T
            return Rows((Block(self.node, K),), self.lengths * self.k, self.R, span=self.span)
        if self.frame is None:
            return self
        K = motion_matrix(self.frame) @ self.K
        return Rows((Block(self.node, K),), self.frame.apply(self.k), self.R, span=self.span)

    def declared_force(self, f: Array) -> Array:
        if self.lengths is not None:
            return f / self.lengths
        if self.axes is not None:
            return turned(self.axes.T, self.vectors, f)
        return f if self.frame is None else self.frame.inverse().apply_T(f)

    def force_of_declared(self, f: Array) -> Array:
        """The inverse of `declared_force`."""
        if self.lengths is not None:
            return self.lengths * f
        if self.axes is not None:
            return turned(self.axes, self.vectors, f)
        return f if self.frame is None else self.frame.apply_T(f)

    def declared_residual(self, residual: Array) -> Array:
        if self.lengths is not None:
            return self.lengths * residual
        if self.axes is not None:
            return self.declared_force(residual)
        return residual if self.frame is None else self.frame.apply(residual)

    def residual_of_declared(self, residual: Array) -> Array:
        """The inverse of `declared_residual`."""
        if self.lengths is not None:
            return residual / self.lengths
        if self.axes is not None:
            return self.force_of_declared(residual)
        return residual if self.frame is None else self.frame.inverse().apply(residual)


def feedback(constraint: Constraint, rate: Any, error: Any) -> Any:
    """Baumgarte's: 2 / T times the velocity and 1 / T^2 times the position that should be zero."""
    T = constraint.stabilization
    return 0.0 if T is None else (2.0 / T) * rate + (1.0 / (T * T)) * error


def rotation_sines(R: Array) -> Array:
    """The sine of a rotation's angle, along its axis."""
    return 0.5 * vector(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])


def turned(R: Array, vectors: tuple[int, ...], x: Array) -> Array:
    """x (m,) or (m, n) with R applied to the three rows from each of `vectors` on."""
    out = x.astype(np.result_type(x, R))
    for i in vectors:
        out[i : i + 3] = product(R, x[i : i + 3])
    return out


def merged(blocks: list[Block]) -> tuple[Block, ...]:
    """One block per node: where both ends of a constraint are on one node, its rows see their sum."""
    found: dict[int, Block] = {}
    for b in blocks:
        found[b.node] = Block(b.node, found[b.node].K + b.K) if b.node in found else b
    return tuple(found.values())


def motion_matrix(X: Transform) -> Array:
    """The 6x6 matrix of X.apply."""
    return np.stack([X.apply(e) for e in np.eye(6)], axis=1)


AT_REST = Motion(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class KinematicState:
    """Where bodies are, and how they move; per node where not said otherwise."""

    model: Model
    joints: list[Kinematics]
    motions: list[Motion]  # the bias motion
    velocities: list[Array]  # (6,)
    ground: Motion  # of the world
    q: Array
    v: Array

    @staticmethod
    def of(model: Model, joints: list[Kinematics], motions: list[Motion], q: Array, v: Array) -> KinematicState:
        """In the bias motion the world accelerates against gravity, as everything does."""
        ground = AT_REST._replace(a=-tree_of(model).gravity)
        return KinematicState(model, joints, motions, spatial_velocities(tree_of(model), joints), ground, q, v)

    @cached_property
    def poses(self) -> list[tuple[Array, Array]]:
        return world_poses(tree_of(self.model), self.joints)

    @cached_property
    def gravity(self) -> list[Array]:
        """In the axes of every node."""
        tree, gravity = tree_of(self.model), list[Array]()
        for node, joint in zip(tree.nodes, self.joints, strict=True):
            gravity.append(joint.X.rotate_T(tree.gravity if node.parent < 0 else gravity[node.parent]))
        return gravity

    def bias(self, i: int) -> Array:
        """Spatial acceleration (6,) of a node in the bias motion, without gravity's field."""
        motion, velocity = self.motions[i], self.velocities[i]
        return np.concatenate([motion.a + self.gravity[i] - cross(velocity[3:], velocity[:3]), motion.alpha])

    def between(self, constraint: LoopConstraint) -> Relative:
        """Frame b seen from frame a."""
        a, b = (self._side(name) for name in constraint.frames)
        if a.node == b.node == WORLD:
            raise UnsupportedError(
                f"constraint {constraint.name!r}: both of its frames are on the world, which does not move"
            )
        return relative(tree_of(self.model), self.joints, a, b)

    def _side(self, name: str) -> Side:
        i, X = frames_of(self.model)[name]
        moving = (np.zeros(6), self.ground) if i == WORLD else (self.velocities[i], self.motions[i])
        return Side(i, X.p, X.R, *moving)

    def jacobian(self, blocks: list[tuple[int, Array]], as_one: bool = False) -> Array:
        """Rows on nodes (node, K) as rows on joint velocities.

        What moves all nodes alike, a common ancestor, moves no loop; `as_one`: it counts all the same
        """
        nodes = tree_of(self.model).nodes
        paths = [tree_of(self.model).paths[node] for node, _ in blocks]
        common = set(paths[0]).intersection(*paths[1:]) if len(paths) > 1 and not as_one else set()
        J = np.zeros((len(blocks[0][1]), self.model.nv), dtype=np.result_type(self.q, *(K for _, K in blocks)))
        with stage("jacobian"):
            for path, (_, K) in zip(paths, blocks, strict=True):
                for i in path:
                    if i in common:
                        break
                    J[:, nodes[i].v] = J[:, nodes[i].v] + K @ self.joints[i].S
                    K = np.stack([self.joints[i].X.apply_T(row) for row in K])
        return J


class Equations(NamedTuple):
    """Of one type of constraint, at a state.

    rows   (constraint, state, desired): rows on the accelerations of nodes, which are to be `desired` (m,)
    error  (constraint, state, of_dynamics): position error (m,) and Jacobian J (m, nv). Where they differ, J is that of
           the dynamics, or the one for which J^T error is the gradient of half the squared error
    """

    rows: Callable[[Any, KinematicState, Array], Rows]
    error: Callable[[Any, KinematicState, bool], tuple[Array, Array]]


EQUATIONS: dict[type[Constraint], Equations] = {}  # each type enters its own, beside its functions


def constraint_rows(
    model: Model, joints: list[Kinematics], motions: list[Motion], q: Array, v: Array, k: Array | None, method: str
) -> list[Rows]:
    """The rows of all active constraints, in the order of declaration.

    motions  the bias motion
    k        accelerations of those that were declared with k="input", one after the other
    """
    if not model.active_constraints:
        return []
    with stage("constraint rows"):
        at = KinematicState.of(model, joints, motions, q, v)
        return rows_at(at, model.active_constraints, k, method)


def rows_at(
    at: KinematicState, constraints: Sequence[Constraint], k: Array | None = None, method: str = ""
) -> list[Rows]:
    """The rows of some constraints."""
    rows, used = [], 0
    for constraint in constraints:
        desired = np.zeros(constraint.size) if constraint.desired is None else constraint.desired
        if constraint.takes_input:
            if k is None:
                raise UnsupportedError(f'constraint {constraint.name!r} was declared with k="input": {method} needs k')
            desired = k[used : used + constraint.size]
            used += constraint.size
        rows.append(_equations(constraint, method).rows(constraint, at, desired))
    return rows


def position_errors(
    model: Model, joints: list[Kinematics], q: Array, v: Array | None, of_dynamics: bool
) -> tuple[Array, Array]:
    """Position errors (m,) and the Jacobian (m, nv) of all active constraints, embedded ones among them.

    Rotations are measured by their angle, not its sine, which is also zero after half a turn.
    """
    at = KinematicState.of(
        model, joints, outward_motion(tree_of(model), joints), q, np.zeros(model.nv) if v is None else v
    )
    with stage("constraint rows"):
        parts = [_equations(c, "closure").error(c, at, of_dynamics) for c in model.spanning.active_constraints]
    errors, jacobians = zip(*parts, strict=True) if parts else ((np.zeros(0),), (np.zeros((0, model.nv)),))
    return np.concatenate(errors), np.concatenate(jacobians)


def _equations(constraint: Constraint, method: str) -> Equations:
    if type(constraint) not in EQUATIONS:
        raise UnsupportedError(
            f"{method}: constraint {constraint.name!r} is a {type(constraint).__name__}: not supported. Valid: "
            f"{', '.join(sorted(known.__name__ for known in EQUATIONS))}"
        )
    return EQUATIONS[type(constraint)]
