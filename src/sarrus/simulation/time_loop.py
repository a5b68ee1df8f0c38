"""From the first state to a `Trajectory`: in memory at once, or streamed to disk segment by segment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.simulation.recording import Recorder, load_recording
from sarrus.simulation.step_kernels import Carry
from sarrus.simulation.steppers import AbstractStepper, StepRange
from sarrus.simulation.trajectory import Trajectory
from sarrus.simulation.trajectory_files import SUFFIXES
from sarrus.spatial.arrays import Array

_SEGMENT_BYTES = 64e6  # of recorded arrays in memory while streaming
_RETURNED_BYTES = 512e6  # of a streamed recording: of a larger one every k-th row is returned


def row_bytes(model: Model) -> int:
    """The size of one recorded state of one robot, at most."""
    return 8 * (model.nq + 3 * model.nv + 2 * model.n_rows + 3)


@dataclass(frozen=True)
class TimeLoop:
    """A stepper through all of its time."""

    model: Model
    whole: StepRange
    stepper: AbstractStepper
    settings: dict[str, Any]

    def run(self, q: Array, v: Array, save: str | PathLike[str] | None, resume: bool) -> Trajectory:
        """The trajectory from states (B, n) on. save: None, a file, or a directory to stream to."""
        if save is not None and Path(fspath(save)).suffix not in SUFFIXES:
            return self._stream(q, v, Path(fspath(save)), resume)
        if resume:
            raise StateError(f"resume continues a recording: `save` must name its directory, got {save!r}")
        trajectory = self._advance(self.stepper.begin(q, v, 0), self.whole)
        if save is not None:
            trajectory.save(save)
        return trajectory

    def _stream(self, q: Array, v: Array, directory: Path, resume: bool) -> Trajectory:
        """Segment by segment. What is on disk survives whatever happens; `resume` goes on after it."""
        first, whole = 0, self.whole
        if resume and (directory / "about.json").exists():
            recorder = Recorder.resume(directory, self.model)
            last = recorder.final
            if last is not None:
                first = round(last.time / self.stepper.kernels.dt)
                q, v = last.q.reshape(q.shape), last.v.reshape(v.shape)
        else:
            recorder = Recorder(directory, self.model, settings=self.settings | {"interrupted": False})
        carry = self.stepper.begin(q, v, first)
        size = len(q) * row_bytes(self.model)
        length = whole.every * max(1, int(_SEGMENT_BYTES / max(size, 1)))
        interrupted = False
        with recorder:
            while first < whole.steps and not interrupted:
                span = replace(whole, first=first, stop=min(first + length - first % whole.every, whole.steps))
                part = self._advance(carry, span)
                recorder.extend(part)  # but for the state that is on disk already
                first, interrupted = part.settings["steps"], part.settings["interrupted"]
        rows = whole.steps // whole.every + 1
        trajectory = load_recording(directory, self.model, every=max(1, int(rows * size / _RETURNED_BYTES)))
        trajectory.settings |= {"interrupted": interrupted, "steps": first}
        return trajectory

    def _advance(self, carry: Carry, span: StepRange) -> Trajectory:
        """The part of the trajectory in a range of steps."""
        rows, done = self.stepper.advance(carry, span)
        steps = (span.first_row + np.arange(span.count(done))) * span.every
        if rows["q"].shape[1] > len(steps):  # the state at the end
            steps = np.append(steps, done)
        settings = self.settings | {"steps": done, "interrupted": done < span.stop}
        for name in ("accepted", "rejected"):
            if name in carry:
                counts = carry[name].astype(int)
                settings[name] = int(counts[0]) if self.stepper.single else counts.tolist()
        recorded = {name: array[0] if self.stepper.single else array for name, array in rows.items()}
        return Trajectory(self.model, steps * self.stepper.kernels.dt, settings=settings, **recorded)
