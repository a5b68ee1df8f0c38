"""A few states of a robot on its constraints, on which candidates of a plan are tried, and the rank of rows there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.algorithms.position.project import project
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral, integrate, random_state
from sarrus.spatial.arrays import Array

NEAR_HOME, ELSEWHERE, VELOCITIES = 4, 4, 3
_STARTS = 8  # at most so many are projected, of each kind
_STEPS = 30
_CLOSED = 1e-9
_NEAR = 0.3  # radians and metres from home
_DEPENDENT = 1e-7  # a singular value beside the largest that counts as zero


class Samples(NamedTuple):
    """States (B, n), and the Jacobian of all rows at the first few; `closed`: whether they are on the constraints."""

    arrays: dict[str, Array]
    jacobians: list[Array]
    closed: bool


def sample_states(model: Model, known: Sequence[Array] = ()) -> Samples:
    """Near home and elsewhere, with velocities and torques. known: configurations on the constraints, home first.

    Not at home itself, if others are found: there limbs are often straight, which says nothing about all other states.
    """
    rng = np.random.default_rng(0)
    configurations, closed = _configurations(model, rng, known)
    q, v, J = [], [], []
    for x in configurations:
        at = closure.text(model.spanning, x, np.zeros(model.nv))
        J.append(np.asarray(at.jacobian, dtype=float))
        for _ in range(VELOCITIES):
            q.append(x)
            v.append(_without_opening(J[-1], rng.normal(size=model.nv)))
    arrays = {"q": np.array(q), "v": np.array(v), "tau": rng.normal(size=(len(q), model.nv))}
    arrays["k"] = np.zeros((len(q), model.n_input_rows))
    return Samples(arrays, J, closed)


def _configurations(model: Model, rng: np.random.Generator, known: Sequence[Array]) -> tuple[list[Array], bool]:
    home = home_or_neutral(model)
    near = [integrate(model, home, _NEAR * rng.normal(size=model.nv)) for _ in range(_STARTS)]
    far = list(random_state(model, rng, batch=_STARTS)[0])
    if not model.spanning.active_constraints:
        return [*near[:NEAR_HOME], *far[:ELSEWHERE]], True
    found = [np.asarray(x, dtype=float) for x in known[1 : 1 + NEAR_HOME]]
    found += _projected(model, near, NEAR_HOME - len(found))
    found += _projected(model, far, ELSEWHERE)
    found = found or [np.asarray(x, dtype=float) for x in known]
    return (found, True) if found else ([home, *near[:3]], False)


def _projected(model: Model, starts: list[Array], count: int) -> list[Array]:
    """So many configurations on the constraints, or fewer."""
    if count <= 0:
        return []
    errors = [np.abs(closure.text(model.spanning, x).position).max(initial=0.0) for x in starts]
    if max(errors) < _CLOSED:  # of contacts, which hold wherever it is
        return starts[:count]
    tape = trace(model.spanning, project, inputs=("q",), max_iterations=_STEPS)
    found = evaluate(tape, {"q": np.asarray(starts, dtype=float)})
    return list(found["q"][found["error"] < _CLOSED][:count])


def _without_opening(J: Array, v: Array) -> Array:
    """The nearest velocity with J v = 0."""
    return v - np.linalg.lstsq(J, J @ v, rcond=_DEPENDENT)[0] if len(J) else v


def expected_largest(values: Array, of: int) -> float:
    """The mean of the largest of so many values, drawn from these."""
    if not len(values):
        return 0.0
    at_most = (np.arange(len(values) + 1) / len(values)) ** of  # that all are among the k smallest
    return float(np.sort(values) @ np.diff(at_most))


def rank(J: Array) -> int:
    """Of rows, each divided by its length."""
    if not J.size:
        return 0
    lengths = np.linalg.norm(J, axis=1)
    unit = J[lengths > 0.0] / lengths[lengths > 0.0, None]
    values = np.linalg.svd(unit, compute_uv=False) if len(unit) else np.zeros(0)
    return int(np.sum(values > _DEPENDENT * values.max(initial=0.0)))


def evaluate(tape: Tape, states: dict[str, Array]) -> dict[str, Array]:
    """A tape's outputs (B, ...) by name."""
    count = len(states["q"])
    inputs = [np.ascontiguousarray(states[port.name].reshape(count, port.size).T) for port in tape.inputs]
    with np.errstate(all="ignore"):
        values = interpret.run(tape, inputs)
    out = {}
    for port, columns in zip(tape.outputs, values, strict=True):
        filled = np.array([np.broadcast_to(np.asarray(x, dtype=float), count) for x in columns]).reshape(-1, count)
        out[port.name] = filled.T.reshape(count, *port.shape)
    return out
