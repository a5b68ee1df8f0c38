"""Batches over a Ray cluster (`pip install "sarrus[ray]"`): `rollout` for simulations, `map` for kernels.

States are cut into pieces, each a task of Ray's, which Ray does again where a worker dies. What a state gives does not
depend on the piece that it is in, so results are the same bits on any number of workers. With `save`, each piece
becomes a Parquet file as soon as it is done, under a name that tells which one it is, by a rename that happens or does
not: what is there is whole. Who comes back with `resume=True` computes only what is missing. `dataset` streams the
pieces to Ray Data instead, and `map` takes its datasets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError, UnsupportedError, check_name, optional_package
from sarrus.model.arguments import whole_number
from sarrus.simulation.simulation import Simulation
from sarrus.spatial.arrays import Array

__all__ = ["dataset", "map", "read", "rollout"]

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
    work, many = _rollout_work(simulation, {"q0": q0, "v0": v0, "tau": tau, "controls": controls}, steps)
    return _run(work, many, piece, save, resume, progress)


def dataset(
    simulation: Simulation,
    q0: Any,
    v0: Any = None,
    tau: Any = None,
    *,
    steps: int | None = None,
    controls: Any = None,
    piece: int = 4096,
) -> Any:
    """What `rollout` gives, as a `ray.data.Dataset`: one row per state, in pieces that are computed when they are read.

    Columns are q, v (T, n) and what else the simulation records, and `state`, the number of the state.
    """
    work, many = _rollout_work(simulation, {"q0": q0, "v0": v0, "tau": tau, "controls": controls}, steps)
    size = whole_number("piece", piece, least=1)
    count = _count(many)
    firsts = [{"first": k} for k in range(0, count, size)]
    data = optional_package("ray.data", "sarrus.ray.dataset needs Ray Data", "'ray[data]'")
    return data.from_items(firsts, override_num_blocks=max(1, len(firsts))).map_batches(
        _streamed, batch_size=1, fn_kwargs={"work": work, "many": ray.put(many), "size": size}
    )


def _rollout_work(simulation: Simulation, given: dict[str, Any], steps: int | None) -> tuple[Any, Piece]:
    """What workers do, as they share it; and the arrays of which each piece gets a part."""
    if not isinstance(simulation, Simulation):
        raise UnsupportedError(f"the first argument must be a sarrus.Simulation, got {type(simulation).__name__}")
    if callable(given["controls"]) or (simulation.controller is not None and callable(simulation.controller)):
        raise UnsupportedError(
            "a Python function cannot be sent to workers. Valid: sarrus.pd, sarrus.controller, arrays"
        )
    if np.ndim(given["q0"]) != 2:
        raise StateError(f"q0: expected states (B, {simulation.model.nq}), got shape {np.shape(given['q0'])}")
    per_state = {name for name, x in given.items() if np.ndim(x) == (2 if name in ("q0", "v0") else 3)}
    held = {name: x for name, x in given.items() if name not in per_state}
    many = {name: np.asarray(given[name], float) for name in given if name in per_state}
    return ray.put((_rolled_out, (simulation, steps, held))), many


def map(
    kernel: Kernel,
    *arrays: Any,
    piece: int = 65536,
    save: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Piece:
    """A kernel on arrays (B, n), in the order of its inputs, on all workers: its outputs, by name.

    Or on a `ray.data.Dataset` with columns of its inputs' names: then that dataset with its outputs as columns, too.
    """
    names, work = kernel.input_names, ray.put((_mapped, (kernel,)))
    if len(arrays) == 1 and hasattr(arrays[0], "map_batches"):
        known = arrays[0].columns()
        for name in names:
            check_name(f"{kernel.method} takes {', '.join(names)}. Column of the dataset:", name, known)
        return arrays[0].map_batches(_mapped_columns, batch_size=piece, fn_kwargs={"work": work})
    if len(arrays) != len(names):
        raise StateError(f"{kernel.method} takes {', '.join(names)}, got {len(arrays)} arrays")
    many = {name: np.asarray(x, kernel.dtype) for name, x in zip(names, arrays, strict=True)}
    return _run(work, many, piece, save, resume, progress)


def _streamed(batch: Piece, work: Any, many: Any, size: int) -> Piece:
    """One piece of a dataset."""
    (first,), (function, arguments), arrays = batch["first"], ray.get(work), ray.get(many)
    found = function(arguments, {name: x[first : first + size] for name, x in arrays.items()})
    return {"state": first + np.arange(len(next(iter(found.values())))), **found}


def _mapped_columns(batch: Piece, work: Any) -> Piece:
    _, (kernel,) = ray.get(work)
    many = {name: np.stack(list(batch[name])).astype(kernel.dtype) for name in kernel.input_names}
    return {**batch, **_mapped((kernel,), many)}


def _rolled_out(arguments: tuple[Any, ...], many: Piece) -> Piece:
    simulation, steps, held = arguments
    chosen = {name: x for name, x in {**held, **many}.items() if x is not None or name == "v0"}
    motion = simulation.rollout(chosen.pop("q0"), chosen.pop("v0", None), steps=steps, **chosen)
    if motion.settings["interrupted"]:  # by who cancels what is under way: half a piece is none
        raise KeyboardInterrupt
    names = dict.fromkeys(("q", "v", *simulation.record))
    return {name: np.asarray(getattr(motion, name)) for name in names if name != "contacts"}


def _mapped(arguments: tuple[Any, ...], many: Piece) -> Piece:
    (kernel,) = arguments
    found = kernel(*(many[name] for name in kernel.input_names), threads=1)
    parts = found if isinstance(found, tuple) else (found,)
    return {name: np.asarray(x) for name, x in zip(kernel.output_names, parts, strict=True)}


def _count(many: Piece) -> int:
    """How many states there are."""
    first, count = next((name, len(x)) for name, x in many.items())
    for name, x in many.items():
        if len(x) != count:
            raise StateError(f"{name} has {len(x)} states, {first} has {count}")
    if not count:
        raise StateError(f"{first}: the batch is empty")
    return count


def _run(work: Any, many: Piece, piece: int, save: Any, resume: bool, progress: Progress | None) -> Piece:
    """All pieces, in order. As many are under way as there are workers, and some more."""
    size, count = whole_number("piece", piece, least=1), _count(many)
    pieces = -(-count // size)
    directory = None if save is None else _directory(Path(save), count, size, resume)
    missing = [k for k in range(pieces) if directory is None or not (directory / _WHAT.format(k, pieces)).is_file()]
    task = ray.remote(max_retries=_RETRIES, num_cpus=1)(_piece)
    cores = int(ray.cluster_resources().get("CPU", 1))
    results: dict[int, Piece] = {}
    waiting: dict[Any, int] = {}
    todo, done = list(reversed(missing)), pieces - len(missing)
    try:
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
    finally:  # after Ctrl-C, or an error: workers need not go on
        for left in waiting:
            ray.cancel(left)
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
            raise StateError(
                f"{path} already contains results: pass resume=True to continue them, or use another directory"
            )
        if (known := json.loads(note.read_text())) != what:
            raise StateError(f"{path} has pieces of {known}, and these are {what}: use another directory")
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
        raise StateError(f"{path} contains no results")
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
