"""Which operator a contact problem is solved with: a matrix, or sweeps over the tree; by about how much work it is.

Both are the same method with the same iterations, so that work decides: of what is made once, of two Gauss-Seidel
sweeps (where contacts are swept) and of two Newton steps. The counts below were fitted to traced code, which they meet
to some percent (`tests/simulation/contact/test_operators.py`; `python -m benchmarks.contact_operators` counts
exactly). Tracing both to decide would take longer than compiling one.

A matrix grows with the third power of the rows (or, where bodies have many contacts, of six per body), sweeps with the
number of contacts and bodies. Contacts between moving bodies, and loops that are not embedded, make no tree: these take
the matrix.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sarrus.mechanics.contact.delassus import MANY
from sarrus.mechanics.solvers.joint_space import velocity_ancestors
from sarrus.model.topology import AbstractTree

OPERATORS = ("dense", "sweeps")
_SWEEPS, _STEPS = 2, 2  # that are counted
_CLEARLY = 0.95
_CONTACT = 560.0  # operations of a Newton step on a contact, whatever the operator
_SWEPT = 272.0  # of a Gauss-Seidel sweep, likewise


class Shape(NamedTuple):
    """Of a contact problem: what is known about it while tracing."""

    tree: AbstractTree
    touching: Sequence[Collection[int]]  # per contact: nodes that it may be on
    limits: Sequence[Collection[int]]  # per row on joints: velocities that it may be on
    joint_space: bool = False  # whether the matrix would be that of joints

    @property
    def bodies_with_many(self) -> list[int]:
        """Nodes with many contacts that are known to be theirs."""
        known = [next(iter(nodes)) for nodes in self.touching if len(nodes) == 1]
        return [i for i in dict.fromkeys(known) if known.count(i) >= MANY]

    def depth(self, nodes: Collection[int]) -> int:
        """How many velocities move these nodes."""
        return sum(self.tree.nodes[i].m for i in self.tree.support(nodes))


class Work(NamedTuple):
    """About the operations of a step's contact problem."""

    once: float
    sweep: float
    newton: float

    @property
    def whole(self) -> float:
        return self.once + _SWEEPS * self.sweep + _STEPS * self.newton


def work_of(shape: Shape, operator: str) -> Work:
    """Of a problem of this shape with an operator."""
    if operator == "sweeps":
        return _by_sweeps(shape)
    return _in_joint_space(shape) if shape.joint_space else _dense(shape)


def cheaper_operator(shape: Shape) -> str:
    """That which is less work; a matrix where it is about the same, which is less to do in steps without iterations."""
    dense, sweeps = (work_of(shape, operator).whole for operator in OPERATORS)
    return "sweeps" if sweeps < _CLEARLY * dense else "dense"


def _dense(shape: Shape) -> Work:
    many, nc, nl = shape.bodies_with_many, len(shape.touching), len(shape.limits)
    rows = [_moving(shape, v) for v in shape.limits]
    sizes = [1] * nl
    for i in many:
        rows, sizes = [*rows, *[shape.depth([i])] * 6], [*sizes, 6]
    alone = [nodes for nodes in shape.touching if not (len(nodes) == 1 and next(iter(nodes)) in many)]
    for nodes in alone:
        rows, sizes = [*rows, *[shape.depth(nodes)] * 3], [*sizes, 3]
    m = len(rows)
    jacobian = 24.0 * sum(shape.depth(nodes) for nodes in alone) + 50.0 * sum(shape.depth([i]) for i in many)
    mean = sum(rows) / m if m else 0.0
    once = jacobian + sum(d * d for d in rows) + 0.8 * m * (m + 1) * mean
    if not many:
        sweep = nc * (6.0 * m + _SWEPT) + nl * (2.0 * m + 10.0)
        return Work(once, sweep, 2.0 / 3.0 * m**3 + 8.0 * m * m + _CONTACT * nc)
    columns = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    folded = sum(2.0 * s * s * c + 2.0 * s * c * c for s, c in zip(sizes, columns, strict=True))
    newton = 2.0 / 3.0 * m**3 + folded + (324.0 + 450.0) * nc
    return Work(once + m**3 / 3.0 + 200.0 * nc, nl * (2.0 * m + 10.0), newton)


def _in_joint_space(shape: Shape) -> Work:
    """`joint_rows.py`: J^T H J is added to M, which is eliminated from the leaves. Nothing is swept."""
    n, nc = shape.tree.nv, len(shape.touching)
    depths = [shape.depth(nodes) for nodes in shape.touching]
    sparse = all(len(nodes) == 1 for nodes in shape.touching) and all(len(row) == 1 for row in shape.limits)
    paths = [len(path) for path in velocity_ancestors(shape.tree.nodes)]
    eliminated = 2.0 * sum(d * d for d in paths) if sparse else 2.0 / 3.0 * n**3
    added = sum(6.0 * d * d + 40.0 * d for d in depths) + sum(2.0 * len(row) ** 2 for row in shape.limits)
    once = sum(24.0 * d + 4.0 * d * d for d in depths) + len(shape.limits) * n
    return Work(once, 0.0, eliminated + added + 4.0 * sum(paths) + _CONTACT * nc)


def _by_sweeps(shape: Shape) -> Work:
    tree, nc, nl = shape.tree, len(shape.touching), len(shape.limits)
    limited = {v for row in shape.limits for v in row}
    own = [i for i, node in enumerate(tree.nodes) if limited.intersection(range(node.v.start, node.v.stop))]
    acted_on = tree.support({*own, *(i for nodes in shape.touching for i in nodes)})
    joints = sum(tree.nodes[i].m for i in acted_on if not _is_free_root(tree, i))
    roots = sum(_is_free_root(tree, i) for i in acted_on)
    solve = 4.0 * sum(len(path) for path in velocity_ancestors(tree.nodes))
    choices = sum(len(nodes) for nodes in shape.touching if len(nodes) > 1)
    on_joints = sum(len(row) for row in shape.limits)
    once = 530.0 * joints + 600.0 * roots + 230.0 * nc + 45.0 * choices + 12.0 * on_joints
    swept = 0.0 if shape.bodies_with_many or shape.joint_space else nc * (_SWEPT + 100.0 + solve) + 43.0 * choices
    newton = (_CONTACT + 111.0) * nc + 285.0 * joints + 808.0 * roots + solve + 105.0 * choices + 37.0 * on_joints
    rows_swept = 0.0 if shape.joint_space else nl * (2.0 * solve) + 10.0 * on_joints
    return Work(once, swept + rows_swept, newton)


def _is_free_root(tree: AbstractTree, i: int) -> bool:
    return tree.nodes[i].parent < 0 and tree.nodes[i].m == 6


def _moving(shape: Shape, velocities: Collection[int]) -> int:
    """How many velocities a row on one of these depends on, once it is multiplied by the factor of the mass matrix."""
    ancestors = velocity_ancestors(shape.tree.nodes)
    return len({k for v in velocities for k in (v, *ancestors[v])})
