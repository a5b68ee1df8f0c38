"""Integrators on the configuration manifold: one step, for floats and symbols alike.

| name                  | order | dynamics per step | |
|-----------------------|-------|---|---|
| `semi_implicit_euler` | 1     | 1 | the papers': velocities first, then positions by the new velocities |
| `implicit`            | 1     | 1 | the same; damping and stiffness of joints, PD gains implicit: stable |
| `rk4`                 | 4     | 4 | Runge-Kutta-Nystroem on the manifold: of order 4 for rotations, too |
| `adaptive`            | 5 (4) | 7 per attempt | Dormand-Prince; step sizes by the error (`adaptive.py`) |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sarrus.model.model import Model
from sarrus.model.state import moved
from sarrus.simulation.manifold import tangent_acceleration, tangent_rate, velocity_of_rate
from sarrus.spatial.arrays import Array, Scalar


class Dynamics(NamedTuple):
    """Forward dynamics at a state. `tau` is what the motors did."""

    qdd: Array
    forces: Array
    residual: Array
    iterations: Scalar
    status: Scalar
    tau: Array


class Step(NamedTuple):
    """The state after a step, and the dynamics at its beginning.

    Only those have a status that counts: the stages of a step are a little off the constraints, where redundant rows
    are a little in conflict.
    """

    q: Array
    v: Array
    start: Dynamics
    error: tuple[Array, Array] | None = None  # of positions (as a tangent) and velocities, where there is an estimate


# acceleration(q, v, c, forces): the dynamics at a part c of the step, iterations beginning with these forces
Acceleration = Callable[[Array, Array, float, Array | None], Dynamics]


# Dormand and Prince's method, in Butcher's letters: stages after the first, and the embedded method of order 4.
_A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),  # which is b: the last stage is at the result
)
_C = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1)
_B_STAR = (5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)


def semi_implicit_euler(
    model: Model, acceleration: Acceleration, q: Array, v: Array, dt: Scalar, forces: Array | None
) -> Step:
    """v' = v + dt a(q, v), q' = q exp(dt v')."""
    start = acceleration(q, v, 0.0, forces)
    following = v + dt * start.qdd
    return Step(moved(model, q, dt * following), following, start)


def dormand_prince(
    model: Model, acceleration: Acceleration, q: Array, v: Array, dt: Scalar, forces: Array | None
) -> Step:
    """An explicit method on (u, v), u being the tangent from q: every stage moves from q along its own tangent."""
    start = last = acceleration(q, v, 0.0, forces)
    at, w = q, v
    u_rates, v_rates = [v], [start.qdd]
    for row, c in zip(_A, _C, strict=True):
        u, w = dt * _weighted(row, u_rates), v + dt * _weighted(row, v_rates)
        at = moved(model, q, u)
        last = acceleration(at, w, c, last.forces)
        u_rates.append(tangent_rate(model, u, w))
        v_rates.append(last.qdd)
    e = tuple(x - y for x, y in zip((*_A[-1], 0.0), _B_STAR, strict=True))
    return Step(at, w, start, (dt * _weighted(e, u_rates), dt * _weighted(e, v_rates)))


def _weighted(weights: tuple[float, ...], rates: list[Array]) -> Array:
    return sum((weight * rate for weight, rate in zip(weights, rates, strict=True) if weight), np.zeros(len(rates[0])))


def rk4(model: Model, acceleration: Acceleration, q: Array, v: Array, dt: Scalar, forces: Array | None) -> Step:
    """Nystroem's Runge-Kutta method of order four for d2u/dt2 = F(u, du/dt), u being the tangent from q.

    Positions between the ends of a step are exact to dt^3, hence that close to the constraints; the two stages in the
    middle share theirs, and so all that depends on positions only.
    """

    def stage(u: Array, w: Array, c: float, forces: Array | None) -> tuple[Dynamics, Array]:
        speed = velocity_of_rate(model, u, w)
        found = acceleration(moved(model, q, u), speed, c, forces)
        return found, tangent_acceleration(model, u, w, speed, found.qdd)

    start = acceleration(q, v, 0.0, forces)
    F1 = start.qdd
    middle = (0.5 * dt) * v + (dt * dt / 8) * F1
    second, F2 = stage(middle, v + (0.5 * dt) * F1, 0.5, start.forces)
    third, F3 = stage(middle, v + (0.5 * dt) * F2, 0.5, second.forces)
    _, F4 = stage(dt * v + (0.5 * dt * dt) * F3, v + dt * F3, 1.0, third.forces)
    u = dt * v + (dt * dt / 6) * (F1 + F2 + F3)
    w = v + (dt / 6) * (F1 + 2.0 * F2 + 2.0 * F3 + F4)
    return Step(moved(model, q, u), velocity_of_rate(model, u, w), start)


# `implicit` is the first with other dynamics: `step_kernels.implicit_step`.
FIXED_STEP = {"semi_implicit_euler": semi_implicit_euler, "implicit": semi_implicit_euler, "rk4": rk4}
INTEGRATORS = (*FIXED_STEP, "adaptive")
