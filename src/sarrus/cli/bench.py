"""`sarrus bench`: validate, then time, Sarrus and its peers on the same states.

Timing that can be trusted on a noisy machine: all contestants in one run, interleaved, medians of ratios.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from statistics import median
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

import sarrus
from sarrus.cli import arguments
from sarrus.cli.console import print_plain, print_table, table
from sarrus.cli.peer import Peer
from sarrus.cli.peers import peers
from sarrus.codegen.runtime.compile import compile as compile_kernel
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.runtime.peak import measure_peak
from sarrus.codegen.runtime.threads import available_cores
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.registry.table import find
from sarrus.simulation.random_states import random_state

_DISAGREEMENT = 1e-9
_DIFFERENT = 64  # states, where each has to be projected onto constraints; a batch repeats them
Case = Callable[[], object]


def bench(
    robot: arguments.Robot,
    method: arguments.Method = "aba",
    batch: Annotated[int, typer.Option(help="States per batch.", min=1)] = 4096,
    rounds: Annotated[int, typer.Option(help="Rounds of interleaved timing.", min=1)] = 9,
    frame: arguments.FrameName = None,
    floating_base: arguments.FloatingBase = None,
    extended: arguments.Extended = None,
    allow_outside: arguments.AllowOutside = False,
    as_json: arguments.AsJson = False,
) -> None:
    """Microseconds per state: single calls and batches, one and all threads, float32, and peers where they are
    installed.

    For example:

        [bold]sarrus bench example:go1 --floating-base[/bold]
        [bold]sarrus bench zoo:stewart --method lcaba --json[/bold]

    Every contestant is validated first; all are timed in one run, interleaved, and ratios are medians within rounds.
    """
    console = Console()
    model = arguments.robot_for(robot, floating_base, method, extended, allow_outside)
    with Progress(transient=True, disable=as_json) as progress:
        task = progress.add_task("compiling", total=rounds + 3)
        report = measure(
            model, method, batch, rounds, arguments.frame_option(method, model, frame),
            progress=lambda label=None: progress.update(task, advance=1, description=label or "timing"),
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _show(console, report)


def measure(
    model: Model,
    method: str,
    batch: int,
    rounds: int,
    options: dict[str, Any],
    progress: Any = lambda *_: None,
    float32: bool = True,
) -> dict[str, Any]:
    """Everything that `sarrus bench` prints, as data."""
    kernel = compile_kernel(model, method, **options)
    progress("compiling float32")
    arrays = random_inputs(model, kernel, batch)
    progress("validating")
    first = [np.ascontiguousarray(x[0]) for x in arrays]
    called = find(method)(model, **dict(zip(kernel.input_names, first, strict=True)), **options)
    _agree("the compiled kernel", _flat(kernel(*first)), _flat(called))
    agreeing: list[Peer] = []
    notes = arguments.ignored_by(method, model)
    own = kernel(*first)
    named = dict(zip(find(method).output_names, own if isinstance(own, tuple) else (own,), strict=True))
    for peer in peers(model, method, arrays, options):
        if isinstance(peer, str):
            notes.append(peer)
            continue
        try:
            for name, value in peer.first.items():
                _agree(f"{peer.name} ({name})", value, np.asarray(named[name]), peer.agreement)
            agreeing.append(peer)
        except UnsupportedError as error:
            if peer.must_agree:
                raise
            notes.append("; ".join((str(error), *peer.doubts)))

    out = empty_outputs(kernel, batch)
    cores = available_cores()
    cases: dict[str, tuple[Case, int]] = {  # what is timed, and how many states it computes
        "Sarrus, single call": (lambda: kernel(*first), 1),
        "Sarrus, batch, 1 thread": (lambda: kernel(*arrays, out=out, threads=1), batch),
        f"Sarrus, batch, {cores} threads": (lambda: kernel(*arrays, out=out, threads=cores), batch),
    }
    if float32:
        kernel32 = compile_kernel(model, method, dtype=np.float32, **options)
        arrays32, out32 = [x.astype(np.float32) for x in arrays], empty_outputs(kernel32, batch)
        cases["Sarrus float32, batch, 1 thread"] = (lambda: kernel32(*arrays32, out=out32, threads=1)), batch
    for peer in agreeing:
        cases[f"{peer.name}, single call"] = peer.single, 1
        if peer.batch is not None:
            cases[f"{peer.name}, batch, 1 thread"] = peer.batch, batch
    progress("timing")
    times = interleaved({name: case for name, (case, _) in cases.items()}, rounds, progress=progress)
    per_state = {name: Timing([s / cases[name][1] for s in timing.seconds]) for name, timing in times.items()}
    return _report(model, kernel, per_state, notes, batch)


def _report(model: Model, kernel: Kernel, times: dict[str, Timing], notes: list[str], batch: int) -> dict[str, Any]:
    """Of times per state."""
    own = [name for name in times if "batch" in name and "Sarrus" in name]
    peak = {name: measure_peak(32 if "float32" in name else 64) for name in own}
    rows = []
    for name, timing in times.items():
        reference = times["Sarrus, single call" if "single" in name else "Sarrus, batch, 1 thread"]
        rate = kernel.op_count.total / timing.median
        rows.append({
            "name": name, "us_per_state": 1e6 * timing.median, "best_us_per_state": 1e6 * timing.best,
            "times_sarrus": ratio(timing, reference), "gflops": rate / 1e9 if "Sarrus" in name else None,
            "fraction_of_peak": rate / peak[name] if name in peak and "1 thread" in name else None,
        })  # fmt: skip
    return {
        "robot": model.name, "method": kernel.method, "nv": model.nv, "operations": kernel.op_count.total,
        "batch": batch, "lanes": kernel.native.lanes, "compile_seconds": kernel.native.compile_seconds,
        "from_cache": kernel.native.from_cache, "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(), "sarrus": sarrus.__version__, "rows": rows, "notes": notes,
    }  # fmt: skip


def random_inputs(model: Model, kernel: Kernel, batch: int, seed: int = 0) -> list[np.ndarray]:
    """Random arrays for a kernel's inputs: states within limits, standard normal elsewhere."""
    rng = np.random.default_rng(seed)
    count = min(batch, _DIFFERENT) if model.active_constraints else batch
    q, v = (np.resize(x, (batch, x.shape[1])) for x in random_state(model, rng, count))
    known = {"q": q, "v": v}
    return [known.get(p.name, rng.normal(size=(batch, *p.shape))) for p in kernel.tape.inputs]


