"""Adaptive steps: the error of every step is estimated, and a step with too large an error is repeated, shorter.

One *attempt* of Dormand and Prince's method of order 5 (4), with the decision about it, is one kernel. Every state of a
batch has its own step size and its own time; those that have reached the end of the interval wait for the others.
Joint forces that are given per step are held from one multiple of dt to the next, which steps do not cross.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.model.model import Model
from sarrus.registry import table as registry
from sarrus.simulation.engine import Given
from sarrus.simulation.integrators import DORMAND_PRINCE, runge_kutta
from sarrus.simulation.step import (
    StepSettings,
    acceleration_of,
    only_if,
    scalar,
    step_algorithm,
    surviving,
    worst_of,
)
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.choice import choose
from sarrus.status import Status

ATTEMPTS = 16  # in one call of native code
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
_SMALLEST = 1e-9  # step size, as a part of dt
_CARRIED = ("q", "v", "alive", "worst", "time", "h", "accepted", "rejected")


class AttemptResult(NamedTuple):
    """The state after an attempt, and what comes next."""

    q: Array
    v: Array
    alive: Array
    worst: Array
    time: Array  # () since the beginning of the interval
    h: Array  # () the size of the next step
    accepted: Array  # () steps so far
    rejected: Array
    forces: Array


def attempt(model: Model, settings: StepSettings, tolerance: float, **inputs: Array) -> AttemptResult:
    """One step of a size of its own, taken if its error is within the tolerance."""
    q, v = inputs["q"], inputs["v"]
    alive, worst, now, h, accepted, rejected, length = (
        inputs[x].item() for x in ("alive", "worst", "time", "h", "accepted", "rejected", "length")
    )
    begin = inputs["step"].item() * settings.dt if "step" in inputs else 0.0
    left = length - now
    last = choose(left, h, 1.0, 0.0)  # the step that ends the interval
    size = choose(left, h, left, h)
    acceleration = acceleration_of(model, settings, inputs, lambda c: begin + now + c * size)
    taken = runge_kutta(DORMAND_PRINCE, model, acceleration, q, v, size, inputs.get("forces0"))
    assert taken.error is not None
    error = _squared_error(taken.error, v, tolerance)

    good = choose(error, 1.0, 1.0, 0.0)  # an error that is not a number is not good
    going = choose(0.0, left, alive, 0.0)
    still, moved = surviving(good * going, (taken.q, q), (taken.v, v))  # 1 where the step is taken
    # The fourth root of the error: order 5 would take the fifth.
    root = each(np.sqrt, each(np.sqrt, each(np.sqrt, vector(choose(1e-16, error, error, 1e-16)))))[0]
    factor = _SAFETY / root
    factor = choose(_SHRINK, factor, choose(factor, _GROW, factor, _GROW), _SHRINK)
    proposed = size * factor
    kept = choose(proposed, h, h, proposed)  # a step cut by the end of the interval says little about the next
    following = choose(0.5, still, choose(0.5, last, kept, proposed), proposed)
    stuck = choose(0.5, going, choose(0.5, still, 0.0, choose(proposed, _SMALLEST * settings.dt, 1.0, 0.0)), 0.0)
    finite = choose(error, 1e300, 1.0, 0.0)
    alive = choose(0.5, stuck, choose(0.5, finite, -1.0, 0.0), alive)  # -1: the step is too small
    reason = choose(alive, -0.5, Status.STEP_TOO_SMALL, Status.DIVERGED)
    status = choose(0.5, alive, choose(0.5, still, taken.start.status, 0.0), reason)
    return AttemptResult(
        q=moved[0],
        v=moved[1],
        alive=scalar(alive),
        worst=scalar(worst_of(worst, status)),
        time=scalar(choose(0.5, still, choose(0.5, last, length, now + size), now)),
        h=scalar(choose(0.5, going, following, h)),
        accepted=scalar(accepted + still),
        rejected=scalar(rejected + (going - still)),
        forces=only_if(still, taken.start.forces, inputs.get("forces0", taken.start.forces)),
    )


def _squared_error(error: tuple[Array, Array], v: Array, tolerance: float) -> Scalar:
    """The mean square of the errors, relative to the tolerance; of velocities relative to 1 + |v|."""
    total: Scalar = 0.0
    for of_q, of_v, speed in zip(*error, v, strict=True):
        scaled = of_v / (1.0 + abs(speed))
        total = total + of_q * of_q + scaled * scaled
    return total * (1.0 / (tolerance**2 * max(1, 2 * len(v))))


class AdaptiveEngine:
    """Intervals of a batch, each in as many steps as it takes."""

    def __init__(self, model: Model, settings: StepSettings, given: dict[str, Given], tolerance: float) -> None:
        entry = step_algorithm(model, settings, "tau" in given)
        names = {port.name for port in entry.inputs}
        more = [registry.Input(x, False, ()) for x in (*_CARRIED[2:], "length") if x not in names]
        algorithm = registry.Algorithm(
            "adaptive_step", attempt, (*entry.inputs, *more), None, ("settings", "tolerance"), entry.cost,
        )  # fmt: skip
        self.kernel = compile(model, algorithm, settings=settings, tolerance=tolerance)
        self.given, self.settings = given, settings
        self.carried = {x: x for x in _CARRIED}
        if "forces0" in self.kernel.input_names:
            self.carried["forces"] = "forces0"
        self._program: Program | None = None

    def carry(self, q: Array, v: Array) -> dict[str, Array]:
        """Everything that is carried, at the beginning."""
        batch = len(q)
        first: dict[str, Any] = {"q": q, "v": v, "alive": np.ones(batch), "h": np.full(batch, self.settings.dt)}
        shapes = {port.name: port.shape for port in self.kernel.tape.inputs}
        return {
            name: np.array(first.get(name, np.zeros((batch, *shapes[name]))), dtype=float, order="C")
            for name in self.carried.values()
        }

    def advance(self, carry: dict[str, Array], step: int, steps: int, threads: int) -> None:
        """From step `step` (a multiple of dt) over so many, in place."""
        batch = len(carry["q"])
        carry["time"][:] = 0.0
        if self._program is None:
            self._interval = {"length": np.zeros(()), "step": np.zeros(())}
            self._held = {name: np.zeros((*x.array.shape[:-2], x.array.shape[-1])) if x.per_step else x.array
                          for name, x in self.given.items()}  # fmt: skip
            before = [Gather(0, name, array) for name, array in carry.items()]
            before += [
                Gather(0, n, a, per_state=False) for n, a in self._interval.items() if n in self.kernel.input_names
            ]
            before += [Gather(0, name, self._held[name], per_state=x.per_state) for name, x in self.given.items()]
            again = [Run(0), *(Copy((0, out), (0, into)) for out, into in self.carried.items())]
            after = [Scatter(0, name, array, from_input=True) for name, array in carry.items()]
            self._program = Program((self.kernel.native,), before, again, after)
        length = steps * self.settings.dt
        self._interval["length"][...], self._interval["step"][...] = length, step
        for name, x in self.given.items():
            if x.per_step:
                self._held[name][...] = x.array[:, step] if x.per_state else x.array[step]
        while True:
            self._program.run(batch, ATTEMPTS, 0, threads)
            if not np.any((carry["time"] < length) & (carry["alive"] > 0.5)):
                return
