"""The gradient of a weighted sum of all states of a rollout: backwards through its steps, some of them at a time.

A rollout has all its states; what would be large, the matrices A and B of its steps, is made for as many steps at once
as fit into little memory (in one call of native code, as a batch), used and forgotten. Of a rollout on the ground, what
each step leaves the next is found once more, as it is not recorded: impulses, and dry friction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.simulation.contact.contact_linearization import ContactLinearizer, TakenSteps
from sarrus.simulation.linearization import Linearizer
from sarrus.simulation.step_kernels import Carry
from sarrus.simulation.steppers import PythonStepper
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


class ContactGradient(NamedTuple):
    """The same of a rollout on the ground, and where steps have a derivative."""

    q0_bar: Array  # (nv,) in the tangent space
    v0_bar: Array  # (nv,)
    u_bar: Array  # (T, nu) of controls where they were given, else of tau
    unique: Array  # (T,) 1; 0 where a step is on the edge between two motions, and the gradient is that of one


class ParametricContactGradient(NamedTuple):
    """The same, and that of the simulation's parameters."""

    q0_bar: Array  # (nv,) in the tangent space
    v0_bar: Array  # (nv,)
    u_bar: Array  # (T, nu) of controls where they were given, else of tau
    parameters_bar: Array  # (n,)
    unique: Array  # (T,) 1; 0 where a step is on the edge between two motions, and the gradient is that of one


def taken_steps(stepper: PythonStepper, carry: Carry, span: range) -> tuple[TakenSteps, Array]:
    """What steps on the ground find from here on, (B, T, ...) each, and the configurations after them, (B, T, nq)."""
    found, led = list[TakenSteps](), list[Array]()
    for t in span:
        before = carry["warm0"]
        result = stepper.once(carry, t)
        found.append(TakenSteps(before, result.warm, result.v, result.status))
        led.append(carry["q"])
    if not found:
        none = carry["warm0"][:, None][:, :0]
        return TakenSteps(none, none, carry["v"][:, None][:, :0], carry["alive"][:, None][:, :0]), carry["q"][:, None][
            :, :0
        ]
    return TakenSteps(*(np.stack(x, axis=1) for x in zip(*found, strict=True))), np.stack(led, axis=1)


def rollout_gradient(
    linearizer: Linearizer | ContactLinearizer,
    q: Array,
    v: Array,
    bars: Array,
    inputs: dict[str, Array],
    project_every: int | None,
    taken: TakenSteps | None = None,
) -> RolloutGradient | ParametricGradient | ContactGradient | ParametricContactGradient:
    """q, v: states (B, T + 1, n); bars: their weights (B, T + 1, 2 nv); inputs: (B, T, ...) each; taken: (B, T, ...)
    what steps on the ground found.
    """
    batch, states, n = bars.shape
    steps, nv = states - 1, n // 2
    if isinstance(linearizer, ContactLinearizer):  # whose states may have more than q and v
        bars = np.concatenate([bars, np.zeros((batch, states, linearizer.memory))], axis=2)
    size = bars.shape[2]
    u_bar = np.zeros((batch, steps, *inputs[linearizer.u].shape[2:]))
    parameters = inputs.get("parameters", np.zeros((batch, steps, 0)))
    parameters_bar = np.zeros((batch, parameters.shape[2]))
    adjoint, unique = bars[:, steps].copy(), np.ones((batch, steps))
    together = max(1, _MEMORY // max(1, 8 * batch * size * size * 8))
    for stop in range(steps, 0, -together):
        span = range(max(0, stop - together), stop)

        def of_span(x: Array, span: range = span) -> Array:
            return x[:, span.start : span.stop].reshape(batch * len(span), *x.shape[2:])

        numbers = np.tile(np.arange(span.start, span.stop), batch)
        more = () if taken is None else (TakenSteps(*(of_span(x) for x in taken)),)
        given = {name: of_span(x) for name, x in inputs.items()}
        found, after = linearizer(of_span(q), of_span(v), numbers, given, *more)
        by_name = {name: M.reshape(batch, len(span), *M.shape[1:]) for name, M in found._asdict().items()}
        q1, v1 = (x.reshape(batch, len(span), x.shape[-1]) for x in after)
        if taken is not None:
            unique[:, span.start : span.stop] = by_name["unique"]
        which = np.zeros((batch, len(span)), bool)
        if project_every:
            due = (numbers + 1) % project_every == 0
            which = linearizer.projection.is_projected(after.q, due).reshape(batch, len(span))
        for t in reversed(span):
            k, those = t - span.start, which[:, t - span.start]
            if those.any():
                given = parameters[those, t] if "P" in by_name else None
                back = linearizer.projection.back(q1[those, k], v1[those, k], adjoint[those, :n], given)
                adjoint[those, :n], by_parameters = back
                parameters_bar[those] += by_parameters
            u_bar[:, t] = _back(by_name["B"][:, k], adjoint)
            if "P" in by_name:
                parameters_bar += _back(by_name["P"][:, k], adjoint)
            adjoint = _back(by_name["A"][:, k], adjoint) + bars[:, t]
    plain = RolloutGradient(adjoint[:, :nv], adjoint[:, nv:n], u_bar)
    if "parameters" in inputs:
        found = ParametricGradient(*plain, parameters_bar)
        return found if taken is None else ParametricContactGradient(*found, unique)
    return plain if taken is None else ContactGradient(*plain, unique)


def _back(matrices: Array, adjoint: Array) -> Array:
    return np.einsum("bij,bi->bj", matrices, adjoint)
