"""Motors of an embedded model: W, how fast each turns per independent velocity, and the forces that they must give.

A motor acts on a joint of the tree or on the cut joint of an embedded loop. Its power is force times rate, so that the
force on the independent velocities is tau_y = W^T motors (embedding paper, footnote 3).
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import UnsupportedError, unknown_name
from sarrus.mechanics.bodies import Side, relative
from sarrus.mechanics.clusters.embedded import Embedded, rows_on_velocities
from sarrus.mechanics.constraints.rows import AT_REST, Block, Rows, merged
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import LoopClosure, of_type
from sarrus.model.model import Model
from sarrus.model.tree import frames_of, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl_semidefinite, ldl_solve
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage

_TURNS, _SLIDES = ("revolute", "cylindrical", "helical"), ("prismatic",)


def motor_forces(model: Model, embedded: Embedded, motors: tuple[str, ...], tau_y: Array) -> tuple[Array, Array]:
    """Forces of the motors, node by node, and what of tau_y they cannot give."""
    forces = np.zeros(len(motors), dtype=tau_y.dtype)
    missing = tau_y.copy()
    rates: dict[int, list[tuple[int, Array]]] = {}  # by node: (motor, (n,))
    with stage("motors"):
        for number, name in enumerate(motors):
            node, rate = _rate(model, embedded, name)
            rates.setdefault(node, []).append((number, rate))
        for node, mine in rates.items():
            v = embedded.tree.nodes[node].v
            W = np.stack([rate for _, rate in mine])  # (motors, n)
            numbers = [number for number, _ in mine]
            if len(W) >= W.shape[1]:
                forces[numbers] = W @ ldl_solve(ldl_semidefinite(W.T @ W), tau_y[v])
            else:
                forces[numbers] = ldl_solve(ldl_semidefinite(W @ W.T), W @ tau_y[v])
            missing[v] = tau_y[v] - W.T @ forces[numbers]
    return forces, missing


def _rate(model: Model, embedded: Embedded, name: str) -> tuple[int, Array]:
    """The node that a motor belongs to, and its rate per velocity of that node."""
    if name in model.joint_names:
        body = model.joint_index(name)
        span = model.layout.v[body]
        if span.stop - span.start != 1:
            raise UnsupportedError(
                f"motor {name!r}: a {model.bodies[body].joint.type.name} joint has several velocities, and a motor "
                "must have one"
            )
        node = embedded.tree.node_of[body]
        motion = embedded.motions.get(node)
        return node, np.ones(1) if motion is None else motion.G[motion.rows_of(span)[0]]
    assert model.embedding is not None
    closures = (c for c in of_type(model.constraints, LoopClosure) if c.joint in _TURNS + _SLIDES)
    loops = {c.name: c for c in closures if c.name in model.embedding.constraints}
    if name not in loops:
        raise unknown_name(
            "motor (a joint, or an embedded loop that turns or slides):", name, [*model.joint_names, *loops]
        )
    node, row = _loop_rate(model, embedded, loops[name])
    return node, row @ embedded.motions[node].G


def _loop_rate(model: Model, embedded: Embedded, loop: LoopClosure) -> tuple[int, Array]:
    """The rate of a cut joint, as a row on its cluster's velocities: b against a, along the axis in a."""
    sides = []
    for i, X in (frames_of(model)[name] for name in loop.frames):
        sides.append(Side(i, X.p, X.R, np.zeros(6), AT_REST))
    x = relative(tree_of(model), embedded.joints, *sides)
    u = x.a.axes @ loop.basis[0]
    blocks = []
    for sign, side, d in ((-1.0, x.a, u), (1.0, x.b, u @ x.R)):
        if side.node != WORLD:
            K = np.concatenate([np.zeros(3), d] if loop.joint in _TURNS else [d, cross(side.p, d)])
            blocks.append(Block(side.node, sign * K[None]))
    clusters = {i: node.cluster for i, node in enumerate(embedded.tree.nodes) if node.cluster is not None}
    node, cluster = next((i, cluster) for i, cluster in clusters.items() if loop.name in cluster.constraints)
    return node, rows_on_velocities(model, cluster, embedded.joints, Rows(merged(blocks), np.zeros(1)))[0]