def empty_outputs(kernel: Kernel, batch: int) -> tuple[np.ndarray, ...]:
    """What a kernel may write the results of so many states into."""
    return tuple(np.empty((batch, *p.shape), kernel.dtype) for p in kernel.tape.outputs)


def _flat(result: Any) -> np.ndarray:
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(x, dtype=float)) for x in parts])


def _agree(name: str, got: np.ndarray, expected: np.ndarray, within: float = _DISAGREEMENT) -> None:
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0  # zeros have no size, and inputs are of order one
    error = float(np.abs(got - expected).max(initial=0.0)) / scale
    if not error <= within:
        raise UnsupportedError(f"{name} disagrees with Sarrus by {error:.1e} (relative), so it is not timed")


def _show(console: Console, report: dict[str, Any]) -> None:
    origin = "loaded from the cache" if report["from_cache"] else "compiled"
    console.print(
        f"[bold]{report['method']}[/bold] of [bold]{report['robot']}[/bold], {report['nv']} dof: "
        f"{report['operations']:,} operations, {report['lanes']} lanes, {origin} in {report['compile_seconds']:.2f} s"
    )
    columns = ("us / state", "best", "x Sarrus", "Gop/s", "of peak")
    rows = [
        (
            row["name"], f"{row['us_per_state']:.3f}", f"{row['best_us_per_state']:.3f}", f"{row['times_sarrus']:.2f}",
            "" if row["gflops"] is None else f"{row['gflops']:.1f}",
            "" if row["fraction_of_peak"] is None else f"{100 * row['fraction_of_peak']:.0f} %",
        )
        for row in report["rows"]
    ]  # fmt: skip
    print_table(console, table(("", *columns), rows, numbers=columns))
    print_plain(
        console,
        "us / state: median of all rounds; best: the fastest round. They differ widely if the machine is busy.\n"
        f"x Sarrus: time relative to Sarrus' single call or to its batch of {report['batch']} on one thread, median of "
        "the ratios within rounds.",
    )
    for note in report["notes"]:
        print_plain(console, note)


class Timing(NamedTuple):
    """Seconds per call in each round."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def best(self) -> float:
        """What the machine does when nothing else is on its cores."""
        return min(self.seconds)


def interleaved(
    cases: dict[str, Case], rounds: int = 9, round_seconds: float = 0.05, progress: Callable[[], object] | None = None
) -> dict[str, Timing]:
    """Time every case in every round, so that a slow moment of the machine hits all of them."""
    repeats: dict[str, int] = {}
    for name, case in cases.items():
        case()  # warm up: page in, allocate
        start = time.perf_counter()
        case()
        repeats[name] = max(1, round(round_seconds / max(time.perf_counter() - start, 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            n = repeats[name]
            start = time.perf_counter()
            for _ in range(n):
                case()
            seconds[name].append((time.perf_counter() - start) / n)
        if progress is not None:
            progress()
    return {name: Timing(values) for name, values in seconds.items()}


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster: the median over rounds of the ratio within the round."""
    return median(a / b for a, b in zip(slow.seconds, fast.seconds, strict=True))
