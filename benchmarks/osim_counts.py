"""Operation counts of the Delassus algorithms: Fig. 2 of the PV paper, Figs. 3 to 6 of the PV-OSIMr paper.

    python -m benchmarks.osim_counts [--json FILE]

Every case is validated first: all methods agree with each other and with J M^-1 J^T (from `crba` and
`frame_jacobian`) to a relative 1e-9. Robot files come from example-robot-data and from $SARRUS_SHARED (default:
../shared beside the repository); a missing one is skipped with the reason. The last table says whether the papers'
findings are reproduced.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from sarrus.calls.delassus import delassus
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, tape_of
from sarrus.importers.load import example_robot
from sarrus.model.compose import attach
from sarrus.model.constraints import Constraint, contact, link_rows
from sarrus.model.model import Model

SHARED = Path(os.environ.get("SARRUS_SHARED", Path(__file__).resolve().parents[2] / "shared"))
METHODS = ("ltl_osim", "kjr", "efpa", "pv_osim", "pv_osimr")
RECURSIVE = ("efpa", "pv_osim", "pv_osimr")
TOLERANCE = 1e-9
_rng = np.random.default_rng(0)


# --- counting --------------------------------------------------------------------------------------------------------


def dense(model: Model, q: np.ndarray) -> np.ndarray:
    """J M^-1 J^T from the mass matrix and frame Jacobians."""
    jacobians = []
    for c in model.active_constraints:
        J = sarrus.frame_jacobian(model, q, c.frame)
        jacobians.append(c.K @ J if hasattr(c, "K") else J[: c.size])
    J = np.concatenate(jacobians)
    return J @ np.linalg.solve(sarrus.crba(model, q), J.T)


def counts(model: Model, methods: tuple[str, ...] = METHODS) -> dict[str, int]:
    """Operation counts of the methods on a model, after they were seen to agree."""
    q, _ = sarrus.random_state(model, rng=1)
    expected = dense(model, q)
    for method in methods:
        error = np.abs(delassus(model, q, method) - expected).max() / np.abs(expected).max()
        if not error < TOLERANCE:
            raise SystemExit(f"{method} on {model.name} is wrong by a relative {error:.1e}: not counted")
    return {method: sarrus.op_count(model, method).total for method in methods}


class FastCount(NamedTuple):
    """One solve by pv_osim_fast."""

    total: int
    at_root: int  # what it does instead of the root's own update, factoring and solving


def fast_count(model: Model) -> FastCount | None:
    """Everything that one solve by pv_osim_fast needs; None where its structure does not allow it."""
    graph = Graph()
    ports = (Port("q", (model.nq,)), Port("rhs", (model.n_rows,)))
    inputs = [graph.inputs(slot, port.size) for slot, port in enumerate(ports)]
    try:
        solved = sarrus.catalog()["pv_osim_fast"].text(model, *inputs).solved
    except sarrus.errors.UnsupportedError:
        return None
    count = tape_of(graph, ports, {"solved": solved}).op_count
    return FastCount(count.total, count.by_stage["solved"])


def ldl_count(m: int) -> int:
    """Factoring a dense m x m matrix as L D L^T and one solve: what the others need besides."""
    factor = sum(1 + 2 * j + (m - 1 - j) * (2 * j + 1) for j in range(m))
    return factor + 2 * m * (m - 1) + m


# --- robots ----------------------------------------------------------------------------------------------------------


def shared(path: str, floating_base: bool | None = None) -> Model:
    file = SHARED / "robots" / path
    if not file.is_file():
        raise FileNotFoundError(f"{file} is not there (set SARRUS_SHARED)")
    return sarrus.load(file, floating_base=floating_base).without_constraints()


def atlas() -> Model:
    return shared("atlas/atlas_convex_hull.urdf", floating_base=True)


def talos() -> Model:
    return sarrus.load(example_robot("talos_full_v2"), floating_base=True).without_constraints()


def go1() -> Model:
    return sarrus.load(example_robot("go1"), floating_base=True).without_constraints()


def rows(frame: str, m: int) -> Constraint:
    """A random constraint, as the paper's H and F (m = 6) and H3, F3 (m = 3)."""
    return link_rows(frame, _rng.normal(size=(m, 6)), name=f"{frame}_{m}")


