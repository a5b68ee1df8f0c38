"""Random calls of compiled kernels, eager functions and rollouts with hostile arguments, in processes of their own.

    python -m benchmarks.adversary.calls --count 20000

A call ends in one of six ways. Two are fine: the right numbers, or an error in words. The others are failures: a raw
exception, wrong numbers (or nonsense that was accepted), a crash, a hang. Call number k of a seed is always the same.
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.adversary.one_call import Caller
from benchmarks.adversary.patience import Patience, next_line

FINE = ("right", "words")
FAILURES = ("raw", "wrong", "crash", "hang")
_ROOT = Path(__file__).parents[2]
_HERE: dict[str, Any] = {"cwd": _ROOT, "env": os.environ | {"PYTHONPATH": str(_ROOT / "src")}}
_PATIENCE = 60.0  # seconds for a call (`patience.py`); the first one of a process compiles kernels


@dataclass
class Tally:
    """How calls ended: a count for each of `FINE` and `FAILURES`, and every failure in a line."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """How many of what must not be."""
        return len(self.failures)

    def add(self, outcome: str, what: str) -> None:
        self.counts[outcome] += 1
        if outcome in FAILURES:
            self.failures.append(f"{outcome}: {what}")

    def __str__(self) -> str:
        return ", ".join(f"{self.counts[outcome]} {outcome}" for outcome in (*FINE, *FAILURES))


def run(count: int, jobs: int = 1, seed: int = 0, progress: Callable[[int], None] | None = None) -> Tally:
    """`count` calls in `jobs` processes at a time; progress(how many are done) is called now and then."""
    tally, lock = Tally(), threading.Lock()

    def told(outcome: str, what: str) -> None:
        with lock:
            tally.add(outcome, what)
            done = tally.counts.total()
        if progress is not None and done % 100 == 0:
            progress(done)

    ends = [count * k // jobs for k in range(jobs + 1)]
    threads = [
        threading.Thread(target=_watch, args=(seed, start, stop, told)) for start, stop in itertools.pairwise(ends)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _watch(seed: int, start: int, stop: int, told: Callable[[str, str], None]) -> None:
    """Calls start .. stop - 1 in a process; in another one after a crash or a hang."""
    while start < stop:
        command = _command(seed, start, stop)
        trying = "before the first call"
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **_HERE
        ) as process:
            lines: queue.Queue[str] = queue.Queue()
            reader = threading.Thread(target=_read, args=(process, lines))
            reader.start()
            while line := _next(lines, process.pid):
                word, _, rest = line.rstrip("\n").partition(" ")
                if word == "try":
                    trying = rest
                else:
                    start += 1
                    told(word, rest)
            hung = line is None
            if hung:
                process.kill()
            reader.join()
        if start < stop:
            told("hang" if hung else "crash", f"{trying} (seed {seed}, exit code {process.returncode})")
            start += 1


def _command(seed: int, start: int, stop: int) -> list[str]:
    """What does these calls and says so, line by line."""
    return [sys.executable, "-m", __spec__.name, "--worker", str(seed), str(start), str(stop)]


def _next(lines: queue.Queue[str], pid: int) -> str | None:
    """The next line, an empty one at the end, None if there is none for too long."""
    try:
        return next_line(lines, Patience(pid, _PATIENCE))
    except queue.Empty:
        return None


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Every line, then an empty one."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def _work(seed: int, start: int, stop: int) -> None:
    caller = Caller()
    for number in range(start, stop):
        print(f"try {number}", flush=True)
        what, call = caller.prepared(seed, number)
        print(f"try {number}: {what}", flush=True)
        outcome, detail = call()
        print(f"{outcome} {number}: {what}: {detail}".replace("\n", " "), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", type=int, nargs=3, metavar=("SEED", "START", "STOP"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work(*arguments.worker)
        return
    tally = run(arguments.count, arguments.jobs, arguments.seed, lambda done: print(f"{done} calls"))
    print("\n".join(tally.failures[:50]))
    print(tally)
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
