"""Random tapes in which much is picked: in straight-line code, in a loop and where only some states need it.

Their numbers are only added, compared and multiplied by powers of two, so that a fused multiply-add rounds as its two
operations do, and every way of running a tape must give the same bits.
"""

from __future__ import annotations

import numpy as np

from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.spatial.arrays import Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.picking import pick, pick_rows
from sarrus.spatial.replacement import replace_where

VALUES, INDICES = 6, 4
STRANGE = [np.nan, np.inf, -np.inf, -1.0, -0.0, 0.5, 2.999, 1e300, -1e300, 1e9, 7.0, 4.0]


class Mixer:
    """Random operations on pools of values and of indices; what is the same for all is the graph."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph, self.rng = graph, np.random.default_rng(seed)

    def some(self, pool: list[Scalar], count: int) -> list[Scalar]:
        return [pool[int(i)] for i in self.rng.integers(len(pool), size=count)]

    def a_list(self, pool: list[Scalar]) -> list[Scalar]:
        """One to nine entries, numbers among them."""
        mixed = self.some(pool, int(self.rng.integers(1, 10)))
        return [float(self.rng.integers(-8, 8)) / 4.0 if self.rng.random() < 0.3 else x for x in mixed]

    def mixed(self, values: list[Scalar], indices: list[Scalar], count: int) -> tuple[list[Scalar], list[Scalar]]:
        """The pools with `count` more."""
        values, indices = list(values), list(indices)
        for _ in range(count):
            a, b, c = self.some(values, 3)
            kind = self.rng.integers(8)
            if kind < 2:
                new = [a * 0.5 + b * 0.25]
            elif kind == 2:
                new = [self.graph.lift(choose(a, b, c, b * 0.5))]
            elif kind == 3:
                new = [self.graph.binary(Op.MAX, self.graph.lift(a), self.graph.lift(b - c * 0.5))]
            elif kind < 6:
                new = [pick(self.a_list(values), self.some(indices, 1)[0])]
            elif kind == 6:  # an entry of another list says which
                indices.append(pick(self.a_list([0.0, 1.0, 3.0, *indices]), self.some(indices, 1)[0]))
                continue
            else:
                rows = [self.some(values, 3) for _ in range(int(self.rng.integers(1, 5)))]
                new = list(pick_rows(rows, self.some(indices, 1)[0]))
            values += new
        return values, indices


def random_picks(seed: int) -> Tape:
    """Straight-line code, a loop, a guard with a loop in it, straight-line code; each uses all that is before it."""
    graph = Graph()
    mixer = Mixer(graph, seed)
    values, indices = list(graph.inputs(0, VALUES)), list(graph.inputs(1, INDICES))

    def looped(values: list[Scalar], indices: list[Scalar], seed: int) -> list[Scalar]:
        def step(state: tuple[np.ndarray, ...]) -> tuple[tuple[np.ndarray, ...], Scalar]:
            x, n = state
            of_step = Mixer(graph, seed)  # the same step in every attempt
            # How often it was applied is an index, too; what is carried and what is from before share lists.
            more, _ = of_step.mixed([*x, *of_step.some(values, 6)], [n[0], x[0] * 4.0, *indices[:3]], 18)
            following = vector(*(0.5 * y for y in of_step.some(more[-9:], len(x))))
            return (following, n + 1.0), choose(n[0] * 0.25, abs(x[1]) * 4.0 + 0.5, 1.0, 0.0)

        (x, n), count = iterate(step, (vector(*mixer.some(values[-9:], 4)), np.zeros(1)), 9)
        return [*x, *n, count]

    values, indices = mixer.mixed(values, indices, 25)
    values += looped(values, indices, seed + 1000)
    values, indices = mixer.mixed(values, indices, 15)
    before = list(values)

    def instead() -> tuple[np.ndarray, ...]:
        more, _ = Mixer(graph, seed + 2000).mixed(before, indices, 15)
        return (vector(*more[-3:], *looped(more[-9:], indices, seed + 3000)[:2]),)

    (replaced,) = replace_where(values[0] - values[1], (vector(*mixer.some(values, 5)),), instead)
    values, indices = mixer.mixed([*values, *replaced], indices, 25)
    outputs = {"x": vector(*values[-12:]), "y": vector(*mixer.some(values, 9), indices[-1])}
    return tape_of(graph, (Port("v", (VALUES,)), Port("i", (INDICES,))), outputs)


def picking_states(batch: int, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
    """Values of a few bits; indices inside lists, and outside in every way."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-64, 64, (batch, VALUES)) / 16.0
    indices = np.where(rng.random((batch, INDICES)) < 0.4, rng.choice(STRANGE, (batch, INDICES)), 0.0)
    indices = np.where(indices == 0.0, rng.integers(0, 9, (batch, INDICES)), indices)
    with np.errstate(over="ignore"):
        return [values.astype(dtype), indices.astype(dtype)]
