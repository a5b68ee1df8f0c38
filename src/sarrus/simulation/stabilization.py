"""How loops stay closed in a simulation: they start closed; then Baumgarte's feedback, or projections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.errors import StateError
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.model import Model
from sarrus.simulation.batch_evaluation import evaluate
from sarrus.simulation.projection import closure_error
from sarrus.spatial.arrays import Array

_PROJECT_EVERY = 10  # steps, where nothing else is said
_CLOSED, _NEARLY_CLOSED = 1e-6, 1e-2  # errors of an initial state, without and with something that corrects them


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
    found = evaluate(model, "closure", {"q": q, "v": v})
    speed = np.abs(found["velocity"]).max(axis=-1) / (1.0 + np.abs(v).max(axis=-1, initial=0.0))
    for kind, errors in (("position", closure_error(model, q)), ("velocity", speed)):
        worst = int(np.argmax(errors))
        if errors[worst] <= tolerance:
            continue
        names = [c.name for c in constraints for _ in range(c.size)]
        which = f" (state {worst} of the batch)" if len(q) > 1 else ""
        raise StateError(
            f"the initial {kind} is not on the constraints: {names[int(np.argmax(np.abs(found[kind][worst])))]!r} is "
            f"off by {errors[worst]:.3g}{which}. `sarrus.project(model, q, v)` finds the nearest state that is, "
            "`sarrus.assemble` one with given joints"
        )
