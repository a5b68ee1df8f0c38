"""Trajectories in files: NumPy's npz, or Parquet with one row per robot and time and one column per number."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import MissingDependencyError, StateError
from sarrus.model.model import Model
from sarrus.simulation.trajectory import FIELDS, Trajectory
from sarrus.spatial.arrays import Array

FORMAT = 1
SUFFIXES = (".npz", ".parquet")


def about(model: Model, settings: dict[str, Any]) -> dict[str, Any]:
    """What a file says about where its numbers are from."""
    return {"format": FORMAT, "model": model.name, "digest": model.digest, "settings": settings}


def check_about(said: dict[str, Any], model: Model, where: Path) -> None:
    """That a file is one of ours, and was recorded with this very model."""
    if said.get("format") != FORMAT:
        raise StateError(f"{where}: trajectory format {said.get('format')!r}; this version reads {FORMAT}")
    if said["digest"] != model.digest:
        other = "a model of the same name" if said["model"] == model.name else f"model {said['model']!r}"
        raise StateError(
            f"{where}: recorded with {other}, but not this {model.name!r}: bodies, joints, constraints or gravity "
            f"differ (digest {said['digest'][:12]} there, {model.digest[:12]} here)"
        )


def save(trajectory: Trajectory, path: str | PathLike[str]) -> None:
    file = _file(path)
    if file.suffix == ".npz":
        save_npz(file, trajectory.model, trajectory.settings, trajectory.time, trajectory.arrays)
    else:
        _save_parquet(trajectory, file)


def load(path: str | PathLike[str], model: Model) -> Trajectory:
    file = Path(fspath(path))
    if file.is_dir():
        from sarrus.simulation.recording import load_recording

        return load_recording(file, model)
    file = _file(path)
    if not file.is_file():
        raise StateError(f"{file}: there is no such file")
    if file.suffix == ".parquet":
        return _load_parquet(file, model)
    said, time, arrays = load_npz(file)
    check_about(said, model, file)
    return Trajectory(model, time, settings=said["settings"], **arrays)


def _file(path: str | PathLike[str]) -> Path:
    file = Path(fspath(path))
    if file.suffix not in SUFFIXES:
        raise StateError(f"{file}: a trajectory's file ends with {' or '.join(SUFFIXES)}")
    return file


def save_npz(file: Path, model: Model, settings: dict[str, Any], time: Array, arrays: dict[str, Array]) -> None:
    """Written beside its place and moved there when it is complete: a file is whole or not there."""
    unfinished = file.with_name(f".{file.name}.part")
    with unfinished.open("wb") as out:
        np.savez(out, about=np.array(json.dumps(about(model, settings))), time=time, **arrays)  # type: ignore[arg-type]
    unfinished.replace(file)


def load_npz(file: Path) -> tuple[dict[str, Any], Array, dict[str, Array]]:
    try:
        with np.load(file, allow_pickle=False) as content:
            said = json.loads(str(content["about"]))
            return said, content["time"], {name: content[name] for name in FIELDS if name in content}
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise StateError(f"{file}: not a trajectory: {error}") from None


# --- Parquet --------------------------------------------------------------------------------------------


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError("Parquet files need pyarrow: pip install 'sarrus[parquet]'") from None
    return pyarrow


def _columns(model: Model, name: str) -> list[str]:
    """A column per number: `q:knee`, `v:base[2]`, `forces:foot[0]`, `status`."""
    count = FIELDS[name]
    if count is None:
        return [name]
    if count == "n_rows":
        parts = [(c.name, c.size) for c in model.active_constraints]
    else:
        parts = [(b.joint.name, getattr(b.joint.type, count)) for b in model.bodies]
    return [f"{name}:{part}" if n == 1 else f"{name}:{part}[{k}]" for part, n in parts for k in range(n)]


def _save_parquet(trajectory: Trajectory, file: Path) -> None:
    pa = _pyarrow()
    robots = 1 if trajectory.batch is None else trajectory.batch
    columns: dict[str, Array] = {}
    if trajectory.batch is not None:
        columns["robot"] = np.repeat(np.arange(robots), len(trajectory))
    columns["time"] = np.tile(trajectory.time, robots)
    for name, x in trajectory.arrays.items():
        for column, values in zip(names := _columns(trajectory.model, name), x.reshape(-1, len(names)).T, strict=True):
            columns[column] = values
    table = pa.table(columns)
    said = about(trajectory.model, trajectory.settings)
    said |= {"batch": trajectory.batch, "states": len(trajectory), "recorded": list(trajectory.arrays)}
    table = table.replace_schema_metadata({"sarrus": json.dumps(said)})
    pa.parquet.write_table(table, file)


def _load_parquet(file: Path, model: Model) -> Trajectory:
    table = _pyarrow().parquet.read_table(file)
    said = json.loads((table.schema.metadata or {}).get(b"sarrus", b"{}"))
    if not said:
        raise StateError(f"{file}: not a trajectory: it says nothing about a model")
    check_about(said, model, file)
    batch, states = said["batch"], said["states"]
    lead = (states,) if batch is None else (batch, states)
    arrays = {}
    for name in said["recorded"]:
        stacked = [np.asarray(table[column]) for column in _columns(model, name)]
        values = np.stack(stacked, axis=-1) if stacked else np.zeros((table.num_rows, 0))
        arrays[name] = values.reshape(lead if FIELDS[name] is None else (*lead, len(stacked)))
    return Trajectory(model, np.asarray(table["time"])[:states], settings=said["settings"], **arrays)
