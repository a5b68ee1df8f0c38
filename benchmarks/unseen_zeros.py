"""Operation counts of a method for a library that does not see the zeros of a matrix.

Tracing leaves out what is zero whatever the state. To measure how much of a count is due to that, the same source is
traced once more, with the zeros of one of its matrices replaced by numbers that are known only at run time. At run
time they are zero, and the accelerations must be those of the method itself; otherwise nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

import sarrus
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.model.state import random_state
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl
from sarrus.spatial.orthogonal import is_structurally_zero

MU = 1e6
Fill = Callable[[Array], Array]  # a matrix with its zeros unknown


def dense_factor(fill: Fill) -> dict[str, Any]:
    """The matrix of the multipliers is factored as one dense matrix."""

    def factor(A: Array) -> Ldl:
        return ldl(fill(A))

    return {
        "sarrus.algorithms.constrained.prox_ltl.ldl": factor,
        "sarrus.mechanics.solvers.loop_elimination.ldl": factor,
    }


def dense_delassus(fill: Fill) -> dict[str, Any]:
    """Every row is multiplied with every other over all velocities, and the result is factored as one dense matrix:
    what Pinocchio's `ContactCholeskyDecomposition::updateDamping` does."""
    ours = import_module("sarrus.mechanics.solvers.joint_space").delassus_of

    def formed(factor: Any, J: Array, supports: list[list[int]]) -> tuple[Array, Array]:
        _, Y = ours(factor, J, supports)
        full = fill(Y)
        A = np.zeros((len(J), len(J)), dtype=Y.dtype)
        scaled = full * factor.d_inv
        for i, j in zip(*np.triu_indices(len(J)), strict=True):
            A[i, j] = A[j, i] = scaled[i] @ full[j]
        return A, Y

    return dense_factor(fill) | {"sarrus.algorithms.constrained.prox_ltl.delassus_of": formed}


def tape_with(model: sarrus.Model, method: str, kind: Callable[[Fill], dict[str, Any]]) -> Tape:
    """The first iteration of a method, with the zeros of `kind` unknown."""
    most = (model.n_rows + model.nv) ** 2
    graph = Graph()
    shapes = {"q": model.nq, "v": model.nv, "tau": model.nv, "zeros": most}
    ports = tuple(Port(name, (size,)) for name, size in shapes.items())
    *state, zeros = (graph.inputs(slot, port.size) for slot, port in enumerate(ports))
    unknown: Iterator[Any] = iter(zeros)

    def fill(A: Array) -> Array:
        A = A.copy()
        for i, j in np.ndindex(A.shape):
            if is_structurally_zero(A[i, j]):
                A[i, j] = next(unknown)
        return A

    patches = [patch(name, function) for name, function in kind(fill).items()]
    for p in patches:
        p.start()
    try:
        result = sarrus.catalog()[method].text(model, *state, mu=MU, max_iterations=1)
    finally:
        for p in patches:
            p.stop()
    return tape_of(graph, ports, {name: np.asarray(x) for name, x in result._asdict().items()})


def operations(model: sarrus.Model, method: str, kind: Callable[[Fill], dict[str, Any]]) -> int:
    """How many operations the first iteration takes then, after the accelerations were seen to be the method's."""
    tape = tape_with(model, method, kind)
    q, v = random_state(model, rng=0)
    state = [q, 0.1 * v, np.random.default_rng(0).normal(size=model.nv)]
    with sarrus.interpreted():
        expected = getattr(sarrus, method)(model, *state, mu=MU, max_iterations=1).qdd
    got = np.array(interpret.run(tape, [*state, np.zeros(tape.inputs[3].size)])[0])
    error = np.abs(got - expected).max() / np.abs(expected).max()
    if not error < 1e-6:
        raise SystemExit(f"{method} on {model.name} without its zeros is off by {error:.1e}: not counted")
    return tape.op_count.total
