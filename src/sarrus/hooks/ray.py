"""Batches over a Ray cluster (`pip install "sarrus[ray]"`): `rollout` for simulations, `map` for kernels.

States are cut into pieces, each a task of Ray's, which Ray does again where a worker dies. What a state gives does not
depend on the piece that it is in, so results are the same bits on any number of workers. With `save`, each piece
becomes a Parquet file as soon as it is done, under a name that tells which one it is, by a rename that happens or does
not: what is there is whole. Who comes back with `resume=True` computes only what is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError, UnsupportedError, optional_package
from sarrus.model.arguments import whole_number
from sarrus.simulation.simulation import Simulation
from sarrus.spatial.arrays import Array

__all__ = ["map", "read", "rollout"]

Progress = Callable[[int, int], None]  # (pieces done, pieces in all)
Piece = dict[str, Array]  # arrays by name, one row per state
_RETRIES = 10  # of a piece whose worker died
_WHAT = "piece_{:06d}_of_{:06d}.parquet"

ray: Any = optional_package("ray", "sarrus.ray needs Ray", "'sarrus[ray]'")


def rollout(
    simulation: Simulation,
    q0: Any,
    v0: Any = None,
    tau: Any = None,
    *,
    steps: int | None = None,
    controls: Any = None,
    piece: int = 4096,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Piece:
    """`simulation.rollout` of states (B, n) on all workers: q, v (B, T, n) and what else the simulation records.

    tau, controls  (n,), (T, n) or (B, T, n)
    piece          states per task
    save           a directory, on storage that all workers see, for one Parquet file per piece; then what is returned
                   is read from there
    """
    if callable(controls) or (simulation.controller is not None and callable(simulation.controller)):
        raise UnsupportedError(
            "a Python function does not travel to workers: take sarrus.pd, sarrus.controller, arrays"
        )
    q0, count = np.asarray(q0, float), len(np.asarray(q0))
    if q0.ndim != 2:
        raise StateError(f"q0: expected states (B, {simulation.model.nq}), got shape {q0.shape}")
    given = {"q0": q0, "v0": v0, "tau": tau, "controls": controls}
    per_state = {name for name, x in given.items() if np.ndim(x) == (2 if name in ("q0", "v0") else 3)}
    held = {name: x for name, x in given.items() if name not in per_state}
    many = {name: np.asarray(given[name], float) for name in given if name in per_state}
    work = ray.put((_rolled_out, (simulation, steps, held)))
    return _run(work, many, count, piece, save, resume, progress)


def map(
    kernel: Kernel,
    *arrays: Any,
    piece: int = 65536,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Piece:
    """A kernel on arrays (B, n), in the order of its inputs, on all workers: its outputs, by name."""
    if len(arrays) != len(kernel.input_names):
        raise StateError(f"{kernel.method} takes {', '.join(kernel.input_names)}, got {len(arrays)} arrays")
    many = {name: np.asarray(x, kernel.dtype) for name, x in zip(kernel.input_names, arrays, strict=True)}
    work = ray.put((_mapped, (kernel,)))
    return _run(work, many, len(next(iter(many.values()))), piece, save, resume, progress)


def _rolled_out(arguments: tuple[Any, ...], many: Piece) -> Piece:
    simulation, steps, held = arguments
    chosen = {name: x for name, x in {**held, **many}.items() if x is not None or name == "v0"}
    motion = simulation.rollout(chosen.pop("q0"), chosen.pop("v0", None), steps=steps, **chosen)
    names = dict.fromkeys(("q", "v", *simulation.record))
    return {name: np.asarray(getattr(motion, name)) for name in names if name != "contacts"}


def _mapped(arguments: tuple[Any, ...], many: Piece) -> Piece:
    (kernel,) = arguments
    found = kernel(*(many[name] for name in kernel.input_names), threads=1)
    parts = found if isinstance(found, tuple) else (found,)
    return {name: np.asarray(x) for name, x in zip(kernel.output_names, parts, strict=True)}


def _run(work: Any, many: Piece, count: int, piece: int, save: Any, resume: bool, progress: Progress | None) -> Piece:
    """All pieces, in order. As many are under way as there are workers, and some more."""
    for name, x in many.items():
        if len(x) != count:
            raise StateError(f"{name} has {len(x)} states, others {count}")
    size = whole_number("piece", piece, least=1)
    pieces = -(-count // size)
    directory = None if save is None else _directory(Path(save), count, size, resume)
    missing = [k for k in range(pieces) if directory is None or not (directory / _WHAT.format(k, pieces)).is_file()]
    task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_piece)
    cores = int(ray.cluster_resources().get("CPU", 1))
    results: dict[int, Piece] = {}
    waiting: dict[Any, int] = {}
    todo, done = list(reversed(missing)), pieces - len(missing)
    while todo or waiting:
        while todo and len(waiting) < cores + 2:
            k = todo.pop()
            part = {name: x[k * size : (k + 1) * size] for name, x in many.items()}
            target = None if directory is None else str(directory / _WHAT.format(k, pieces))
            waiting[task.remote(work, part, target)] = k
        (ready,), _ = ray.wait(list(waiting), num_returns=1)
        found = ray.get(ready)
        k, done = waiting.pop(ready), done + 1
        if directory is None:
            results[k] = found
        if progress is not None:
            progress(done, pieces)
    if directory is not None:
        return read(directory)
    return _joined([results[k] for k in range(pieces)])


def _piece(work: tuple[Callable[..., Piece], tuple[Any, ...]], part: Piece, target: str | None) -> Piece | None:
    """What a worker does."""
    function, arguments = work
    found = function(arguments, part)
    if target is None:
        return found
    _write(Path(target), found)
    return None


def _directory(path: Path, count: int, size: int, resume: bool) -> Path:
    """The directory for so many states in pieces of this size; an error if it has something else in it."""
    path.mkdir(parents=True, exist_ok=True)
    what, note = {"states": count, "piece": size}, path / "pieces.json"
    if note.is_file():
        if not resume:
            raise StateError(f"{path} has pieces in it: resume=True goes on with them, or take another directory")
        if (known := json.loads(note.read_text())) != what:
            raise StateError(f"{path} has pieces of {known}, and these are {what}: take another directory")
    note.write_text(json.dumps(what))
    return path


def _write(path: Path, arrays: Piece) -> None:
    """A Parquet file with one row per state; shapes are in its metadata."""
    pa = optional_package("pyarrow", "Parquet files need pyarrow", "'sarrus[ray]'")
    parquet = optional_package("pyarrow.parquet", "Parquet files need pyarrow", "'sarrus[ray]'")
    columns, shapes = {}, {}
    for name, x in arrays.items():
        shapes[name] = [list(x.shape[1:]), x.dtype.name]
        flat = np.ascontiguousarray(x).reshape(len(x), -1)
        columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
    table = pa.table(columns).replace_schema_metadata({"sarrus": json.dumps(shapes)})
    temporary = path.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}.part")
    parquet.write_table(table, temporary)
    os.replace(temporary, path)


def read(directory: str | os.PathLike[str]) -> Piece:
    """All pieces of a directory, in order; an error if some are missing."""
    parquet = optional_package("pyarrow.parquet", "Parquet files need pyarrow", "'sarrus[ray]'")
    path = Path(directory)
    note = path / "pieces.json"
    if not note.is_file():
        raise StateError(f"{path} has no pieces in it")
    known = json.loads(note.read_text())
    pieces = -(-known["states"] // known["piece"])
    files = [path / _WHAT.format(k, pieces) for k in range(pieces)]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise StateError(f"{path}: {len(missing)} of {pieces} pieces are missing ({missing[0]} first): resume=True")
    parts = []
    for file in files:
        table = parquet.read_table(file)
        shapes = json.loads(table.schema.metadata[b"sarrus"])
        parts.append({
            name: np.asarray(table[name].combine_chunks().flatten()).astype(kind).reshape(len(table), *shape)
            for name, (shape, kind) in shapes.items()
        })  # fmt: skip
    return _joined(parts)


def _joined(parts: list[Piece]) -> Piece:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
