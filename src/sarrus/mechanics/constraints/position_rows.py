"""Position errors of constraints and their Jacobian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.frames import frame_in_node, spatial_velocities, world_poses
from sarrus.mechanics.bodies.motion import Motion, outward_motion
from sarrus.mechanics.bodies.relative_motion import path_to_root
from sarrus.mechanics.constraints.all_rows import between
from sarrus.mechanics.constraints.center_of_mass_rows import center_error
from sarrus.mechanics.constraints.closure_rows import VECTORS
from sarrus.mechanics.constraints.coupling_rows import distance_condition, relation
from sarrus.mechanics.constraints.gap import Measure
from sarrus.mechanics.constraints.rows import motion_matrix, turned
from sarrus.mechanics.solvers.loop_jacobian import COINCIDENT
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import CenterOfMass, Constraint, Coupling, Distance, LinkConstraint, LinkRows, LoopClosure
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.stages import stage


def position_rows(
    model: Model, joints: list[Kinematics], q: Array, v: Array | None, measure: Measure
) -> tuple[Array, Array]:
    """Position errors (m,) and the Jacobian (m, nv) of all active constraints, embedded ones among them."""
    tree, speed = tree_of(model), np.zeros(model.nv) if v is None else v
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
    X = frame_in_node(tree_of(model), frame)
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
    nodes = tree_of(model).nodes
    paths = [path_to_root(tree_of(model), node) for node, _ in blocks]
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
