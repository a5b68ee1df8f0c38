"""One piece of text for many sets of values, for floats and symbols alike.

A `for` loop in an algorithm is written out by tracing: columns of right-hand sides, links of a chain or bodies of a
tree become as much code as there are of them. `repeat`, `sweep` and `recursion` are such loops on floats. Symbols
record their text once, on placeholders, and native code repeats it: each time, values are read where those of this set
are (a table says where), and results are written to places of their own. So there is one copy of the code, compiled in
the time of one repetition. Straight-line text runs as fast as written out; text with functions like sines in it costs a
copy of each value on its way in and out. Text that is too short to gain from it is written out.

What is the same in every set (a structural zero, say) is folded; what differs is not, even if it is zero in one of
them, and neither is what a state begins with, if it changes. So there may be more operations than in a loop written
out, and they are counted as often as they are done; the numbers are the same but for what fusing multiply-adds across
repetitions would round. Text that is itself inside of a loop (`iterate`, or another repetition) is written out; there
can be no `iterate` inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import AbstractScalar
from sarrus.spatial.parameter import Parameter

Sweep = Callable[[Array, Array], tuple[Array, Array]]
Recursion = Callable[..., Array]


def repeat(text: Callable[[Array], Array], sets: Array) -> Array:
    """text(values), a vector, of every row of `sets`: the rows of the result. The text must be pure."""
    return sweep(lambda state, values: (state, text(values)), np.zeros(0), sets)[1]


def sweep(text: Sweep, state: Array, sets: Array) -> tuple[Array, Array]:
    """Apply `state, result = text(state, values)` to the rows of `sets`, one after the other: a recursion.

    Returns the last state and all results, one row each. State and results are vectors and keep their lengths. The text
    must be pure: to record it, it is called on symbols, perhaps several times.
    """
    for x in (*state, *np.asarray(sets).flat):
        if isinstance(x, AbstractScalar) and not isinstance(x, Parameter):
            return x.sweep(text, state, sets)
    return written_out(text, state, sets)


def recursion(text: Recursion, sets: Array, sources: Sequence[Sequence[int]], start: Array) -> Array:
    """Rows of results, as many as there are `sets`: `text(values, *rows)` of the values of its own set and of the
    results of earlier ones. So a sweep over a tree is one repetition, whatever its branches.

    sources  per set: whose results the text is given, always as many; -1 means `start` instead of a result
    start    as many values as are handed on: the first ones of the results

    The text must be pure, as that of `sweep`.
    """
    sources = [tuple(int(s) for s in row) for row in sources]
    lengths = {len(row) for row in sources}
    if len(sources) != len(sets) or len(lengths) > 1:
        raise ValueError(f"{len(sets)} sets of values, but sources of {len(sources)}, of lengths {sorted(lengths)}")
    for r, row in enumerate(sources):
        if not all(-1 <= s < r for s in row):
            raise ValueError(f"set {r} has the sources {row}: each must be one before it, or -1")
    for x in (*start, *np.asarray(sets).flat):
        if isinstance(x, AbstractScalar) and not isinstance(x, Parameter):
            return x.recursion(text, sets, sources, start)
    return recursion_written_out(text, sets, sources, start)


def recursion_written_out(text: Recursion, sets: Array, sources: Sequence[Sequence[int]], start: Array) -> Array:
    """`recursion`, one application after the other."""
    results: list[Array] = []
    for values, row in zip(sets, sources, strict=True):
        results.append(text(values, *(results[s][: len(start)] if s >= 0 else start for s in row)))
    if not results:
        raise ValueError("a recursion of nothing: there is no set of values")
    return vector(*(x for row in results for x in row)).reshape(len(results), -1)


def written_out(text: Sweep, state: Array, sets: Array) -> tuple[Array, Array]:
    """`sweep`, one repetition after the other."""
    results = []
    for values in sets:
        state, result = text(state, values)
        results.append(result)
    if not results:
        raise ValueError("a repetition of nothing: there is no set of values")
    return state, vector(*(x for row in results for x in row)).reshape(len(results), -1)
