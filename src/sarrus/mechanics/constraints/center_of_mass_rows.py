"""Rows of the robot's centre of mass, which act on all bodies, and its position error.

Its acceleration is the sum of m_i / M times that of the bodies' own centres: rows on every link. A joint moves all that
it carries, mass m and first moment h (both found in one inward sweep), so the Jacobian is

    E_i = d^T R_i (m S_linear - h x S_angular) / M        d: an axis of the world, R_i: node i's axes in the world
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies import center
from sarrus.mechanics.constraints.rows import EQUATIONS, Block, Equations, KinematicState, Rows, feedback
from sarrus.model.constraints import CenterOfMass
from sarrus.model.joints import Kinematics
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.rotations import cross, skew
from sarrus.spatial.stages import stage


def center_of_mass_rows(constraint: CenterOfMass, at: KinematicState, desired: Array) -> Rows:
    """The rows on all bodies, with Baumgarte's feedback in k."""
    tree, share, axes = tree_of(at.model), 1.0 / at.model.mass, constraint.numbers
    error, J = center_of_mass_error(constraint, at, of_dynamics=True)
    bias, moving, blocks = np.zeros(len(axes)), 0.0, []
    with stage("center of mass"):
        for i, (node, motion, (R, _)) in enumerate(zip(tree.nodes, at.motions, at.poses, strict=True)):
            m, h, d = node.inertia.mass, node.inertia.h, R[axes]
            bias = bias + d @ node.inertia.force(motion.Gamma, motion.a)[:3]
            moving = moving + m
            if not _is_zero(m, h):
                blocks.append(Block(i, share * np.concatenate([m * d, -d @ skew(h)], axis=1)))
        # In the bias motion the base accelerates against gravity, and with it all that is not on the ground.
        bias = share * (bias + moving * tree.gravity[axes])
        k = desired - bias - feedback(constraint, J @ at.v, error)
    nothing = Block(0, np.zeros((len(k), 6)))  # a robot that cannot move its centre of mass
    return Rows(tuple(blocks) or (nothing,), k, against_world=True)


def center_of_mass_error(constraint: CenterOfMass, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error, zero where it was not said where it should be, and Jacobian."""
    model, axes = at.model, constraint.numbers
    if not model.bodies:
        raise UnsupportedError(f"constraint {constraint.name!r}: model {model.name!r} has no bodies that could move")
    position = center(model, at.poses)[axes]
    error = np.zeros(len(axes)) if constraint.at is None else position - constraint.at
    share, columns = 1.0 / model.mass, []
    for (R, _), joint, m, h in zip(at.poses, at.joints, *_carried(tree_of(model), at.joints), strict=True):
        velocities = [m * s[:3] + cross(s[3:], h) for s in joint.S.T]  # of all that it carries, times its mass
        columns += [share * (R[axes] @ p) for p in velocities]
    return error, np.stack(columns, axis=1)


def _carried(tree: Tree, joints: list[Kinematics]) -> tuple[list[Scalar], list[Array]]:
    """Mass and first moment of every node with all that it carries, in its frame."""
    mass, h = [node.inertia.mass for node in tree.nodes], [node.inertia.h for node in tree.nodes]
    with stage("first moment"):
        for i in range(len(tree.nodes) - 1, -1, -1):
            parent, X = tree.nodes[i].parent, joints[i].X
            if parent >= 0:
                h[parent] = h[parent] + X.rotate(h[i]) + mass[i] * X.p
                mass[parent] = mass[parent] + mass[i]
    return mass, h


def _is_zero(mass: Scalar, h: Array) -> bool:
    return all(isinstance(x, float) and x == 0.0 for x in (mass, *h))


EQUATIONS[CenterOfMass] = Equations(center_of_mass_rows, center_of_mass_error)
