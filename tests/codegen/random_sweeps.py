"""Random text that is applied to many sets of values: by itself, before and inside of loops and guards.

Numbers are exact enough for equal bits, as in `random_picks.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sarrus.codegen.tape import graph as graph_module
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.repetition import sweep
from sarrus.spatial.replacement import replace_where
from tests.codegen.random_picks import INDICES, VALUES, Mixer


def random_sweeps(seed: int, apply: Callable[..., tuple[Array, Array]] = sweep, together: int = 0) -> Tape:
    """Sweeps of sweeps' results.

    apply     `written_out`: the same without any repetition
    together  instructions that are written out, instead of so many that nothing here would be repeated
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_module, "TOGETHER", together)
        return _random_sweeps(seed, apply)


def _random_sweeps(seed: int, apply: Callable[..., tuple[Array, Array]]) -> Tape:
    graph = Graph()
    mixer = Mixer(graph, seed)
    values, indices = list(graph.inputs(0, VALUES)), list(graph.inputs(1, INDICES))

    def swept(values: list[Scalar], seed: int) -> list[Scalar]:
        """Some values more: the last state of a random sweep and some of its results."""
        of_sweep = np.random.default_rng(seed)
        rows, columns, carried, made = of_sweep.integers((1, 1, 0, 1), (9, 5, 4, 5)).tolist()
        sets = np.array([values[int(i)] for i in of_sweep.integers(len(values), size=rows * columns)], dtype=object)
        sets = sets.reshape(rows, columns)
        if of_sweep.random() < 0.6:
            sets[:, 0] = 0.5  # known, and the same in all
        if of_sweep.random() < 0.6:
            sets[:, -1] = np.arange(rows) / 4.0  # known
        state = vector(*(values[int(i)] for i in of_sweep.integers(len(values), size=carried)))
        if carried and of_sweep.random() < 0.5:
            state[0] = 0.25

        def text(state: Array, row: Array) -> tuple[Array, Array]:
            of_text = Mixer(graph, seed + 1)  # the same text in every repetition
            pool, _ = of_text.mixed([*state, *row, *values[:5]], indices[:3], 10)
            following = vector(*(0.5 * x for x in of_text.some(pool[-8:], len(state))))
            if len(state) > 1 and of_text.rng.random() < 0.4:
                following = vector(*following[1:], state[0])
            return following, vector(*of_text.some(pool[-8:] + list(row), made))

        last, results = apply(text, state, sets)
        chosen = of_sweep.random(results.size) < 0.7
        return [*values[:2], *last, *(x for x, is_chosen in zip(results.flat, chosen, strict=True) if is_chosen), 1.0]

    values += swept(values, seed + 1000)
    values, indices = mixer.mixed(values, indices, 10)
    values += swept(values[-20:], seed + 2000)

    def step(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        x, n = state
        following = vector(*(0.5 * y for y in swept([*x, *values[-4:]], seed + 3000)[-3:-1]), x[0])
        return (following[:2], n + 1.0), choose(n[0], 3.5, 1.0, 0.0)

    (x, _), _ = iterate(step, (vector(*values[-4:-2]), np.zeros(1)), 6)
    values += [*x]
    before = list(values)
    (replaced,) = replace_where(
        values[0] - values[1], (vector(*values[-2:]),), lambda: (vector(*swept(before[-9:], seed + 4000)[-3:-1]),)
    )
    values, indices = mixer.mixed([*values, *replaced], indices, 10)
    values += swept(values[-25:], seed + 5000)
    outputs = {"x": vector(*values[-12:]), "y": vector(*mixer.some(values, 15))}
    return tape_of(graph, (Port("v", (VALUES,)), Port("i", (INDICES,))), outputs)
