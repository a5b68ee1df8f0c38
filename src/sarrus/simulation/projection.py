"""How far constraints are from closed, and `project` on many states, which closes them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.algorithms.position.project import ProjectResult
from sarrus.model.constraints import Constraint
from sarrus.model.model import Model
from sarrus.simulation.batch_evaluation import BatchEvaluator, evaluate
from sarrus.spatial.arrays import Array

CLOSED = 1e-10  # metres or radians: what counts as closed


class Projector:
    """`project` of one model, any joints held; compiled, once, where that pays."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._project = BatchEvaluator(model, "project", ("q", "v", "held"), iterates=True)

    def __call__(self, q: Array, v: Array | None = None, held: Array | None = None) -> ProjectResult:
        """Of states (B, n); `held` is (nv,) or (B, nv)."""
        zero, shape = np.zeros(self.model.nv), (len(q), self.model.nv)
        v, held = (np.broadcast_to(zero if x is None else x, shape) for x in (v, held))
        return ProjectResult(**self._project(q=q, v=v, held=held))


def closure_error(model: Model, q: Array) -> Array:
    """The largest closure error (metres, radians) of every configuration in q (..., nq)."""
    if not model.spanning.active_constraints:
        return np.zeros(q.shape[:-1])
    return evaluate(model, "project", {"q": q}, max_iterations=0)["error"]


def rows_of_constraints(model: Model) -> dict[str, slice]:
    """Where the rows of every active constraint are, by its name."""
    ends = np.cumsum([0, *(c.size for c in model.active_constraints)]).tolist()
    return {c.name: slice(*span) for c, span in zip(model.active_constraints, pairwise(ends), strict=True)}


def most_violated_constraint(model: Model, q: Array) -> str:
    """The name of the constraint that is the farthest from closed at a configuration (nq,), for messages."""
    model = model.spanning  # what is embedded must hold as well
    error = np.abs(closure(model, q).position.astype(float))
    sizes = {name: float(error[rows].max(initial=0.0)) for name, rows in rows_of_constraints(model).items()}
    return max(sizes, key=lambda name: sizes[name], default="none")


def holds_position(constraint: Constraint) -> bool:
    """Whether a constraint holds positions, not only velocities."""
    return not constraint.velocity_only


def with_position_constraints(model: Model) -> Model:
    """The model with only those constraints that hold positions; the model itself if all of them do."""
    model = model.spanning  # what is embedded must hold as well
    kept = tuple(c for c in model.constraints if holds_position(c))
    return model if len(kept) == len(model.constraints) else replace(model, constraints=kept)
