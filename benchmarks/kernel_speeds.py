"""Speed of kernels against another checkout of this repository: two processes that compute in turns.

    python -m benchmarks.kernel_speeds /path/to/other/checkout [rounds] [words of names] [--write]

Both must give the same numbers; then batches of states and single calls are timed for a few milliseconds each, in
turn. The best call of each turn counts, and of those the median. Above one, this checkout is faster. --write puts the
table into docs/kernels.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command_line import parser_of

HERE = Path(__file__).resolve().parents[1]
CASES = (
    "Talos aba", "Talos pv_early", "Go1 aba", "Cassie lcaba", "Cassie bbo", "Cassie prox_bbo", "Digit lcaba",
    "Digit bbo", "Digit prox_bbo",
)  # fmt: skip
BATCH, SECONDS = 1024, 0.02
_AGREEMENT = 1e-6  # relative to the largest number


def model_of(case: str) -> Any:
    """The robot of a case, as the checkout that runs this reads it."""
    import sarrus
    from benchmarks.pv_table2 import constrained
    from benchmarks.robots import shared_directory, tree_of, urdf_path

    robot, method = case.split()
    if robot in ("Talos", "Go1"):
        name = {"Talos": "talos_full_v2", "Go1": "go1"}[robot]
        path = urdf_path(name)
        assert path is not None
        model = tree_of(path, floating_base=True)
        return model if method == "aba" else constrained(model, name, [("F", 2, 6), ("H", 2, 6)])
    file = {"Cassie": "cassie/cassie.xml", "Digit": "digit/digit-v3.xml"}[robot]
    return sarrus.load(shared_directory() / "robots" / file)


def states_of(case: str) -> list[np.ndarray]:
    """q, v, tau of a batch: at random; with loops, at home, where they are closed."""
    import sarrus

    model, rng = model_of(case), np.random.default_rng(0)
    tau = rng.normal(size=(BATCH, model.nv))
    if case.split()[0] in ("Cassie", "Digit"):
        return [np.tile(model.home, (BATCH, 1)), np.zeros_like(tau), tau]
    few = [sarrus.random_state(model, rng=k) for k in range(64)]
    return [np.tile([x[n] for x in few], (BATCH // 64, 1)) for n in (0, 1)] + [tau]


def serve(case: str, file: str) -> None:
    """The other end of `Peer`: compile, then compute whenever it is asked to."""
    import sarrus

    kernel = sarrus.compile(model_of(case), case.split()[1])
    with np.load(file) as saved:
        q, v, tau = (np.ascontiguousarray(saved[name]) for name in ("q", "v", "tau"))
    first = [np.ascontiguousarray(x[0]) for x in (q, v, tau)]
    found = kernel(q, v, tau, threads=1)
    numbers = np.array(getattr(found, "qdd", found))
    count = {"ops": kernel.tape.op_count.total}
    out = tuple(np.empty((BATCH, *port.shape)) for port in kernel.tape.outputs)
    calls = {"batch": lambda: kernel(q, v, tau, out=out if len(out) > 1 else out[0], threads=1)}
    calls["single"] = lambda: kernel(*first)
    print(json.dumps({"qdd": numbers[0].tolist()} | count), flush=True)
    for line in sys.stdin:
        call, end, best = calls[line.strip()], time.perf_counter() + SECONDS, np.inf
        while (start := time.perf_counter()) < end:
            call()
            best = min(best, time.perf_counter() - start)
        print(json.dumps(best), flush=True)


class Peer:
    """A process that runs the kernel of one checkout."""

    def __init__(self, checkout: Path, case: str, file: str, cache: str) -> None:
        more = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        kept = [path for path in more if path and not path.startswith(str(HERE))]
        paths = os.pathsep.join([str(checkout / "src"), str(checkout), *kept])
        self.process = subprocess.Popen(
            # -P: modules beside this file are no modules of Python's own (benchmarks/numbers.py)
            [sys.executable, "-P", str(Path(__file__).resolve()), "--serve", case, file], text=True, cwd=checkout,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": paths, "SARRUS_CACHE_DIR": cache},
        )  # fmt: skip
        self.about = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process has ended")
        return json.loads(line)

    def ask(self, what: str) -> float:
        assert self.process.stdin is not None
        print(what, file=self.process.stdin, flush=True)
        return self._answer()

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(case: str, other: Path, rounds: int) -> str:
    """Validate and time one case: its row."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/states.npz"
        np.savez(file, **dict(zip(("q", "v", "tau"), states_of(case), strict=True)))
        peers = [Peer(checkout, case, file, f"{folder}/{n}") for n, checkout in enumerate((HERE, other))]
        first, second = (np.array(peer.about["qdd"]) for peer in peers)
        off = float(np.abs(first - second).max() / np.abs(second).max())
        assert off < _AGREEMENT, f"{case}: numbers differ by {off:.1e}"
        cells = []
        for what, unit in (("batch", 1e9 / BATCH), ("single", 1e9)):
            times = np.array([[peer.ask(what) for peer in peers] for _ in range(rounds)])
            ours, theirs = np.median(times, axis=0) * unit
            cells.append(f"{theirs:,.0f} ns | {ours:,.0f} ns | {np.median(times[:, 1] / times[:, 0]):.2f}")
        for peer in peers:
            peer.end()
    counts = " | ".join(f"{peer.about['ops']:,}" for peer in peers[::-1])
    return f"| {case} | {counts} | {' | '.join(cells)} |"


def main(words: list[str]) -> None:
    if words[:1] == ["--serve"]:
        serve(*words[1:])
        return
    parser = parser_of(__doc__, writes="kernels.md")
    parser.add_argument("checkout", type=Path, help="the other one")
    parser.add_argument("rounds", nargs="?", type=int, default=15)
    parser.add_argument(
        "words", nargs="*", help="words that the names of cases contain; all of them (default: every case)"
    )
    given = parser.parse_args(words)
    rows = ["| kernel | operations before | now | batch before | now | ratio | single before | now | ratio |"]
    rows += ["|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for case in CASES:
        if all(word in case for word in given.words):
            rows.append(compare(case, given.checkout.resolve(), given.rounds))
            print(rows[-1], flush=True)
    if given.write:
        from benchmarks.written_figures import write_figures

        write_figures("kernels.md", "kernel_speeds", "\n".join(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
