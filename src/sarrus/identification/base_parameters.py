"""Which combinations of inertial parameters the forces of a robot depend on, at all its states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.embedded.ce_inverse_dynamics_regressor import ce_inverse_dynamics_regressor
from sarrus.algorithms.tree.inverse_dynamics_regressor import inverse_dynamics_regressor
from sarrus.calls.evaluator import evaluate
from sarrus.errors import UnsupportedError
from sarrus.identification.inertial_parameters import parameter_names
from sarrus.model.model import Model
from sarrus.simulation.random_states import random_state
from sarrus.spatial.arrays import Array

_STATES = 4  # per parameter
_RANK = 1e-9  # of a column, after what others explain of it: nothing is left
_SHOWN = 1e-9  # coefficients that are smaller are rounding


class BaseParameters(NamedTuple):
    """The smallest set: forces are Y[:, columns] @ (matrix @ pi), for every state."""

    names: tuple[str, ...]  # each a sum, e.g. "mx of elbow + 0.4 m of hand"
    columns: tuple[int, ...]  # (p,) of the regressor
    matrix: Array  # (p, 10 nb): what each is of the inertial parameters, in their units


def base_parameters(model: Model, motors: Sequence[str] = (), rng: int = 0) -> BaseParameters:
    """The base parameters of a robot, from the regressor at random states. With embedded constraints, those that can be
    identified from the forces on the independent velocities or, if motors are named, from those of the motors.

    Columns are taken one after the other, parents first, if they are independent of the earlier ones: what a body
    shares with its parent is attributed to the parent.

    motors   names of joints and loop closures that are actuated; only of robots with embedded constraints
    rng      the seed of the random states
    returns  `names` (p,), each a sum in words; `columns` (p,) of the regressor Y; `matrix` (p, 10 nb), what each is of
             the inertial parameters pi (10 nb,): kg, kg m, kg m^2. Forces are Y[:, columns] @ (matrix @ pi)
    errors   `UnsupportedError`: motors of a robot without embedded constraints

    >>> len(sarrus.base_parameters(sarrus.zoo.chain(2)).names) < 20
    True
    """
    if motors and model.embedding is None:
        raise UnsupportedError(
            f"only robots with embedded constraints have motors apart from their joints, and {model.name!r} has no "
            "embedded constraints"
        )
    Y = _stacked(model, tuple(motors), rng) if model.nv else np.zeros((0, 10 * model.nb))
    scale = np.linalg.norm(Y, axis=0)
    chosen: list[int] = []
    Q = np.zeros((len(Y), 0))
    for column in range(Y.shape[1]):
        if scale[column] <= _RANK * scale.max(initial=0.0):
            continue
        x = Y[:, column] / scale[column]
        for _ in range(2):  # twice is enough
            x = x - Q @ (Q.T @ x)
        if np.linalg.norm(x) > _RANK * len(Y):
            Q = np.column_stack([Q, x / np.linalg.norm(x)])
            chosen.append(column)
    matrix = np.linalg.lstsq(Y[:, chosen], Y, rcond=None)[0] if chosen else np.zeros((0, Y.shape[1]))
    matrix[np.abs(matrix) < _SHOWN] = 0.0
    matrix[:, chosen] = np.eye(len(chosen))
    names = parameter_names(model)
    return BaseParameters(
        tuple(_in_words(row, k, names) for row, k in zip(matrix, chosen, strict=True)), tuple(chosen), matrix
    )


def _stacked(model: Model, motors: tuple[str, ...], rng: int) -> Array:
    """Regressors of random states, one below the other."""
    count = max(1, _STATES * 10 * model.nb // max(model.ny if model.embedding else model.nv, 1) + 1)
    q, v = random_state(model, rng, count)
    a = np.random.default_rng(rng).normal(size=(count, model.ny if model.embedding else model.nv))
    if model.embedding is None:
        found = evaluate(model, inverse_dynamics_regressor, {"q": q, "v": v, "a": a})["Y"]
    else:
        given = {"q": q, "v": v, "ydd": a}
        result = evaluate(model, ce_inverse_dynamics_regressor, given, motors=motors)
        found = result["motors" if motors else "Y"]
    return np.asarray(found, float).reshape(-1, 10 * model.nb)


def _in_words(row: Array, own: int, names: tuple[str, ...]) -> str:
    others = [k for k in np.flatnonzero(row) if k != own]
    words = [names[own]]
    for k in others:
        size = abs(row[k])
        factor = "" if abs(size - 1.0) < _SHOWN else f"{size:.6g} "
        words.append(f"{'-' if row[k] < 0 else '+'} {factor}{names[k]}")
    return " ".join(words)
