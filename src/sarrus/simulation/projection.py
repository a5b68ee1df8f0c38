"""`project` on as many states as there are, by whichever way is quickest for so many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.algorithms.project import ProjectResult
from sarrus.algorithms.project import project as _project
from sarrus.codegen.kernel import compile
from sarrus.model.constraints import CenterOfMass, Constraint, Contact, LinkConstraint
from sarrus.model.model import Model
from sarrus.simulation.along import along
from sarrus.spatial.arrays import Array

CLOSED = 1e-10  # metres or radians: what counts as closed
_FEW = 3  # states for which tracing is not worth it
_MANY = 200  # states for which compiling is


def project_all(
    model: Model, q: Array, v: Array | None = None, held: Array | None = None, **options: Any
) -> ProjectResult:
    """Of states (B, nq); `held` is (nv,) or (B, nv)."""
    arrays = {"q": q} if v is None else {"q": q, "v": v}
    if held is not None:
        arrays["held"] = np.broadcast_to(held, (len(q), model.nv))
    if len(q) <= _FEW:
        found = [_project(model, **{name: x[k] for name, x in arrays.items()}, **options) for k in range(len(q))]
        fields = [np.array([np.asarray(x, dtype=float) for x in column]) for column in zip(*found, strict=True)]
        return ProjectResult(*fields) if found else _nothing(model)
    if len(q) >= _MANY:
        return compile(model, "project", inputs=tuple(arrays), **options)(*arrays.values())
    return ProjectResult(**along(model, "project", arrays, **options))


def _nothing(model: Model) -> ProjectResult:
    return ProjectResult(np.zeros((0, model.nq)), np.zeros((0, model.nv)), np.zeros(0), np.zeros(0), np.zeros(0))


def says_where(constraint: Constraint) -> bool:
    """Whether a constraint holds positions, not only velocities."""
    if isinstance(constraint, LinkConstraint):
        return isinstance(constraint, Contact) and constraint.at is not None
    return not isinstance(constraint, CenterOfMass) or constraint.at is not None


def of_positions(model: Model) -> Model:
    """The model with only those constraints that hold positions; the model itself if all of them do."""
    kept = tuple(c for c in model.constraints if says_where(c))
    return model if len(kept) == len(model.constraints) else replace(model, constraints=kept)
