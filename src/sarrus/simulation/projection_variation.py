"""How a projection onto the constraints varies with the state: along changes of it, and backwards.

A projection after a step is differentiated as two steps of Gauss and Newton from there: what the steps after them would
add is of the third order in the drift that the projection removes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.mechanics.mechanism import mechanism
from sarrus.mechanics.solvers.constraint_metric import Linearized, linearized, without_opening
from sarrus.model.model import Model
from sarrus.model.state import moved
from sarrus.once import cached_property
from sarrus.simulation.projection import closure_error
from sarrus.simulation.step import OPEN, kernel_algorithm
from sarrus.spatial.arrays import Array


class NearState(NamedTuple):
    """A state almost on the constraints."""

    q: Array
    v: Array


class ProjectionVariation:
    """Of one model, compiled."""

    def __init__(self, model: Model, traced: Model, symbols: tuple[Any, ...]) -> None:
        """traced: the model with symbols, if it has any, which are then the input `parameters`, else the same"""
        self.model, self._traced = model, traced
        self._how: dict[str, Any] = {"parameters": symbols or None}
        self._how |= {"wrt": ("q", "v", *(["parameters"] if symbols else []))}

    def is_projected(self, q: Array, due: Array) -> Array:
        """(B,) whether states that a step led to are projected, because it is due (B,) or loops are open."""
        return due | (closure_error(self.model, q) > OPEN)

    def along(self, q: Array, v: Array, changes: Array, parameters: Array | None = None) -> Array:
        """What a projection of states onto the constraints makes of changes (B, 2 nv, k) of them, the last ones of
        which are those with the parameters.
        """
        batch, size, k = changes.shape
        given = dict(
            zip(("dq", "dv"), np.split(changes.swapaxes(1, 2).reshape(batch * k, size), 2, axis=1), strict=True)
        )
        given |= {name: np.repeat(x, k, axis=0) for name, x in (("q", q), ("v", v))}
        if parameters is not None:
            unit = np.eye(k)[:, k - parameters.shape[1] :]
            given |= {"parameters": np.repeat(parameters, k, axis=0), "dparameters": np.tile(unit, (batch, 1))}
        found = called(self._along, given)
        return np.concatenate([found.dq, found.dv], axis=1).reshape(batch, k, size).swapaxes(1, 2)

    def back(self, q: Array, v: Array, bar: Array, parameters: Array | None = None) -> tuple[Array, Array]:
        """What weights (B, 2 nv) of projected states are for the states before, and for the parameters."""
        given = dict(zip(("q_bar", "v_bar"), np.split(bar, 2, axis=1), strict=True)) | {"q": q, "v": v}
        given |= {} if parameters is None else {"parameters": parameters}
        found = called(self._back, given)
        by_parameters = np.zeros((len(q), 0)) if parameters is None else found.parameters_bar
        return np.concatenate([found.q_bar, found.v_bar], axis=1), by_parameters

    @cached_property
    def _along(self) -> Kernel:
        return compile(self._traced, TOWARDS_CONSTRAINTS, derivative="jvp", **self._how)

    @cached_property
    def _back(self) -> Kernel:
        return compile(self._traced, TOWARDS_CONSTRAINTS, derivative="vjp", **self._how)


def called(kernel: Kernel, given: dict[str, Array]) -> Any:
    """A kernel with those of these arrays that it takes."""
    return kernel(*(np.ascontiguousarray(given[name], float) for name in kernel.input_names))


def towards_constraints(model: Model, q: Array, v: Array) -> NearState:
    """What a projection onto the constraints does to a state close by: two steps of positions, then velocities."""
    for _ in range(2):
        rows = _rows_at(model, q)
        q = moved(model, q, rows.step(-rows.error, 0.0))
    return NearState(q, without_opening(_rows_at(model, q), v))


def _rows_at(model: Model, q: Array) -> Linearized:
    at = mechanism(model, q, spanning=True)
    return linearized(at, composite_bodies(at.nodes))


TOWARDS_CONSTRAINTS = kernel_algorithm(towards_constraints, {"q": None, "v": None}, ())