def standing() -> list[Constraint]:
    return [contact(f"{side}_foot", 6) for side in "lr"]


def with_points(model: Model, feet: tuple[str, ...], corners: np.ndarray) -> Model:
    """3D points on every foot. A point p of a link: its acceleration is linear + angular x p."""
    added = []
    for foot in feet:
        for k, p in enumerate(corners):
            K = np.hstack([np.eye(3), [[0, p[2], -p[1]], [-p[2], 0, p[0]], [p[1], -p[0], 0]]])
            added.append(link_rows(foot, K, name=f"{foot}_{k}"))
    return model.with_constraints(*added)


RECTANGLE = np.array([[0.13, 0.06, -0.08], [0.13, -0.06, -0.08], [-0.13, 0.06, -0.08], [-0.13, -0.06, -0.08]])
UNEVEN = RECTANGLE * np.random.default_rng(0).uniform(0.5, 1.5, size=(4, 3))  # no two coordinates alike


def hand(side: str) -> Model:
    return shared(f"shadow_hand/{side}_hand.xml")


def fingertips(prefix: str) -> list[Constraint]:
    """Connect constraints on the five fingertips (at the distal links' ends)."""
    K = np.hstack([np.eye(3), [[0, 0.026, 0], [-0.026, 0, 0], [0, 0, 0]]])
    return [
        link_rows(f"{prefix}{finger}distal", K, name=f"{prefix}{finger}") for finger in ("ff", "mf", "rf", "lf", "th")
    ]


def atlas_with_hands(sides: tuple[str, ...]) -> Model:
    model = atlas()
    for side in sides:
        model = attach(model, hand(side), f"{side[0]}_hand", prefix=f"{side}_")
    return model


# --- the figures -----------------------------------------------------------------------------------------------------


Case = tuple[str, Callable[[], Model]]

FIG_2: list[Case] = [
    ("iiwa H3", lambda: (m := shared("iiwa14/iiwa14_no_collision.urdf")).with_constraints(rows(m.bodies[-1].name, 3))),
    ("iiwa H", lambda: (m := shared("iiwa14/iiwa14_no_collision.urdf")).with_constraints(rows(m.bodies[-1].name, 6))),
    *((f"Go1 {name}", lambda n=n: go1().with_constraints(*(rows(f, 3) for f in GO1_FEET[:n])))
      for n, name in enumerate(("F3", "2F3", "3F3", "4F3"), start=1)),
    *((f"Atlas {name}", lambda n=n: atlas().with_constraints(*(rows(f, 6) for f in ATLAS_ENDS[:n])))
      for n, name in enumerate(("F", "2F", "2F+H", "2F+2H"), start=1)),
    *((f"Talos {name}", lambda n=n: talos().with_constraints(*(rows(f, 6) for f in TALOS_ENDS[:n])))
      for n, name in enumerate(("F", "2F", "2F+H", "2F+2H"), start=1)),
]  # fmt: skip
GO1_FEET = ("FL_calf", "FR_calf", "RL_calf", "RR_calf")
ATLAS_ENDS = ("l_foot", "r_foot", "l_hand", "r_hand")
TALOS_ENDS = ("leg_left_6_link", "leg_right_6_link", "arm_left_7_link", "arm_right_7_link")

FIG_5: list[Case] = [
    ("Atlas, both feet welded (5a)", lambda: atlas().with_constraints(*standing())),
    ("Atlas, four 3D points per foot (5b)", lambda: with_points(atlas(), ("l_foot", "r_foot"), RECTANGLE)),
    ("Atlas, the same, points in general position (5b)", lambda: with_points(atlas(), ("l_foot", "r_foot"), UNEVEN)),
    (
        "Atlas, feet and hands welded (IV-E)",
        lambda: atlas().with_constraints(*standing(), contact("l_hand", 6), contact("r_hand", 6)),
    ),
]
FIG_6: list[Case] = [
    ("Shadow hand (6a)", lambda: hand("left").with_constraints(*fingertips("lh_"))),
    ("Atlas, one Shadow hand (6b)", lambda: atlas_with_hands(("left",)).with_constraints(*fingertips("left_lh_"))),
    ("Atlas, two Shadow hands (6c)",
     lambda: atlas_with_hands(("left", "right")).with_constraints(*fingertips("left_lh_"), *fingertips("right_rh_"))),
    ("Atlas, two Shadow hands, feet (6d)",
     lambda: atlas_with_hands(("left", "right")).with_constraints(
         *fingertips("left_lh_"), *fingertips("right_rh_"), *standing())),
]  # fmt: skip


