"""What is played back: configurations over time, one rollout or several."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.simulation.contact.record import ContactRecord
from sarrus.simulation.trajectory import Trajectory
from sarrus.spatial.arrays import Array

_FRAME = 1.0 / 60.0  # seconds between configurations that come without times


class Recording(NamedTuple):
    """Times (T,), configurations (B, T, nq) and, where they are known, constraint forces (B, T, m).

    Steps after a simulation failed may be not finite: they are not drawn.
    """

    time: Array
    q: Array
    forces: Array | None
    note: str = ""  # what a viewer should know
    contacts: ContactRecord | None = None  # (B, T, slots)

    @property
    def duration(self) -> float:
        return float(self.time[-1] - self.time[0])

    def step_at(self, seconds: float) -> int:
        """The last step that is not later."""
        return int(np.clip(np.searchsorted(self.time, seconds + 1e-9, side="right") - 1, 0, len(self.time) - 1))


def recording_of(model: Model, trajectory: Any) -> Recording:
    """From a `Trajectory`, a file that one was saved to (.npz), a mapping of arrays, or configurations alone."""
    note = ""
    if isinstance(trajectory, (str, PathLike)):
        trajectory, note = _read(model, Path(trajectory))
    time, q, forces = _fields(trajectory)
    if q is None:
        raise StateError("trajectory: it has no q. Expected arrays `time` (T,) and `q` (T, nq) or (B, T, nq)")
    q = np.asarray(q, float)
    if q.ndim not in (2, 3) or q.shape[-1] != model.nq or 0 in q.shape[:-1]:
        expected = f"(T, {model.nq}) or (B, T, {model.nq})"
        raise StateError(f"trajectory: q has shape {q.shape}; {model.name!r} needs {expected}")
    q = q[None] if q.ndim == 2 else q
    steps = q.shape[1]
    time = _FRAME * np.arange(steps) if time is None else np.asarray(time, float)
    time = time[0] if time.ndim == 2 else time
    if time.shape != (steps,) or not np.isfinite(time).all() or np.any(np.diff(time) < 0.0):
        raise StateError(f"trajectory: time must be {steps} numbers that do not decrease, got shape {time.shape}")
    contacts = trajectory.contacts if isinstance(trajectory, Trajectory) else None
    if contacts is not None and contacts.numbers.ndim == 2:  # of one robot
        contacts = contacts[None]
    return Recording(time, q, _forces(model, forces, q.shape[:2]), note, contacts)


def _read(model: Model, path: Path) -> tuple[Any, str]:
    """A file of `Trajectory.save`; or, with a note, of anybody who saved `q` (and `time`) by NumPy."""
    try:
        return Trajectory.load(path, model), ""
    except StateError as error:
        if path.suffix != ".npz" or not path.is_file():
            raise
        return _plain(path), str(error)


def _plain(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name in ("time", "q", "forces")}
    except (OSError, ValueError) as error:
        raise StateError(f"trajectory {path}: it is not an .npz file of arrays: {error}") from None


def _fields(trajectory: Any) -> tuple[Any, Any, Any]:
    if isinstance(trajectory, dict):
        return trajectory.get("time"), trajectory.get("q"), trajectory.get("forces")
    if isinstance(trajectory, (np.ndarray, list)):
        return None, trajectory, None
    return (getattr(trajectory, name, None) for name in ("time", "q", "forces"))  # type: ignore[return-value]


def _forces(model: Model, forces: Any, shape: tuple[int, ...]) -> Array | None:
    """Those of all steps, or none."""
    if forces is None:
        return None
    array = np.asarray(forces, float)
    array = array[None] if array.ndim == 2 else array
    return array if array.shape == (*shape, model.n_rows) and model.n_rows else None
