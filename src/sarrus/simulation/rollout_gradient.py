"""The gradient of a weighted sum of all states of a rollout: backwards through its steps, some of them at a time.

A rollout has all its states; what would be large, the matrices A and B of its steps, is made for as many steps at once
as fit into little memory (in one call of native code, as a batch), used and forgotten.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.simulation.linearization import Linearizer
from sarrus.spatial.arrays import Array

_MEMORY = 2**26  # bytes of matrices


class RolloutGradient(NamedTuple):
    """Of one rollout, or of a batch (B, ...)."""

    q0_bar: Array  # (nv,) in the tangent space
    v0_bar: Array  # (nv,)
    u_bar: Array  # (T, nu) of controls where they were given, else of tau


class ParametricGradient(NamedTuple):
    """The same, and that of the simulation's parameters."""

    q0_bar: Array  # (nv,) in the tangent space
    v0_bar: Array  # (nv,)
    u_bar: Array  # (T, nu) of controls where they were given, else of tau
    parameters_bar: Array  # (n,)


def rollout_gradient(
    linearizer: Linearizer,
    q: Array,
    v: Array,
    bars: Array,
    inputs: dict[str, Array],
    project_every: int | None,
) -> RolloutGradient | ParametricGradient:
    """q, v: states (B, T + 1, n); bars: their weights (B, T + 1, 2 nv); inputs: (B, T, ...) each."""
    batch, states, size = bars.shape
    steps, nv = states - 1, size // 2
    u_bar = np.zeros((batch, steps, *inputs[linearizer.u].shape[2:]))
    parameters = inputs.get("parameters", np.zeros((batch, steps, 0)))
    parameters_bar = np.zeros((batch, parameters.shape[2]))
    adjoint = bars[:, steps].copy()
    together = max(1, _MEMORY // (8 * batch * size * size * 8))
    for stop in range(steps, 0, -together):
        span = range(max(0, stop - together), stop)

        def of_span(x: Array, span: range = span) -> Array:
            return x[:, span.start : span.stop].reshape(batch * len(span), *x.shape[2:])

        numbers = np.tile(np.arange(span.start, span.stop), batch)
        found, after = linearizer(of_span(q), of_span(v), numbers, {name: of_span(x) for name, x in inputs.items()})
        A, B, *P, q1, v1 = (M.reshape(batch, len(span), *M.shape[1:]) for M in (*found, *after))
        which = np.zeros((batch, len(span)), bool)
        if project_every:
            due = (numbers + 1) % project_every == 0
            which = linearizer.is_projected(after.q, due).reshape(batch, len(span))
        for t in reversed(span):
            k, those = t - span.start, which[:, t - span.start]
            if those.any():
                given = parameters[those, t] if P else None
                back = linearizer.back_through_projection(q1[those, k], v1[those, k], adjoint[those], given)
                adjoint[those], by_parameters = back
                parameters_bar[those] += by_parameters
            u_bar[:, t] = _back(B[:, k], adjoint)
            for matrix in P:
                parameters_bar += _back(matrix[:, k], adjoint)
            adjoint = _back(A[:, k], adjoint) + bars[:, t]
    plain = RolloutGradient(adjoint[:, :nv], adjoint[:, nv:], u_bar)
    return ParametricGradient(*plain, parameters_bar) if "parameters" in inputs else plain


def _back(matrices: Array, adjoint: Array) -> Array:
    return np.einsum("bij,bi->bj", matrices, adjoint)
