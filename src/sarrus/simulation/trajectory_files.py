"""Trajectories in files: NumPy's npz, or Parquet with one row per robot and time and one column per number."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import MissingDependencyError, SarrusError, StateError
from sarrus.model.model import Model
from sarrus.simulation.trajectory import FIELDS, Trajectory
from sarrus.spatial.arrays import Array

FORMAT = 1
SUFFIXES = (".npz", ".parquet")
_EXPANSION = 200  # numbers of a trajectory do not compress better than that


def about(model: Model, settings: dict[str, Any]) -> dict[str, Any]:
    """What a file says about where its numbers are from."""
    return {"format": FORMAT, "model": model.name, "digest": model.digest, "settings": settings}


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """A damaged file raises whatever its library happens to trip over: it leaves as words, with the cause attached."""
    try:
        yield
    except SarrusError as error:
        if str(file) in str(error):
            raise
        raise type(error)(f"{file}: {error}") from error
    except Exception as error:
        raise StateError(f"{file}: not a trajectory, or a damaged one: {type(error).__name__}: {error}") from error


def check_about(said: Any, model: Model, where: Path) -> None:
    """That a file is one of ours, and was recorded with this very model."""
    if not isinstance(said, dict):
        raise StateError(f"{where}: not a trajectory: it says nothing about a model")
    if said.get("format") != FORMAT:
        raise StateError(f"{where}: trajectory format {said.get('format')!r}; this version reads {FORMAT}")
    for key, kind in (("model", str), ("digest", str), ("settings", dict)):
        if not isinstance(said.get(key), kind):
            raise StateError(f"{where}: damaged: {key!r} is {said.get(key)!r}, expected a {kind.__name__}")
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
    if "\0" not in str(file) and file.is_dir():
        from sarrus.simulation.recording import load_recording

        return load_recording(file, model)
    file = _file(path)
    if not file.is_file():
        raise StateError(f"{file}: there is no such file" if not file.exists() else f"{file}: not a regular file")
    with reading(file):
        if file.suffix == ".parquet":
            return _load_parquet(file, model)
        said, time, arrays = load_npz(file)
        check_about(said, model, file)
        return Trajectory(model, time, settings=said["settings"], **arrays)


def _file(path: str | PathLike[str]) -> Path:
    file = Path(fspath(path))
    if "\0" in str(file):
        raise StateError(f"{str(file)!r} is no path: it contains a NUL character")
    if file.suffix not in SUFFIXES:
        raise StateError(f"{file}: a trajectory's file ends with {' or '.join(SUFFIXES)}")
    return file


def save_npz(file: Path, model: Model, settings: dict[str, Any], time: Array, arrays: dict[str, Array]) -> None:
    """Written beside its place and moved there when it is complete: a file is whole or not there."""
    unfinished = file.with_name(f".{file.name}.part")
    with unfinished.open("wb") as out:
        np.savez(out, about=np.array(json.dumps(about(model, settings))), time=time, **arrays)  # type: ignore[arg-type]
    unfinished.replace(file)


def load_npz(file: Path) -> tuple[Any, Array, dict[str, Array]]:
    """What a file says about itself, its times and its arrays. Nothing is unpacked that is larger than it can be."""
    with reading(file), zipfile.ZipFile(file) as archive:
        with file.open("rb") as raw:
            if raw.read(2) != b"PK":  # an archive may follow anything; a trajectory does not
                raise StateError(f"{file}: damaged: it does not begin as an archive does")
        names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(names) < len(archive.infolist()):
            raise StateError(f"{file}: damaged: it has an array twice")
        for name in ("about", "time", "q", "v"):
            if name not in names:
                raise StateError(
                    f"{file}: not a trajectory: it has no {name!r}. It has: {', '.join(names) or 'nothing'}"
                )
        unpacked, packed = sum(info.file_size for info in names.values()), file.stat().st_size
        if unpacked > _EXPANSION * packed:
            raise StateError(f"{file}: damaged: {packed:,} bytes that claim to be {unpacked:,}")
        said = json.loads(str(_array(archive, names["about"], file, "U")))
        arrays = {name: _array(archive, names[name], file, "fiub") for name in FIELDS if name in names}
        return said, _array(archive, names["time"], file, "fiub"), arrays


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: Path, kinds: str) -> Array:
    """One array of numbers, or of text: its header is looked at before its size is believed."""
    what = member.filename.removesuffix(".npy")
    with archive.open(member) as content:
        version = np.lib.format.read_magic(content)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise StateError(f"{file}: {what!r} has version {version} of NumPy's format, expected 1.0 or 2.0")
        shape, _, dtype = read(content)
        if dtype.kind not in kinds:
            raise StateError(f"{file}: {what!r} holds {dtype}, expected {'text' if kinds == 'U' else 'numbers'}")
        size = prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size > member.file_size:
            raise StateError(f"{file}: damaged: {what!r} of shape {shape} in {member.file_size:,} bytes")
    with archive.open(member) as content:
        return np.lib.format.read_array(content, allow_pickle=False)


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
    check_about(json.loads((table.schema.metadata or {}).get(b"sarrus", b"null")), model, file)
    said = json.loads(table.schema.metadata[b"sarrus"])
    batch, states = said["batch"], said["states"]
    lead = (states,) if batch is None else (batch, states)
    arrays = {}
    for name in said["recorded"]:
        stacked = [np.asarray(table[column]) for column in _columns(model, name)]
        values = np.stack(stacked, axis=-1) if stacked else np.zeros((table.num_rows, 0))
        arrays[name] = values.reshape(lead if FIELDS[name] is None else (*lead, len(stacked)))
    return Trajectory(model, np.asarray(table["time"])[:states], settings=said["settings"], **arrays)
