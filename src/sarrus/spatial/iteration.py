"""Repeating a step until it says that it is done, for floats and symbols alike.

How often is not known while tracing, so Python's `while` cannot be used in an algorithm. `iterate` runs the loop on
floats; a symbol records it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import AbstractScalar

State = tuple[Array, ...]
Step = Callable[[State], tuple[State, Scalar]]


def iterate(step: Step, state: State, limit: int) -> tuple[State, Scalar]:
    """Apply `step` at most `limit` times, and stop after the application that returns a second value of 0 (1: go on).

    Returns the last state and how often the step was applied. Arrays keep their shapes.
    """
    for array in state:
        for x in np.asarray(array, dtype=object).flat:
            if isinstance(x, AbstractScalar):
                return x.iterate(step, state, limit)
    count = 0
    go_on: Scalar = 1.0
    while count < limit and go_on != 0.0:
        state, go_on = step(state)
        count += 1
    return state, float(count)