def figure(console: Console, title: str, cases: list[Case], fast: bool = False) -> dict[str, dict[str, Any]]:
    """Count all methods on the cases, show the table, return the numbers; missing robots are skipped."""
    table = Table(title=title, title_justify="left")
    extra = ("L D L^T + solve", "pv_osim_fast + solve") if fast else ()
    for column in ("case", "dof", "rows", *METHODS, "pv_osim / pv_osimr", *extra):
        table.add_column(column, justify="left" if column == "case" else "right")
    found: dict[str, dict[str, Any]] = {}
    for name, make in cases:
        try:
            model = make()
        except (FileNotFoundError, sarrus.errors.SarrusError) as error:
            console.print(f"[yellow]{name}: skipped: {error}[/yellow]")
            continue
        n = counts(model)
        found[name] = {"nv": model.nv, "rows": model.n_rows, **n}
        cells = [f"{n[m]:,}" for m in METHODS] + [f"{n['pv_osim'] / n['pv_osimr']:.3f}"]
        if fast:
            fast_solve, solve = fast_count(model), ldl_count(model.n_rows)
            found[name] |= {"ldl": solve, "pv_osim_fast": None}
            if fast_solve:
                before = fast_solve.total - fast_solve.at_root  # the same in both methods
                found[name] |= {
                    "pv_osim_fast": fast_solve.total,
                    "at_root": {"pv_osim": n["pv_osim"] + solve - before, "pv_osim_fast": fast_solve.at_root},
                }
            cells += [f"{solve:,}", f"{fast_solve.total:,}" if fast_solve else "-"]
        table.add_row(name, str(model.nv), str(model.n_rows), *cells)
    console.print(table)
    return found


def scaling(
    console: Console, title: str, symbol: str, make: Callable[[int], Model], sizes: tuple[int, ...], fit_from: int
) -> dict[str, Any]:
    """Counts over sizes, and exponents fitted by least squares in logarithms from size `fit_from` on."""
    table = Table(title=title, title_justify="left")
    for column in (symbol, *RECURSIVE, "pv_osim, coupling"):
        table.add_column(column, justify="right")
    found: dict[int, dict[str, int]] = {}
    coupling: dict[int, int] = {}  # of pv_osim: the update of L, its m^2 d term
    for size in sizes:
        model = make(size)
        found[size] = counts(model, RECURSIVE)
        coupling[size] = sarrus.op_count(model, "pv_osim").by_stage["delassus"]
        table.add_row(str(size), *(f"{found[size][m]:,}" for m in RECURSIVE), f"{coupling[size]:,}")
    large = [size for size in sizes if size >= fit_from]
    series = {m: [found[size][m] for size in large] for m in RECURSIVE}
    series["pv_osim, coupling"] = [coupling[size] for size in large]
    exponents = {m: float(np.polyfit(np.log(large), np.log(n), 1)[0]) for m, n in series.items()}
    last = {m: float(np.log(n[-1] / n[-2]) / np.log(large[-1] / large[-2])) for m, n in series.items()}
    table.add_section()
    table.add_row(f"exponent, {symbol} >= {fit_from}", *(f"{x:.2f}" for x in exponents.values()))
    table.add_row("last slope", *(f"{x:.2f}" for x in last.values()))
    console.print(table)
    return {"counts": found, "coupling": coupling, "exponents": exponents, "last_slope": last}


