"""Adaptive steps: the error of every step is estimated, and a step with too large an error is repeated, shorter.

One *attempt* of Dormand and Prince's method of order 5 (4), with the decision about it, is one kernel. Every state of a
batch has its own step size and its own time; those that have reached the end of the interval wait for the others.
Inputs that are given per step are held from one multiple of dt to the next, which steps do not cross.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.runtime.kernel import compile
from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.model.model import Model
from sarrus.simulation.inputs import Actions
from sarrus.simulation.integrators import DORMAND_PRINCE, runge_kutta
from sarrus.simulation.step import (
    StepSettings,
    acceleration_of,
    keep_finite,
    scalar,
    select,
    step_algorithm,
    worse,
)
from sarrus.simulation.step_kernels import Carry, StepKernels
from sarrus.simulation.steppers import CARRIED_ROWS, AbstractStepper, Rows, StepRange
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.choice import choose
from sarrus.status import Status

_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
_SMALLEST = 1e-9  # step size, as a part of dt
_ATTEMPTS = 16  # in one call of native code
_SCALARS = ("time", "h", "accepted", "rejected", "length")  # inputs of an attempt, beside those of a step


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
    begin = inputs["step"].item() * settings.dt if "step" in inputs else 0.0
    left = length - now
    last = choose(left, h, 1.0, 0.0)  # the step that ends the interval
    size = choose(left, h, left, h)
    acceleration = acceleration_of(model, settings, inputs, lambda c: begin + now + c * size)
    step = runge_kutta(DORMAND_PRINCE, model, acceleration, q, v, size, inputs.get("forces0"))
    assert step.error is not None
    error = _squared_error(step.error, v, settings.accuracy)

    good = choose(error, 1.0, 1.0, 0.0)  # an error that is not a number is not good
    going = choose(0.0, left, alive, 0.0)
    taken, (q, v) = keep_finite(good * going, (step.q, q), (step.v, v))  # 1 where the step is taken
    proposed = size * _growth(error)
    kept = choose(proposed, h, h, proposed)  # a step cut by the end of the interval says little about the next
    following = choose(0.5, taken, choose(0.5, last, kept, proposed), proposed)
    too_small = choose(proposed, _SMALLEST * settings.dt, 1.0, 0.0)
    stuck = choose(0.5, going, choose(0.5, taken, 0.0, too_small), 0.0)
    finite = choose(error, 1e300, 1.0, 0.0)
    alive = choose(0.5, stuck, choose(0.5, finite, -1.0, 0.0), alive)  # -1: the step is too small
    reason = choose(alive, -0.5, Status.STEP_TOO_SMALL, Status.DIVERGED)
    found = choose(0.5, alive, choose(0.5, taken, step.start.status, 0.0), reason)
    return AttemptResult(
        q=q,
        v=v,
        alive=scalar(alive),
        worst_status=scalar(worse(status, found)),
        time=scalar(choose(0.5, taken, choose(0.5, last, length, now + size), now)),
        h=scalar(choose(0.5, going, following, h)),
        accepted=scalar(accepted + taken),
        rejected=scalar(rejected + (going - taken)),
        forces=select(taken, step.start.forces, inputs.get("forces0", step.start.forces)),
    )


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


class AdaptiveKernels(StepKernels):
    """An attempt at a step; and a plain step, which evaluates the dynamics at recorded states."""

    def __init__(self, model: Model, settings: StepSettings, with_tau: bool, project_every: int | None) -> None:
        plain = replace(settings, integrator="semi_implicit_euler", accuracy=0.0)
        super().__init__(model, plain, with_tau, project_every)
        self.attempt = compile(model, step_algorithm(model, settings, with_tau, attempt, _SCALARS), settings=settings)
        names = self.attempt.input_names
        self.carried_by_attempt = {name: name for name in self.attempt.output_names if name in names}
        if "forces0" in names:
            self.carried_by_attempt["forces"] = "forces0"


class AdaptiveStepper(AbstractStepper):
    """From row to row, or from dt to dt where inputs change that often, each interval in as many steps as it takes."""

    def __init__(self, kernels: AdaptiveKernels, actions: Actions, single: bool) -> None:
        super().__init__(kernels, actions, single)
        self.attempt, self.carried = kernels.attempt, kernels.carried_by_attempt

    def begin(self, q: Array, v: Array, step: int) -> Carry:
        batch, shapes = len(q), {port.name: port.shape for port in self.attempt.tape.inputs}
        first: dict[str, Any] = {"q": q, "v": v, "alive": np.ones(batch), "h": np.full(batch, self.kernels.dt)}
        return {
            name: np.array(first.get(name, np.zeros((batch, *shapes[name]))), dtype=float, order="C")
            for name in self.carried.values()
        }

    def chunks(self, carry: Carry, span: StepRange, rows: Rows) -> Iterator[int]:
        done = span.first
        changing = {name: x for name, x in self.inputs.items() if x.per_step}
        held = {name: np.array(x.at(done)) for name, x in self.inputs.items()}
        interval = {"length": np.zeros(()), "step": np.zeros(())}
        program = self._program(carry, held, interval)
        while done < span.stop:
            if done % span.every == 0:
                self._record(carry, rows, done // span.every - span.first_row)
            count = 1 if changing else min(span.every - done % span.every, span.stop - done)
            carry["time"][:], interval["length"][...], interval["step"][...] = 0.0, count * self.kernels.dt, done
            for name, x in changing.items():
                held[name][...] = x.at(done)
            unfinished = True
            while unfinished:
                program.run(span.batch, _ATTEMPTS, 0, span.threads)
                unfinished = np.any((carry["time"] < interval["length"]) & (carry["alive"] > 0.5))
            if self.kernels.projection is not None:
                for name, x in self.kernels.project(carry).items():
                    carry[name][...] = x
            done += count
            yield done

    def record_last(self, carry: Carry, span: StepRange, rows: Rows) -> None:
        self._record(carry, rows, -1)

    def complete(self, span: StepRange, rows: Rows) -> None:
        """Evaluate the dynamics at the states of all rows at once: those of a plain step from there."""
        names = set(rows) - set(CARRIED_ROWS)
        if not names:
            return
        batch, count = rows["q"].shape[:2]
        steps = np.minimum((span.first_row + np.arange(count)) * span.every, max(0, span.steps - 1))
        arrays = self.kernels.begin(rows["q"].reshape(batch * count, -1), rows["v"].reshape(batch * count, -1))
        if "step" in arrays:
            arrays["step"] = np.tile(steps.astype(float), batch)
        for name, x in self.inputs.items():
            at = x.array[:, steps if x.per_step else [0]]
            arrays[name] = np.broadcast_to(at, (batch, count, at.shape[-1])).reshape(batch * count, -1)
        found = self.kernels.step(*(arrays[name] for name in self.kernels.step.input_names))
        for name in names:
            rows[name][...] = getattr(found, name).reshape(rows[name].shape)

    def _record(self, carry: Carry, rows: Rows, row: int) -> None:
        for name in set(CARRIED_ROWS) & set(rows):
            rows[name][:, row] = carry[CARRIED_ROWS[name]]
        carry["worst_status"][:] = 0.0

    def _program(self, carry: Carry, held: dict[str, Array], interval: dict[str, Array]) -> Program:
        before = [Gather(0, name, array) for name, array in carry.items()]
        before += [Gather(0, n, a, per_state=False) for n, a in interval.items() if n in self.attempt.input_names]
        before += [Gather(0, name, held[name], per_state=x.per_state) for name, x in self.inputs.items()]
        again = [Run(0), *(Copy((0, output), (0, name)) for output, name in self.carried.items())]
        after = [Scatter(0, name, array, from_input=True) for name, array in carry.items()]
        return Program((self.attempt.native,), before, again, after)
