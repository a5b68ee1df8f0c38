"""How far a robot is from meeting its constraints, and which way meets them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.all_rows import between
from sarrus.algorithms.center_of_mass_rows import center_error
from sarrus.algorithms.closure_rows import VECTORS, closure_condition
from sarrus.algorithms.conditions import Condition
from sarrus.algorithms.coupling_rows import distance_condition, relation
from sarrus.algorithms.forward_kinematics import frame_in_node, spatial_velocities, world_poses
from sarrus.algorithms.gap import Measure, gap_condition, link_gap
from sarrus.algorithms.loop_jacobian import COINCIDENT
from sarrus.algorithms.registry import algorithm
from sarrus.algorithms.relative_motion import Relative, path_to_root
from sarrus.algorithms.rows import motion_matrix, turned
from sarrus.algorithms.sweeps import Motion, joint_kinematics, outward_motion
from sarrus.errors import UnsupportedError
from sarrus.model.constraints import CenterOfMass, Constraint, Coupling, Distance, LinkConstraint, LinkRows, LoopClosure
from sarrus.model.model import WORLD, Model
from sarrus.model.tree import Kinematics
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.stages import stage


class ClosureResult(NamedTuple):
    """One entry per row of the active constraints, embedded ones too, in the order of declaration and in the axes of
    their forces.

    position  of a loop: where frame b is, seen from frame a, in the directions that are held (metres), and by which
              angle it is turned (radians: axes that are opposite are off by pi, not aligned); zero where a constraint
              says nothing about positions (`link_rows`; a contact or centre of mass without `at`)
    velocity  jacobian @ v: the derivative of `position` where that is zero
    jacobian  that of the dynamics: M qdd + c = tau + jacobian^T forces, also where loops are open. Where two points
              should coincide and do not, its rows are the difference of their velocities (a motion of both links as one
              body turns the gap)
    """

    position: Array  # (m,)
    velocity: Array  # (m,)
    jacobian: Array  # (m, nv)


@algorithm(
    inputs=("q", "v?"),
    outputs=None,
    cost="O(m d)",
    references=("featherstone2008",),
    supports=("link constraints", "internal loops", "couplings", "center of mass", "multi-dof joints"),
)
def closure(model: Model, q: Array, v: Array | None = None) -> ClosureResult:
    """Position error, velocity and Jacobian of every constraint: loops, couplings, distances, links, centre of mass."""
    joints = joint_kinematics(model.tree, q, v)
    position, J = position_rows(model, joints, q, v, Measure(_with_angles, link_gap, as_one=True))
    return ClosureResult(position, np.zeros(len(J)) if v is None else J @ v, J)


def _with_angles(closure: LoopClosure, x: Relative) -> Condition:
    """The rows of the dynamics, which measure rotations by their sine, and errors by angles."""
    return closure_condition(closure, x)._replace(error=gap_condition(closure, x).error)


def position_rows(
    model: Model, joints: list[Kinematics], q: Array, v: Array | None, measure: Measure
) -> tuple[Array, Array]:
    """Position errors (m,) and the Jacobian (m, nv) of all active constraints, embedded ones among them."""
    tree, speed = model.tree, np.zeros(model.nv) if v is None else v
    at = _State(
        joints, world_poses(tree, joints), outward_motion(tree, joints), spatial_velocities(tree, joints), q.dtype
    )
    parts = [_part(c, model, at, q, speed, measure) for c in model.spanning.active_constraints]
    errors, jacobians = zip(*parts, strict=True) if parts else ((np.zeros(0),), (np.zeros((0, model.nv)),))
    return np.concatenate(errors), np.concatenate(jacobians)


class _State(NamedTuple):
    joints: list[Kinematics]
    poses: list[tuple[Array, Array]]
    motions: list[Motion]
    velocities: list[Array]
    dtype: np.dtype


def _part(
    constraint: Constraint, model: Model, at: _State, q: Array, v: Array, measure: Measure
) -> tuple[Array, Array]:
    """Position error and Jacobian of one constraint."""
    if isinstance(constraint, LinkConstraint):
        return _of_link(constraint, model, at, measure)
    if isinstance(constraint, Coupling):
        return _of_coupling(constraint, model, q, v)
    if isinstance(constraint, (LoopClosure, Distance)):
        return _of_pair(constraint, model, at, measure)
    if isinstance(constraint, CenterOfMass):
        return center_error(constraint, model, at.joints, at.dtype)
    raise UnsupportedError(f"closure: constraint {constraint.name!r} is a {type(constraint).__name__}: not supported")


def _of_link(constraint: LinkConstraint, model: Model, at: _State, measure: Measure) -> tuple[Array, Array]:
    frame = model.frame(constraint.frame)
    X = frame_in_node(model.tree, frame)
    A = motion_matrix(X)
    K = constraint.K @ A if isinstance(constraint, LinkRows) else A[: constraint.size]
    if frame.body == WORLD:
        return np.zeros(len(K)), np.zeros((len(K), model.nv))
    return measure.link(constraint, X, at.poses[frame.body]), _jacobian(model, at, [(frame.body, K)])


def _of_coupling(constraint: Coupling, model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    r = relation(constraint, model, q, v)
    J = np.zeros((1, model.nv), dtype=q.dtype)
    for name, speed in r.speeds.items():
        J[0, model.layout.v_of(name)] = speed
    return vector(r.error), J


def _of_pair(constraint: LoopClosure | Distance, model: Model, at: _State, measure: Measure) -> tuple[Array, Array]:
    x = between(model, constraint, at.joints, at.motions, at.velocities)
    with stage("constraint rows"):
        c = distance_condition(constraint, x) if isinstance(constraint, Distance) else measure.loop(constraint, x)
    as_one = measure.as_one and isinstance(constraint, LoopClosure) and constraint.joint in COINCIDENT
    J = _jacobian(model, at, [(x.a.node, c.K_a), (x.b.node, c.K_b)], as_one)
    if isinstance(constraint, LoopClosure):  # from the axes of node a into those of frame a
        vectors = VECTORS.get(constraint.joint, ())
        return turned(x.a.axes.T, vectors, c.error), turned(x.a.axes.T, vectors, J)
    return c.error, J


def _jacobian(model: Model, at: _State, blocks: list[tuple[int, Array]], as_one: bool = False) -> Array:
    """Rows on nodes as rows on joint velocities. What moves all nodes alike, a common ancestor, moves no loop."""
    nodes = model.tree.nodes
    paths = [path_to_root(model.tree, node) for node, _ in blocks]
    common = set(paths[0]).intersection(*paths[1:]) if len(paths) > 1 and not as_one else set()
    J = np.zeros((len(blocks[0][1]), model.nv), dtype=np.result_type(at.dtype, *(K for _, K in blocks)))
    with stage("jacobian"):
        for path, (_, K) in zip(paths, blocks, strict=True):
            for i in path:
                if i in common:
                    break
                J[:, nodes[i].v] = J[:, nodes[i].v] + K @ at.joints[i].S
                K = np.stack([at.joints[i].X.apply_T(row) for row in K])
    return J
