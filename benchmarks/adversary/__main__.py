"""`python -m benchmarks.adversary`: try to break Sarrus, and say how often that went."""

from __future__ import annotations

import argparse
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.adversary import dynamics
from benchmarks.adversary.mechanisms import FAMILIES
from benchmarks.adversary.reproduce import reproduce
from benchmarks.adversary.states import CLASSES
from benchmarks.adversary.tally import Tally


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that worker processes are ended, too
    console = Console(width=None if sys.stdout.isatty() else 170)
    if arguments.reproduce:
        family, seed, method = arguments.reproduce
        np.set_printoptions(linewidth=160)
        said = reproduce(family, int(seed), method, arguments.kind, arguments.index, arguments.per_class)
        for name, value in said.items():
            console.print(f"{name:26} {value}", highlight=False, markup=False)
        return 0
    bad = 0
    with Progress(console=console) as progress:
        found = dynamics.run(
            arguments.states, arguments.jobs, arguments.seed, progress, resume=arguments.resume,
            per_class=arguments.per_class, families=arguments.families or tuple(FAMILIES),
            classes=arguments.classes or tuple(CLASSES), texts=arguments.texts,
        )  # fmt: skip
        others = [_other(name, count, arguments, progress) for name, count in _parts(arguments)]
    _print(console, found, arguments.worst)
    bad += found.bad
    for name, result in others:
        console.print(f"{name}:\n{result}", highlight=False, markup=False)
        bad += result.failed
    console.print(f"{bad:,} of what must not be" if bad else "nothing of what must not be")
    return 1 if bad else 0


def _print(console: Console, found: Tally, worst: int) -> None:
    console.print(found.table("dynamics by method", found.by()))
    console.print(found.table("by class of states", found.by(method=False, states=True)))
    console.print(found.table("by family of mechanisms", found.by(method=False, family=True)))
    for line in found.worst(worst):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _parts(arguments: argparse.Namespace) -> list[tuple[str, int]]:
    """The other machines of this package, as far as they are there."""
    wanted = [("files", arguments.mutants), ("calls", arguments.calls)]
    return [(name, count) for name, count in wanted if count and find_spec(f"benchmarks.adversary.{name}")]


def _other(name: str, count: int, arguments: argparse.Namespace, progress: Progress) -> tuple[str, Any]:
    module = import_module(f"benchmarks.adversary.{name}")
    task = progress.add_task(name, total=count)
    kept = {"resume": arguments.resume.with_suffix(".files")} if arguments.resume and name == "files" else {}
    return name, module.run(
        count, arguments.jobs, arguments.seed, lambda done: progress.update(task, completed=done), **kept
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adversary", description=__doc__)
    parser.add_argument("--states", type=int, default=1_000_000, help="states to try; by two methods counts twice")
    parser.add_argument("--mutants", type=int, default=100_000, help="damaged robot files to read")
    parser.add_argument("--calls", type=int, default=20_000, help="calls with odd arguments")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, metavar="FILE", help="add to this file of finished units, and skip them")
    parser.add_argument("--quick", action="store_true", help="some ten thousand states, files and calls")
    parser.add_argument("--families", nargs="+", choices=tuple(FAMILIES), metavar="FAMILY", help="only these")
    parser.add_argument("--classes", nargs="+", choices=tuple(CLASSES), metavar="CLASS", help="only these, of states")
    parser.add_argument("--texts", type=int, default=dynamics.TEXTS, help="of these, states to run as text, too")
    parser.add_argument("--per-class", type=int, default=dynamics.PER_CLASS, help="states of each class a mechanism")
    parser.add_argument("--worst", type=int, default=40, help="how many offenders to list")
    parser.add_argument("--reproduce", nargs=3, metavar=("FAMILY", "SEED", "METHOD"), help="one mechanism and method")
    parser.add_argument("--class", dest="kind", default="generic", help="class of states to reproduce")
    parser.add_argument("--index", type=int, default=0, help="number of the state to reproduce")
    given = parser.parse_args()
    if given.quick:
        given.states, given.mutants, given.calls, given.per_class = 30_000, 500, 500, min(given.per_class, 20)
    return given


if __name__ == "__main__":
    sys.exit(main())
