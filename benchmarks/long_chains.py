"""Forward dynamics of long chains, with the text of three links recorded once and repeated.

    python -m benchmarks.long_chains [LINKS ...]

`zoo.chain(n)` has joints about x, y, z in turn, so its links are alike in threes: the same structural zeros, other
numbers. ABA is three sweeps over them (`spatial.repetition.sweep`), with the library's own algebra. The first three
links, which hang from the world, are written out. Validated against `sarrus.aba`, then measured beside its kernel,
straight-line code, where that has not too many links.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from sarrus.codegen.runtime.native import NativeKernel, build_native
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.codegen.tape.trace import trace
from sarrus.mechanics.bodies import gamma
from sarrus.model.model import Model
from sarrus.model.tree import Node, tree_of
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import subtract_product
from sarrus.spatial.repetition import sweep
from sarrus.spatial.rotations import cross
from sarrus.spatial.transforms import Shift, Transform, Turn

TURN = 3  # links that are alike in threes
UPPER = np.triu_indices(6)
BATCH = 256
MOST_WRITTEN_OUT = 400  # links
NUMBERS = 18  # of a link: cosine, sine, mass, 3 of h, 9 of Sigma, 3 of its shift


class Link(NamedTuple):
    X: Transform
    inertia: Inertia


def numbers_of(node: Node, c: Scalar, s: Scalar) -> Array:
    """What may differ between links that are alike."""
    shift = next((x.p for x in node.fixed.factors if isinstance(x, Shift)), np.zeros(3))
    return vector(c, s, node.inertia.mass, *node.inertia.h, *node.inertia.Sigma.flat, *shift)


def link_of(like: Node, x: Array) -> Link:
    """A link with these numbers; all else is as in `like`."""
    factors = [Shift(x[15:18]) if isinstance(factor, Shift) else factor for factor in like.fixed.factors]
    return Link(Transform((*factors, Turn(2, x[0], x[1]))), Inertia(x[2], x[3:6], x[6:15].reshape(3, 3)))


class Sweeps(NamedTuple):
    """The three sweeps of ABA over a few links, each from a state and one set of numbers to the next."""

    likes: Sequence[Node]

    def parts(self, values: Array) -> list[tuple[Link, Array]]:
        """Per link: itself, and what else is given."""
        rows = values.reshape(len(self.likes), -1)
        return [(link_of(like, row[:NUMBERS]), row[NUMBERS:]) for like, row in zip(self.likes, rows, strict=True)]

    def motion(self, state: Array, values: Array) -> tuple[Array, Array]:
        """The bias motion, outwards: w, alpha, a, Gamma of the parent to those of the last link; forces."""
        w, alpha, a, Gamma = state[:3], state[3:6], state[6:9], state[9:].reshape(3, 3)
        forces = []
        for (X, inertia), (qd,) in self.parts(values):
            turning = vector(0.0, 0.0, qd)
            a = X.rotate_T(a + Gamma @ X.p)
            w_parent = X.rotate_T(w)
            w, alpha = w_parent + turning, X.rotate_T(alpha) + cross(w_parent, turning)
            Gamma = gamma(alpha, w)
            forces.append(-inertia.force(Gamma, a))
        return vector(*w, *alpha, *a, *Gamma.flat), np.concatenate(forces)

    def inward(self, state: Array, values: Array) -> tuple[Array, Array]:
        """H and f of what hangs on the last link to those of all on the parent; U / D and u / D."""
        H, f = np.zeros((6, 6), dtype=state.dtype), state[21:]
        H[UPPER] = H.T[UPPER] = state[:21]
        results = []
        for (X, inertia), given in reversed(self.parts(values)):
            H, f = H + inertia.matrix(), f + given[1:]
            U, u = H[:, 5], given[0] + f[5]
            D_inv = 1.0 / U[5]
            UD = U * D_inv
            H = X.congruence(subtract_product(H, UD[:, None], U[:, None]))
            f = X.apply_T(f - UD * u)
            results.append(vector(*UD, u * D_inv))
        return vector(*H[UPPER], *f), np.concatenate(results[::-1])

    def outward(self, state: Array, values: Array) -> tuple[Array, Array]:
        """The acceleration of the parent to that of the last link; joint accelerations."""
        a, qdd = state, []
        for (X, _), given in self.parts(values):
            a = X.apply(a)
            qdd.append(given[6] - given[:6] @ a)
            a = vector(*a[:5], a[5] + qdd[-1])
        return a, vector(*qdd)


def aba_by_sweeps(model: Model, q: Array, v: Array, tau: Array) -> Array:
    """Joint accelerations of `zoo.chain(n)`, n a multiple of three, on floats or symbols."""
    tree = tree_of(model)
    nodes, n = tree.nodes, len(tree.nodes)
    first, others = Sweeps(nodes[:TURN]), Sweeps(nodes[TURN : 2 * TURN])
    check_alike(nodes[TURN:])
    links = [numbers_of(*x) for x in zip(nodes, each(np.cos, q), each(np.sin, q), strict=True)]

    def sets(given: Array) -> Array:
        rows = [vector(*link, *np.atleast_1d(x)) for link, x in zip(links, given, strict=True)]
        return np.stack(rows).reshape(n // TURN, -1)

    values = sets(v)
    start = vector(*np.zeros(6), *-tree.gravity, *np.zeros(9))
    state, forces = first.motion(start, values[0])
    forces = np.concatenate([forces[None], sweep(others.motion, state, values[1:])[1]]).reshape(n, 6)
    values = sets(np.concatenate([tau[:, None], forces], axis=1))
    state, solved = sweep(others.inward, np.zeros(27), values[:0:-1])
    solved = np.concatenate([first.inward(state, values[0])[1][None], solved[::-1]]).reshape(n, 7)
    values = sets(solved)
    state, qdd = first.outward(np.zeros(6), values[0])
    return np.concatenate([qdd, sweep(others.outward, state, values[1:])[1].reshape(-1)])


def check_alike(nodes: Sequence[Node]) -> None:
    for k, node in enumerate(nodes):
        like = nodes[k % TURN]
        same = [type(x) for x in node.fixed.factors] == [type(x) for x in like.fixed.factors]
        same = same and np.array_equal(node.fixed.R, like.fixed.R)
        if not same or node.offset or node.armature.any() or node.joint.name != "revolute":
            raise ValueError(f"link {TURN + k} is not like link {TURN + k % TURN}")


def swept_tape(model: Model) -> Tape:
    graph, n = Graph(), model.nv
    qdd = aba_by_sweeps(model, *(graph.inputs(slot, n) for slot in range(3)))
    return tape_of(graph, tuple(Port(name, (n,)) for name in ("q", "v", "tau")), {"qdd": qdd})


def seconds_of(kernel: NativeKernel, batch: int) -> float:
    """Per state; the best of a few."""
    rng, n = np.random.default_rng(0), kernel.tape.inputs[0].size
    inputs, out = [rng.normal(size=(batch, n)) for _ in range(3)], np.empty((batch, n))
    one = [x[0].copy() for x in inputs]
    best = np.inf
    for _ in range(8):
        start = time.perf_counter()
        if batch > 1:
            kernel.run(inputs, [out], batch)
        else:
            kernel.call_new(*one)
        best = min(best, time.perf_counter() - start)
    return best / batch


def validate(model: Model, kernel: NativeKernel) -> None:
    """The same accelerations as `aba`, whose own text runs."""
    state = np.random.default_rng(1).normal(size=(3, model.nv))
    with sarrus.interpreted():
        expected = sarrus.aba(model, *state)
    found = kernel.call_new(*(x.copy() for x in state))
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    if not error < 1e-9:
        raise SystemExit(f"{model.name}: this is not aba, relative error {error:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Forward dynamics of long chains by repeated text")
    parser.add_argument("links", nargs="*", type=int, default=[30, 300, 2001], help="multiples of three")
    columns = ("operations", "instructions", "trace, s", "compile, s", "code, KB", "us/state", "single, us")
    table = Table("links", "", *columns)
    sarrus.compile(sarrus.zoo.chain(1), "aba")  # drivers are there once per machine
    for n in parser.parse_args().links:
        model = sarrus.zoo.chain(n)
        tree_of(model)  # known before
        for name in ("repeated", *(("written out",) if n <= MOST_WRITTEN_OUT else ())):
            clock = [time.perf_counter()]
            tape = swept_tape(model) if name == "repeated" else trace(model, "aba")
            clock.append(time.perf_counter())
            kernel = build_native(tape, cache=False)
            clock.append(time.perf_counter())
            validate(model, kernel)
            numbers = (clock[1] - clock[0], clock[2] - clock[1], len(kernel.artifact.code) / 1024)
            times = [1e6 * seconds_of(kernel, batch) for batch in (BATCH, 1)]
            counts = (f"{tape.op_count.total:,}", f"{len(tape):,}")
            table.add_row(str(n), name, *counts, *(f"{x:.2f}" for x in (*numbers, *times)))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
