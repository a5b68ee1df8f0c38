"""Ways through time: native code, step by step from Python, or in steps whose sizes follow from their errors.

Each goes through a range of steps, takes along what states carry, and fills recorded rows (B, rows, ...). A row holds a
state, the dynamics at it, and as `status` the worst since the row before. Ctrl-C ends a range early.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.errors import StateError
from sarrus.model.arguments import as_numbers, empty
from sarrus.simulation.inputs import Actions, input_at
from sarrus.simulation.step_kernels import Carry, StepKernels
from sarrus.spatial.arrays import Array

Progress = Callable[[int, int], None]  # (steps done, steps in all)
Rows = dict[str, Array]  # (B, rows, ...) by name

CARRIED_ROWS = {"q": "q", "v": "v", "status": "worst_status"}  # rows that need no evaluation of dynamics
_CHUNK_SECONDS = 0.2  # of native code between two looks at Ctrl-C and calls of `progress`
_FIRST_CHUNK, _FASTER = 16, 8  # steps of the first chunk; how much longer the next may be
_FUNCTIONS = {"tau": "the controller", "controls": "the function that gives controls"}
_ATTEMPTS = 16  # in one call of native code


@dataclass(frozen=True)
class StepRange:
    """Steps first .. stop - 1 of `steps`, and what is recorded of them."""

    batch: int
    first: int
    stop: int
    steps: int
    every: int  # steps from row to row
    names: tuple[str, ...]
    threads: int
    progress: Progress | None = None
    dtype: Any = float  # of what is recorded

    @property
    def first_row(self) -> int:
        return -(-self.first // self.every)

    @property
    def is_last(self) -> bool:
        """Whether it ends the simulation; then there is a row for the state at the end."""
        return self.stop == self.steps

    def count(self, done: int) -> int:
        """The number of rows after so many steps."""
        return -(-done // self.every) - self.first_row

    def empty_rows(self, shapes: dict[str, tuple[int, ...]]) -> Rows:
        what = "a trajectory (record_every= keeps fewer states, save= streams them to disk)"
        count = self.count(self.stop) + self.is_last
        return {name: empty(what, (self.batch, count, *shapes[name]), self.dtype) for name in self.names}


class AbstractStepper(ABC):
    """A way through time with these kernels, under these actions, of one state or of a batch."""

    progress_every = 1  # of the times when `progress` could be called

    def __init__(self, kernels: StepKernels, actions: Actions, single: bool) -> None:
        self.kernels, self.single = kernels, single
        self.inputs, self.functions = actions.inputs, actions.functions

    def begin(self, q: Array, v: Array, step: int) -> Carry:
        """What states (B, n) carry before this step."""
        return self.kernels.begin(q, v, step)

    def advance(self, carry: Carry, span: StepRange) -> tuple[Rows, int]:
        """Go through a range of steps, `carry` being changed in place: what is recorded, and up to which step."""
        rows, done = span.empty_rows(self.kernels.shapes), span.first
        try:
            for done in self.chunks(carry, span, rows):
                if span.progress is not None and done % self.progress_every == 0:
                    span.progress(done, span.steps)
            if span.is_last:
                self.record_last(carry, span, rows)
        except KeyboardInterrupt:
            rows = {name: array[:, : span.count(done)] for name, array in rows.items()}
        self.complete(span, rows)
        return rows, done

    @abstractmethod
    def chunks(self, carry: Carry, span: StepRange, rows: Rows) -> Iterator[int]:
        """Step and record; every now and then, how many steps are done."""

    def record_last(self, carry: Carry, span: StepRange, rows: Rows) -> None:
        """Fill the row of the state at the end."""
        record(rows, -1, carry, self.evaluate(carry, span.steps))

    def complete(self, span: StepRange, rows: Rows) -> None:
        """Add to the rows what is evaluated for all of them at once."""
        return

    def evaluate(self, carry: Carry, step: int) -> Any:
        """One step from Python, of one state or of a batch; `carry` stays as it is."""
        arrays, is_single = carry.copy(), carry["q"].ndim == 1
        for name, x in self.inputs.items():
            values = np.ascontiguousarray(input_at(x, step)).reshape(len(x), *self.kernels.input_shapes[name])
            arrays[name] = values[0] if is_single else values
        for name, function in self.functions.items():
            arrays[name] = arrays[name] + self._answer(name, function, step, carry, arrays[name].shape)
        return self.kernels.step(*[arrays[name] for name in self.kernels.inputs])

    def held(self, carry: Carry) -> Carry:
        """What a projection takes beside the state: parameters of a model, if it has any."""
        values = self.inputs.get("parameters")
        return {} if values is None else {"parameters": values[0, 0] if carry["q"].ndim == 1 else values[:, 0].copy()}

    def program(self, carry: Carry, before: list[Any], each: list[Any]) -> Program:
        """What is done with kernels 0, which is stepped, and 1, the projection: before all steps, and at each.

        What states carry is taken over before, and given back after.
        """
        kernels = [kernel.native for kernel in (self.kernels.stepped, self.kernels.projection) if kernel is not None]
        taken = [Gather(0, name, array) for name, array in carry.items()]
        given_back = [Scatter(0, name, array, from_input=True) for name, array in carry.items()]
        return Program(tuple(kernels), [*taken, *before], each, given_back)

    def _answer(self, name: str, function: Callable[..., Any], step: int, carry: Carry, shape: tuple) -> Array:
        """What a function in Python says, checked."""
        who, t = _FUNCTIONS[name], step * self.kernels.dt
        found = as_numbers(f"{who} must return numbers", function(t, carry["q"], carry["v"]))
        if found.shape != shape:
            raise StateError(f"{who} returned shape {found.shape} at t = {t:g} s, expected {shape}")
        if not np.isfinite(found).all():
            raise StateError(f"{who} returned a number that is not finite at t = {t:g} s")
        return found


def record_carried(rows: Rows, row: int, carry: Carry) -> None:
    """Fill of a row what states carry."""
    for name in set(CARRIED_ROWS) & set(rows):
        rows[name][:, row] = carry[CARRIED_ROWS[name]]


def record(rows: Rows, row: int, carry: Carry, result: Any) -> None:
    """Fill a row: the state at the beginning of a step, and what the step found there."""
    for name, array in rows.items():
        array[:, row] = carry[name] if name in ("q", "v") else getattr(result, CARRIED_ROWS.get(name, name))


def projecting(kernels: StepKernels) -> list[Any]:
    """What a program does at each step, after it, with kernels 0, which is stepped, and 1, the projection, if any."""
    projection = kernels.projection
    if projection is None:
        return []
    no, yes = (np.full((), x, projection.dtype) for x in (0.0, 1.0))
    every, carried = kernels.project_every, [name for name in projection.input_names if name != "due"]
    return [
        Gather(1, "due", no, per_state=False),
        Gather(1, "due", yes, per_state=False, every=every, phase=every - 1),
        *(Copy((0, name), (1, name), from_input=True) for name in carried),
        Run(1),
        *(Copy((1, name), (0, name)) for name in projection.output_names),
    ]


class NativeStepper(AbstractStepper):
    """All in native code, in chunks of a fraction of a second."""

    def chunks(self, carry: Carry, span: StepRange, rows: Rows) -> Iterator[int]:
        program = self._program(carry, span, rows)
        done, chunk = span.first, _FIRST_CHUNK
        while done < span.stop:
            count = min(chunk, span.stop - done)
            began = time.perf_counter()
            program.run(span.batch, count, done, span.threads)
            seconds = time.perf_counter() - began
            done += count
            chunk = int(max(1, min(_FASTER * count, count * _CHUNK_SECONDS / max(seconds, 1e-9))))
            yield done

    def record_last(self, carry: Carry, span: StepRange, rows: Rows) -> None:
        if set(rows) <= set(CARRIED_ROWS):
            record_carried(rows, -1, carry)
        else:
            super().record_last(carry, span, rows)

    def _program(self, carry: Carry, span: StepRange, rows: Rows) -> Program:
        kernels, before = self.kernels, list[Any]()
        each: list[Any] = []
        for name, x in self.inputs.items():
            (each if x.strides[1] else before).append(Gather(0, name, x, per_step=True))
        each.append(Run(0))
        recorded: dict[str, Any] = {"per_step": True, "every": span.every, "first_row": span.first_row}
        for name, array in rows.items():  # q and v as they are at the beginning of the step
            each.append(Scatter(0, CARRIED_ROWS.get(name, name), array, from_input=name in ("q", "v"), **recorded))
        each += [Copy((0, output), (0, name)) for output, name in kernels.carried.items()]
        if "status" in rows:  # the worst since the row before
            each.append(Gather(0, "worst_status", np.zeros((), span.dtype), per_state=False, every=span.every))
        each += projecting(kernels)
        return self.program(carry, before, each)


class PythonStepper(AbstractStepper):
    """One call of the kernel per step, with functions that are asked for tau or controls.

    A single state is carried, and shown to the functions, without a batch dimension.
    """

    progress_every = 1000

    def begin(self, q: Array, v: Array, step: int) -> Carry:
        carry = super().begin(q, v, step)
        return {name: np.asarray(x[0]) for name, x in carry.items()} if self.single else carry

    def chunks(self, carry: Carry, span: StepRange, rows: Rows) -> Iterator[int]:
        for t in range(span.first, span.stop):
            before, is_recorded = dict(carry), t % span.every == 0
            result = self.once(carry, t, is_recorded)
            if is_recorded:
                record(rows, t // span.every - span.first_row, before, result)
            yield t + 1

    def once(self, carry: Carry, step: int, is_recorded: bool = True) -> Any:
        """One step, `carry` being changed in place, and what it found."""
        kernels, result = self.kernels, self.evaluate(carry, step)
        carry.update({name: getattr(result, output) for output, name in kernels.carried.items()})
        if is_recorded:
            carry["worst_status"] = np.zeros_like(carry["worst_status"])
        if kernels.projection is not None:
            carry.update(kernels.project(carry | self.held(carry), kernels.is_due(step)))
        return result


class AdaptiveStepper(AbstractStepper):
    """From row to row, or from dt to dt where inputs change that often, in as many steps as it takes.

    Inputs that are given per step are held from one multiple of dt to the next, which steps do not cross. The kernel
    that is stepped is an attempt (`adaptive.py`).
    """

    def chunks(self, carry: Carry, span: StepRange, rows: Rows) -> Iterator[int]:
        done = span.first
        changing = {name: x for name, x in self.inputs.items() if x.strides[1]}
        held = {name: np.array(input_at(x, done), order="C") for name, x in self.inputs.items()}
        interval = {"length": np.zeros((), span.dtype), "step": np.zeros((), span.dtype)}
        inputs = self.kernels.stepped.input_names
        before = [Gather(0, name, x, per_state=False) for name, x in interval.items() if name in inputs]
        before += [Gather(0, name, x) for name, x in held.items()]
        again = [Run(0), *(Copy((0, output), (0, name)) for output, name in self.kernels.carried.items())]
        program = self.program(carry, before, again)
        while done < span.stop:
            if done % span.every == 0:
                record_carried(rows, done // span.every - span.first_row, carry)
                carry["worst_status"][:] = 0.0
            count = 1 if changing else min(span.every - done % span.every, span.stop - done)
            carry["time"][:], interval["length"][...], interval["step"][...] = 0.0, count * self.kernels.dt, done
            for name, x in changing.items():
                held[name][...] = input_at(x, done)
            unfinished = True
            while unfinished:
                program.run(span.batch, _ATTEMPTS, 0, span.threads)
                unfinished = np.any((carry["time"] < interval["length"]) & (carry["alive"] > 0.5))
            if self.kernels.projection is not None:
                for name, x in self.kernels.project(carry | self.held(carry), 1.0).items():
                    carry[name][...] = x
            done += count
            yield done

    def record_last(self, carry: Carry, span: StepRange, rows: Rows) -> None:
        record_carried(rows, -1, carry)

    def complete(self, span: StepRange, rows: Rows) -> None:
        """Evaluate the dynamics at the states of all rows at once: those of a plain step from there."""
        names = set(rows) - set(CARRIED_ROWS)
        if not names:
            return
        batch, count = rows["q"].shape[:2]
        steps = np.minimum((span.first_row + np.arange(count)) * span.every, max(0, span.steps - 1))
        q, v = (rows[name].reshape(batch * count, rows[name].shape[-1]) for name in ("q", "v"))
        arrays = self.kernels.begin(q, v)
        arrays["step"] = np.tile(steps.astype(span.dtype), batch)
        shapes = self.kernels.input_shapes
        arrays |= {name: x[:, steps].reshape(batch * count, *shapes[name]) for name, x in self.inputs.items()}
        found = self.kernels.step(*(arrays[name] for name in self.kernels.inputs))
        for name in names:
            rows[name][...] = getattr(found, name).reshape(rows[name].shape)
