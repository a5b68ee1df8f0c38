"""Fails when the branch coverage of a room falls below its floor: `python -m tests.coverage_floor coverage.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path, PurePath

FLOOR = 90.0
ROOMS = ("spatial", "model", "importers", "algorithms")


def branch_coverage(report: dict, room: str) -> float:
    """Per cent of the room's branches (and of its lines, where it has no branches) that the tests took."""
    covered = total = 0
    for name, entry in report["files"].items():
        if room in PurePath(name).parts:
            covered += entry["summary"]["covered_branches"]
            total += entry["summary"]["num_branches"]
    return 100.0 * covered / total if total else 100.0


def main(path: str) -> int:
    report = json.loads(Path(path).read_text())
    failures = 0
    for room in ROOMS:
        percent = branch_coverage(report, room)
        verdict = "ok" if percent >= FLOOR else f"below {FLOOR:.0f} %"
        failures += percent < FLOOR
        print(f"branch coverage of {room}: {percent:.1f} % {verdict}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
