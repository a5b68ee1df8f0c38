"""The adversary of files: mutants of URDF, URDF+, MJCF, YAML and trajectories are loaded; whatever loads is compared.

    python -m benchmarks.adversary.files --count 100000 [--jobs 2] [--seed 0] [--kind mjcf] [--show 123]

A mutant is right to be refused in words, or to load and mean the same to the peer, or to say in its import report which
physics is lost. Wrong are bare exceptions, aborts and hangs (each worker is a process that is watched), and silent
differences. Mutant k of a seed is always the same one: `--show k` prints it with what happens to it.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.adversary import file_bases
from benchmarks.adversary.file_peers import AGREES, UNKNOWN, compare_mjcf, compare_npz, compare_urdf
from benchmarks.adversary.mutants import Mutant, mutate_npz, mutate_xml, mutate_yaml
from benchmarks.adversary.patience import Patience, next_line

KINDS = ("urdf", "urdf+", "mjcf", "yaml", "npz")
SHARES = (0.34, 0.1, 0.34, 0.11, 0.11)
CLASSES = ("agrees", "no peer", "loss reported", "refused", "unforeseen", "raw", "hang", "different")
BAD = ("raw", "hang", "different")
PATIENCE = 5.0  # seconds for a mutant (`patience.py` says which seconds count)
START = 60.0  # for a worker to begin
PIECE = 10_000  # mutants that are kept together, to resume
_OWN = 0.85  # how many mutants are of our own small files


@dataclass
class Tally:
    """What became of the mutants. unforeseen: refused in words, by a reader's exception that nobody foresaw."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})
    bad: list[tuple[int, str, str]] = field(default_factory=list)  # index, class, detail
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """How many of what must not be."""
        return sum(self.total(name) for name in BAD)

    @property
    def tried(self) -> int:
        return sum(sum(counter.values()) for counter in self.counts.values())

    def total(self, name: str) -> int:
        return sum(counter[name] for counter in self.counts.values())

    def add(self, index: int, kind: str, name: str, detail: str) -> None:
        self.counts[kind][name] += 1
        if name in BAD or name == "unforeseen":
            self.bad.append((index, name, detail))

    def __str__(self) -> str:
        lines = [f"{'':8}{'tried':>9}" + "".join(f"{name:>15}" for name in CLASSES)]
        for kind, counter in self.counts.items():
            if counter:
                lines.append(f"{kind:8}{sum(counter.values()):9}" + "".join(f"{counter[name]:15}" for name in CLASSES))
        lines.append(f"{'all':8}{self.tried:9}" + "".join(f"{self.total(name):15}" for name in CLASSES))
        return "\n".join(lines) + f"\n{self.seconds:.0f} s"


# --- one mutant ------------------------------------------------------------------------------------------


