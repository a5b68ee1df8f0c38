"""Exact operation counts in pages of the guide: what they show is written by this script.

    python -m benchmarks.count_pages [--check]

Robots whose files are not here cannot be counted: then nothing is written. A test counts what needs no files again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import sarrus
from benchmarks import contact_counts, op_count_tricks, osim_counts
from benchmarks.command_line import parser_of
from benchmarks.embedding_counts import count, counts
from benchmarks.geared_robots import HYBRIDS, ROBOTS
from benchmarks.loop_systems import SYSTEMS, MissingFileError
from benchmarks.paper.item import silent
from benchmarks.robots import tree_of, urdf_path
from benchmarks.written_figures import figures, write_figures

LOOPS = ("lcaba", "prox_bbo", "prox_ltl")
STEMS = (5, 20, 40)  # links
LEG = "`zoo.humanoid_leg`"
FLOATING = ("Go1 4F3", "Atlas 2F+2H", "Talos 2F+2H")


def table(columns: tuple[str, ...], rows: list[str]) -> str:
    """In Markdown; the first column has no title."""
    return "\n".join([f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns), *rows])


def row(name: str, *numbers: int) -> str:
    return f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} |"


def loop_system(name: str) -> str:
    """A system of the LCABA paper: the first iteration of each method."""
    model = SYSTEMS[name]()
    free = sarrus.op_count(model.without_constraints(), "aba").total
    first = (sarrus.op_count(model, method, max_iterations=1).total for method in LOOPS)
    return row(name, model.nv, model.n_rows, free, *first)


def loop_systems() -> str:
    return table(("dof", "rows", "aba", *LOOPS), [loop_system(name) for name in SYSTEMS])


def center_of_mass() -> str:
    """What holding the centre of mass costs in addition to two feet."""
    path = urdf_path("talos_full_v2")
    if path is None:
        raise MissingFileError("talos_full_v2.urdf")
    feet = [sarrus.contact(f"{side}_sole_link", 6) for side in ("left", "right")]
    standing = tree_of(path, floating_base=True).with_constraints(*feet)
    rows = {
        "Talos, both feet welded": standing,
        "and its centre of mass held along x and y": standing.with_constraints(sarrus.center_of_mass_constraint("xy")),
    }
    methods = ("lcaba", "prox_bbo")
    counted = [
        row(name, *(sarrus.op_count(model, method, max_iterations=1).total for method in methods))
        for name, model in rows.items()
    ]
    return table(methods, counted)


def geared_robot(name: str) -> str:
    model = ROBOTS[name].make()
    found = counts(model, ("ce_aba", "prox_bbo", "lcaba", "prox_ltl"))
    return row(name, model.nb, model.nv, model.n_rows, sarrus.embed(model).ny, *found.values())


def geared_robots() -> str:
    columns = ("bodies", "nv", "rows", "ny", "ce_aba", "prox_bbo", "lcaba", "prox_ltl")
    return table(columns, [geared_robot(name) for name in ROBOTS if "," not in name])


def hybrid(name: str) -> str:
    model = HYBRIDS[name].make()
    embedded = count(sarrus.embed(model), "lcaba")
    return row(name, model.n_rows, embedded, *(count(model, method) for method in LOOPS))


def hybrids() -> str:
    return table(("rows", "embedded + lcaba", *LOOPS), [hybrid(name) for name in HYBRIDS])


def delassus_counts(cases: list[osim_counts.Case], fast: bool = False) -> dict[str, dict[str, Any]]:
    found = osim_counts.figure(silent(), "", cases, fast)
    if missing := [name for name, _ in cases if name not in found]:
        raise MissingFileError(f"for {missing[0]}")
    return found


def delassus_figures() -> str:
    """Figs. 5 and 6 of the PV-OSIMr paper."""
    methods = ("ltl_osim", "efpa", "pv_osim", "pv_osimr")
    found = delassus_counts([*osim_counts.FIG_5, *osim_counts.FIG_6])
    rows = [
        f"{row(name, n['rows'], *(n[m] for m in methods))} {n['pv_osim'] / n['pv_osimr']:.2f} |"
        for name, n in found.items()
    ]
    return table(("rows", *methods, "pv_osim / pv_osimr"), rows)


def every_kth_welded() -> str:
    """Fig. 4a of the PV-OSIMr paper: a chain of k^2 links, every k-th welded."""
    sizes = (8, 10, 12, 14, 16)
    found = osim_counts.scaling(silent(), "", "k", sarrus.zoo.chain_every_kth_welded, sizes, fit_from=sizes[0])
    methods, coupling = ("pv_osimr", "efpa", "pv_osim"), "pv_osim, coupling"
    rows = [row(f"k = {k}", *(found["counts"][k][m] for m in methods), found["coupling"][k]) for k in sizes]
    exponents = (f"{found['exponents'][m]:.2f}" for m in (*methods, coupling))
    rows.append(f"| exponent | {' | '.join(exponents)} |")
    return table((*methods, "of these, the update of L"), rows)


def stem(branches: int) -> str:
    """Limbs of seven links hold both ends of stems of different lengths: pv_osim over efpa."""
    models = [sarrus.zoo.stem(links, branches, constrained=True) for links in STEMS]
    ratios = (sarrus.op_count(m, "pv_osim").total / sarrus.op_count(m, "efpa").total for m in models)
    return f"| {branches} branches per end | {' | '.join(f'{x:.2f}' for x in ratios)} |"


def stems() -> str:
    """Fig. 2f of the PV paper."""
    return table(tuple(f"stem of {links} links" for links in STEMS), [stem(branches) for branches in (4, 6, 7, 9)])


def left_out_rotors_of(name: str) -> str:
    """The exact robot and the approximation are embedded, as some robots have loops besides their gears."""
    model = sarrus.zoo.humanoid_leg(floating=True) if name == LEG else ROBOTS[name].make()
    tree = sarrus.without_rotors(model, reflected_inertia="diagonal")
    approximate = count(sarrus.embed(tree), "ce_aba") if tree.n_rows else count(tree, "aba")
    exact = count(sarrus.embed(model), "ce_aba")
    return f"{row(name, exact, approximate)} {100 * (exact / approximate - 1):.1f} % |"


def left_out_rotors() -> str:
    """What it costs to neglect nothing."""
    rows = [left_out_rotors_of(name) for name in (*(name for name in ROBOTS if "," not in name), LEG)]
    return table(("exact", "diagonal", "more"), rows)


def random_rows() -> str:
    """Some robots of Fig. 2 of the PV paper."""
    methods = ("ltl_osim", "efpa", "pv_osim")
    found = delassus_counts([c for c in osim_counts.FIG_2 if c[0] in ("iiwa H", *FLOATING)])
    return table(methods, [row(f"{name} ({n['rows']})", *(n[m] for m in methods)) for name, n in found.items()])


def one_solve() -> str:
    """Those with several limbs: a matrix, its factors and one solve, against none of these."""
    found = delassus_counts([c for c in osim_counts.FIG_2 if c[0] in FLOATING], fast=True)
    rows = [row(f"{name} ({n['rows']})", n["pv_osim"] + n["ldl"], n["pv_osim_fast"]) for name, n in found.items()]
    return table(("pv_osim + L D L^T + solve", "pv_osim_fast"), rows)


PAGES: dict[tuple[str, str], Callable[[], str]] = {
    ("algorithms/efpa.md", "stems"): stems,
    ("algorithms/pv_osim.md", "random rows"): random_rows,
    ("algorithms/pv_osim_fast.md", "one solve"): one_solve,
    ("algorithms/pv_osimr.md", "osim"): delassus_figures,
    ("algorithms/pv_osimr.md", "every k-th welded"): every_kth_welded,
    ("contact.md", "contact_counts"): contact_counts.table,
    ("embedding.md", "geared robots"): geared_robots,
    ("embedding.md", "hybrids"): hybrids,
    ("embedding.md", "left-out rotors"): left_out_rotors,
    ("loops.md", "centre of mass"): center_of_mass,
    ("loops.md", "loop systems"): loop_systems,
    ("op_counts.md", "tricks"): op_count_tricks.table,
}


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--check", action="store_true", help="only say what is stale; the exit code is 1 if anything is"
    )
    check = parser.parse_args().check
    stale = 0
    for (page, name), make in PAGES.items():
        try:
            text = make()
        except MissingFileError as missing:
            print(f"{page}, {name}: needs the file {missing}, which is not here")
            continue
        is_stale = figures(page, name).strip() != text.strip()
        stale += is_stale
        print(f"{page}, {name}: {'stale' if is_stale else 'as counted'}")
        if is_stale and not check:
            write_figures(page, name, text)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
