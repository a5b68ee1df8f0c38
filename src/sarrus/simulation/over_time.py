"""Three ways through time: native code, step by step from Python, and adaptive steps.

Each goes through a stretch of steps, takes along what states carry, and fills recorded arrays (B, rows, ...). A row
holds a state, the dynamics at it, and as `status` the worst since the row before. Ctrl-C ends a stretch early.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError
from sarrus.model.arguments import as_numbers, empty
from sarrus.simulation.adaptive import AdaptiveEngine
from sarrus.simulation.controllers import PythonController
from sarrus.simulation.engine import Engine
from sarrus.spatial.arrays import Array

Progress = Callable[[int, int], None]  # (steps done, steps in all)
Carry = dict[str, Array]

_CHUNK_SECONDS = 0.2  # of native code between two looks at Ctrl-C and calls of `progress`
_FIRST_CHUNK, _FASTER = 16, 8  # steps of the first chunk; how much longer the next may be
_CALLS = 1000  # steps in Python between two calls of `progress`
_TOO_MANY = "a trajectory (record_every= keeps fewer states, save= streams them to disk)"
_ASKED = {"tau": "the controller", "controls": "the function that gives controls"}
_CARRIED_ROWS = {"q": "q", "v": "v", "status": "worst"}  # rows that need no evaluation of dynamics


class Stretch(NamedTuple):
    """What was recorded, up to which step, and what goes on from there."""

    rows: dict[str, Array]
    done: int
    carry: Carry


@dataclass(frozen=True)
class Span:
    """Steps first .. stop - 1 of `steps`, and what is kept of them."""

    first: int
    stop: int
    steps: int
    every: int  # steps from row to row
    names: tuple[str, ...]
    threads: int
    progress: Progress | None

    @property
    def first_row(self) -> int:
        return -(-self.first // self.every)

    @property
    def is_last(self) -> bool:
        """Then there is a row for the state at the end."""
        return self.stop == self.steps

    def count(self, done: int) -> int:
        """Rows after so many steps."""
        return -(-done // self.every) - self.first_row

    def rows(self, engine: Engine, batch: int) -> dict[str, Array]:
        count = self.count(self.stop) + self.is_last
        return {name: empty(_TOO_MANY, (batch, count, *engine.shapes[name]), engine.dtype) for name in self.names}

    def cut(self, rows: dict[str, Array], done: int, carry: Carry) -> Stretch:
        """What there is after an interruption."""
        return Stretch({name: array[:, : self.count(done)] for name, array in rows.items()}, done, carry)

    def tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.steps)


def native_steps(engine: Engine, carry: Carry, span: Span) -> Stretch:
    """All in native code, in chunks of a fraction of a second."""
    batch = len(carry["q"])
    rows = span.rows(engine, batch)
    done, chunk = span.first, _FIRST_CHUNK
    try:
        while done < span.stop:
            count = min(chunk, span.stop - done)
            began = clock.perf_counter()
            engine.run(carry, done, count, rows, span.every, span.first_row, span.threads)
            seconds = clock.perf_counter() - began
            done += count
            chunk = int(max(1, min(_FASTER * count, count * _CHUNK_SECONDS / max(seconds, 1e-9))))
            span.tell(done)
    except KeyboardInterrupt:
        return span.cut(rows, done, carry)
    if span.is_last and set(rows) <= set(_CARRIED_ROWS):
        for name in rows:
            rows[name][:, -1] = carry[_CARRIED_ROWS[name]]
    elif span.is_last:
        _record(rows, -1, carry, engine.once(carry, max(0, span.steps - 1), batch))
    return Stretch(rows, done, carry)


def python_steps(engine: Engine, carry: Carry, span: Span, asked: dict[str, PythonController], single: bool) -> Stretch:
    """One step after the other, with functions in Python that give tau or controls."""
    rows = span.rows(engine, len(carry["q"]))
    batch = None if single else len(carry["q"])
    now: Carry = {name: np.asarray(x[0]) for name, x in carry.items()} if single else carry
    done = span.first
    shapes = {name: now["v"].shape[:-1] + engine.shapes[name] for name in asked}
    more = {name: engine.given[name] for name in asked if engine.given[name].array.any()}

    def answers(t: int) -> dict[str, Array]:
        found = {}
        for name, function in asked.items():
            who = _ASKED[name]
            said = as_numbers(f"{who} must return numbers", function(t * engine.dt, now["q"], now["v"]))
            x = np.ascontiguousarray(said, dtype=float)
            if x.shape != shapes[name]:
                raise StateError(f"{who} returned shape {x.shape} at t = {t * engine.dt:g} s, expected {shapes[name]}")
            if not np.isfinite(x).all():
                raise StateError(f"{who} returned a number that is not finite at t = {t * engine.dt:g} s")
            found[name] = x + more[name].at(min(t, span.steps - 1), batch) if name in more else x
        return found

    fresh = np.zeros_like(now["worst"])
    try:
        for t in range(span.first, span.stop):
            result = engine.once(now, t, batch, answers(t))
            recorded = t % span.every == 0
            if recorded:
                _record(rows, t // span.every - span.first_row, now, result)
            now = engine.follow(result, t, fresh if recorded else None)
            done += 1
            if done % _CALLS == 0:
                span.tell(done)
        if span.is_last:
            _record(rows, -1, now, engine.once(now, max(0, span.steps - 1), batch, answers(span.steps)))
    except KeyboardInterrupt:
        rows = span.cut(rows, done, carry).rows
    return Stretch(rows, done, {name: x[None] for name, x in now.items()} if single else now)


def adaptive_steps(engine: Engine, adaptive: AdaptiveEngine, carry: Carry, span: Span) -> Stretch:
    """From row to row, or from dt to dt where forces change that often."""
    rows = span.rows(engine, len(carry["q"]))
    changing = any(x.per_step for x in engine.given.values())
    done = span.first

    def record(row: int) -> None:
        for name in set(_CARRIED_ROWS) & set(rows):
            rows[name][:, row] = carry[_CARRIED_ROWS[name]]
        carry["worst"][:] = 0.0

    try:
        while done < span.stop:
            if done % span.every == 0:
                record(done // span.every - span.first_row)
            count = 1 if changing else min(span.every - done % span.every, span.stop - done)
            adaptive.advance(carry, done, count, span.threads)
            if engine.projection is not None:
                found = engine.projection(*(carry[name] for name in engine.projection.input_names))
                for name in engine.projection.output_names:
                    carry[name][...] = getattr(found, name)
            done += count
            span.tell(done)
        if span.is_last:
            record(-1)
    except KeyboardInterrupt:
        rows = span.cut(rows, done, carry).rows
    _add_dynamics(engine, rows, span)
    return Stretch(rows, done, carry)


def _add_dynamics(engine: Engine, rows: dict[str, Array], span: Span) -> None:
    """At the states of all rows, all at once: those of a plain step from there."""
    names = set(rows) - set(_CARRIED_ROWS)
    if not names:
        return
    batch, count = rows["q"].shape[:2]
    steps = np.minimum((span.first_row + np.arange(count)) * span.every, max(0, span.steps - 1))
    arrays = engine.carry(rows["q"].reshape(batch * count, -1), rows["v"].reshape(batch * count, -1))
    if "step" in arrays:
        arrays["step"] = np.tile(steps.astype(float), batch)
    for name, x in engine.given.items():
        at = x.array[..., steps, :] if x.per_step else x.array[..., None, :]
        arrays[name] = np.broadcast_to(at, (batch, count, at.shape[-1])).reshape(batch * count, -1)
    found = engine.kernel(*(arrays[name] for name in engine.kernel.input_names))
    for name in names:
        rows[name][...] = getattr(found, name).reshape(rows[name].shape)


def _record(rows: dict[str, Array], row: int, carry: Carry, result: Any) -> None:
    for name, array in rows.items():
        if name in ("q", "v"):
            array[:, row] = carry[name]
        else:
            array[:, row] = result.worst if name == "status" else getattr(result, name)
