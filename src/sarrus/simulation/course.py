"""From the first state to a `Trajectory`: in memory at once, or streamed to disk stretch by stretch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.simulation.over_time import Carry, Span, Stretch
from sarrus.simulation.recording import Recorder, load_recording
from sarrus.simulation.trajectory import Trajectory
from sarrus.spatial.arrays import Array

Go = Callable[[Carry, Span], Stretch]

_FILES = (".npz", ".parquet")
_STRETCH_BYTES = 64e6  # of recorded arrays in memory while streaming
_RETURNED_BYTES = 512e6  # of a streamed recording: of a larger one every k-th row is returned


@dataclass(frozen=True)
class Course:
    """A simulation, ready to go."""

    model: Model
    dt: float
    single: bool
    whole: Span
    begin: Callable[[Array, Array, int], Carry]  # what is carried at first, from q, v and the number of the step
    go: Go
    settings: dict[str, Any]

    def run(self, q: Array, v: Array, save: str | PathLike[str] | None, resume: bool) -> Trajectory:
        """save: None, a file, or a directory to stream to."""
        if save is not None and Path(fspath(save)).suffix not in _FILES:
            return self._stream(q, v, Path(fspath(save)), resume)
        if resume:
            raise StateError(f"resume goes on with a directory, given as `save`; got {save!r}")
        found = self.go(self.begin(q, v, 0), self.whole)
        trajectory = self._trajectory(found, self.whole)
        if save is not None:
            trajectory.save(save)
        return trajectory

    def _stream(self, q: Array, v: Array, directory: Path, resume: bool) -> Trajectory:
        """Stretch by stretch. What is on disk survives whatever happens; `resume` goes on after it."""
        first, whole, told = 0, self.whole, self.settings
        if resume and (directory / "about.json").exists():
            recorder = Recorder.resume(directory, self.model)
            last = recorder.final
            if last is not None:
                first = round(last.time / self.dt)
                q, v = (np.reshape(x, (len(q), -1)) for x in (last.q, last.v))
        else:
            recorder = Recorder(directory, self.model, settings=told | {"interrupted": False})
        carry, resumed = self.begin(q, v, first), first > 0
        size = 8 * len(q) * (self.model.nq + 3 * self.model.nv + 2 * self.model.n_rows + 3)  # bytes of a row, at most
        length = whole.every * max(1, int(_STRETCH_BYTES / max(size, 1)))
        interrupted = False
        with recorder:
            while first < whole.steps and not interrupted:
                span = replace(whole, first=first, stop=min(first + length - first % whole.every, whole.steps))
                found = self.go(carry, span)
                part = self._trajectory(found, span)
                # The state from which it goes on is on disk already.
                skip = 1 if resumed and len(part) and span.first % whole.every == 0 else 0
                recorder.extend(part[skip:])
                first, carry, resumed = found.done, found.carry, False
                interrupted = found.done < span.stop
        rows = whole.steps // whole.every + 1
        trajectory = load_recording(directory, self.model, every=max(1, int(rows * size / _RETURNED_BYTES)))
        trajectory.settings |= {"interrupted": interrupted, "steps": first}
        return trajectory

    def _trajectory(self, found: Stretch, span: Span) -> Trajectory:
        steps = (span.first_row + np.arange(span.count(found.done))) * span.every
        if found.rows["q"].shape[1] > len(steps):  # the state at the end
            steps = np.append(steps, found.done)
        told = self.settings | {"steps": found.done, "interrupted": found.done < span.stop}
        for name in ("accepted", "rejected"):
            if name in found.carry:
                counts = found.carry[name].astype(int)
                told[name] = int(counts[0]) if self.single else counts.tolist()
        recorded = {name: array[0] if self.single else array for name, array in found.rows.items()}
        return Trajectory(self.model, steps * self.dt, settings=told, **recorded)
