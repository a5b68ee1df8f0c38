"""What is to be learned, as data and functions of many states at once: `Task`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.tape import casadi_import
from sarrus.errors import StateError, check_name
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.spatial.arrays import Array


class Situation(NamedTuple):
    """Of all environments: what observations and rewards are made of."""

    q: Array  # (B, nq)
    v: Array  # (B, nv)
    action: Array  # (B, nu) the last one
    previous_action: Array  # (B, nu) the one before
    tau: Array  # (B, nv) what motors do, at the last step of the simulation
    time: Array  # (B,) seconds since the episode began


Function = Callable[[Situation], Array]  # or a casadi.Function of some of its fields, by name


@dataclass(frozen=True)
class Task:
    """What a policy sees, does and gets.

    observation   (B, n) of a `Situation`: a NumPy function, or a casadi.Function whose inputs have names of its fields,
                  each of one state, which is compiled
    reward        (B,), likewise
    fallen        (B,) true where an episode has failed
    joints        the joints that actions drive, one number in [-1, 1] each; None: those that motors drive
    action_scale  radians (or metres) off home that an action of 1 asks for; torques: newtons (or newton metres)
    torques       actions are torques, not targets of a PD controller
    kp, kd        gains of that controller
    dt, substeps  seconds of a step of the simulation, and steps per action
    seconds       after which an episode is cut off
    noise, start_speed  by which episodes begin off home: radians or metres, and per second
    """

    observation: Any
    reward: Any
    fallen: Any
    joints: tuple[str, ...] | None = None
    action_scale: float = 0.5
    torques: bool = False
    kp: float = 60.0
    kd: float = 2.0
    dt: float = 4e-3
    substeps: int = 5
    seconds: float = 10.0
    noise: float = 0.05
    start_speed: float = 0.1
    name: str = "task"

    def driven(self, model: Model) -> tuple[str, ...]:
        """The names of the joints that actions drive."""
        if self.joints is not None:
            for name in self.joints:
                check_name("joint", name, model.joint_names)
            return self.joints
        single = [b.joint for b in model.bodies if b.joint.type.nv == 1]
        chosen = [joint for joint in single if joint.independent is True]
        return tuple(joint.name for joint in (chosen or [joint for joint in single if joint.independent is not False]))


def batched(model: Model, function: Any, what: str) -> Function:
    """A task's function of many states at once."""
    if not hasattr(function, "n_instructions"):
        if not callable(function):
            raise StateError(f"{what} is {function!r}. Valid: a function of a Situation, a casadi.Function")
        return cast(Function, function)
    names = function.name_in()
    for name in names:
        check_name(f"input of the {what}:", name, Situation._fields)
    kernel = _compiled(model, function, names)
    scalar = function.numel_out(0) == 1

    def call(situation: Situation) -> Array:
        found = kernel(*(np.ascontiguousarray(getattr(situation, name), float) for name in names))
        return found[:, 0] if scalar else found

    return call


def _compiled(model: Model, function: Any, names: list[str]) -> Kernel:
    """A casadi.Function of vectors with one output, as native code."""
    shapes = {name: () if name == "time" else (function.numel_in(k),) for k, name in enumerate(names)}

    def text(model: Model, **arrays: Array) -> Array:
        return casadi_import.evaluate(function, [np.atleast_1d(arrays[name]) for name in names])[0]

    inputs = tuple(Input(name, False, shape) for name, shape in shapes.items())
    return compile(model, Algorithm(function.name(), text, inputs, "values"), cache=False)
