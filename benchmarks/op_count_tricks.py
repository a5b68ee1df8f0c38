"""What each trick saves on the operation count of ABA: leave one out at a time.

    python -m benchmarks.op_count_tricks [ROBOT ...]

Each variant is validated against the full method on random states before its operations are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

import sarrus
from benchmarks.command_line import parser_of
from sarrus.cli.arguments import robot_from
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.mechanics.bodies import joint_kinematics
from sarrus.model.model import Model
from sarrus.model.state import random_state
from sarrus.model.tree import tree_of
from sarrus.spatial import transforms
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import ldl, ldl_solve, subtract_product
from sarrus.spatial.rotations import cross

DEFAULT_ROBOTS = {
    "example:talos_full_v2": "Talos",
    "example:go1": "Go1",
    "example:ur5_robot": "UR5 on a free base",
    "zoo:chain:30": "`zoo.chain(30)`",
}


def textbook_aba(model: Model, q: Array, v: Array, tau: Array) -> Array:
    """Featherstone's Table 7.1 as printed: spatial velocities, c = cJ + v x vJ in the inward sweep."""
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    velocity: list[Array] = []
    c: list[Array] = []
    f: list[Array] = []
    for node, (X, _, vJ, cJ) in zip(tree.nodes, joints, strict=True):
        vi = vJ if node.parent < 0 else X.apply(velocity[node.parent]) + vJ
        velocity.append(vi)
        w, linear = vi[3:], vi[:3]
        c.append(cJ + np.concatenate([cross(w, vJ[:3]) + cross(linear, vJ[3:]), cross(w, vJ[3:])]))
        h = node.inertia.momentum(vi)
        f.append(-np.concatenate([cross(w, h[:3]), cross(w, h[3:]) + cross(linear, h[:3])]))
    H = [node.inertia.matrix().astype(q.dtype) for node in tree.nodes]
    D, UD, u = {}, {}, {}
    for i in range(len(H) - 1, -1, -1):
        node, (X, S, _, _) = tree.nodes[i], joints[i]
        U = H[i] @ S
        D[i] = ldl(S.T @ U + np.diag(node.armature))
        UD[i], u[i] = ldl_solve(D[i], U.T).T, tau[node.v] + S.T @ f[i]
        if node.parent >= 0:
            Ha = subtract_product(H[i], UD[i], U)
            H[node.parent] = H[node.parent] + X.congruence(Ha)
            f[node.parent] = f[node.parent] + X.apply_T(f[i] - UD[i] @ u[i] - Ha @ c[i])
    a: list[Array] = []
    qdd: list[Array] = []
    ground = np.concatenate([-tree.gravity, np.zeros(3)])
    for i, (node, (X, S, _, _)) in enumerate(zip(tree.nodes, joints, strict=True)):
        carried = X.apply(ground if node.parent < 0 else a[node.parent]) + c[i]
        qdd.append(ldl_solve(D[i], u[i]) - UD[i].T @ carried)
        a.append(carried + S @ qdd[-1])
    return np.concatenate(qdd)


def _tape(model: Model, function: Callable) -> Tape:
    graph = Graph()
    ports = (Port("q", (model.nq,)), Port("v", (model.nv,)), Port("tau", (model.nv,)))
    inputs = [graph.inputs(slot, port.size) for slot, port in enumerate(ports)]
    return tape_of(graph, ports, {"qdd": function(model, *inputs)})


def _plain_rotation(self: transforms.Turn, A: Array) -> Array:
    return transforms.Dense(transforms.Transform((self,)).R).rotate_symmetric(A)


def _plain_rotation_matrix(self: transforms.Turn, B: Array) -> Array:
    return transforms.Dense(transforms.Transform((self,)).R).rotate_matrix(B)


@contextmanager
def _without(trick: str) -> Iterator[None]:
    """Computational frames and transforms with one trick switched off."""
    frames = "sarrus.model.computational_frames"
    patches = {
        "inertia shared with the parent": [patch("sarrus.model.tree._share_inertia", lambda *_: Inertia.zero())],
        "origin slid along the joint axis": [patch(f"{frames}._sparsest_on_axis", lambda p, u: (0.0, p))],
        "frame turned about the joint axis": [patch(f"{frames}._turn_for_children", lambda *_: 0.0)],
        "one shared product per planar rotation": [
            patch.object(transforms.Turn, "rotate_symmetric", _plain_rotation),
            patch.object(transforms.Turn, "rotate_matrix", _plain_rotation_matrix),
        ],
    }[trick]
    for p in patches:
        p.start()
    try:
        yield
    finally:
        for p in patches:
            p.stop()


TRICKS = (
    "inertia shared with the parent",
    "origin slid along the joint axis",
    "frame turned about the joint axis",
    "one shared product per planar rotation",
)


def _fresh(model: Model) -> Model:
    """The same robot with nothing computed yet."""
    return Model(model.name, model.bodies, model.frames, model.constraints, model.gravity)


def _validated(model: Model, tape: Tape) -> int:
    q, v = random_state(model, rng=0)
    tau = np.random.default_rng(0).normal(size=model.nv)
    expected = sarrus.aba(model, q, v, tau)
    got = np.array(interpret.run(tape, [q, v, tau])[0])
    error = np.abs(got - expected).max() / np.abs(expected).max()
    if error > 1e-9:
        raise SystemExit(f"{model.name}: a variant is off by {error:.1e}; not counted")
    return tape.op_count.total


LABELS = (
    "all tricks",
    "without sharing inertia with the parent",
    "without sliding the origin along the joint axis",
    "without turning the frame about the joint axis",
    "without the shared product in planar rotations",
    "without the bias motion (textbook sweeps)",
)


def variants(model: Model) -> list[int]:
    """With all tricks, then without each of them, as in `LABELS`."""
    aba = sarrus.aba.__wrapped__  # type: ignore[attr-defined]
    found = [_validated(model, _tape(model, aba))]
    for trick in TRICKS:
        with _without(trick):
            variant = _fresh(model)
            found.append(_validated(variant, _tape(variant, aba)))
    return [*found, _validated(model, _tape(model, textbook_aba))]


def table(robots: list[str] | None = None) -> str:
    """In Markdown: all operations, what leaving out a trick adds, and all operations per degree of freedom."""
    names = robots or list(DEFAULT_ROBOTS)
    models = [robot_from(name, floating_base=True if name.startswith("example:") else None) for name in names]
    counts = [variants(model) for model in models]
    titles = (f"{DEFAULT_ROBOTS.get(name, name)}, {model.nv} dof" for name, model in zip(names, models, strict=True))
    lines = [f"| variant of ABA | {' | '.join(titles)} |"]
    lines += ["|---|" + "---:|" * len(models), f"| {LABELS[0]} | {' | '.join(f'{n[0]:,}' for n in counts)} |"]
    for k, label in enumerate(LABELS[1:], start=1):
        lines.append(f"| {label} | {' | '.join(f'{100 * (n[k] / n[0] - 1):+.1f} %' for n in counts)} |")
    per_dof = (f"{n[0] / model.nv:.0f}" for n, model in zip(counts, models, strict=True))
    return "\n".join([*lines, f"| all tricks, per degree of freedom | {' | '.join(per_dof)} |"])


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument(
        "robots", nargs="*", metavar="ROBOT", help="as `sarrus info` takes them (default: four of them)"
    )
    print(table(parser.parse_args().robots))
