"""Rows of the robot's centre of mass: they act on all bodies.

Its acceleration is the sum of m_i / M times that of the bodies' own centres: rows on every link. A joint moves all that
it carries, mass m and first moment h (both found in one inward sweep), so the Jacobian is

    E_i = d^T R_i (m S_linear - h x S_angular) / M        d: an axis of the world, R_i: node i's axes in the world
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.center import center
from sarrus.mechanics.bodies.frames import world_poses
from sarrus.mechanics.bodies.motion import Motion
from sarrus.mechanics.constraints.rows import Block, Rows
from sarrus.model.constraints import CenterOfMass
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.rotations import cross, skew
from sarrus.spatial.stages import stage


class Center(NamedTuple):
    """The centre of mass along the axes of its constraint."""

    position: Array  # (m,)
    error: Array  # (m,) from where it should be; zero where that was not said
    directions: list[Array]  # (m, 3) per node: the axes, in the node
    on_joints: tuple[tuple[int, Array], ...]  # (node, (m, n)) of every joint that carries mass: the Jacobian


def center_along(constraint: CenterOfMass, model: Model, joints: list[Kinematics]) -> Center:
    """Where the centre of mass is, and how joints move it."""
    tree, axes = tree_of(model), constraint.numbers
    if not tree.nodes:
        raise UnsupportedError(f"constraint {constraint.name!r}: model {model.name!r} has no bodies that could move")
    poses = world_poses(tree, joints)
    position = center(model, poses)[axes]
    error = np.zeros(len(axes)) if constraint.at is None else position - constraint.at
    directions = [R[axes] for R, _ in poses]
    masses, moments = _carried(tree, joints)
    share = 1.0 / model.mass
    found = []
    for i, (m, h) in enumerate(zip(masses, moments, strict=True)):
        if _is_zero(m, h):
            continue
        velocities = [m * s[:3] + cross(s[3:], h) for s in joints[i].S.T]  # of all that it carries, times its mass
        found.append((i, share * np.stack([directions[i] @ p for p in velocities], axis=1)))
    return Center(position, error, directions, tuple(found))


def center_error(
    constraint: CenterOfMass, model: Model, joints: list[Kinematics], dtype: np.dtype
) -> tuple[Array, Array]:
    """Position error (m,) and Jacobian (m, nv)."""
    x = center_along(constraint, model, joints)
    J = np.zeros((constraint.size, model.nv), dtype=np.result_type(dtype, *(E for _, E in x.on_joints)))
    for i, E in x.on_joints:
        J[:, tree_of(model).nodes[i].v] = E
    return x.error, J


def center_of_mass_rows(
    constraint: CenterOfMass, model: Model, joints: list[Kinematics], motions: list[Motion], v: Array, desired: Array
) -> Rows:
    """The rows on all bodies, with Baumgarte's feedback in k."""
    tree, share = tree_of(model), 1.0 / model.mass
    x = center_along(constraint, model, joints)
    with stage("center of mass"):
        # In the bias motion the base accelerates against gravity, and with it all that is not on the ground.
        bias, moving = np.zeros(len(constraint.axes)), 0.0
        for node, motion, d in zip(tree.nodes, motions, x.directions, strict=True):
            bias = bias + d @ node.inertia.force(motion.Gamma, motion.a)[:3]
            moving = moving + node.inertia.mass
        bias = share * (bias + moving * tree.gravity[constraint.numbers])
        T = constraint.stabilization
        k = desired - bias
        if T is not None:
            rate = sum((E @ v[tree.nodes[i].v] for i, E in x.on_joints), np.zeros(len(k)))
            k = k - (2.0 / T) * rate - (1.0 / T**2) * x.error
        blocks = []
        for i, node in enumerate(tree.nodes):
            m, h = node.inertia.mass, node.inertia.h
            if not _is_zero(m, h):
                blocks.append(
                    Block(i, share * np.concatenate([m * x.directions[i], -x.directions[i] @ skew(h)], axis=1))
                )
    nothing = Block(0, np.zeros((len(k), 6)))  # a robot that cannot move its centre of mass
    return Rows(tuple(blocks) or (nothing,), k, against_world=True)


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
