"""Operation counts of (robot, method) pairs, to compare two states of the code.

python -m benchmarks.count_table --save counts.json
python -m benchmarks.count_table --against counts.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

import sarrus
from benchmarks.geared_robots import mini_cheetah, mini_cheetah_standing, tello
from benchmarks.loop_systems import hand, two_digits
from benchmarks.pv_table2 import constrained
from benchmarks.robots import shared_directory, tree_of, urdf_path

CONTACTS = {"talos_full_v2": [("F", 2, 6), ("H", 2, 6)], "go1": [("F", 4, 3)], "atlas": [("F", 2, 6), ("H", 2, 6)]}
TREE = ("aba", "rnea", "crba")
LINKS = ("pv", "pv_early", "ltl", "constrained_aba", "prox_pv", "pv_osim", "pv_osimr", "efpa")
LOOPS = ("lcaba", "prox_bbo", "prox_ltl", "bbo")
WORST, SUM = 1.015, 1.0


def pairs() -> Iterator[tuple[str, sarrus.Model, str]]:
    for robot, contacts in CONTACTS.items():
        path = urdf_path(robot)
        if path is None:
            continue
        tree = tree_of(path, floating_base=True)
        links = constrained(tree, robot, contacts)
        yield from ((robot, tree, method) for method in TREE)
        for method in LINKS if robot == "talos_full_v2" else LINKS[:5]:
            yield robot, links, method
        if robot == "talos_full_v2":
            yield robot, links, "pv_soft"
    for file in ("cassie/cassie.xml", "digit/digit-v3.xml"):
        path = shared_directory() / "robots" / file
        if path.is_file():
            model = sarrus.load(path)
            yield from ((model.name, model, method) for method in LOOPS)
    yield "two Digits and a cube", two_digits(), "lcaba"
    yield "hand", hand(), "lcaba"
    for model in (sarrus.zoo.stewart(), sarrus.zoo.coupled_loops(4)):
        yield from ((model.name, model, method) for method in ("lcaba", "closure"))
    for robot in (mini_cheetah(), tello()):
        embedded = sarrus.embed(robot)
        yield from ((robot.name, embedded, method) for method in ("ce_aba", "ce_crba", "ce_rnea"))
    yield "mini cheetah standing", sarrus.embed(mini_cheetah_standing()), "lcaba"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, help="write the counts to this file")
    parser.add_argument("--against", type=Path, help="compare with the counts in this file")
    chosen = parser.parse_args()
    console = Console(width=110)
    counts = {}
    for robot, model, method in pairs():
        options = {"weight": 1e6} if method == "pv_soft" else {}
        count = sarrus.op_count(model, method, **options)
        counts[f"{robot} {method}"] = [count.total, count.per_iteration]
        console.print(f"{robot:28} {method:18} {count.total:9,} {count.per_iteration:9,} per iteration")
    console.print(f"{len(counts)} pairs, {sum(total for total, _ in counts.values()):,} operations")
    if chosen.save:
        chosen.save.write_text(json.dumps(counts, indent=1) + "\n")
    return compare(console, counts, json.loads(chosen.against.read_text())) if chosen.against else 0


def compare(console: Console, counts: dict[str, list[int]], before: dict[str, list[int]]) -> int:
    failed = 0
    for name in sorted(set(counts) & set(before)):
        (now, again), (then, then_again) = counts[name], before[name]
        worst = max(now / then, again / then_again if then_again else 1.0)
        failed += worst > WORST
        verdict = "FAIL" if worst > WORST else "    "
        console.print(
            f"{verdict} {name:48} {then:9,} {now:9,} {100 * (now / then - 1):+6.2f} %  {then_again:6,} {again:6,}"
        )
    total, known = (sum(table[name][0] for name in set(counts) & set(before)) for table in (counts, before))
    failed += total > SUM * known
    console.print(f"sum {known:,} -> {total:,}: {'FAIL' if total > SUM * known else 'PASS'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
