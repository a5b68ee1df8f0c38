"""Trajectories in files: NumPy's npz; Parquet with one row per robot and time and one column per number; recordings.

A recording is a directory: `about.json` (model, settings) and `part_000000.npz`, `part_000001.npz`, ..., each a stretch
of time. A part is written beside its place and moved there when it is complete.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import SarrusError, StateError, optional_package
from sarrus.model.model import Model
from sarrus.simulation.contact.pair_names import differing_pairs, same_pairs
from sarrus.simulation.contact.record import slot_count
from sarrus.spatial.arrays import Array

SUFFIXES = (".npz", ".parquet")
ABOUT = "about.json"
# Every array of a trajectory: what its last dimension counts. (None: it has none; "": anything.)
FIELDS = {
    "q": "nq", "v": "nv", "tau": "nv", "qdd": "nv", "forces": "n_rows", "residual": "n_rows", "iterations": None,
    "status": None, "contacts": "",
}  # fmt: skip
_FORMAT = 1
_EXPANSION = 200  # numbers of a trajectory do not compress better than that


class Contents(NamedTuple):
    """What is in a file: settings, times (T,) and arrays (T, ...) or (B, T, ...) by name."""

    settings: dict[str, Any]
    time: Array
    arrays: dict[str, Array]

    @property
    def _axis(self) -> int:
        """The dimension that counts times."""
        return self.arrays["q"].ndim - 2

    def part(self, which: slice) -> Contents:
        """Some of the times."""
        arrays = {name: x[(slice(None),) * self._axis + (which,)] for name, x in self.arrays.items()}
        return Contents(self.settings, self.time[which], arrays)

    def check_continued_by(self, other: Contents) -> None:
        """Raise an error in words unless the arrays of both have the same names and mean the same."""
        if set(other.arrays) != set(self.arrays):
            raise StateError(f"recorded {', '.join(self.arrays)}; the other {', '.join(other.arrays)}")
        if "contacts" not in self.arrays:
            return
        first, second = (x.settings.get("contact_names") for x in (self, other))
        if not same_pairs(first, second):
            raise StateError(f"contacts of other pairs: {differing_pairs(first, second)}")
        sizes = [slot_count(x.arrays["contacts"]) for x in (self, other)]
        if sizes[0] != sizes[1]:
            raise StateError(
                f"contacts in {sizes[0]} slots, then in {sizes[1]}: give both simulations as many (`slots`)"
            )

    @staticmethod
    def joined(parts: Sequence[Contents]) -> Contents:
        """One after the other; settings are those of the first."""
        first = parts[0]
        arrays = {name: np.concatenate([x.arrays[name] for x in parts], axis=first._axis) for name in first.arrays}
        return Contents(first.settings, np.concatenate([x.time for x in parts]), arrays)


def metadata(model: Model, settings: dict[str, Any]) -> dict[str, Any]:
    """What a file says about where its numbers are from."""
    about = {"format": _FORMAT, "model": model.name, "digest": model.digest, "settings": settings}
    return about if model.embedding is None else about | {"spanning": model.spanning.digest}


def _checked(found: Any, model: Model, embedded_alike: bool = False) -> dict[str, Any]:
    """The metadata, if the file is one of ours and was recorded with this robot; if asked for, as it is embedded."""
    if not isinstance(found, dict):
        raise StateError("not a trajectory: it does not name a model")
    if found.get("format") != _FORMAT:
        raise StateError(f"trajectory format {found.get('format')!r}; this version reads {_FORMAT}")
    for key, kind in (("model", str), ("digest", str), ("settings", dict)):
        if not isinstance(found.get(key), kind):
            raise StateError(f"damaged: {key!r} is {found.get(key)!r}, expected a {kind.__name__}")
    same = found["digest"] == model.digest
    if not same and (embedded_alike or found.get("spanning", found["digest"]) != model.spanning.digest):
        other = "a model of the same name" if found["model"] == model.name else f"model {found['model']!r}"
        raise StateError(
            f"recorded with {other}, but not this {model.name!r}: bodies, joints, constraints, gravity or what is "
            f"embedded differ (digest {found['digest'][:12]} there, {model.digest[:12]} here)"
        )
    return found


def _fields(about: dict[str, Any], model: Model) -> list[str]:
    """Those that mean something for this model: rows of constraints only if the same ones are embedded."""
    return [name for name, count in FIELDS.items() if count != "n_rows" or about["digest"] == model.digest]


@contextmanager
def errors_that_name(file: str | PathLike[str]) -> Iterator[None]:
    """Whatever a library raises over a damaged file becomes an error in words that names the file."""
    try:
        yield
    except SarrusError as error:
        if fspath(file) in str(error):
            raise
        raise type(error)(f"{file}: {error}") from error
    except Exception as error:
        raise StateError(f"{file}: not a trajectory, or a damaged one: {type(error).__name__}: {error}") from error


def write(path: str | PathLike[str], model: Model, contents: Contents) -> None:
    """Write a file of the kind that its name says."""
    file = _file(path)
    if file.suffix == ".parquet":
        _write_parquet(file, model, contents)
    else:  # beside its place, and moved there when it is complete: a file is whole or not there
        unfinished = file.with_name(f".{file.name}.part")
        about = np.array(json.dumps(metadata(model, contents.settings)))
        with unfinished.open("wb") as out:
            np.savez(out, about=about, time=contents.time, **contents.arrays)  # type: ignore[arg-type]
        unfinished.replace(file)


def read(path: str | PathLike[str], model: Model) -> Contents:
    """Read a file, or a recording."""
    if "\0" not in fspath(path) and Path(path).is_dir():
        return read_recording(Path(path), model)
    file = _file(path)
    if not file.is_file():
        raise StateError(f"{file}: there is no such file" if not file.exists() else f"{file}: not a regular file")
    with errors_that_name(file):
        return _read_parquet(file, model) if file.suffix == ".parquet" else _read_npz(file, model)


def _file(path: str | PathLike[str]) -> Path:
    file = Path(fspath(path))
    if "\0" in str(file):
        raise StateError(f"{str(file)!r} is not a path: it contains a NUL character")
    if file.suffix not in SUFFIXES:
        raise StateError(f"{file}: a trajectory's file ends with {' or '.join(SUFFIXES)}")
    return file


def read_recording(folder: Path, model: Model, every: int = 1) -> Contents:
    """Read all parts of a recording; every: only each k-th of its states, so that it fits into memory."""
    settings, parts, count = recording_settings(folder, model), [], 0
    for file in recording_parts(folder):
        part = read(file, model)
        parts.append(part.part(slice(-count % every, None, every)))
        count += len(part.time)
    if not parts:
        return Contents(settings, np.zeros(0), {"q": np.zeros((0, model.nq)), "v": np.zeros((0, model.nv))})
    with errors_that_name(folder):
        return Contents.joined(parts)._replace(settings=settings)


def recording_settings(folder: Path, model: Model, embedded_alike: bool = False) -> dict[str, Any]:
    """The settings of a recording, if it is one of this robot; and, if asked for, as it is embedded."""
    file = folder / ABOUT
    if not file.is_file():
        raise StateError(f"{folder}: there is no recording here: {ABOUT} is missing")
    with errors_that_name(folder):
        return _checked(json.loads(file.read_text()), model, embedded_alike)["settings"]


def recording_parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part_*.npz"))


# --- npz ------------------------------------------------------------------------------------------------


def _read_npz(file: Path, model: Model) -> Contents:
    """Nothing is unpacked that is larger than it can be."""
    with zipfile.ZipFile(file) as archive:
        with file.open("rb") as raw:
            if raw.read(2) != b"PK":  # an archive may follow anything; a trajectory does not
                raise StateError("damaged: it does not begin as an archive does")
        names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(names) < len(archive.infolist()):
            raise StateError("damaged: it has an array twice")
        for name in ("about", "time", "q", "v"):
            if name not in names:
                raise StateError(f"not a trajectory: it has no {name!r}. It has: {', '.join(names) or 'nothing'}")
        unpacked, packed = sum(info.file_size for info in names.values()), file.stat().st_size
        if unpacked > _EXPANSION * packed:
            raise StateError(f"damaged: {packed:,} bytes that claim to be {unpacked:,}")
        about = json.loads(str(_array(archive, names["about"], "U")))
        fields = [name for name in _fields(_checked(about, model), model) if name in names]
        arrays = {name: _array(archive, names[name], "fiub") for name in fields}
        time = _array(archive, names["time"], "fiub")
    return Contents(about["settings"], time, arrays)


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, kinds: str) -> Array:
    """One array of numbers, or of text: its header is looked at before its size is believed."""
    what = member.filename.removesuffix(".npy")
    with archive.open(member) as content:
        version = np.lib.format.read_magic(content)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise StateError(f"{what!r} has version {version} of NumPy's format, expected 1.0 or 2.0")
        shape, _, dtype = read(content)
        if dtype.kind not in kinds:
            raise StateError(f"{what!r} holds {dtype}, expected {'text' if kinds == 'U' else 'numbers'}")
        size = prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size > member.file_size:
            raise StateError(f"damaged: {what!r} of shape {shape} in {member.file_size:,} bytes")
    with archive.open(member) as content:
        return np.lib.format.read_array(content, allow_pickle=False)


# --- Parquet --------------------------------------------------------------------------------------------


def _pyarrow(module: str) -> Any:
    return optional_package(module, "Parquet files need pyarrow", "'sarrus[parquet]'")


def _columns(model: Model, name: str, width: int) -> list[str]:
    """A column per number: `q:knee`, `v:base[2]`, `forces:foot[0]`, `contacts[7]`, `status`. width: of contacts."""
    count = FIELDS[name]
    if count is None:
        return [name]
    if not count:
        return [f"{name}[{k}]" for k in range(width)]
    if count == "n_rows":
        parts = [(c.name, c.size) for c in model.active_constraints]
    else:
        parts = [(b.joint.name, getattr(b.joint.type, count)) for b in model.bodies]
    return [f"{name}:{part}" if n == 1 else f"{name}:{part}[{k}]" for part, n in parts for k in range(n)]


def _write_parquet(file: Path, model: Model, contents: Contents) -> None:
    arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    q, states = contents.arrays["q"], len(contents.time)
    batch = None if q.ndim == 2 else len(q)
    columns: dict[str, Array] = {} if batch is None else {"robot": np.repeat(np.arange(batch), states)}
    columns["time"] = np.tile(contents.time, 1 if batch is None else batch)
    for name, x in contents.arrays.items():
        names = _columns(model, name, x.shape[-1])
        # Its columns may be none: a number of rows that is left to NumPy would be 0 / 0.
        rows = states if batch is None else batch * states
        columns |= dict(zip(names, x.reshape(rows, len(names)).T, strict=True))
    about = metadata(model, contents.settings)
    about |= {"batch": batch, "states": states, "recorded": list(contents.arrays)}
    if "contacts" in contents.arrays:
        about["contacts"] = contents.arrays["contacts"].shape[-1]
    parquet.write_table(arrow.table(columns).replace_schema_metadata({"sarrus": json.dumps(about)}), file)


def _read_parquet(file: Path, model: Model) -> Contents:
    table = _pyarrow("pyarrow.parquet").read_table(file)
    about = _checked(json.loads((table.schema.metadata or {}).get(b"sarrus", b"null")), model)
    lead = (about["states"],) if about["batch"] is None else (about["batch"], about["states"])
    arrays = {}
    for name in [name for name in about["recorded"] if name in _fields(about, model)]:
        stacked = [np.asarray(table[column]) for column in _columns(model, name, about.get("contacts", 0))]
        values = np.stack(stacked, axis=-1) if stacked else np.zeros((table.num_rows, 0))
        arrays[name] = values.reshape(lead if FIELDS[name] is None else (*lead, len(stacked)))
    return Contents(about["settings"], np.asarray(table["time"])[: about["states"]], arrays)
