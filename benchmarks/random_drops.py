"""Robots and things thrown at the ground at random: what breaks, and how fast it goes.

    python -m benchmarks.random_drops [--drops 320] [--seconds 0.6] [--dt 1e-3] [--file drops.jsonl] [robot ...]

Random heights, orientations, joint positions and velocities; no motor does anything. Of every drop, after every step:
whether all is finite; the deepest penetration of any candidate, whether it was given a slot or not; the status; and by
how much the energy (kinetic, potential, elastic) ever grew, looked at every fourth step. Each batch becomes a line of
the file, with the commit that it ran on: begun again with the same file, what is there is not done again. A drop is
made again by its robot, the size of the batch, the batch and its number, which the report has of all that are deep:

    python -m benchmarks.random_drops talos --batch 500 --only 5 --drop 82

What energy grows by is the error of steps: `--dt` shows how it vanishes. `--write` puts all lines of the file into
docs/contact.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.drop_scenes import NAMES, Scene, scene
from benchmarks.written_figures import computed, write_figures
from sarrus.simulation.contact.straight_motion import velocities_between
from sarrus.simulation.trajectory import Trajectory
from sarrus.status import Status

DT = 1e-3  # unless another is asked for
EVERY = 4  # steps from one state whose energy is looked at to the next
DEEP = 1e-3  # metres: more penetration than that is counted
GROWTH = 0.02  # of the energy that is turned over: more than that is not the order of the step
BATCH = 32
MANY = (12, 48)  # Newton steps: problems that take more are counted
NAMED = 20  # deep drops that the report names, at most


def batch_record(
    thrown: Scene, number: int, size: int, seconds: float, drop: int | None = None, dt: float = DT
) -> dict[str, Any]:
    """What became of a batch of drops, or of one of them."""
    q, v = thrown.throw(np.random.default_rng([number, NAMES.index(thrown.name)]), size)
    if drop is not None:
        q, v, size = q[drop : drop + 1], v[drop : drop + 1], 1
    simulation = sarrus.Simulation(thrown.model, dt, contacts=thrown.options, record=("status", "iterations"))
    simulation.run(q[:1], v[:1], steps=1)  # compiled now
    began = time.perf_counter()
    found = simulation.run(q, v, duration=seconds)
    took = time.perf_counter() - began
    assert found.status is not None
    assert found.iterations is not None
    all_gaps = thrown.gaps(found.q)
    which, gaps = all_gaps.argmin(axis=-1), np.minimum(all_gaps.min(axis=-1), 0.0)  # (B, T)
    grown = energy_growth(found, dt)
    deep = [
        {
            "drop": int(k if drop is None else drop), "step": int(at := gaps[k].argmin()), "mm": -1e3 * gaps[k, at],
            "touching": " and ".join(thrown.contacts.pair_of(which[k, at]).names),
            "status": found.status[k, max(0, at - 2) : at + 1].astype(int).tolist(),
        }
        for k in np.flatnonzero(gaps.min(axis=1) < -DEEP)
    ]  # fmt: skip
    worst = found.status.max(axis=-1).astype(int)
    broken = ~np.isfinite(found.q).all(axis=(1, 2)) | ~np.isfinite(found.v).all(axis=(1, 2))
    return {
        "robot": thrown.name, "batch": number, "drops": size, "seconds": seconds, "dt": dt,
        "steps": size * round(seconds / dt), "took": took, "commit": commit(), "deep": deep,
        "nan": int(broken.sum()), "started_inside": float(gaps[:, 0].min()),
        "penetration": (-gaps.min(axis=1)).tolist(), "energy_growth": grown.tolist(),
        "worst_status": worst.tolist(),
        "states": {str(code): int((found.status == code).sum()) for code in np.unique(found.status.astype(int))},
        "speed": np.abs(found.v).max(axis=(1, 2)).tolist(),
        "newton": np.percentile(found.iterations, [50, 95, 100]).tolist(),
        "many": [int((found.iterations > count).sum()) for count in MANY],
    }  # fmt: skip


def energy_growth(found: Trajectory, dt: float) -> np.ndarray:
    """(B,) the most by which the energy ever grew, relative to what is turned over.

    It is that of the velocities between those that led to a configuration and those that lead away from it.
    """
    at, following = (found.v[:, k::EVERY] for k in (0, 1))
    count = following.shape[1]
    v = velocities_between(found.model, at[:, :count], following, dt)
    energy = Trajectory(found.model, found.time[::EVERY][:count], found.q[:, ::EVERY][:, :count], v).energy
    total = energy.total
    growth = (total - np.minimum.accumulate(total, axis=1)).max(axis=1)
    return growth / (energy.kinetic.max(axis=1) + np.ptp(energy.potential, axis=1))


def commit() -> str:
    """What is checked out, with a plus where files differ from it; nothing outside of a repository."""
    told = [
        subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    ]
    return told[0].strip() + ("+" if told[1].strip() else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=list(NAMES), metavar="robot", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--drops", type=int, default=10 * BATCH, help="of all robots together")
    parser.add_argument("--seconds", type=float, default=0.6, help="of each drop")
    parser.add_argument("--dt", type=float, default=DT, help="seconds of a step")
    parser.add_argument("--file", type=Path, default=None, help="lines of results; what is in it is not done again")
    parser.add_argument("--only", type=int, default=None, help="this batch")
    parser.add_argument("--drop", type=int, default=None, help="of that batch, this drop")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--write", action="store_true", help="what the file has, into docs/contact.md")
    given = parser.parse_args()
    console = Console(width=160)
    unknown = [name for name in given.robots if name not in NAMES]
    if unknown:
        console.print(f"{unknown[0]}: no such robot. Valid: {', '.join(NAMES)}")
        return 2
    records = read(given.file)
    done = {key(r) for r in records}
    each = -(-given.drops // (given.batch * len(given.robots)))
    numbers = range(each) if given.only is None else [given.only]
    for name in given.robots:
        todo = [k for k in numbers if (name, k, given.batch, given.seconds, given.dt) not in done]
        thrown = scene(name) if todo else None
        if todo and thrown is None:
            console.print(f"skipped {name}: no such file")
        for k in todo if thrown is not None else ():
            assert thrown is not None
            record = batch_record(thrown, k, given.batch, given.seconds, given.drop, given.dt)
            records.append(record)
            console.print(f"{name} {k + 1}/{each}: {line(record)}", highlight=False)
            if given.file is not None and given.drop is None:
                with given.file.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    for dt in steps_of(records):
        console.print(report([r for r in records if step(r) == dt], dt))
    worst = sorted(((d["mm"], r, d) for r in records for d in r["deep"]), key=lambda x: -x[0])
    for _, r, d in worst[:NAMED]:
        console.print(
            f"{d['mm']:.2f} mm: {r['robot']} --batch {r['drops']} --only {r['batch']} --drop {d['drop']} at step "
            f"{d['step']}, {d['touching']}, status of the last steps {d['status']}", highlight=False,
        )  # fmt: skip
    console.print(f"commits: {', '.join(sorted({r['commit'] for r in records}))}", highlight=False)
    codes = sorted({int(code) for r in records for code in r["states"]})
    for code in codes:
        console.print(f"status {code}: {Status(code).words}", highlight=False)
    if given.write:
        write_figures("contact.md", "random_drops", f"{computed('random_drops')}\n\n{page_table(records)}")
    return 0


def step(record: dict[str, Any]) -> float:
    return record.get("dt", DT)


def steps_of(records: list[dict[str, Any]]) -> list[float]:
    return sorted({step(r) for r in records}, reverse=True)


def key(record: dict[str, Any]) -> tuple[Any, ...]:
    """What is not done again."""
    return (*(record[name] for name in ("robot", "batch", "drops", "seconds")), step(record))


def page_table(records: list[dict[str, Any]]) -> str:
    """A line for each robot: what became of it at the longest step, and how energy grew at all of them."""
    steps = steps_of(records)
    grown = [f"energy grew by at most, at {1e3 * dt:g} ms" for dt in steps]
    lines = [["", "drops", "NaN", "deepest, mm", "states not ok", *grown]]
    lines.append(["---", *["---:"] * (len(lines[0]) - 1)])
    for name in dict.fromkeys(r["robot"] for r in records):
        at = [[r for r in records if r["robot"] == name and step(r) == dt] for dt in steps]
        first = at[0]
        total = sum(sum(r["states"].values()) for r in first)
        wrong = total - sum(r["states"].get("0", 0) for r in first)
        worst = [max((max(r["energy_growth"]) for r in mine), default=None) for mine in at]
        lines.append([
            name, f"{sum(r['drops'] for r in first):,}", str(sum(r["nan"] for r in first)),
            f"{1e3 * max(max(r['penetration']) for r in first):.2f}", f"{wrong:,} of {total:,}",
            *("" if x is None else f"{100.0 * x:.2g} %" for x in worst),
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read(path: Path | None) -> list[dict[str, Any]]:
    """The lines of a file; a last line that is cut off is left out."""
    found = []
    for text in path.read_text().splitlines() if path is not None and path.is_file() else ():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            break
    return found


def line(record: dict[str, Any]) -> str:
    deepest, grown = (int(np.argmax(record[x])) for x in ("penetration", "energy_growth"))
    return (
        f"{record['nan']} NaN, deepest {1e3 * record['penetration'][deepest]:.2f} mm (drop {deepest}), energy grew "
        f"{record['energy_growth'][grown]:.2g} (drop {grown}), status {record['states']}, "
        f"{record['steps'] / record['took']:,.0f} steps/s"
    )


def report(records: list[dict[str, Any]], dt: float) -> Table:
    """A line for each robot."""
    table = Table(title=f"random drops at {dt * 1e3:g} ms")
    columns = (
        f"robot,drops,NaN,> {DEEP * 1e3:g} mm,deepest mm 99 %,worst,"
        f"energy + > {GROWTH:g},worst,all ok,states by status,Newton 50/95/100 %,"
        f"{','.join(f'> {count}' for count in MANY)},steps/s"
    )
    for title in columns.split(","):
        table.add_column(title, justify="left" if title == "robot" else "right")
    for name in dict.fromkeys(r["robot"] for r in records):
        mine = [r for r in records if r["robot"] == name]
        deep, grown, worst = (
            np.concatenate([r[x] for r in mine]) for x in ("penetration", "energy_growth", "worst_status")
        )
        states: Counter[str] = sum((Counter(r["states"]) for r in mine), Counter())
        newton = np.max([r["newton"] for r in mine], axis=0).astype(int)
        table.add_row(
            name, str(len(deep)), str(sum(r["nan"] for r in mine)), str(int((deep > DEEP).sum())),
            f"{1e3 * np.percentile(deep, 99):.2f}", f"{1e3 * deep.max():.2f}",
            str(int((grown > GROWTH).sum())), f"{grown.max():.2g}", f"{(worst == 0).mean():.4f}",
            ", ".join(f"{code}: {count}" for code, count in sorted(states.items())), "/".join(map(str, newton)),
            *(f"{sum(r['many'][k] for r in mine) / sum(states.values()):.1e}" for k in range(len(MANY))),
            f"{sum(r['steps'] for r in mine) / sum(r['took'] for r in mine):,.0f}",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    sys.exit(main())
