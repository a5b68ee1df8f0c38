"""Long trajectories, streamed to disk: memory stays bounded, and what was written survives an interruption."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.simulation import trajectory_files as files
from sarrus.simulation.trajectory import State, Trajectory
from sarrus.simulation.trajectory_files import ABOUT, Contents
from sarrus.spatial.arrays import Array

_MEGABYTES = 32.0  # of a part, about


class Recorder:
    """Takes single states or trajectories, and writes every k-th state to disk.

    with Recorder("run", model, every=10) as recorder:
        recorder.record(t, q, v, tau=tau)     # one state (n,), or one of every robot (B, n)
        recorder.extend(trajectory)           # or many

    When the `with` block ends, even by an exception or Ctrl-C, what is in memory is written. `Recorder.resume`
    continues.

    directory  where files are written; created if it does not exist
    model      whose states are recorded
    every      keep one state out of this many
    settings   how the trajectory was made: numbers, strings and lists, stored with it
    megabytes  memory to use before a part is written

    >>> robot = sarrus.zoo.chain(2)
    >>> with sarrus.Recorder("run", robot) as recorder:
    ...     recorder.record(0.0, np.zeros(2), np.zeros(2))
    >>> len(sarrus.Trajectory.load("run", robot).time)
    1
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
        folder = Path(fspath(directory))
        if every < 1:
            raise StateError(f"every is {every}: expected at least 1")
        if (folder / ABOUT).exists():
            raise StateError(f"{folder}: there is already a recording here. `Recorder.resume` continues it")
        self._begin(folder, model, dict(settings or {}) | {"record_every": every}, megabytes)
        folder.mkdir(parents=True, exist_ok=True)
        self._describe()

    @classmethod
    def resume(cls, directory: str | PathLike[str], model: Model, *, megabytes: float = _MEGABYTES) -> Recorder:
        """Go on with a recording, after its last complete part; `final` says from which state.

        directory  of the recording
        model      the one that it was recorded with
        megabytes  memory to use before a part is written
        returns    a `Recorder`
        errors     `StateError`: no recording is there, a damaged one, or one of another model
        """
        folder = Path(fspath(directory))
        settings = files.recording_settings(folder, model, embedded_alike=True)
        every = settings.get("record_every")
        if not isinstance(every, int) or every < 1:
            raise StateError(f"{folder}: damaged: record_every is {every!r}, expected a number from 1")
        recorder = cls.__new__(cls)
        recorder._begin(folder, model, settings, megabytes)
        if (last := recorder.final) is not None:
            recorder._seen, recorder._last = 1, last.time
            recorder._like = files.read(files.recording_parts(folder)[0], model).part(slice(0, 1))
        return recorder

    def _begin(self, folder: Path, model: Model, settings: dict[str, Any], megabytes: float) -> None:
        if not megabytes > 0.0:
            raise StateError(f"megabytes is {megabytes}: expected a positive size of parts")
        self.directory, self.model, self.settings = folder, model, settings
        self.every: int = settings["record_every"]
        self._bytes = int(megabytes * 1e6)
        self._seen = 0  # states that were offered
        self._last = -np.inf  # when the last of them was
        self._pieces: list[Contents] = []  # that wait in memory
        self._stored = 0  # bytes of them
        self._like: Contents | None = None  # the first state that is kept

    @property
    def final(self) -> State | None:
        """The last state that is kept, on disk or in memory; None: there is none."""
        parts = files.recording_parts(self.directory)
        if not self._pieces and not parts:
            return None
        last = self._pieces[-1] if self._pieces else files.read(parts[-1], self.model)
        return State(float(last.time[-1]), last.arrays["q"][..., -1, :], last.arrays["v"][..., -1, :])

    def record(self, time: float, q: Array, v: Array, **fields: Any) -> None:
        """One state of one robot, or of every robot of a batch. One that is there already is passed over.

        time    seconds
        q, v    (nq,) and (nv,), or (B, nq) and (B, nv)
        fields  tau, qdd, forces, residual, iterations, status
        errors  `StateError`: arrays of the wrong shape, or other fields than before
        """
        axis = np.ndim(q) - 1
        arrays: dict[str, Any] = {name: np.expand_dims(x, axis) for name, x in {"q": q, "v": v, **fields}.items()}
        self.extend(Trajectory(self.model, [time], settings=self.settings, **arrays))

    def extend(self, trajectory: Trajectory) -> None:
        """The states of a trajectory that come after those so far: it may begin with the last of them.

        trajectory  with the same fields as before
        errors      `StateError`: other fields than before
        """
        new = trajectory[int(np.searchsorted(trajectory.time, self._last, side="right")) :]
        kept = new[-self._seen % self.every :: self.every]
        if len(kept):
            self._store(kept)
        if len(new):
            self._seen, self._last = self._seen + len(new), float(new.time[-1])

    def _store(self, trajectory: Trajectory) -> None:
        arrays = {name: x.copy() for name, x in trajectory.arrays.items()}  # which somebody may go on to change
        if self._like is None:
            self._name_contacts(trajectory)
            self._like = trajectory.contents.part(slice(0, 1))
        elif set(arrays) != set(self._like.arrays):
            raise StateError(f"recorded {', '.join(self._like.arrays)} so far, now {', '.join(arrays)}")
        self._like._replace(settings=self.settings).check_continued_by(trajectory.contents)
        self._pieces.append(Contents(self.settings, trajectory.time.copy(), arrays))
        self._stored += sum(x.nbytes for x in arrays.values())
        if self._stored >= self._bytes:
            self.flush()

    def _name_contacts(self, trajectory: Trajectory) -> None:
        """Keep between which geometries contacts are: their numbers say nothing else."""
        names = trajectory.settings.get("contact_names")
        if "contacts" in trajectory.arrays and names != self.settings.get("contact_names"):
            self.settings = self.settings | {"contact_names": names}
            self._describe()

    def _describe(self) -> None:
        """Write what is said of all parts."""
        (self.directory / ABOUT).write_text(json.dumps(files.metadata(self.model, self.settings), indent=1))

    def flush(self) -> None:
        """Write what is in memory as a part."""
        if self._pieces:
            number = len(files.recording_parts(self.directory))
            files.write(self.directory / f"part_{number:06d}.npz", self.model, Contents.joined(self._pieces))
            self._pieces, self._stored = [], 0

    def close(self) -> None:
        """Write what is in memory, as the end of a `with` block does."""
        self.flush()

    def load(self) -> Trajectory:
        """All that was recorded so far."""
        self.flush()
        return load_recording(self.directory, self.model)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.flush()


def load_recording(directory: str | PathLike[str], model: Model, every: int = 1) -> Trajectory:
    """A recording as one trajectory; every: take only each k-th of its states, so that it fits into memory."""
    folder = Path(fspath(directory))
    with files.errors_that_name(folder):
        return Trajectory.of(model, files.read_recording(folder, model, every))
