"""Every table and figure with numbers of the five papers: theirs, ours, agreement or the reason for the difference.

    python -m benchmarks.paper [--quick] [--only A.table2 B] [--again] [--write] [--out build/paper] [--list]

Quick: exact counts at small sizes and few states, under five minutes. Full: all sizes, 10,000 states, times beside
Pinocchio and MuJoCo; 15 minutes on two cores that have little else to do. Each result is kept as a file with processor,
versions and commit: a run that was stopped goes on where it was, and `--again` measures anew. The report is
`report.html` and `report.md`; `--write` puts the claims that differ into docs/papers.md, with date and processor.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.paper import a_pv, b_lcaba, c_embedding, d_proximal, e_osim, report
from benchmarks.paper.item import Item
from benchmarks.written_figures import cpu, write_figures

ITEMS: list[Item] = [*a_pv.ITEMS, *b_lcaba.ITEMS, *c_embedding.ITEMS, *d_proximal.ITEMS, *e_osim.ITEMS]
ROOT = Path(__file__).resolve().parents[2]


def stamp(quick: bool) -> dict[str, str]:
    """Where and with what it was measured."""
    found = {
        "mode": "quick" if quick else "full",
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "CPU": cpu(),
        "Python": platform.python_version(),
    }
    for package in ("numpy", "pin", "mujoco"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _commit() -> str:
    try:
        got = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return got.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def measured(item: Item, quick: bool, folder: Path, again: bool, number: str) -> dict[str, Any]:
    """From its file if it was measured in this mode before (of any commit: the stamp says which), else now."""
    file = folder / f"{item.key}.{'quick' if quick else 'full'}.json"
    if file.is_file() and not again:
        return json.loads(file.read_text())
    start = time.perf_counter()

    def tell(what: str) -> None:
        print(
            f"\r{number} {item.paper}, {item.name}: {what[:70]:<70} {time.perf_counter() - start:4.0f} s",
            end="",
            file=sys.stderr,
            flush=True,
        )

    tell("")
    found = {
        "result": item.measure(quick, tell),
        "stamp": stamp(quick),
        "seconds": round(time.perf_counter() - start, 1),
    }
    tell("done")
    print(file=sys.stderr)
    file.write_text(json.dumps(found))
    return json.loads(file.read_text())  # as it will be read next time


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes and few states: under five minutes")
    parser.add_argument("--only", nargs="*", default=[], help="keys, or a paper's letter: A.table2, B, ...")
    parser.add_argument("--again", action="store_true", help="measure what was measured before")
    parser.add_argument("--write", action="store_true", help="put the claims that differ into docs/papers.md")
    parser.add_argument("--out", type=Path, default=Path("build/paper"))
    parser.add_argument("--list", action="store_true", help="print what --only takes, and do nothing else")
    given = parser.parse_args()
    names = [*dict.fromkeys(i.paper for i in ITEMS), *(i.key for i in ITEMS)]
    if given.list:
        print("\n".join(names))
        return 0
    unknown = [name for name in given.only if name not in names]
    if unknown:
        parser.error(f"no such table or figure: {', '.join(unknown)}. Valid: {', '.join(names)}")
    if given.write and (given.quick or given.only):
        parser.error("--write is for the full run of all tables and figures")
    items = [i for i in ITEMS if not given.only or i.key in given.only or i.paper in given.only]
    given.out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    results = {
        i.key: measured(i, given.quick, given.out, given.again, f"{k}/{len(items)}")
        for k, i in enumerate(items, start=1)
    }
    markdown, page = report.write(items, results, given.out)
    if given.write:
        stamps = [result["stamp"] for result in results.values()]
        where = {f"Measured on {stamp['date']} on this processor: {stamp['CPU']}" for stamp in stamps}
        said = f"{'; '.join(sorted(where))} (`python -m benchmarks.paper --write`)."
        write_figures("papers.md", "differences", f"{said} {report.differences(items, results)}")
    n = report.totals(items, results)
    print(
        f"{len(items)} tables and figures: {n[True]} claims agree, {n[False]} differ, {n[None]} not measured; "
        f"{time.perf_counter() - start:.0f} s"
    )
    print(f"{page}, {markdown}")
    told = [(i.key, v) for i in items for v in i.verdicts(results[i.key]["result"])]
    bare = [f"{key}: {v.claim}" for key, v in told if v.agrees is not True and not v.reason]
    for line in bare:
        print(f"a difference has no reason: {line}")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
