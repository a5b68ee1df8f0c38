"""How long a process has taken, by its own doing: a busy machine, or one that was paused, is no hang."""

from __future__ import annotations

import os
import queue
import time
from pathlib import Path
from typing import Any

GLANCE = 0.25  # seconds between two looks at a process that says nothing
_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Patience:
    """The time that a process has used since the last `again`: on a processor, or waiting for something else than one.

    A process that computes is measured by its processor time. One that sleeps (it reads from a pipe, say, that nobody
    writes to) would do so on a quiet machine, too: that time counts as it passes. Where the system does not say which
    it is, all time counts.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self._stat, self.seconds = Path(f"/proc/{pid}/stat"), seconds
        self.again()

    def again(self) -> None:
        """Something was said: count from here."""
        self._used, self._slept = self._look()[0], 0.0
        self._last = time.monotonic()

    def is_over(self) -> bool:
        """Whether it has taken too long; to be asked every `GLANCE` or so."""
        now = time.monotonic()
        used, is_asleep = self._look()
        if is_asleep:
            self._slept += now - self._last
        self._last = now
        return used - self._used + self._slept >= self.seconds

    def _look(self) -> tuple[float, bool]:
        """Processor time in seconds, and whether it is waiting for something else than a processor."""
        try:
            fields = self._stat.read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0, True
        return (int(fields[11]) + int(fields[12])) / _TICK, fields[0] in "SDZ"


def next_line(lines: queue.Queue[Any], patience: Patience) -> Any:
    """The next thing that is said. `queue.Empty`: nothing is, and patience is over."""
    patience.again()
    while True:
        try:
            return lines.get(timeout=GLANCE)
        except queue.Empty:
            if patience.is_over():
                raise
