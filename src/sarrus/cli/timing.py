"""Timing that can be trusted on a noisy machine: all contestants in one run, interleaved, medians of ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

Case = Callable[[], object]


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