def stems(console: Console) -> dict[str, dict[str, int]]:
    table = Table(
        title="Stem with branches of 7 links at both ends, tips welded (PV-OSIMr Fig. 3, PV Fig. 2f)",
        title_justify="left",
    )
    for column in ("branches per end", "stem", "rows", *RECURSIVE, "pv_osim / pv_osimr", "pv_osim / efpa"):
        table.add_column(column, justify="right")
    found = {}
    for branches in (1, 2, 4, 8):
        for n_stem in (5, 20, 40):
            model = sarrus.zoo.stem(n_stem, branches, constrained=True)
            n = counts(model, RECURSIVE)
            found[f"{branches} x 2, stem {n_stem}"] = n
            ratios = [f"{n['pv_osim'] / n[m]:.3f}" for m in ("pv_osimr", "efpa")]
            table.add_row(str(branches), str(n_stem), str(model.n_rows), *(f"{n[m]:,}" for m in RECURSIVE), *ratios)
        table.add_section()
    console.print(table)
    return found


def ladders(console: Console, sizes: tuple[int, ...] = (2, 4, 8, 12, 16), fit_from: int = 4) -> dict[str, Any]:
    """Constrained dynamics on the PV paper's ladder (its Fig. 4c), where the number of rows grows with that of the
    links.
    """
    options = {"pv_early": {}, "pv_soft": {"weight": 1e6}, "pv": {}, "ltl": {}}
    table = Table(title="Ladder with welded rungs: constrained dynamics (PV Fig. 4c)", title_justify="left")
    for column in ("rungs", "rows", *options):
        table.add_column(column, justify="right")
    found: dict[int, dict[str, int]] = {}
    for rungs in sizes:
        model = sarrus.zoo.ladder(rungs, constrained=True)
        found[rungs] = {m: sarrus.op_count(model, m, **o).total for m, o in options.items()}
        table.add_row(str(rungs), str(model.n_rows), *(f"{n:,}" for n in found[rungs].values()))
    large = [size for size in sizes if size >= fit_from]
    exponents = {m: float(np.polyfit(np.log(large), np.log([found[size][m] for size in large]), 1)[0]) for m in options}
    table.add_section()
    table.add_row(f"exponent, rungs >= {fit_from}", "", *(f"{x:.2f}" for x in exponents.values()))
    console.print(table)
    return {"counts": found, "exponents": exponents}


# --- findings --------------------------------------------------------------------------------------------------------


