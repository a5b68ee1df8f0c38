"""Long trajectories, streamed to disk: memory stays bounded, and what was written survives an interruption.

A recording is a directory: `about.json` (model, settings, which fields) and `part_000000.npz`, `part_000001.npz`, ...,
each a stretch of time. A part is written beside its place and moved there when it is complete.
"""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.simulation.trajectory import FIELDS, State, Trajectory
from sarrus.simulation.trajectory_files import about, check_about, load_npz, reading, save_npz
from sarrus.spatial.arrays import Array

_ABOUT = "about.json"
_MEGABYTES = 32.0  # of a part, about


class Recorder:
    """Takes states one after the other, or trajectories, and keeps every k-th on disk.

    with Recorder("run", model, every=10) as recorder:
        recorder.record(t, q, v, tau=tau)     # one state (n,), or one of every robot (B, n)
        recorder.extend(trajectory)           # or many

    On leaving the `with`, also by an exception or Ctrl-C, what is in memory is written. `Recorder.resume` goes on.
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        model: Model,
        *,
        every: int = 1,
        settings: dict[str, Any] | None = None,
        megabytes: float = _MEGABYTES,
    ) -> None:
        if every < 1:
            raise StateError(f"every is {every}: expected at least 1")
        if not megabytes > 0.0:
            raise StateError(f"megabytes is {megabytes}: expected a positive size of parts")
        self.directory = Path(fspath(directory))
        self.model, self.every = model, every
        self.settings = dict(settings or {}) | {"record_every": every}
        self._bytes = int(megabytes * 1e6)
        self._parts = 0
        self._seen = 0  # states that were offered
        self._last = -np.inf  # when the last of them was
        self._stored = 0  # bytes that wait in memory
        self._times: list[Array] = []
        self._arrays: dict[str, list[Array]] = {}
        if (self.directory / _ABOUT).exists():
            raise StateError(f"{self.directory}: there is a recording already. `Recorder.resume` goes on with it")
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_about()

    @classmethod
    def resume(cls, directory: str | PathLike[str], model: Model, *, megabytes: float = _MEGABYTES) -> Recorder:
        """Go on with a recording, after its last complete part; `final` says from which state."""
        folder = Path(fspath(directory))
        said = _read_about(folder, model)
        recorder = cls.__new__(cls)
        recorder.directory, recorder.model = folder, model
        recorder.every, recorder.settings = _every(said["settings"], folder), said["settings"]
        recorder._bytes, recorder._stored = int(megabytes * 1e6), 0
        recorder._times, recorder._arrays = [], {}
        recorder._parts = len(_parts(folder))
        last = recorder.final
        recorder._seen, recorder._last = (0, -np.inf) if last is None else (1, last.time)
        return recorder

    @property
    def final(self) -> State | None:
        """The last state that is kept, on disk or in memory; None: there is none."""
        if self._times:
            q, v = self._arrays["q"][-1], self._arrays["v"][-1]
            return State(float(self._times[-1][-1]), q[-1], v[-1])
        parts = _parts(self.directory)
        if not parts:
            return None
        _, time, arrays = load_npz(parts[-1])
        return State(float(time[-1]), arrays["q"][..., -1, :], arrays["v"][..., -1, :])

    def record(self, time: float, q: Array, v: Array, **fields: Any) -> None:
        """One state; fields: tau, qdd, forces, residual, iterations, status. One that is there is passed over."""
        if time <= self._last:
            return
        if self._seen % self.every == 0:
            given = {"q": q, "v": v} | fields
            self._store(np.array([time]), {name: np.asarray(x, dtype=float)[None] for name, x in given.items()})
        self._seen, self._last = self._seen + 1, float(time)

    def extend(self, trajectory: Trajectory) -> None:
        """The states of a trajectory that come after those so far: it may begin with the last of them."""
        new = trajectory[int(np.searchsorted(trajectory.time, self._last, side="right")) :]
        kept = new[-self._seen % self.every :: self.every]
        if len(kept):
            axis = 0 if trajectory.batch is None else 1
            self._store(kept.time, {name: np.array(np.moveaxis(x, axis, 0)) for name, x in kept.arrays.items()})
        if len(new):
            self._seen, self._last = self._seen + len(new), float(new.time[-1])

    def _store(self, time: Array, arrays: dict[str, Array]) -> None:
        """Arrays have time first, whether or not there are robots."""
        for name in arrays:
            if name not in FIELDS:
                raise StateError(f"{name!r} is no field of a trajectory. Valid: {', '.join(FIELDS)}")
        if self._arrays and set(arrays) != set(self._arrays):
            raise StateError(f"recorded {', '.join(self._arrays)} so far, now {', '.join(arrays)}")
        for name, x in arrays.items():
            self._arrays.setdefault(name, []).append(x)
            self._stored += x.nbytes
        self._times.append(time)
        if self._stored >= self._bytes:
            self.flush()

    def flush(self) -> None:
        """Write what is in memory as a part."""
        if not self._times:
            return
        joined = {name: np.concatenate(pieces) for name, pieces in self._arrays.items()}
        axis = 0 if joined["q"].ndim == 2 else 1
        arrays = {name: np.moveaxis(x, 0, axis) for name, x in joined.items()}
        part = Trajectory(self.model, np.concatenate(self._times), settings=self.settings, **arrays)  # checks shapes
        file = self.directory / f"part_{self._parts:06d}.npz"
        save_npz(file, self.model, self.settings, part.time, part.arrays)
        self._parts += 1
        self._times, self._arrays, self._stored = [], {}, 0

    def close(self) -> None:
        self.flush()

    def load(self) -> Trajectory:
        """All that was recorded so far."""
        self.flush()
        return load_recording(self.directory, self.model)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.flush()

    def _write_about(self) -> None:
        (self.directory / _ABOUT).write_text(json.dumps(about(self.model, self.settings), indent=1))


def load_recording(directory: str | PathLike[str], model: Model, every: int = 1) -> Trajectory:
    """A recording as one trajectory; every: take only each k-th of its states, so that it fits into memory."""
    folder = Path(fspath(directory))
    said = _read_about(folder, model)
    with reading(folder):
        return _joined_parts(folder, model, every, said["settings"])


def _joined_parts(folder: Path, model: Model, every: int, settings: dict[str, Any]) -> Trajectory:
    times, arrays, seen = [], {}, 0
    for file in _parts(folder):
        _, time, part = load_npz(file)
        chosen = slice(-seen % every, None, every)
        seen += len(time)
        times.append(time[chosen])
        for name, x in part.items():
            axis = x.ndim - (1 if FIELDS[name] is None else 2)
            arrays.setdefault(name, []).append(x[(slice(None),) * axis + (chosen,)])
    if not times:
        return Trajectory(model, np.zeros(0), np.zeros((0, model.nq)), np.zeros((0, model.nv)), settings=settings)
    joined = {}
    for name, pieces in arrays.items():
        joined[name] = np.concatenate(pieces, axis=pieces[0].ndim - (1 if FIELDS[name] is None else 2))
    return Trajectory(model, np.concatenate(times), settings=settings, **joined)


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part_*.npz"))


def _read_about(folder: Path, model: Model) -> dict[str, Any]:
    file = folder / _ABOUT
    if not file.is_file():
        raise StateError(f"{folder}: there is no recording: {_ABOUT} is missing")
    with reading(folder):
        said = json.loads(file.read_text())
    check_about(said, model, folder)
    return said


def _every(settings: dict[str, Any], folder: Path) -> int:
    every = settings.get("record_every")
    if not isinstance(every, int) or every < 1:
        raise StateError(f"{folder}: damaged: record_every is {every!r}, expected a number from 1")
    return every
