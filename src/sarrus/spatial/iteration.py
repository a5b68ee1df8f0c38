"""Repeating a step until it says that it is done, for floats and symbols alike.

How often is not known while tracing, so Python's `while` cannot be used in an algorithm. `iterate` runs the loop on
floats; a symbol records it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import AbstractScalar
from sarrus.spatial.parameter import Parameter

State = tuple[Array, ...]
Step = Callable[[State], tuple[State, Scalar]]


def iterate(step: Step, state: State, limit: int, entry: Scalar = 1.0) -> tuple[State, Scalar]:
    """Apply `step` at most `limit` times; go on after an application whose second value is greater than 0.

    entry  the first application, too, happens only where this is greater than 0

    Returns the last state and how often the step was applied. A second value that is not a number stops. Arrays keep
    their shapes. The step must be pure: to record it, it is called on symbols, perhaps several times, and what it
    computes leaves it only through the state.
    """
    count = 0
    go_on: Scalar = entry
    while count < limit:
        symbol = _symbol_in((*state, go_on))
        if symbol is None and not go_on > 0.0:
            break
        if symbol is None:
            following, more = step(state)
            symbol = _symbol_in((*following, more))  # numbers so far, but the step knows symbols
            if symbol is None:
                state, go_on = following, more
                count += 1
                continue
        state, more = symbol.iterate(step, state, limit - count, go_on)
        return state, count + more
    return state, float(count)


def _symbol_in(arrays: Iterable[Array | Scalar]) -> AbstractScalar | None:
    """A scalar that is not a number; one that can record before a model's bare parameter."""
    found = None
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.dtype == object:
            for x in np.asarray(array, dtype=object).flat:
                if isinstance(x, AbstractScalar):
                    if not isinstance(x, Parameter):
                        return x
                    found = x
    return found