class Judge:
    """Makes mutants of a seed and says what becomes of each. One per process."""

    def __init__(self, seed: int, kinds: tuple[str, ...] = KINDS) -> None:
        self.seed, self.kinds = seed, kinds
        self.own = {
            "urdf": file_bases.URDF, "urdf+": file_bases.URDF_PLUS, "mjcf": file_bases.MJCF, "yaml": file_bases.YAML,
        }  # fmt: skip
        self.others = {kind: list(file_bases.shared_files(kind)) for kind in ("urdf", "urdf+", "mjcf")}
        self.folder = Path(tempfile.mkdtemp(prefix="adversary-"))
        self._trajectory()

    def _trajectory(self) -> None:
        from sarrus import zoo
        from sarrus.simulation.trajectory import Trajectory

        self.model = zoo.chain(2)
        rng = np.random.default_rng(0)
        T = rng.normal(size=(5, 2))
        file = self.folder / "base.npz"
        Trajectory(self.model, np.arange(5.0), T, 2 * T, tau=3 * T, settings={"dt": 0.1}).save(file)
        with np.load(file) as content:
            self.arrays = {name: content[name] for name in content}

    def begin(self) -> None:
        """Load what the first mutant of each kind would have to load: the peers, and what reads files."""
        for kind in ("urdf", "mjcf"):
            self.judge(Mutant(kind, self.own[kind][0], "as it is"))

    def mutant(self, index: int) -> Mutant:
        random = Random(f"{self.seed}:{index}")
        kind = random.choices(KINDS, SHARES)[0] if len(self.kinds) > 1 else self.kinds[0]
        if kind == "npz":
            return mutate_npz(self.arrays, random)
        bases = self.own[kind]
        if kind == "yaml":
            return mutate_yaml(random.choice(bases), random)
        if self.others[kind] and random.random() > _OWN:
            bases = self.others[kind]
        return mutate_xml(kind, random.choice(bases), random.choice(self.own[kind]), random)

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """The class and, for what is not right, the details."""
        from sarrus.errors import SarrusError

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)  # of NumPy: numbers that ran out of range
                loaded = self._load(mutant)
        except SarrusError as error:
            cause = error.__cause__
            if "cannot be read: " in str(error) and cause is not None and not isinstance(cause, (OSError, SarrusError)):
                return "unforeseen", f"{mutant.how}: {_last(cause)}"
            return "refused", ""
        except Exception as error:
            return "raw", f"{mutant.how}: {_last(error)}"
        if mutant.kind == "yaml":
            return "no peer", ""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = self._compare(mutant, loaded)
            except Exception as error:
                return "different", f"{mutant.how}: the comparison failed: {_last(error)}"
        if found == AGREES:
            return "agrees", ""
        if found == UNKNOWN:
            return "no peer", ""
        return ("loss reported", "") if getattr(loaded, "lost_physics", ()) else ("different", f"{mutant.how}: {found}")

    def _load(self, mutant: Mutant):
        import sarrus
        from sarrus.simulation.trajectory import Trajectory

        if mutant.kind == "yaml":
            file = self.folder / "robot.yaml"
            file.write_bytes(str(mutant.content).encode(errors="surrogatepass"))
            return sarrus.load_urdf(file_bases.URDF[0], extended=file)
        if mutant.kind == "npz":
            file = self.folder / "mutant.npz"
            file.write_bytes(bytes(mutant.content))  # type: ignore[arg-type]
            return Trajectory.load(file, self.model)
        return sarrus.load(str(mutant.content))

    def _compare(self, mutant: Mutant, loaded) -> str:
        rng = np.random.default_rng(0)
        if mutant.kind == "npz":
            return compare_npz(loaded, bytes(mutant.content))  # type: ignore[arg-type]
        compare = compare_mjcf if mutant.kind == "mjcf" else compare_urdf
        return compare(loaded, str(mutant.content), rng)


def _last(error: BaseException) -> str:
    """The exception and where in the library it came from."""
    where = [frame for frame in traceback.extract_tb(error.__traceback__) if "sarrus" in frame.filename]
    place = f" ({Path(where[-1].filename).name}:{where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}{place}"


# --- many ------------------------------------------------------------------------------------------------


def work(seed: int, first: int, last: int, step: int, kinds: tuple[str, ...]) -> None:
    """A worker: one line before and one after each mutant."""
    out = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # the peers print what they think of files
    os.dup2(quiet, 2)
    judge = Judge(seed, kinds)
    os.chdir(judge.folder)  # MuJoCo writes a log into the current folder
    judge.begin()
    for index in range(first, last, step):
        mutant = judge.mutant(index)
        print("begin", index, mutant.kind, file=out, flush=True)
        name, detail = judge.judge(mutant)
        print("end", index, mutant.kind, name.replace(" ", "_"), detail.replace("\n", " "), file=out, flush=True)


class Watched:
    """A worker process, and what it says; it is ended if it says nothing for too long."""

    def __init__(self, arguments: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.adversary.files", "--worker", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
        )  # fmt: skip
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def say(self, seconds: float) -> str | None:
        """The next line; None: it has ended. `queue.Empty`: it says nothing, and has used so many seconds."""
        return next_line(self.lines, Patience(self.process.pid, seconds))

    def end(self) -> int:
        self.process.kill()
        code = self.process.wait()
        self.listener.join()
        return code


