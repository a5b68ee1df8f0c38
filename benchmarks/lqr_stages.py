"""`sarrus.lqr` beside one dense system, and how its time grows with the stages.

    python -m benchmarks.lqr_stages [--problems 200] [--write]

Random trees with constraints between any stages, scenario trees and periodic chains: the largest relative error of
states, controls and multipliers against the dense KKT matrix, whose solution is refined in long double. Then seconds
per stage of chains, trees and periodic chains of growing length, the best of five. `--write` puts
both tables into docs/lqr.md, with the date and the processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.written_figures import measured, write_figures
from sarrus import LqrConstraint, LqrStage

Array = np.ndarray[Any, Any]
SIZES = (100, 200, 400, 800, 1600, 3200)


def random_stage(rng: np.random.Generator, parent: int, before: int, n: int = 4, m: int = 3) -> LqrStage:
    Q, R, A = rng.normal(size=(n, n)), rng.normal(size=(m, m)), rng.normal(size=(n, before)) / np.sqrt(before)
    Q, R = Q @ Q.T, R @ R.T + np.eye(m)
    return LqrStage(
        parent, A, rng.normal(size=(n, m)), rng.normal(size=n), Q, rng.normal(size=n), R, rng.normal(size=m)
    )


def random_tree(rng: np.random.Generator, count: int, chain: bool = False) -> list[LqrStage]:
    parents = [k - 1 if chain else int(rng.integers(max(k - 20, 0), k)) for k in range(1, count)]
    return [random_stage(rng, parent, 4) for parent in (-1, *parents)]


def random_rows(rng: np.random.Generator, count: int, number: int) -> list[LqrConstraint]:
    out = []
    for _ in range(number):
        where, rows = rng.choice(count, size=rng.integers(1, 4), replace=False), int(rng.integers(1, 3))
        out.append(LqrConstraint({int(i): rng.normal(size=(rows, 4)) for i in where}, rng.normal(size=rows)))
    return out


def dense(stages: Sequence[LqrStage], x0: Array | None, constraints: Sequence[LqrConstraint], shared: bool) -> Array:
    """States, controls and multipliers of the constraints, one after the other; children of a stage may share one."""
    owner = {i: s.parent if shared else i for i, s in enumerate(stages) if x0 is not None or i}
    controls = {k: j for j, k in enumerate(dict.fromkeys(owner.values()))}
    n, m, states = 4, 3, 4 * len(stages)
    size = states + m * len(controls)
    H, g, E, e = np.zeros((size, size)), np.zeros(size), [], []
    for i, s in enumerate(stages):
        x = slice(n * i, n * i + n)
        H[x, x], g[x] = s.Q, s.q
        if i not in owner:
            continue
        first = states + m * controls[owner[i]]
        u = slice(first, first + m)
        H[u, u], g[u] = H[u, u] + s.R, g[u] + s.r
        row = np.zeros((n, size))
        row[:, x], row[:, u] = np.eye(n), -np.asarray(s.B)
        if s.parent >= 0:
            row[:, n * s.parent : n * s.parent + n] = -np.asarray(s.A)
        E.append(row)
        e.append(s.c + (s.A @ x0 if s.parent < 0 else 0.0))
    dynamics = size + sum(map(len, e))
    for c in constraints:
        row = np.zeros((len(c.value), size))
        for i, C in c.matrices.items():
            row[:, n * i : n * i + n] = C
        E.append(row)
        e.append(c.value)
    rows, right = np.vstack(E), np.concatenate(e)
    K = np.block([[H, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    b = np.concatenate([-g, right])
    z = np.linalg.solve(K, b).astype(np.longdouble)
    for _ in range(4):
        z = z - np.linalg.solve(K, (K.astype(np.longdouble) @ z - b).astype(float))
    return np.concatenate([z[:size], z[dynamics:]]).astype(float)


def errors(kind: str, seed: int) -> tuple[float, float, float]:
    """Of states, controls and multipliers, relative to the largest of each."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(5, 25))
    stages = random_tree(rng, count, chain=kind == "periodic chain")
    x0 = None if kind == "periodic chain" or (kind == "tree" and seed % 2) else rng.normal(size=4)
    rows = random_rows(rng, count, int(rng.integers(0, 5)) if kind != "periodic chain" else 0)
    if kind == "periodic chain":
        rows = [LqrConstraint({0: np.eye(4), count - 1: -np.eye(4)}, np.zeros(4))]
    if kind == "scenario tree":
        found = sarrus.scenario_tree(stages, x0, rows)
        x, u = found.x[1:], [found.u[parent + 1] for parent in dict.fromkeys(s.parent for s in stages)]
    else:
        found = sarrus.lqr(stages, x0, rows)
        x, u = found.x, found.u[1:] if x0 is None else found.u
    assert found.status == sarrus.Status.OK, (kind, seed, found.status)
    exact = dense(stages, x0, rows, shared=kind == "scenario tree")
    parts = [np.concatenate([np.zeros(0), *part]) for part in (x, u, found.multipliers)]
    ends = np.cumsum([len(p) for p in parts])
    theirs = np.split(exact, ends[:-1])
    return tuple(  # type: ignore[return-value]
        float(np.abs(a - b).max(initial=0.0) / (1.0 + np.abs(b).max(initial=0.0)))
        for a, b in zip(parts, theirs, strict=True)
    )


def seconds(kind: str, count: int) -> float:
    rng = np.random.default_rng(0)
    stages = random_tree(rng, count, chain=kind != "tree")
    ends = [LqrConstraint({0: np.eye(4), count - 1: -np.eye(4)}, np.zeros(4))] if kind == "periodic chain" else []
    ends += [LqrConstraint({k: np.eye(1, 4)}, [0.0]) for k in range(count)] if kind == "chain, a row each" else []
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        sarrus.lqr(stages, None if kind == "periodic chain" else np.zeros(4), ends)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put both tables into docs/lqr.md")
    given = parser.parse_args()
    console = Console()
    accuracy = ["| largest relative error | states | controls | multipliers |", "|---|---:|---:|---:|"]
    table = Table(
        "problem", "states", "controls", "multipliers", title=f"largest error of {given.problems} problems each"
    )
    for kind in ("tree", "scenario tree", "periodic chain"):
        worst = np.max([errors(kind, seed) for seed in range(given.problems)], axis=0)
        row = (kind, *(f"{w:.1e}" for w in worst))
        table.add_row(*row)
        accuracy.append(f"| {' | '.join(row)} |")
    console.print(table)
    title = "microseconds of CPU per stage (twice as many where a solution is refined)"
    speed = [f"| us of CPU per stage, by stages | {' | '.join(f'{n:,}' for n in SIZES)} | exponent |"]
    speed.append("|---|" + "---:|" * (len(SIZES) + 1))
    table = Table("stages", *map(str, SIZES), "exponent", title=title)
    for kind in ("chain", "chain, a row each", "tree", "periodic chain"):
        times = [seconds(kind, count) for count in SIZES]
        slope = np.polyfit(np.log(SIZES), np.log(times), 1)[0]
        row = (kind, *(f"{1e6 * t / n:.0f}" for t, n in zip(times, SIZES, strict=True)), f"{slope:.2f}")
        table.add_row(*row)
        speed.append(f"| {' | '.join(row)} |")
    console.print(table)
    if given.write:
        said = f"{measured('lqr_stages')} {given.problems} problems of each kind."
        write_figures("lqr.md", "lqr_stages", "\n".join([said, "", *accuracy, "", *speed]))


if __name__ == "__main__":
    main()
