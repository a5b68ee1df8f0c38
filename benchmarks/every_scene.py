"""`sarrus simulate` with no options on everything there is: does it run, and if not, does it say why?

python -m benchmarks.every_scene [scenes] [robots] [parallel] [zoo] [--seconds 2]

scenes: MJCF scenes with a floor; robots: the main file of each robot, on a floor (--ground), floating where it is a
URDF; parallel: example-parallel-robots with the loops of their YAML files, on a floor; zoo: every mechanism. Each row
is a process of its own, as a user starts it; `told` is the last error, or the status if it is not ok everywhere.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import parser_of
from benchmarks.robots import shared_directory
from sarrus import zoo

TIMEOUT = 240.0  # seconds for a row: compiling takes most of it, on a busy machine
ROBOTS = (
    "digit/digit-v3.xml", "jvrc1/jvrc1.xml", "iiwa14/iiwa14.xml", "simple_humanoid/simple_humanoid.xml",
    "simple_humanoid/humanoid.xml", "cassie/cassie.xml", "talos/talos_position.xml", "shadow_hand/right_hand.xml",
    "atlas/atlas_minimal_contact.urdf", "digit/digit_model.urdf", "cassie/cassie_v4.urdf",
    "mini_cheetah/mini_cheetah.urdf", "mit_humanoid/mit_humanoid.urdf", "jvrc1/jvrc1_humanoid.urdf",
)  # fmt: skip
ZOO = {
    "chain": "4", "chain_all_welded": "4", "chain_every_kth_welded": "6", "chain_welded_tip": "4", "ladder": "3",
    "random_tree": "0:6", "stem": "3:2", "tree": "3:2", "chain_of_loops": "3", "coupled_loops": "2", "cycle": "6",
    "star_pairs": "4", "star_to_one": "4", "parallel_chains": "4:2", "transmission": "3", "tree_of": "'four_bar':2",
}  # fmt: skip


class Outcome(NamedTuple):
    name: str
    seconds: float  # of the whole command
    summary: dict | None
    said: str


KINDS = ("scenes", "robots", "parallel", "zoo")


def commands(kinds: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(name, arguments of `sarrus simulate`) of what is asked for."""
    shared = shared_directory() / "robots"
    if "scenes" in kinds:
        for path in sorted(shared.glob("*/scene*.xml")):
            yield f"{path.parent.name}/{path.name}", [str(path)]
    if "robots" in kinds:
        for name in ROBOTS:
            if (shared / name).is_file():
                floating = ["--floating-base"] if name.endswith(".urdf") else []
                yield name, [str(shared / name), "--ground", *floating]
    if "parallel" in kinds:
        for folder in sorted(p for p in (shared / "parallel_robots").iterdir() if p.is_dir()):
            urdf, settings = next(folder.glob("*.urdf"), None), next(folder.glob("*.yaml"), None)
            if urdf is not None and settings is not None:
                yield f"parallel/{folder.name}", [str(urdf), "--extended", str(settings), "--ground"]
    if "zoo" in kinds:
        for name in zoo.__all__:
            arguments = f":{ZOO[name]}" if name in ZOO else ""
            yield f"zoo:{name}{arguments}", [f"zoo:{name}{arguments}", "--ground"]


def run(name: str, arguments: list[str], seconds: float) -> Outcome:
    """One row: a process of its own."""
    command = [sys.executable, "-m", "sarrus.cli.main", "simulate", *arguments, "-d", str(seconds), "--json"]
    began = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Outcome(name, time.perf_counter() - began, None, f"not done after {TIMEOUT:g} s")
    took = time.perf_counter() - began
    try:
        summary = json.loads(done.stdout)
    except ValueError:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        return Outcome(name, took, None, lines[-1] if lines else f"exit code {done.returncode}, and not a word")
    wrong = [f"{words}: {count:,} states" for words, count in summary["statuses"].items() if words != "ok"]
    why = [note for note in summary["notes"] if note.startswith("starts outside")] if summary["diverged"] else []
    return Outcome(name, took, summary, "; ".join([*wrong, *summary["diverged"], *summary["left_out"], *why]))


def main(kinds: list[str], seconds: float) -> None:
    console = Console(highlight=False, width=180)
    table = Table(title=f"sarrus simulate, {seconds:g} s each", title_justify="left")
    for column in ("robot", "dof", "rows", "integrator", "us/step", "compiled", "in the end", "said", "notes"):
        table.add_column(column, overflow="fold")
    fine = told = 0
    for name, arguments in commands(kinds):
        found = run(name, arguments, seconds)
        summary = found.summary
        print(f"{name}: {found.said or 'ok'} ({found.seconds:.1f} s)", file=sys.stderr, flush=True)
        if summary is None:
            table.add_row(name, "", "", "", "", "", "", f"[bold red]{found.said}[/bold red]", "")
            told += 1
            continue
        end = summary["contacts_at_end"]
        touching = (
            "" if end is None else f"{end['count']} contacts, {end['normal_force']:.4g} of {summary['weight']:.4g} N"
        )
        table.add_row(
            name, str(summary["nv"]), str(summary["rows"]), summary["integrator"], f"{summary['us_per_step']:.3g}",
            f"{summary['compile_seconds']:.1f} s", touching, found.said or "[green]ok[/green]",
            str(len(summary["notes"])),
        )  # fmt: skip
        fine, told = fine + (not found.said), told + bool(found.said)
    console.print(table)
    console.print(f"{fine} ok everywhere, {told} with something to say")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each simulation")
    given = parser.parse_args()
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}. Valid: {', '.join(KINDS)}")
    main(given.kinds or list(KINDS), given.seconds)
