"""Adaptive steps: the error of every step is estimated, and a step with too large an error is repeated, shorter.

One *attempt* of Dormand and Prince's method of order 5 (4), with the decision about it, is one kernel. Every state of a
batch has its own step size and its own time; those that have reached the end of the interval wait for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.model import Model
from sarrus.simulation.integrators import dormand_prince
from sarrus.simulation.step import StepSettings, acceleration_of, keep_finite, scalar, select, worse
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.choice import choose
from sarrus.status import Status

_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
_SMALLEST = 1e-9  # step size, as a part of dt
SCALARS = ("time", "h", "accepted", "rejected", "length")  # inputs of an attempt, beside those of a step


class AttemptResult(NamedTuple):
    """The state after an attempt, and what comes next."""

    q: Array
    v: Array
    alive: Array
    worst_status: Array
    time: Array  # () since the beginning of the interval
    h: Array  # () the size of the next step
    accepted: Array  # () steps so far
    rejected: Array
    forces: Array


def attempt(model: Model, settings: StepSettings, **inputs: Array) -> AttemptResult:
    """One step of a size of its own, taken if its error is within the tolerance."""
    q, v = inputs["q"], inputs["v"]
    alive, status, now, h, accepted, rejected, length = (
        inputs[x].item() for x in ("alive", "worst_status", "time", "h", "accepted", "rejected", "length")
    )
    assert settings.dt is not None  # the spacing of states
    begin = inputs["step"].item() * settings.dt if "step" in inputs else 0.0
    left = length - now
    last = choose(left, h, 1.0, 0.0)  # the step that ends the interval
    size = choose(left, h, left, h)
    acceleration = acceleration_of(model, settings, inputs, lambda c: begin + now + c * size)
    step = dormand_prince(model, acceleration, q, v, size, inputs.get("forces0"))
    assert step.error is not None
    error = _squared_error(step.error, v, settings.accuracy)

    good = choose(error, 1.0, 1.0, 0.0)  # an error that is not a number is not good
    running = choose(0.0, left, alive, 0.0)
    taken, (q, v) = keep_finite(good * running, (step.q, q), (step.v, v))  # 1 where the step is taken
    proposed = size * _growth(error)
    kept = choose(proposed, h, h, proposed)  # a step cut by the end of the interval says little about the next
    following = choose(0.5, taken, choose(0.5, last, kept, proposed), proposed)
    too_small = choose(proposed, _SMALLEST * settings.dt, 1.0, 0.0)
    stuck = choose(0.5, running, choose(0.5, taken, 0.0, too_small), 0.0)
    finite = choose(error, 1e300, 1.0, 0.0)
    alive = choose(0.5, stuck, choose(0.5, finite, -1.0, 0.0), alive)  # -1: the step is too small
    reason = choose(alive, -0.5, Status.STEP_TOO_SMALL, Status.DIVERGED)
    found = choose(0.5, alive, choose(0.5, taken, step.start.status, 0.0), reason)
    return AttemptResult(
        q=q, v=v, alive=scalar(alive), worst_status=scalar(worse(status, found)),
        time=scalar(choose(0.5, taken, choose(0.5, last, length, now + size), now)),
        h=scalar(choose(0.5, running, following, h)),
        accepted=scalar(accepted + taken), rejected=scalar(rejected + (running - taken)),
        forces=select(taken, step.start.forces, inputs.get("forces0", step.start.forces)),
    )  # fmt: skip


def _squared_error(error: tuple[Array, Array], v: Array, tolerance: float) -> Scalar:
    """The mean square of the errors, relative to the tolerance; of velocities relative to 1 + |v|."""
    total: Scalar = 0.0
    for of_q, of_v, speed in zip(*error, v, strict=True):
        scaled = of_v / (1.0 + abs(speed))
        total = total + of_q * of_q + scaled * scaled
    return total * (1.0 / (tolerance**2 * max(1, 2 * len(v))))


def _growth(error: Scalar) -> Scalar:
    """How much larger the next step may be, by the fourth root of the error; order 5 would take the fifth."""
    bounded = choose(error, 1e16, choose(1e-16, error, error, 1e-16), 1e16)  # 1e16 for what is not a number, too
    root = each(np.sqrt, each(np.sqrt, each(np.sqrt, vector(bounded))))[0]
    factor = _SAFETY / root
    return choose(_SHRINK, factor, choose(factor, _GROW, factor, _GROW), _SHRINK)
