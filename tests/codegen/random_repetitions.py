"""Random straight-line text that is applied to many sets of values in place: rows and columns of every origin.

Numbers are exact enough for equal bits, as in `random_picks.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.codegen.tape import graph as graph_module
from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.repetition import recursion, recursion_written_out, sweep, written_out
from sarrus.spatial.replacement import replace_where

INPUTS = 30


def random_repetitions(seed: int, is_written_out: bool = False) -> Tape:
    """Repetitions of earlier ones' results, of inputs, constants and what straight-line code makes of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_module, "TOGETHER", 0)
        return _Maker(seed, is_written_out).tape()


def exact_states(batch: int, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
    """Values of a few bits."""
    return [(np.random.default_rng(seed).integers(-64, 64, (batch, INPUTS)) / 16.0).astype(dtype)]


class _Maker:
    def __init__(self, seed: int, is_written_out: bool) -> None:
        self._graph = Graph()
        self._sweep = written_out if is_written_out else sweep
        self._recursion = recursion_written_out if is_written_out else recursion
        self._rng = np.random.default_rng(seed)
        self._vectors: list[Array] = []  # values that belong together
        self._matrices: list[Array] = []  # results of repetitions, one row per application

    def tape(self) -> Tape:
        x = self._graph.inputs(0, INPUTS)
        self._vectors += [x[:6], x[6:12], x[12:15], x[20:26]]
        for _ in range(4):
            self._vectors.append(self._mixed(self._rng, list(x), int(self._rng.integers(1, 9))))
        for _ in range(int(self._rng.integers(2, 6))):
            self._repeat()
            if self._rng.random() < 0.4:
                pool = [y for v in self._vectors[-8:] for y in v]
                self._vectors.append(self._mixed(self._rng, pool, 6))
        if self._rng.random() < 0.5:
            old, matrices, vectors = vector(*self._vectors[-1]), list(self._matrices), list(self._vectors)
            (new,) = replace_where(x[0] - x[1], (old,), lambda: (self._repeat(len(old)),))
            self._matrices, self._vectors = matrices, [*vectors, new]  # nothing else leaves a guard
        outputs: dict[str, Array] = {"last": self._vectors[-1]}
        for number, matrix in enumerate(self._matrices):
            kind = self._rng.integers(4)
            if kind < 2:  # columns of a matrix, or its rows
                outputs[f"m{number}"] = matrix.T if kind else matrix
            elif kind == 2:  # some, and some of them twice
                chosen = self._rng.integers(matrix.size, size=5)
                outputs[f"m{number}"] = vector(*(matrix.flat[int(i)] for i in chosen))
        return tape_of(self._graph, (Port("x", (INPUTS,)),), outputs)

    def _mixed(self, rng: np.random.Generator, pool: list[Scalar], count: int) -> Array:
        """So many values, made of those in the pool and of each other."""
        pool, g = list(pool), self._graph
        for _ in range(3 * count):
            a, b, c = (pool[int(i)] for i in rng.integers(len(pool), size=3))
            kind = rng.integers(4)
            if kind < 2:
                pool.append(a * 0.5 + b * 0.25)
            elif kind == 2:
                pool.append(g.lift(choose(a, b, c, b * 0.5 - a)))
            else:
                pool.append(g.binary(Op.MAX, g.lift(a), g.lift(b - c * 0.5)))
        return vector(*pool[-count:])

    def _column_group(self, rows: int) -> Array:
        """Some columns that belong together: in each row a vector of one length, or numbers."""
        rng, kind = self._rng, self._rng.integers(6)
        if kind == 0:
            return (rng.integers(-8, 8, (rows, int(rng.integers(1, 5)))) / 4.0).astype(object)
        if kind == 1 and self._matrices:  # results of applications, perhaps in another order
            matrix = self._matrices[int(rng.integers(len(self._matrices)))]
            order = rng.permutation(matrix.shape[1]) if rng.random() < 0.3 else np.arange(matrix.shape[1])
            return matrix[rng.integers(len(matrix), size=rows)][:, order]
        if kind == 2:  # anything anywhere
            pool = [x for v in self._vectors for x in v]
            return np.array([pool[int(i)] for i in rng.integers(len(pool), size=2 * rows)], object).reshape(rows, 2)
        width = int(rng.integers(1, 7))
        fitting = [v for v in self._vectors if len(v) >= width] or [self._vectors[0]]
        chosen = [vector(*fitting[int(i)])[:width] for i in rng.integers(len(fitting), size=rows)]
        group = np.array([list(row) for row in chosen], dtype=object)
        if kind == 3:  # some are numbers
            group[rng.random(group.shape) < 0.3] = 0.75
        return group

    def _repeat(self, size: int = 0) -> Array:
        """One repetition more; of that size, some of its results."""
        rng = self._rng
        rows = int(rng.integers(2, 9))
        groups = [self._column_group(rows) for _ in range(int(rng.integers(1, 12)))]
        sets = np.concatenate(groups, axis=1)
        state = vector(*(v[0] for v in self._vectors[: int(rng.choice([0, 0, 1, 4]))]))
        made, seed = int(rng.integers(1, 10)), int(rng.integers(1 << 30))
        same = list(self._vectors[-1][:2])

        def text(state: Array, row: Array) -> tuple[Array, Array]:
            of_text = np.random.default_rng(seed)  # the same text in every application
            results = self._mixed(of_text, [*state, *row, *same, 1.5], made + len(state))
            following = 0.5 * results[: len(state)]
            if len(state) > 1 and of_text.random() < 0.5:
                following = vector(*following[2:], *state[:2])
            return following, results[len(state) :]

        def recursive_text(row: Array, *rows: Array) -> Array:
            of_text = np.random.default_rng(seed)
            pool = [x for handed_on in rows for x in handed_on]
            results = self._mixed(of_text, [*pool, *row, *same, 1.5], max(made, len(state)))
            if len(state) > 1 and of_text.random() < 0.5:  # some as they come, one twice, one that is always the same
                results = vector(*results[2:], rows[0][0], row[-1])
            if of_text.random() < 0.3:
                results[-1] = results[0] if of_text.random() < 0.5 else 0.25
            return results

        if rng.random() < 0.4:
            width = int(rng.integers(1, 4))
            start = vector(*(0.25 if rng.random() < 0.3 else x for x in state))
            sources = [[int(s) for s in rng.integers(-1, r, size=width)] for r in range(rows)]
            last, results = state[:0], self._recursion(recursive_text, sets, sources, start)
        else:
            last, results = self._sweep(text, state, sets)
        self._matrices.append(results)
        self._vectors += [row for row in results if rng.random() < 0.7]
        if len(last):
            self._vectors.append(last)
        return vector(*(results.flat[int(i)] for i in rng.integers(results.size, size=size)))
