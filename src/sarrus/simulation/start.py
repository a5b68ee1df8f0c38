"""Where a simulation starts: arguments checked, and errors that say what to do about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.model import Model
from sarrus.model.state import as_state_array, check_configuration, neutral
from sarrus.simulation.along import along, closure_error
from sarrus.spatial.arrays import Array

PROJECT_EVERY = 10  # steps, where nothing else is said
_CLOSED, _NEARLY_CLOSED = 1e-6, 1e-2  # errors of an initial state, without and with something that corrects them


def steps_of(duration: float, dt: float) -> int:
    steps = positive_number("duration", duration, least=0.0) / positive_number("dt", dt)
    if not steps < 2.0**53:
        raise StateError(f"duration is {duration!r} and dt {dt!r}: these are {steps:g} steps")
    return round(steps)


def initial_state(model: Model, q0: Any, v0: Any) -> tuple[Array, Array, bool]:
    """(B, nq), (B, nv), and whether one state was given."""
    if q0 is None:
        q0 = neutral(model) if model.home is None else model.home
    q = check_configuration(model, q0)
    v = as_state_array("v", np.zeros(model.nv) if v0 is None else v0, model.nv)
    if q.ndim == v.ndim == 2 and len(q) != len(v):
        raise StateError(f"batches of different sizes: q0 has {len(q)} and v0 has {len(v)}")
    batch = len(q) if q.ndim == 2 else len(v) if v.ndim == 2 else 1
    single = q.ndim == 1 and v.ndim == 1
    return np.broadcast_to(q, (batch, model.nq)), np.broadcast_to(v, (batch, model.nv)), single


def has_feedback(model: Model) -> bool:
    return any(c.stabilization is not None for c in model.spanning.active_constraints)


def projected_every(model: Model, wanted: int | str | None) -> int | None:
    """How many steps apart projections are; None: there are none."""
    if isinstance(wanted, str) and wanted == "auto":
        return PROJECT_EVERY if model.spanning.active_constraints and not has_feedback(model) else None
    if wanted is None:
        return None
    if isinstance(wanted, str):
        raise StateError(f'project_every is {wanted!r}: expected a number of steps, None (never) or "auto"')
    every = whole_number("project_every", wanted, least=1)
    return every if model.spanning.active_constraints else None


def check_closed(model: Model, q: Array, v: Array, corrected: bool) -> None:
    """An initial state that is not on the constraints is an error that says which of them is open.

    corrected  whether projection or Baumgarte's feedback will close what is almost closed
    """
    if not model.spanning.active_constraints or not len(q):
        return
    tolerance = _NEARLY_CLOSED if corrected else _CLOSED
    found = along(model, "closure", {"q": q, "v": v})
    speed = np.abs(found["velocity"]).max(axis=-1) / (1.0 + np.abs(v).max(axis=-1, initial=0.0))
    cases = (("position", closure_error(model, q), found["position"]), ("velocity", speed, found["velocity"]))
    for kind, sizes, rows in cases:
        worst = int(np.argmax(sizes))
        if sizes[worst] <= tolerance:
            continue
        names = [c.name for c in model.spanning.active_constraints for _ in range(c.size)]
        which = f" (state {worst} of the batch)" if len(q) > 1 else ""
        raise StateError(
            f"the initial {kind} is not on the constraints: {names[int(np.argmax(np.abs(rows[worst])))]!r} is off by "
            f"{sizes[worst]:.3g}{which}. `sarrus.project(model, q, v)` finds the nearest state that is, "
            "`sarrus.assemble` one with given joints"
        )
