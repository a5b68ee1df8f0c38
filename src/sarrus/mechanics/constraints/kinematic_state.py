"""A tree of bodies at a state, as its constraints see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.frames import frame_in_node, spatial_velocities, world_poses
from sarrus.mechanics.bodies.motion import Motion
from sarrus.mechanics.bodies.relative_motion import Relative, Side, path_to_root, relative
from sarrus.model.bodies import WORLD
from sarrus.model.constraints.loops import LoopConstraint
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage

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
        frame = self.model.frame(name)
        X, i = frame_in_node(tree_of(self.model), frame), frame.body
        moving = (np.zeros(6), self.ground) if i == WORLD else (self.velocities[i], self.motions[i])
        return Side(i, X.p, X.R, *moving)

    def jacobian(self, blocks: list[tuple[int, Array]], as_one: bool = False) -> Array:
        """Rows on nodes (node, K) as rows on joint velocities.

        What moves all nodes alike, a common ancestor, moves no loop; `as_one`: it counts all the same
        """
        nodes = tree_of(self.model).nodes
        paths = [path_to_root(tree_of(self.model), node) for node, _ in blocks]
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