def run(
    count: int,
    jobs: int = 1,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    *,
    first: int = 0,
    kinds: tuple[str, ...] = KINDS,
    resume: Path | None = None,
) -> Tally:
    """So many mutants in so many processes; progress(how many are done) is called now and then.

    resume: a file of finished pieces; it is read first and added to
    """
    known = {}
    if resume is not None and resume.exists():
        known = {(x["first"], x["count"], x["seed"]): x for x in map(json.loads, resume.read_text().splitlines())}
    whole = Tally()
    for start in range(first, first + count, PIECE):
        size = min(PIECE, first + count - start)
        piece = known.get((start, size, seed))
        if piece is None:
            done = whole.tried
            tell = None if progress is None else lambda n, done=done: progress(done + n)
            found = _piece(size, jobs, seed, tell, start, kinds)
            piece = {"first": start, "count": size, "seed": seed, "seconds": found.seconds, "bad": found.bad}
            piece["counts"] = {kind: dict(counter) for kind, counter in found.counts.items()}
            if resume is not None:
                with resume.open("a") as file:
                    file.write(json.dumps(piece) + "\n")
        for kind, counter in piece["counts"].items():
            whole.counts[kind].update(counter)
        whole.bad += [tuple(x) for x in piece["bad"]]
        whole.seconds += piece["seconds"]
        if progress is not None:
            progress(whole.tried)
    return whole


def _piece(
    count: int, jobs: int, seed: int, progress: Callable[[int], None] | None, first: int, kinds: tuple[str, ...]
) -> Tally:
    tally, lock = Tally(), threading.Lock()
    started = time.perf_counter()

    def drive(offset: int) -> None:
        at, last = first + offset, first + count
        while at < last:
            worker = Watched([str(seed), str(at), str(last), str(jobs), ",".join(kinds)])
            current: tuple[int, str] | None = None
            try:
                while True:
                    line = worker.say(START if current is None else PATIENCE)
                    if line is None:
                        break
                    word, index, kind, *rest = line.split(" ", 4)
                    if word == "begin":
                        current = (int(index), kind)
                        continue
                    current, at = (-1, kind), int(index) + jobs
                    with lock:
                        tally.add(int(index), kind, rest[0].replace("_", " "), rest[1] if len(rest) > 1 else "")
                        tally.seconds = time.perf_counter() - started
                        if progress and tally.tried % 100 == 0:
                            progress(tally.tried)
                name = "raw"
            except queue.Empty:
                name = "hang"
            code = worker.end()
            if at >= last:
                return
            if current is None or current[0] < 0:
                raise RuntimeError(f"a worker ended with code {code} before it began a mutant")
            with lock:
                tally.add(current[0], current[1], name, f"the process ended with code {code}" if name == "raw" else "")
            at = current[0] + jobs

    threads = [threading.Thread(target=drive, args=(k,)) for k in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.seconds = time.perf_counter() - started
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutants of robot files: none may be misread without a word.")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the first mutant's number")
    parser.add_argument("--kind", choices=KINDS, help="only mutants of this kind")
    parser.add_argument("--show", type=int, metavar="K", help="print mutant K and what becomes of it")
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    kinds = (options.kind,) if options.kind else KINDS
    if options.worker:
        seed, at, last, step = (int(x) for x in options.worker[:4])
        work(seed, at, last, step, tuple(options.worker[4].split(",")))
        return 0
    if options.show is not None:
        judge = Judge(options.seed, kinds)
        os.chdir(judge.folder)
        mutant = judge.mutant(options.show)
        print(mutant.content)
        print(mutant.kind, mutant.how, *judge.judge(mutant), sep=" | ")
        return 0
    tally = run(options.count, options.jobs, options.seed, _report, first=options.first, kinds=kinds)
    print(file=sys.stderr)
    for index, name, detail in sorted(tally.bad)[:60]:
        print(f"{name:11} {index:8} {detail}")
    print(tally)
    return 1 if any(tally.total(name) for name in BAD) else 0


def _report(done: int) -> None:
    print(f"\r{done} mutants", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
