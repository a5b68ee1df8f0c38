"""README's table of speeds: measured by the benchmarks that it names, and written by this one.

    python -m benchmarks.readme_table [--write] [--counts]

It takes a quarter of an hour, on a machine that does nothing else. `--counts` brings only the exact operation counts up
to date, which takes seconds; a test compares them.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

import sarrus
from benchmarks import geared_peers, ground_mujoco, loop_peers, pv_table2, rollout_mujoco
from benchmarks.command_line import parser_of
from benchmarks.geared_robots import mini_cheetah
from benchmarks.loop_systems import MissingFileError
from benchmarks.robots import shared_directory, tree_of, urdf_path
from benchmarks.written_figures import cpu
from examples.demo import methods, motion
from sarrus.cli.bench import measure, ratio
from sarrus.importers.load import example_robot

README = Path(__file__).parents[1] / "README.md"
MARK, END = "<!-- speeds -->\n", "<!-- end of speeds -->"
FEET_AND_HANDS = ("talos_full_v2", "2F+2H", [("F", 2, 6), ("H", 2, 6)])
BIPED = "embedding + lcaba"


def _talos() -> sarrus.Model:
    robot, _, what = FEET_AND_HANDS
    path = urdf_path(robot)
    if path is None:
        raise MissingFileError(robot)
    return pv_table2.constrained(tree_of(path, True), robot, what)


def _example(name: str) -> sarrus.Model:
    return sarrus.load(example_robot(name), floating_base=True).without_constraints()


def _looped(name: str) -> sarrus.Model:
    path = shared_directory() / "robots" / loop_peers.ROBOTS[name]
    if not path.is_file():
        raise MissingFileError(path)
    return sarrus.load(path)


COUNTED: dict[str, tuple[Callable[[], sarrus.Model], str]] = {  # the beginning of a row, a model, a method
    "| Talos, 50 dof, `aba`": (lambda: _example("talos_full_v2"), "aba"),
    "| Go1, 18 dof, `aba`": (lambda: _example("go1"), "aba"),
    "| Talos, feet and hands welded, `pv_early`": (_talos, "pv_early"),
    "| Cassie with its loops, `lcaba`": (lambda: _looped("Cassie"), "lcaba"),
    "| Digit with its loops, `lcaba`": (lambda: _looped("Digit"), "lcaba"),
    "| `zoo.biped`, 40 dof, feet held; loops embedded, `lcaba`": (lambda: motion.robots().embedded, "lcaba"),
    "| Mini Cheetah with 12 rotors, `ce_aba`": (lambda: sarrus.embed(mini_cheetah()), "ce_aba"),
}


def counted(row: str) -> int:
    make, method = COUNTED[row]
    return sarrus.op_count(make(), method).total


def times(x: float) -> str:
    return f"{x:.0f}x" if x >= 9.5 else f"{x:.1f}x"


def rows(console: Console) -> list[str]:
    """Of the table, measured now."""
    out = []
    for name, file, dof in (("Talos", "talos_full_v2", 50), ("Go1", "go1", 18)):
        with console.status(name):
            report = measure(_example(file), "aba", 4096, 7, {})
        us = {row["name"]: row["us_per_state"] for row in report["rows"]}
        batch, single = us["Sarrus, batch, 1 thread"], us["Sarrus, single call"]
        them = {k: next(x for n, x in us.items() if n.startswith("Pin") and k in n) for k in ("batch", "single")}
        out.append(
            f"| {name}, {dof} dof, `aba` | {report['operations']:,} | {batch:.2f} us, {times(them['batch'] / batch)} "
            f"faster | {single:.1f} us, {times(them['single'] / single)} faster | `benchmarks.speeds` |"
        )
    with console.status("pv_table2"):
        row = pv_table2.measure(*FEET_AND_HANDS, rounds=9)
    if row is None:
        raise MissingFileError(FEET_AND_HANDS[0])
    us = row["us"]
    dense, loop = (us[f"pin {name}"] for name in ("constraintDynamics", "lcaba"))
    mine, one, count = us["pv_early batch"], us["pv_early single"], row["ops"]["pv_early"]
    out.append(
        f"| Talos, feet and hands welded, `pv_early` | {count:,} | {mine:.2f} us, {times(dense / mine)} "
        f"`constraintDynamics`, {times(loop / mine)} `lcaba` | {times(loop / one)} `lcaba` | `benchmarks.pv_table2` |"
    )
    for name, file in loop_peers.ROBOTS.items():
        with console.status(name):
            found = loop_peers.compared(file, console)
        if found is None:
            raise MissingFileError(file)
        batch, single = ("lcaba", "batch"), ("lcaba", "single")
        out.append(
            f"| {name} with its loops, `lcaba` | {found.operations['lcaba']:,} | {found.us[batch]:.2f} us, "
            f"{times(found.faster[batch])} `lcaba` | {times(found.faster[single])} `lcaba` | `benchmarks.loop_peers` |"
        )
    with console.status("biped"):
        robots = motion.robots()
        simulation, start = motion.simulation(robots)
        trajectory = motion.squatting(simulation.run(start, duration=motion.SECONDS))
        by_name = {m.name: m for m in methods.measure(robots, methods.kernels(robots), trajectory)}
    ours, theirs = by_name[BIPED], by_name["pin lcaba"]
    out.append(
        f"| `zoo.biped`, 40 dof, feet held; loops embedded, `lcaba` | {ours.operations:,} | {ours.us:.2f} us, "
        f"{times(theirs.us / ours.us)} `lcaba` | | `make demo` |"
    )
    with console.status("Mini Cheetah"):
        geared = geared_peers.compared(console)
    if geared is None:
        raise MissingFileError("mini_cheetah")
    us, faster = geared.us["Sarrus ce_aba, rotors, batch"], geared.faster
    out.append(
        f"| Mini Cheetah with 12 rotors, `ce_aba` | {geared.operations:,} | {us:.2f} us, {times(faster['batch'])} its "
        f"`aba` without rotors | {times(faster['single'])} | `benchmarks.geared_peers` |"
    )
    with console.status("rollouts"):
        rollouts = rollout_mujoco.compared(console, 4096, 100, 3)
    if rollouts is None:
        raise MissingFileError("cassie.xml")
    us_step = 1e6 * rollouts["semi_implicit_euler"].median / (4096 * 100)
    faster = ratio(rollouts["mujoco"], rollouts["semi_implicit_euler"])
    out.append(
        f"| Cassie with its loops, a step of a rollout | | {us_step:.1f} us, {times(faster)} `mujoco.rollout` | | "
        "`benchmarks.rollout_mujoco` |"
    )
    return out + ground(console)


def ground(console: Console) -> list[str]:
    out = []
    for name, title in (
        ("go1", "Go1"), ("anymal_c", "ANYmal C"), ("g1", "G1"), ("cassie", "Cassie"), ("h1", "H1"), ("talos", "Talos"),
    ):  # fmt: skip
        scene = ground_mujoco.load(ground_mujoco.ROBOTS[name])
        if scene is None:
            raise MissingFileError(ground_mujoco.ROBOTS[name])
        with console.status(f"{title} on the ground"):
            found = dict(ground_mujoco.compared(scene, 256, 0.15))
        ways = {what: f["theirs"] / f["ours"] for what, f in found.items()}
        out.append(
            f"| {title} on the ground, standing; landing | | {found['standing']['ours']:.1f} us a step, "
            f"{times(ways['standing'])}; {times(ways['landing'])} `mujoco.rollout`, contacts on in both | | "
            "`benchmarks.ground_mujoco` |"
        )
    return out


def table() -> str:
    """What README has."""
    return README.read_text().partition(MARK)[2].partition(END)[0]


def write(text: str) -> None:
    README.write_text(README.read_text().replace(MARK + table(), MARK + text))


def with_counts(text: str) -> str:
    """The table with operations as they are now, but for robots whose files are not here."""
    for row in COUNTED:
        try:
            count = f"{counted(row):,}"
        except (MissingFileError, sarrus.errors.SarrusError):
            continue
        text = re.sub(rf"^{re.escape(row)}( *\| *)[\d,]+", rf"{row}\g<1>{count}", text, flags=re.MULTILINE)
    return text


def main(only_counts: bool, into_readme: bool) -> None:
    if only_counts:
        text = with_counts(table())
    else:
        when = time.strftime("%Y-%m-%d", time.gmtime())
        head = (
            "| one core, against Pinocchio 4.1 from PyPI | operations | batch | single call from Python | measured by |"
        )
        found = [head, "|---|---:|---|---|---|", *rows(Console(stderr=True))]
        text = "\n".join(found) + (
            "\n\nOperation counts are exact. Ratios are medians over interleaved rounds of one run of the command in "
            "the last column (put `python -m`\nbefore it; `python -m benchmarks.readme_table --write` runs all). "
            f"Measured on {when} on one core of this processor: {cpu()}.\n[All robots](docs/kernels.md).\n"
        )
    print(text)
    if into_readme:
        write(text)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="into README.md")
    parser.add_argument("--counts", action="store_true", help="bring only operation counts up to date")
    given = parser.parse_args()
    sys.exit(main(given.counts, given.write))
