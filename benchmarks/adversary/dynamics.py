"""The run against the dynamics: mechanisms of all families in turn, by several processes, to be resumed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from benchmarks.adversary import tally as counts
from benchmarks.adversary.mechanisms import FAMILIES
from benchmarks.adversary.states import CLASSES
from benchmarks.adversary.tally import Tally, Unit
from benchmarks.adversary.trial import attack

PER_CLASS = 150  # states of each class for each mechanism
TEXTS = 2
KNOWN_ROBOTS = "robots"  # their kernels are large


def run(
    states: int = 1_000_000, jobs: int = 2, seed: int = 0, progress: Any = None, *, resume: Path | None = None,
    per_class: int = PER_CLASS, families: Sequence[str] = tuple(FAMILIES), methods: Collection[str] | None = None,
    texts: int = TEXTS, classes: Sequence[str] = tuple(CLASSES),
) -> Tally:  # fmt: skip
    """Try until so many states were tried (a state by two methods counts twice).

    progress  a `rich.progress.Progress`, or None
    texts     states of each class and mechanism of which the text is asked, too
    resume    a file of finished units; it is read first and added to
    """
    found = Tally(counts.read(resume) if resume else [])
    known = {(unit.family, unit.seed) for unit in found.units}
    task = progress.add_task("dynamics", total=states) if progress else None
    tried = found.total["tried"]
    arguments = (
        (family, number, per_class, texts, methods, classes)
        for family, number in _turns(families, seed)
        if (family, number) not in known
    )
    for units in _results(arguments, jobs) if tried < states else ():
        found.units.extend(units)
        if resume:
            counts.append(resume, units)
        tried += sum(x["tried"] for unit in units for x in unit.counts.values())
        if progress:
            progress.update(task, completed=min(tried, states))
        if tried >= states:
            break
    return found


def _turns(families: Sequence[str], seed: int) -> Iterator[tuple[str, int]]:
    """Every family in turn, with ever new seeds; robots, which take long to compile, every tenth time."""
    for number in range(seed * 100_000, (seed + 1) * 100_000):
        for family in families:
            if family != KNOWN_ROBOTS or number % 10 == 0 or len(families) == 1:
                yield family, number


def _results(arguments: Iterator[tuple], jobs: int) -> Iterator[list[Unit]]:
    if jobs <= 1:
        yield from (attack(*each) for each in arguments)
        return
    while True:
        doing: dict[Future, tuple] = {}
        with _pool(jobs) as pool:
            try:
                while True:
                    while len(doing) < 2 * jobs:
                        each = next(arguments)
                        doing[pool.submit(attack, *each)] = each
                    for future in wait(doing, return_when=FIRST_COMPLETED).done:
                        units = future.result()
                        del doing[future]
                        yield units
            except BrokenProcessPool:  # one of those under way, each of which is now tried alone
                pass
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        yield from (_alone(each) for each in doing.values())


def _alone(arguments: tuple) -> list[Unit]:
    """In a process of its own, whose death is a finding."""
    with _pool(1) as pool:
        try:
            return pool.submit(attack, *arguments).result()
        except BrokenProcessPool:
            return [Unit(*arguments[:2], "some method", raised="the process died")]


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
