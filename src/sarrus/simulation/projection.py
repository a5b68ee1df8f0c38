"""How far constraints are from closed, and what keeps them closed: `project` on many states, Baumgarte's feedback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.algorithms.position.project import ProjectResult, project
from sarrus.calls.evaluator import evaluate
from sarrus.errors import StateError
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

CLOSED = 1e-10  # metres or radians: what counts as closed
_PROJECT_EVERY = 10  # steps, where nothing else is said
_CLOSED, _NEARLY_CLOSED = 1e-6, 1e-2  # errors of an initial state, without and with something that corrects them


class AbstractProjector(ABC):
    """States to the nearest ones that meet something, any joints held."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @abstractmethod
    def __call__(
        self, q: Array, v: Array | None = None, held: Array | None = None, which: Array | None = None
    ) -> ProjectResult:
        """Of states (B, n); `held` is (nv,) or (B, nv); `which` of those that the projector was made for they are."""


class Projector(AbstractProjector):
    """`project` of one model."""

    def __call__(
        self, q: Array, v: Array | None = None, held: Array | None = None, which: Array | None = None
    ) -> ProjectResult:
        zero, shape = np.zeros(self.model.nv), (len(q), self.model.nv)
        v, held = (np.broadcast_to(zero if x is None else x, shape) for x in (v, held))
        return ProjectResult(**evaluate(self.model, project, {"q": q, "v": v, "held": held}))


def closure_error(model: Model, q: Array) -> Array:
    """The largest closure error (metres, radians) of every configuration in q (..., nq)."""
    if not model.spanning.active_constraints:
        return np.zeros(q.shape[:-1])
    return evaluate(model, project, {"q": q}, max_iterations=0)["error"]


def most_violated_constraint(model: Model, q: Array) -> str:
    """The name of the constraint that is the farthest from closed at a configuration (nq,), for messages."""
    model = model.spanning  # what is embedded must hold as well
    error = np.abs(closure(model, q).position.astype(float))
    sizes = [float(error[rows].max(initial=0.0)) for rows in model.row_spans]
    return model.active_constraints[int(np.argmax(sizes))].name if sizes else "none"


def with_position_constraints(model: Model) -> Model:
    """The model with only those constraints that hold positions; the model itself if all of them do."""
    model = model.spanning  # what is embedded must hold as well
    kept = tuple(c for c in model.constraints if not c.velocity_only)
    return model if len(kept) == len(model.constraints) else replace(model, constraints=kept)


def with_stabilization(model: Model, time: float | None) -> Model:
    """The model with Baumgarte's feedback, of this time constant, on every constraint that has none."""
    if time is None:
        return model
    try:
        time = positive_number("stabilization", time)
    except StateError as error:
        raise StateError(f"{error}, a time constant in seconds, or None") from error
    changed = tuple(
        replace(c, stabilization=time) if getattr(c, "stabilization", 0.0) is None else c  # type: ignore[call-arg]
        for c in model.constraints
    )
    return replace(model, constraints=changed)


def has_feedback(model: Model) -> bool:
    """Whether some constraint has Baumgarte's feedback."""
    return any(getattr(c, "stabilization", None) is not None for c in model.spanning.active_constraints)


def projection_interval(model: Model, wanted: int | str | None) -> int | None:
    """How many steps apart projections are; None: there are none."""
    if isinstance(wanted, str) and wanted != "auto":
        raise StateError(f'project_every is {wanted!r}: expected a number of steps, None (never) or "auto"')
    if wanted == "auto":
        wanted = None if has_feedback(model) else _PROJECT_EVERY
    every = None if wanted is None else whole_number("project_every", wanted, least=1)
    return every if model.spanning.active_constraints else None


def check_closed(model: Model, q: Array, v: Array, project_every: int | None) -> None:
    """Raise an error that names the open constraint if an initial state, of states (B, n), is not on the constraints.

    Where projection or feedback will close them, they may be a little open.
    """
    constraints = model.spanning.active_constraints
    if not constraints or not len(q):
        return
    tolerance = _NEARLY_CLOSED if project_every or has_feedback(model) else _CLOSED
    found = evaluate(model, closure, {"q": q, "v": v})
    speed = np.abs(found["velocity"]).max(axis=-1) / (1.0 + np.abs(v).max(axis=-1, initial=0.0))
    for kind, errors in (("position", closure_error(model, q)), ("velocity", speed)):
        worst = int(np.argmax(errors))
        if errors[worst] <= tolerance:
            continue
        names = [c.name for c in constraints for _ in range(c.size)]  # of rows
        which = f" (state {worst} of the batch)" if len(q) > 1 else ""
        raise StateError(
            f"the initial {kind} is not on the constraints: {names[int(np.argmax(np.abs(found[kind][worst])))]!r} is "
            f"off by {errors[worst]:.3g}{which}. `sarrus.project(model, q, v)` finds the nearest state that is, "
            "`sarrus.assemble` one with given joints"
        )
