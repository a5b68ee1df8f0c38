"""Steps whose sizes follow from their errors: from row to row, or from dt to dt where inputs change that often.

Inputs that are given per step are held from one multiple of dt to the next, which steps do not cross.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.simulation.inputs import input_at
from sarrus.simulation.step_kernels import Carry
from sarrus.simulation.steppers import CARRIED_ROWS, AbstractStepper, Rows, StepRange
from sarrus.spatial.arrays import Array

_ATTEMPTS = 16  # in one call of native code


class AdaptiveStepper(AbstractStepper):
    """Every interval in as many steps as it takes. The kernel that is stepped is an attempt (`adaptive.py`)."""

    def chunks(self, carry: Carry, span: StepRange, rows: Rows) -> Iterator[int]:
        done = span.first
        changing = {name: x for name, x in self.inputs.items() if x.strides[1]}
        held = {name: np.array(input_at(x, done), order="C") for name, x in self.inputs.items()}
        interval = {"length": np.zeros(()), "step": np.zeros(())}
        program = self._program(carry, held, interval)
        while done < span.stop:
            if done % span.every == 0:
                self._record(carry, rows, done // span.every - span.first_row)
            count = 1 if changing else min(span.every - done % span.every, span.stop - done)
            carry["time"][:], interval["length"][...], interval["step"][...] = 0.0, count * self.kernels.dt, done
            for name, x in changing.items():
                held[name][...] = input_at(x, done)
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
        arrays["step"] = np.tile(steps.astype(float), batch)
        arrays |= {name: x[:, steps].reshape(batch * count, -1) for name, x in self.inputs.items()}
        found = self.kernels.step(*(arrays[name] for name in self.kernels.inputs))
        for name in names:
            rows[name][...] = getattr(found, name).reshape(rows[name].shape)

    def _record(self, carry: Carry, rows: Rows, row: int) -> None:
        for name in set(CARRIED_ROWS) & set(rows):
            rows[name][:, row] = carry[CARRIED_ROWS[name]]
        carry["worst_status"][:] = 0.0

    def _program(self, carry: Carry, held: dict[str, Array], interval: dict[str, Array]) -> Program:
        before = [Gather(0, name, array) for name, array in carry.items()]
        names = self.kernels.stepped.input_names
        before += [Gather(0, name, x, per_state=False) for name, x in interval.items() if name in names]
        before += [Gather(0, name, x) for name, x in held.items()]
        again = [Run(0), *(Copy((0, output), (0, name)) for output, name in self.kernels.carried.items())]
        after = [Scatter(0, name, array, from_input=True) for name, array in carry.items()]
        return Program((self.kernels.stepped.native,), before, again, after)
