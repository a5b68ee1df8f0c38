"""One step from Python, again and again: the step's kernel called on what the step before returned, and little else."""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from sarrus.simulation.origin import Origin
from sarrus.simulation.step_kernels import StepKernels
from sarrus.spatial.arrays import Array

_POOL = 4  # sets of arrays that are kept for the results of a batch


class StepResult(NamedTuple):
    """The state after a step, from which `Simulation.step` goes on, and the dynamics at the beginning of the step."""

    q: Array  # (nq,) or (B, nq)
    v: Array
    alive: Array  # 1; 0 once diverged
    worst_status: Array  # the same as `status`, as the kernel has it
    step: Array  # steps so far, as the kernel counts them
    qdd: Array
    forces: Array
    residual: Array
    iterations: Any
    status: Any  # `sarrus.Status`, the worst of this step and of a projection after it
    tau: Array
    contacts: Array | None  # (18 slots + 1,): `Simulation.contacts_of` reads it; None where nothing can touch
    warm: Array | None  # what the next step begins with: see `ContactSettings.cold`
    steps: int  # so far
    time: float
    carried: dict[str, Array]  # what an adaptive step hands on beside it
    origin: Origin  # the steps that it came of


_OUTPUTS = StepResult._fields[:-4]  # those of the kernel
_GIVEN = ("tau", "controls", "external_forces")


class StepCall:
    """Steps of one kind: with or without tau, controls and external forces, of single states or batches."""

    def __init__(self, kernels: StepKernels, origin: Origin, threads: int | None = None) -> None:
        self._kernel, self._origin, self._dt, self._threads = kernels.step, origin, origin.dt, threads
        self._kernels = kernels
        # What the kernel takes, of a state, zeros, and what is given beside it.
        known = {name: n for n, name in enumerate((*StepResult._fields, "zero", "dt", *_GIVEN))}
        places = {f"{name}0": known[name] for name in ("forces", "warm")}
        places["worst_status"] = known["zero"]
        self._pick = itemgetter(*(places.get(name, known.get(name, 0)) for name in self._kernel.input_names))
        takes, gives = set(self._kernel.input_names), self._kernel.output_names
        self._missing = (None,) * (len(_OUTPUTS) - len(gives))  # contacts, if nothing can touch
        self.fits = takes <= known.keys() | places.keys() and gives in (_OUTPUTS, _OUTPUTS[:-2])
        self._constants = np.zeros((), self._kernel.dtype), np.full((), self._dt, self._kernel.dtype)
        self._repeated: tuple[Array, Array] = np.zeros(0), np.zeros(0)
        self._pool: list[list[Array]] = []

    def __call__(self, state: StepResult, given: tuple[Any, ...]) -> StepResult | None:
        """The next state; None if something about the arrays needs to be changed or explained."""
        if state.origin is not self._origin:
            return None
        single = state.q.ndim == 1
        constants = self._constants if single else self._of_batch(len(state.q))
        arrays = self._pick((*state, *constants, *given))
        kernel = self._kernel
        found: Any
        if single:
            found = kernel.native.call_checked(*arrays)
        else:
            found = kernel.calls.of_valid(arrays, self._memory, self._threads)
        if found is None:
            return None
        count = state.steps
        if self._kernels.projection is not None:
            found = self._projected(found, self._kernels.is_due(count), single)
        return tuple.__new__(StepResult, (*found, *self._missing, count + 1, (count + 1) * self._dt, {}, self._origin))

    def _of_batch(self, batch: int) -> tuple[Array, Array]:
        """Zero, and the size of a step, for every state."""
        if len(self._repeated[0]) != batch:
            zero, dt = (np.full(batch, x) for x in self._constants)
            self._repeated = zero, dt
        return self._repeated

    def _memory(self, batch: int) -> list[Array]:
        """Arrays for the results: those of earlier ones that nobody holds any more, or new ones."""
        for arrays in self._pool:
            if len(arrays[0]) == batch and all(sys.getrefcount(array) <= 3 for array in arrays):
                return arrays
        made = [np.empty((batch, *port.shape), self._kernel.dtype) for port in self._kernel.tape.outputs]
        self._pool = [*self._pool, made][-_POOL:]
        return made

    def _projected(self, found: Any, due: float, single: bool) -> list[Any]:
        """The results with the state projected onto the constraints, and the worse of both statuses."""
        carry = {name: found[_OUTPUTS.index(name)] for name in ("q", "v", "alive", "worst_status")}
        out = list(found)
        for name, x in self._kernels.project(carry, due, None if single else self._threads).items():
            out[_OUTPUTS.index(name)] = x
        worst = out[_OUTPUTS.index("worst_status")]
        out[_OUTPUTS.index("status")] = int(worst) if single else worst.astype(np.int32)
        return out
