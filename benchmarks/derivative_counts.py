"""What derivatives cost: exact operation counts on robots beside their bars, how they grow, and how much code they are.

    python -m benchmarks.derivative_counts [--json FILE] [--write]

write: the tables in docs/derivatives.md are written again. Every robot is validated first: derivatives agree with dual
numbers that run through `rnea` and `aba` to a relative 1e-9. Exponents are fitted to counts of trees of a fixed depth
(branches of six links on one base) and of a fixed number of branches (a chain), from 36 links on. Compiling is timed
without any cache, in CPU time, in turns with that of `aba`; best of three. Robot files come from example-robot-data; a
missing one is skipped.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.robots import tree_of, urdf_path
from benchmarks.written_figures import write_figures
from sarrus import zoo
from sarrus.model.model import Model
from tests.derivatives.duals import jacobians

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
BARS = {
    ("rnea_derivatives", "Talos"): 36_500,
    ("rnea_derivatives", "Go1"): 5_600,
    ("aba_derivatives", "Talos"): 123_000,
    ("aba_derivatives", "Go1"): 16_300,
    ("aba_derivatives", "chain(30)"): 63_500,
    ("forward_dynamics_derivatives", "Go1 on four points"): 62_000,
}
LENGTHS = (36, 60, 96, 120)  # twelves: two branches of six each
EXPONENTS = {  # of the number of links: O(n d) and O(n^2)
    ("rnea_derivatives", "branches of six"): 1.0,
    ("rnea_derivatives", "chain"): 2.0,
    ("aba_derivatives", "branches of six"): 2.0,
    ("aba_derivatives", "chain"): 2.0,
}
SLACK = 0.05  # of an exponent
CODE = 250_000  # bytes of Talos' aba_derivatives, for one kind of lane
COMPILE = 8.0  # times that of its aba
TOLERANCE = 1e-9


def robots() -> dict[str, Model]:
    found = {"chain(30)": zoo.chain(30)}
    for name, file in (("Talos", "talos_full_v2"), ("Go1", "go1")):
        path = urdf_path(file)
        if path is None:
            print(f"{name} is skipped: example-robot-data has no {file} here")
            continue
        found[name] = tree_of(path, floating_base=True)
    if "Go1" in found:
        found["Go1 on four points"] = found["Go1"].with_constraints(*(sarrus.contact(foot, 3) for foot in FEET))
    return found


def validate(model: Model) -> None:
    """Closed forms beside dual numbers, at one random state."""
    q, v = sarrus.random_state(model, 0)
    rng = np.random.default_rng(1)
    for derivatives, text in ((sarrus.rnea_derivatives, sarrus.rnea.text), (sarrus.aba_derivatives, sarrus.aba.text)):
        x = rng.normal(size=model.nv)
        expected = jacobians(lambda *state, text=text: text(model, *state), model, q, v, x)
        for found, truth in zip(derivatives(model, q, v, x)[1:], expected, strict=True):
            error = np.abs(found - truth).max() / np.abs(truth).max()
            if not error < TOLERANCE * max(1.0, 1e-4 * np.linalg.cond(sarrus.crba(model, q))):
                raise SystemExit(f"{derivatives.name} of {model.name} is wrong by a relative {error:.1e}: not counted")


def exponent(algorithm: str, tree: Callable[[int], Model]) -> float:
    """The slope of counts in logarithms."""
    counts = [sarrus.op_count(tree(n), algorithm).total for n in LENGTHS]
    return float(np.polyfit(np.log(LENGTHS), np.log(counts), 1)[0])


def compiled(name: str) -> tuple[float, tuple[int, int]]:
    """How often the time of compiling its `aba` that of a robot's `aba_derivatives` is; bytes for lanes, for one."""
    best: dict[str, float] = {}
    sizes = 0, 0
    for _ in range(3):
        for algorithm in ("aba", "aba_derivatives"):
            model = robots()[name]  # a new one, which remembers nothing
            start = time.process_time()
            kernel = sarrus.compile(model, algorithm, cache=False)
            best[algorithm] = min(best.get(algorithm, np.inf), time.process_time() - start)
            one = kernel.native.artifact.lanes_begin
            sizes = kernel.native.code_bytes - one, one
    return best["aba_derivatives"] / best["aba"], sizes


def markdown(table: Table) -> str:
    columns = [list(column.cells) for column in table.columns]
    lines = [[str(column.header) for column in table.columns], *zip(*columns, strict=True)]
    rows = [f"| {' | '.join(map(str, cells))} |" for cells in lines]
    return "\n".join([rows[0], "|" + "---|" * len(columns), *rows[1:]])


def branches_of_six(n: int) -> Model:
    return zoo.stem(1, n // 12, length=6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--write", action="store_true", help="write the tables in docs/derivatives.md again")
    arguments = parser.parse_args()
    table = Table("algorithm", "robot", "operations", "bar", "", title="Derivatives: operations")
    found: dict[str, float] = {}
    models = robots()
    for model in models.values():
        if not model.active_constraints:
            validate(model)
    for (algorithm, name), bar in BARS.items():
        if name in models:
            count = sarrus.op_count(models[name], algorithm).total
            found[f"{algorithm} {name}"] = count
            table.add_row(algorithm, name, f"{count:,}", f"{bar:,}", "met" if count <= bar else "MISSED")
    growth = Table("algorithm", "trees", "exponent", "bar", "", title=f"Growth with the number of links, {LENGTHS}")
    trees = {"branches of six": branches_of_six, "chain": zoo.chain}
    for (algorithm, kind), bar in EXPONENTS.items():
        slope = exponent(algorithm, trees[kind])
        found[f"{algorithm} {kind}"] = slope
        growth.add_row(algorithm, kind, f"{slope:.3f}", f"{bar}", "met" if slope <= bar + SLACK else "MISSED")
    code = Table("", "found", "bar", "", title="Native code of Talos' aba_derivatives")
    if "Talos" in models:
        ratio, (lanes, one) = compiled("Talos")
        found |= {"compile ratio": ratio, "code for lanes": lanes, "code for one": one}
        met = "met" if ratio <= COMPILE else "MISSED"
        code.add_row("compiling, of the time for `aba`", f"{ratio:.1f}x", f"{COMPILE:g}x", met)
        met = "met" if lanes <= CODE else "MISSED"
        code.add_row("bytes for lanes", f"{lanes:,}", f"{CODE:,}", met)
        code.add_row("bytes for single states", f"{one:,}", "", "")
    tables = table, growth, code
    console = Console()
    console.print(*tables)
    if arguments.write:
        write_figures("derivatives.md", "derivative_counts", "\n\n".join(markdown(x) for x in tables))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
