"""Forward dynamics of long chains: links that are alike repeated (`mechanics/long_chains.py`), and written out.

    python -m benchmarks.long_chains [--write] [LINKS ...]

Both are `sarrus.aba` of `zoo.chain(n)`, whose joints turn about x, y, z in turn, so that its links are alike in threes.
Validated against inverse dynamics, then measured side by side. `--write` puts the table into docs/kernels.md, with the
date and the processor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.written_figures import measured, write_figures
from sarrus.codegen.runtime.native import NativeKernel, build_native
from sarrus.codegen.tape.trace import trace
from sarrus.mechanics import long_chains
from sarrus.model.model import Model
from sarrus.model.tree import tree_of

BATCH = 256


def seconds_of(kernel: NativeKernel, batch: int) -> float:
    """Per state; the best of a few."""
    rng, n = np.random.default_rng(0), kernel.tape.inputs[0].size
    inputs, out = [rng.normal(size=(batch, n)) for _ in range(3)], np.empty((batch, n))
    one = [x[0].copy() for x in inputs]
    best = np.inf
    for _ in range(8):
        start = time.perf_counter()
        if batch > 1:
            kernel.run(inputs, [out], batch)
        else:
            kernel.call_new(*one)
        best = min(best, time.perf_counter() - start)
    return best / batch


def validate(model: Model, kernel: NativeKernel) -> None:
    """Its accelerations need the forces that were given, by the text of `rnea`."""
    q, v, tau = np.random.default_rng(1).normal(size=(3, model.nv))
    found = kernel.call_new(q.copy(), v.copy(), tau.copy())
    off = np.abs(sarrus.rnea.text(model, q, v, found) - tau).max()
    scale = np.abs(sarrus.rnea.text(model, q, v, np.zeros(model.nv))).max()
    if not off < 1e-9 * scale:
        raise SystemExit(f"{model.name}: this is not aba, forces off by {off / scale:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Forward dynamics of long chains by repeated text")
    parser.add_argument("links", nargs="*", type=int, default=[30, 300, 1000, 2000])
    parser.add_argument("--write", action="store_true", help="put the table into docs/kernels.md")
    given = parser.parse_args()
    columns = ("operations", "instructions", "trace, s", "compile, s", "code, KB", "batch, us per state", "single, us")
    table = Table("links", "", *columns)
    lines = [f"| links | | {' | '.join(columns)} |", "|---:|---|" + "---:|" * len(columns)]
    sarrus.compile(sarrus.zoo.chain(1), "aba")  # drivers are there once per machine
    for n in given.links:
        for name, least in (("repeated", 0), ("written out", n + 1)):
            long_chains.LONG = least
            model = sarrus.zoo.chain(n)
            tree_of(model)  # known before
            clock = [time.process_time()]
            tape = trace(model, "aba")
            clock.append(time.process_time())
            kernel = build_native(tape, cache=False)
            clock.append(time.process_time())
            validate(model, kernel)
            numbers = (clock[1] - clock[0], clock[2] - clock[1], len(kernel.artifact.code) / 1024)
            times = [1e6 * seconds_of(kernel, batch) for batch in (BATCH, 1)]
            counts = (f"{tape.op_count.total:,}", f"{len(tape):,}")
            row = (f"{n:,}", name, *counts, *(f"{x:,.3g}" if x < 100 else f"{x:,.0f}" for x in (*numbers, *times)))
            table.add_row(*row)
            lines.append(f"| {' | '.join(row)} |")
    Console(width=120).print(table)
    if given.write:
        write_figures("kernels.md", "long_chains", "\n".join([measured("long_chains"), "", *lines]))


if __name__ == "__main__":
    main()
