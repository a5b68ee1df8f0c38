"""Steps in native code: the step kernel and, every so often, the projection, as a program over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.runtime.program import Copy, Gather, Program, Run, Scatter
from sarrus.errors import StateError
from sarrus.model.arguments import as_numbers, as_type
from sarrus.model.model import Model
from sarrus.simulation.joint_forces import unlimited, with_implicit_forces
from sarrus.simulation.step import PROJECTION, StepSettings, step_algorithm
from sarrus.spatial.arrays import Array

# What a step hands to the next one: output, input.
CARRIED = {"q": "q", "v": "v", "alive": "alive", "worst": "worst", "step": "step", "forces": "forces0"}
STATES = ("q", "v")  # recorded as they are at the beginning of a step, where the dynamics are evaluated


@dataclass(frozen=True)
class Given:
    """An input of the step that is given from outside, with its axes."""

    array: Array  # ([B,] [T,] n)
    per_state: bool
    per_step: bool

    def at(self, t: int, batch: int | None) -> Array:
        """Its value at one step, of one state or of a batch."""
        x = self.array
        if self.per_step:
            x = x[:, t] if self.per_state else x[t]
        if batch is None:
            return x[0] if self.per_state else x
        return x if self.per_state else np.broadcast_to(x, (batch, len(x)))


class Engine:
    """A step kernel with its projection, and what states carry from step to step."""

    def __init__(
        self,
        model: Model,
        settings: StepSettings,
        given: dict[str, Given],
        project_every: int | None,
        dtype: Any = np.float64,
    ) -> None:
        stepped, kept = model, settings
        if settings.integrator == "implicit":
            stepped, kept = _implicit(model, settings)
        entry = step_algorithm(stepped, kept, with_tau="tau" in given)
        self.kernel: Kernel = compile(stepped, entry, dtype=dtype, settings=kept)
        self.projection: Kernel | None = None
        self.project_every = project_every or 0
        if project_every and model.spanning.active_constraints:
            self.projection = compile(model, PROJECTION, dtype=dtype)
        self.given, self.dt = given, settings.dt
        self.dtype = np.dtype(dtype)
        self.shapes = {port.name: port.shape for port in self.kernel.tape.inputs + self.kernel.tape.outputs}
        self.carried = {out: into for out, into in CARRIED.items() if into in self.kernel.input_names}

    def carry(self, q: Array, v: Array, start: int = 0) -> dict[str, Array]:
        """Everything that is carried, at the beginning: arrays (B, ...) by the name of the input."""
        batch = len(q)
        first = {"q": q, "v": v, "alive": np.ones(batch), "worst": np.zeros(batch)}
        first |= {"step": np.full(batch, float(start)), "forces0": np.zeros((batch, *self.shapes["forces"]))}
        return {into: np.array(first[into], self.dtype, order="C") for into in self.carried.values()}

    def run(
        self,
        carry: dict[str, Array],
        start: int,
        steps: int,
        rows: dict[str, Array],
        record_every: int,
        first_row: int,
        threads: int,
    ) -> None:
        """Steps start .. start + steps - 1 in native code; `carry` goes on, rows (B, R, ...) are recorded."""
        batch = len(carry["q"])
        before = [Gather(0, name, array) for name, array in carry.items()]
        each: list[Any] = []
        for name, x in self.given.items():
            move = Gather(0, name, x.array, x.per_state, x.per_step)
            (each if x.per_step else before).append(move)
        each.append(Run(0))
        recorded: dict[str, Any] = {"per_step": True, "every": record_every, "first_row": first_row}
        for name, array in rows.items():
            port = "worst" if name == "status" else name
            each.append(Scatter(0, port, array, from_input=name in STATES, **recorded))
        each += [Copy((0, out), (0, into)) for out, into in self.carried.items()]
        if "status" in rows:  # the worst since the row before
            zero = np.zeros((), self.dtype)
            each.append(Gather(0, "worst", zero, per_state=False, every=record_every))
        kernels = [self.kernel.native]
        if self.projection is not None:
            kernels.append(self.projection.native)
            when: dict[str, Any] = {"every": self.project_every, "phase": self.project_every - 1}
            each += [Copy((0, name), (1, name), from_input=True, **when) for name in self.projection.input_names]
            each.append(Run(1, **when))
            each += [Copy((1, name), (0, name), **when) for name in self.projection.output_names]
        after = [Scatter(0, name, array, from_input=True) for name, array in carry.items()]
        Program(tuple(kernels), before, each, after).run(batch, steps, start, threads)

    def once(self, carry: dict[str, Array], t: int, batch: int | None, instead: dict[str, Array] | None = None) -> Any:
        """One step from Python, of one state (batch None) or of a batch; `carry` stays. `instead`: inputs in place of
        those given."""
        arrays = []
        for name in self.kernel.input_names:
            if name in carry:
                arrays.append(carry[name])
            elif instead is not None and name in instead:
                arrays.append(instead[name])
            else:
                arrays.append(np.ascontiguousarray(self.given[name].at(t, batch)))
        return self.kernel(*arrays)

    def follow(self, result: Any, t: int, worst: Array | None) -> dict[str, Array]:
        """What is carried after the step t that gave `result`, projected where it is time; `worst`: begin anew."""
        following = {into: getattr(result, out) for out, into in self.carried.items()}
        if worst is not None:
            following["worst"] = worst
        if self.projection is not None and t % self.project_every == self.project_every - 1:
            projected = self.projection(*(following[name] for name in self.projection.input_names))
            following |= projected._asdict()
        return following


def _implicit(model: Model, settings: StepSettings) -> tuple[Model, StepSettings]:
    """Model and settings of the explicit step that is the implicit one. A motor at its limit is no spring."""
    numbers, controller, gains = settings.joint_forces, settings.controller, None
    if controller is not None:
        free = unlimited(model, numbers)
        kp, kd = controller.gains(model)
        gains, controller = (free * kp, free * kd), controller.looking_ahead(settings.dt * free)
    stepped, numbers = with_implicit_forces(model, numbers, settings.dt, gains)
    return stepped, replace(settings, joint_forces=numbers, controller=controller)


def length_of(name: str, value: Any) -> int | None:
    """How many steps an array (T, n) or (B, T, n) is for; None if it says nothing about that."""
    if not isinstance(value, np.ndarray | list | tuple):
        return None
    shape = as_numbers(f"{name}: expected an array", value).shape
    return shape[-2] if len(shape) >= 2 else None


def as_given(name: str, value: Any, size: int, batch: int, steps: int, dtype: Any = float) -> Given:
    """An array (n,), (T, n) or (B, T, n), axes of length 1 held; else an error that says what was expected."""
    expected = f"{name}: expected shape ({size},), ({steps}, {size}) or ({batch}, {steps}, {size})"
    array = np.atleast_1d(as_type(expected, as_numbers(expected, value), dtype))
    if array.ndim not in (1, 2, 3) or array.shape[-1] != size:
        raise StateError(f"{expected}, got {array.shape}")
    if not np.isfinite(array).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise StateError(f"{name}{where} is {array[tuple(where)]}: every number must be finite")
    per_step = array.ndim >= 2 and array.shape[-2] != 1
    per_state = array.ndim == 3 and array.shape[0] != 1
    if (per_step and array.shape[-2] < steps) or (per_state and array.shape[0] != batch):
        raise StateError(f"{expected}, got {array.shape}")
    shape = [n for n, wanted in zip(array.shape[-3:-1] if array.ndim == 3 else array.shape[:-1],
                                    (per_state, per_step)[-(array.ndim - 1):] if array.ndim > 1 else (), strict=True)
             if wanted]  # fmt: skip
    return Given(array.reshape(*shape, size), per_state, per_step)
