"""What a simulation is given, checked: where it starts, and what acts from outside."""

from __future__ import annotations

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
    inputs = {name: as_step_input(name, x, size, batch, steps, dtype) for name, (size, x) in arrays.items()}
    if external_forces is not None:
        inputs["external_forces"] = _forces_on_bodies(model, external_forces, batch, steps, dtype)
    return Actions(tuple(compiled), inputs, functions)


def _forces_on_bodies(model: Model, given: Any, batch: int, steps: int, dtype: Any) -> Array:
    """(B, T, 6 nb) of (nb, 6), (T, nb, 6) or (B, T, nb, 6)."""
    nb = model.nb
    expected = f"external_forces: expected shape ({nb}, 6), ({steps}, {nb}, 6) or ({batch}, {steps}, {nb}, 6)"
    array = as_numbers(expected, given)
    if array.ndim not in (2, 3, 4) or array.shape[-2:] != (nb, 6):
        raise StateError(f"{expected}, got {array.shape}")
    return as_step_input("external_forces", array.reshape(*array.shape[:-2], 6 * nb), 6 * nb, batch, steps, dtype)


def check_function(argument: str, given: Any) -> PythonController:
    """A function that Python calls at every step, or an error that says what is valid."""
    if not callable(given) or hasattr(given, "n_instructions"):
        valid = f"{_VALID[argument]}, sarrus.controller(casadi_function)"
        raise UnsupportedError(f"{argument} is {given!r}. Valid: {valid}")
    return given


def as_step_input(name: str, value: Any, size: int, batch: int, steps: int, dtype: Any = float) -> Array:
    """(B, T, n) of an array (n,), (T, n) or (B, T, n), axes of length 1 held; else an error that says what to give."""
    expected = f"{name}: expected shape ({size},), ({steps}, {size}) or ({batch}, {steps}, {size})"
    given = np.atleast_1d(as_type(expected, as_numbers(expected, value), np.dtype(dtype)))
    array: Array = given.reshape((1,) * (3 - given.ndim) + given.shape)
    fits = array.ndim == 3 and array.shape[0] in (1, batch) and array.shape[2] == size
    if not fits or (array.shape[1] != 1 and array.shape[1] < steps):
        raise StateError(f"{expected}, got {given.shape}")
    if not np.isfinite(given).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(given))[0]]
        raise StateError(f"{name}{where} is {given[tuple(where)]}: every number must be finite")
    rows = array[:, : max(1, steps)] if array.shape[1] else np.zeros((1, 1, size), dtype)
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