def findings(result: dict[str, Any]) -> list[tuple[str, bool | None, str]]:
    """(what the papers say, whether it holds here, numbers); None where a robot was missing."""
    fig2, fig5, fig6 = result["fig_2"], result["fig_5"], result["fig_6"]
    out: list[tuple[str, bool | None, str]] = []

    def add(claim: str, cases: dict[str, Any], holds: Callable[[dict], bool], shown: Callable[[dict], str]) -> None:
        bad = [name for name, n in cases.items() if not holds(n)]
        text = "; ".join(f"{name}: {shown(n)}" for name, n in cases.items() if not bad or name in bad)
        out.append((claim, None if not cases else not bad, text or "robot files missing"))

    def some(cases: dict[str, Any], word: str) -> dict[str, Any]:
        return {name: n for name, n in cases.items() if word in name}

    def ratio(a: str, b: str) -> Callable[[dict], str]:
        return lambda n: f"{n[a] / n[b]:.3f}"

    add(
        "pv_osim < efpa on all robots (ratio)",
        {**fig2, **fig5, **fig6},
        lambda n: n["pv_osim"] < n["efpa"],
        ratio("pv_osim", "efpa"),
    )
    add("LTL-OSIM the most expensive on Talos (efpa / ltl_osim)", some(fig2, "Talos"),
        lambda n: n["ltl_osim"] > max(n[m] for m in RECURSIVE), ratio("efpa", "ltl_osim"))  # fmt: skip
    add(
        "pv_osimr = pv_osim with both feet welded (ratio)",
        some(fig5, "5a"),
        lambda n: n["pv_osimr"] == n["pv_osim"],
        ratio("pv_osimr", "pv_osim"),
    )
    add("pv_osimr <= pv_osim, four 3D points per foot (paper: pv_osim 1.199)", some(fig5, "5b"),
        lambda n: n["pv_osimr"] <= n["pv_osim"], ratio("pv_osim", "pv_osimr"))  # fmt: skip
    add("pv_osimr <= pv_osim, Atlas with Shadow hands (paper: down to 0.66)", some(fig6, "Atlas"),
        lambda n: n["pv_osimr"] <= n["pv_osim"], ratio("pv_osimr", "pv_osim"))  # fmt: skip
    add("pv_osim_fast + solve < pv_osim + L D L^T + solve, floating robots, two constraints or more",
        {name: n for name, n in fig2.items() if n["pv_osim_fast"] is not None and n["rows"] > 6},
        lambda n: n["pv_osim_fast"] < n["pv_osim"] + n["ldl"],
        lambda n: f"{n['pv_osim_fast'] / (n['pv_osim'] + n['ldl']):.3f}")  # fmt: skip
    e = result["fig_4a"]["exponents"]
    s = result["fig_4a"]["last_slope"]
    out.append(("k^2 chain: pv_osimr's exponent <= 2.15", e["pv_osimr"] <= 2.15, f"{e['pv_osimr']:.2f}"))
    out.append(
        ("k^2 chain: efpa's about 3", abs(e["efpa"] - 3.0) <= 0.3, f"{e['efpa']:.2f}, last slope {s['efpa']:.2f}")
    )
    out.append(
        (
            "k^2 chain: pv_osim's about 4",
            abs(e["pv_osim"] - 4.0) <= 0.3,
            f"{e['pv_osim']:.2f}, last slope {s['pv_osim']:.2f}",
        )
    )
    x = e["pv_osim, coupling"]
    out.append(("k^2 chain: pv_osim's m^2 d term alone about 4", abs(x - 4.0) <= 0.3, f"{x:.2f}"))
    e = result["fig_4b"]["exponents"]
    out.append(("all-welded chain: efpa and pv_osimr about 2, pv_osim about 3",
                abs(e["efpa"] - 2) <= 0.3 and abs(e["pv_osimr"] - 2) <= 0.3 and abs(e["pv_osim"] - 3) <= 0.4,
                ", ".join(f"{m} {x:.2f}" for m, x in e.items())))  # fmt: skip
    e = result["ladder"]["exponents"]
    out.append(("ladder: exponents of pv_early and pv_soft <= 1.1", max(e["pv_early"], e["pv_soft"]) <= 1.1,
                ", ".join(f"{m} {x:.2f}" for m, x in e.items())))  # fmt: skip
    out.append(
        ("ladder: pv and ltl clearly above", min(e["pv"], e["ltl"]) >= 1.3, f"pv {e['pv']:.2f}, ltl {e['ltl']:.2f}")
    )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    arguments = parser.parse_args()
    console = Console(width=160)
    start = time.perf_counter()
    result: dict[str, Any] = {
        "fig_2": figure(console, "Robots with random rows on hands and feet (PV Fig. 2)", FIG_2, fast=True),
        "fig_3": stems(console),
        "fig_4a": scaling(console, "Chain of k^2 links, every k-th welded (Fig. 4a)", "k",
                          sarrus.zoo.chain_every_kth_welded, (4, 8, 10, 12, 14, 16), fit_from=8),
        "fig_4b": scaling(console, "Chain of n links, all welded (Fig. 4b)", "n", sarrus.zoo.chain_all_welded,
                          (5, 10, 20, 30, 40), fit_from=20),
        "ladder": ladders(console),
        "fig_5": figure(console, "Atlas standing (Fig. 5)", FIG_5),
        "fig_6": figure(console, "Atlas with Shadow hands, 3D rows on every fingertip (Fig. 6)", FIG_6),
    }  # fmt: skip
    table = Table(title="The papers' findings", title_justify="left", show_lines=True)
    for column in ("finding", "here", "numbers"):
        table.add_column(column)
    result["findings"] = findings(result)
    for claim, holds, numbers in result["findings"]:
        word = "[yellow]SKIPPED[/yellow]" if holds is None else "[green]PASS[/green]" if holds else "[red]FAIL[/red]"
        table.add_row(claim, word, numbers)
    console.print(table)
    console.print(f"{time.perf_counter() - start:.0f} s. Counts are exact; random rows have seed 0.")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
