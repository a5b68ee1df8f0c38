"""What a simulation is given, checked: where it starts, and what acts from outside."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError, UnsupportedError
from sarrus.model.arguments import as_numbers, as_type
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration, home_or_neutral
from sarrus.registry.algorithm import batch_size
from sarrus.simulation.actuation import actuated, needs_actuators
from sarrus.simulation.controllers import AbstractController, PythonController
from sarrus.spatial.arrays import Array

_VALID = {
    "controller": "None, a function (t, q, v) -> tau, sarrus.pd(...)",
    "controls": "None, an array, a function (t, q, v) -> controls",
}


def initial_state(model: Model, q0: Any, v0: Any) -> tuple[Array, Array, bool]:
    """(B, nq), (B, nv), and whether one state was given; default: the model's home, or neutral, at rest."""
    q = check_configuration(model, home_or_neutral(model) if q0 is None else q0)
    v = as_state_array("v", np.zeros(model.nv) if v0 is None else v0, model.nv)
    batch = batch_size({name: len(x) for name, x in (("q0", q), ("v0", v)) if x.ndim == 2})
    count = 1 if batch is None else batch
    return np.broadcast_to(q, (count, model.nq)), np.broadcast_to(v, (count, model.nv)), batch is None


class Actions(NamedTuple):
    """Everything that acts from outside."""

    controllers: tuple[AbstractController, ...]  # compiled into the step
    inputs: dict[str, Array]  # of the step: (B, T, n), where what is held has a stride of zero
    functions: dict[str, PythonController]  # asked at every step for tau or controls


def as_actions(
    model: Model,
    controller: Any,
    tau: Any,
    controls: Any,
    external_forces: Any,
    batch: int,
    steps: int,
    dtype: Any = float,
) -> Actions:
    """Joint forces, controls, forces on bodies and a controller, checked and sorted."""
    compiled: list[AbstractController] = []
    functions: dict[str, PythonController] = {}
    if isinstance(controller, AbstractController):
        compiled.append(controller)
    elif controller is not None:
        functions["tau"] = check_function("controller", controller)
        tau = np.zeros(model.nv) if tau is None else tau
    if controls is not None:
        needs_actuators(model)
        if callable(controls):
            functions["controls"] = check_function("controls", controls)
            controls = np.zeros(model.nu)
        compiled.append(actuated(model, controls))
    arrays: dict[str, tuple[int, Any]] = {} if tau is None else {"tau": (model.nv, tau)}
    for one in compiled:
        arrays |= one.inputs(model)
    given: dict[str, tuple[tuple[int, ...], Any]] = {name: ((size,), x) for name, (size, x) in arrays.items()}
    if external_forces is not None:
        given["external_forces"] = (model.nb, 6), external_forces
    inputs = {name: as_step_input(name, x, item, batch, steps, dtype) for name, (item, x) in given.items()}
    return Actions(tuple(compiled), inputs, functions)


def of_one_step(model: Model, batch: int, tau: Any, controls: Any, external_forces: Any) -> list[Any]:
    """What acts in a single step, each (n,) or (B, n), as inputs of all steps; None, functions and policies stay."""
    if controls is not None:
        needs_actuators(model)
    found: list[Any] = []
    shapes = {"tau": (model.nv,), "controls": (model.nu,), "external_forces": (model.nb, 6)}
    for (name, item), value in zip(shapes.items(), (tau, controls, external_forces), strict=True):
        if value is None or callable(value) or isinstance(value, AbstractController):
            found.append(value)
            continue
        expected = f"{name}: expected shape {item} or {(batch, *item)}"
        array = np.atleast_1d(as_numbers(expected, value))
        if array.shape not in (item, (1, *item), (batch, *item)):
            raise StateError(f"{expected}, got {array.shape}")
        found.append(array if array.ndim == len(item) else array[:, None])
    return found


def check_function(argument: str, given: Any) -> PythonController:
    """A function that Python calls at every step, or an error that says what is valid."""
    if not callable(given) or hasattr(given, "n_instructions"):
        valid = f"{_VALID[argument]}, sarrus.controller(casadi_function)"
        raise UnsupportedError(f"{argument} is {given!r}. Valid: {valid}")
    return given


def as_step_input(name: str, value: Any, item: tuple[int, ...], batch: int, steps: int, dtype: Any = float) -> Array:
    """(B, T, n) of an array (...), (T, ...) or (B, T, ...) of n numbers of shape `item`, axes of length 1 held; else an
    error that says what to give.
    """
    expected = f"{name}: expected shape {item}, {(steps, *item)} or {(batch, steps, *item)}"
    given = np.atleast_1d(as_type(expected, as_numbers(expected, value), np.dtype(dtype)))
    lead, size = given.ndim - len(item), prod(item)
    if lead not in (0, 1, 2) or given.shape[lead:] != item:
        raise StateError(f"{expected}, got {given.shape}")
    robots, times = (1, 1, *given.shape[:lead])[-2:]
    if robots not in (1, batch) or (times != 1 and times < steps):
        raise StateError(f"{expected}, got {given.shape}")
    if not np.isfinite(given).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(given))[0]]
        raise StateError(f"{name}{where} is {given[tuple(where)]}: every number must be finite")
    array = given.reshape(robots, times, size)
    rows = array[:, : max(1, steps)] if times else np.zeros((1, 1, size), dtype)
    return np.broadcast_to(rows, (batch, max(1, steps), size))


def input_at(values: Array, step: int) -> Array:
    """The values (B, n) of an input at a step; after the last one, those of the last one."""
    return values[:, min(step, values.shape[1] - 1)]


def steps_in(name: str, value: Any) -> int:
    """How many steps an array (T, n) or (B, T, n) is for; 0 if it says nothing about that."""
    if not isinstance(value, np.ndarray | list | tuple):
        return 0
    shape = as_numbers(f"{name}: expected an array", value).shape
    shape = shape[:-1] if name == "external_forces" else shape  # whose elements are rows
    return shape[-2] if len(shape) >= 2 else 0
