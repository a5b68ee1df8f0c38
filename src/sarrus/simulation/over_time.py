"""Three ways through time: native code, step by step from Python, and adaptive steps.

Each returns the recorded arrays (B, rows, ...) and how many steps it did; Ctrl-C ends it early.
A row holds a state, the dynamics at it, and as `status` the worst since the row before.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.simulation.adaptive import AdaptiveEngine
from sarrus.simulation.controllers import PythonController
from sarrus.simulation.engine import Engine
from sarrus.spatial.arrays import Array

Progress = Callable[[int, int], None]  # (steps done, steps in all)
Recorded = tuple[dict[str, Array], int]

_CHUNK_SECONDS = 0.2  # of native code between two looks at Ctrl-C and calls of `progress`
_FIRST_CHUNK, _FASTER = 16, 8  # steps of the first chunk; how much longer the next may be
_CALLS = 1000  # steps in Python between two calls of `progress`


@dataclass(frozen=True)
class Span:
    """How long, and what is kept."""

    steps: int
    every: int  # steps from row to row
    names: tuple[str, ...]
    threads: int
    progress: Progress | None

    def rows(self, engine: Engine, batch: int) -> dict[str, Array]:
        count = -(-self.steps // self.every) + 1
        return {name: np.empty((batch, count, *engine.shapes[name]), engine.dtype) for name in self.names}

    def cut(self, rows: dict[str, Array], done: int) -> Recorded:
        """What there is after an interruption."""
        return {name: array[:, : -(-done // self.every)] for name, array in rows.items()}, done

    def tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.steps)


def native_steps(engine: Engine, q: Array, v: Array, span: Span) -> Recorded:
    """All in native code, in chunks of a fraction of a second."""
    rows, carry = span.rows(engine, len(q)), engine.carry(q, v)
    done, chunk = 0, _FIRST_CHUNK
    try:
        while done < span.steps:
            count = min(chunk, span.steps - done)
            began = clock.perf_counter()
            engine.run(carry, done, count, rows, span.every, 0, span.threads)
            seconds = clock.perf_counter() - began
            done += count
            chunk = int(max(1, min(_FASTER * count, count * _CHUNK_SECONDS / max(seconds, 1e-9))))
            span.tell(done)
    except KeyboardInterrupt:
        return span.cut(rows, done)
    if set(rows) <= {"q", "v", "status"}:
        for name in rows:
            rows[name][:, -1] = carry["worst" if name == "status" else name]
    else:
        _record(rows, -1, carry, engine.once(carry, max(0, span.steps - 1), len(q)))
    return rows, done


def python_steps(
    engine: Engine, q: Array, v: Array, span: Span, controller: PythonController, single: bool
) -> Recorded:
    """One step after the other, with a controller in Python."""
    rows, carry = span.rows(engine, len(q)), engine.carry(q, v)
    batch = None if single else len(q)
    if single:
        carry = {name: x[0] for name, x in carry.items()}
    shape, given, done = carry["v"].shape, engine.given["tau"], 0
    more = bool(given.array.any())

    def torque(t: int) -> Array:
        now = t * engine.dt
        tau = np.ascontiguousarray(controller(now, carry["q"], carry["v"]), dtype=float)
        if tau.shape != shape:
            raise StateError(f"the controller returned shape {tau.shape} at t = {now:g} s, expected {shape}")
        if not np.isfinite(tau).all():
            raise StateError(f"the controller returned a number that is not finite at t = {now:g} s")
        return tau + given.at(min(t, span.steps - 1), batch) if more else tau

    fresh = np.zeros_like(carry["worst"])
    try:
        for t in range(span.steps):
            result = engine.once(carry, t, batch, torque(t))
            if t % span.every == 0:
                _record(rows, t // span.every, carry, result)
            carry = engine.follow(result, t, fresh if t % span.every == 0 else None)
            done += 1
            if done % _CALLS == 0:
                span.tell(done)
        _record(rows, -1, carry, engine.once(carry, max(0, span.steps - 1), batch, torque(span.steps)))
    except KeyboardInterrupt:
        return span.cut(rows, done)
    return rows, done


def adaptive_steps(engine: Engine, adaptive: AdaptiveEngine, q: Array, v: Array, span: Span) -> tuple[Recorded, Any]:
    """From row to row (or from dt to dt, where forces change that often); also how many steps were taken."""
    rows, carry = span.rows(engine, len(q)), adaptive.carry(q, v)
    changing = any(x.per_step for x in engine.given.values())
    length = 1 if changing else span.every
    done = 0
    counts: dict[str, Array] = {}

    def record(row: int) -> None:
        """The dynamics at a row are those of a plain step from there."""
        first = engine.carry(carry["q"], carry["v"], done)
        first |= {"alive": carry["alive"].copy(), "worst": carry["worst"].copy()}
        if set(rows) - {"q", "v", "status"}:
            _record(rows, row, first, engine.once(first, min(done, max(0, span.steps - 1)), len(q)))
        for name in {"q", "v", "status"} & set(rows):
            rows[name][:, row] = carry["worst" if name == "status" else name]
        carry["worst"][:] = 0.0

    try:
        while done < span.steps:
            if done % span.every == 0:
                record(done // span.every)
            count = min(length, span.steps - done)
            adaptive.advance(carry, done, count, span.threads)
            if engine.projection is not None:
                found = engine.projection(*(carry[name] for name in engine.projection.input_names))
                for name in engine.projection.output_names:
                    carry[name][...] = getattr(found, name)
            done += count
            span.tell(done)
        record(-1)
    except KeyboardInterrupt:
        return span.cut(rows, done), counts
    counts = {name: carry[name] for name in ("accepted", "rejected")}
    return (rows, done), counts


def _record(rows: dict[str, Array], row: int, carry: dict[str, Array], result: Any) -> None:
    for name, array in rows.items():
        if name in ("q", "v"):
            array[:, row] = carry[name]
        else:
            array[:, row] = result.worst if name == "status" else getattr(result, name)
