"""Contact problems with a matrix and by sweeps over the tree, on scenes with more and more contacts: exact counts.

    python -m benchmarks.contact_operators [--run] [--seconds 0.2] [--batch 64] [--keep FILE] [--write] [scene ...]

Snakes of capsules and of boxes that lie on the ground, a quadruped with embedded gears, robots of the shared files from
their keyframes. Of the problem with the contacts where it stands and of that with slots for any: operations of a Newton
step, of a Gauss-Seidel sweep and of an iteration of alternating directions (ADMM), which solves with G + rho in each;
then all instructions of the step. With --run both are compiled (CPU seconds, nothing on disk) and simulated in turns:
Newton steps per problem and microseconds a step and state (the best of some rounds, one thread). Problems that were not
solved would show as nan. --keep adds scenes to a file of JSON lines as they are done, and begins with those that it
has; --write puts the table into docs/contact.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import sarrus
from benchmarks.ground_mujoco import ROBOTS, load
from benchmarks.written_figures import write_figures
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.mechanics.contact.solve import MOST_NEWTON
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule
from sarrus.planning.cost import operations_between
from sarrus.simulation.contact.contact_step import contact_step
from sarrus.simulation.step import step_algorithm
from sarrus.simulation.step_kernels import implicit_step

ALTERNATING = 1000  # steps of the fallback
OPERATORS = ("dense", "sweeps")
COLUMNS = (
    "scene", "problem", "contacts", "rows", "Newton step: matrix", "sweeps", "Gauss-Seidel: matrix", "sweeps ",
    "ADMM step: matrix", "sweeps  ", "taken",
)  # fmt: skip
RUN = ("scene", "instructions: matrix", "sweeps", "compile s: matrix", "sweeps ", "Newton steps: matrix", "sweeps  ",
       "us a step: matrix", "sweeps   ")  # fmt: skip


def snake(links: int, shape: Box | Capsule) -> Model:
    """A chain that lies on the ground, all of it."""
    builder = sarrus.ModelBuilder(f"snake{links}")
    builder.add_geometry("world", Plane(), name="ground", friction=0.6)
    turned = {"rotation": (0.0, np.pi / 2, 0.0)} if isinstance(shape, Capsule) else {}
    for k in range(links):
        joint: dict[str, Any] = {"joint": "free"}
        if k:
            axis = (0.0, 0.0, 1.0) if k % 2 else (0.0, 1.0, 0.0)
            joint = {"joint": "revolute", "parent": f"link{k - 1}", "position": (0.12, 0.0, 0.0), "axis": axis}
        builder.add_body(f"link{k}", mass=0.3, inertia=np.diag([1e-4, 4e-4, 4e-4]), **joint)
        builder.add_geometry(f"link{k}", shape, name=f"shape{k}", friction=0.6, **turned)
    return builder.build()


class Scene(NamedTuple):
    model: Model
    controls: Any = None
    slots: int | None = None


def _robot(name: str, slots: int | None = None) -> Callable[[], Scene | None]:
    def make() -> Scene | None:
        found = load(ROBOTS[name])
        return None if found is None else Scene(found.model, found.controls, slots)

    return make


def _quadruped() -> Scene:
    return Scene(sarrus.embed(sarrus.zoo.geared_quadruped().with_ground(friction=0.8)))


CAPSULE, BOX = Capsule(0.025, 0.06), Box((0.1, 0.06, 0.05))
SCENES: dict[str, Callable[[], Scene | None]] = {
    **{f"snake of {n} capsules": lambda n=n: Scene(snake(n, CAPSULE), None, 2 * n) for n in (2, 4, 6, 10)},
    **{f"snake of {n} boxes": lambda n=n: Scene(snake(n, BOX), None, 4 * n) for n in (1, 2, 4)},
    "geared quadruped": _quadruped,
    "go1": _robot("go1"), "go1, 20 slots": _robot("go1", 20), "h1": _robot("h1"), "g1": _robot("g1"),
}  # fmt: skip


def simulation_of(scene: Scene, operator: str | None) -> sarrus.Simulation:
    options = sarrus.ContactOptions(operator=operator, slots=scene.slots)
    return sarrus.Simulation(scene.model, 1e-3, contacts=options, record=("iterations", "status"), threads=1)


def step_tape(simulation: sarrus.Simulation) -> Tape:
    """The code of a step."""
    model, settings = simulation.stepped_model, simulation._step_settings
    if settings.integrator == "implicit":
        model, settings = implicit_step(model, settings)
    return trace(model, step_algorithm(model, settings, (), contact_step), settings=settings)


class Counts(NamedTuple):
    """Operations of loops, of one problem after the other."""

    newton: list[float]
    swept: list[float]
    alternating: list[float]
    instructions: int


def counts_of(tape: Tape) -> Counts:
    found: dict[str, list[float]] = {"newton": [], "swept": [], "alternating": []}
    swept = 0.0
    for loop in tape.loops:
        size = operations_between(tape, loop.start, loop.stop)
        if loop.limit == MOST_NEWTON:
            found["newton"].append(size)
            found["swept"].append(swept)
            swept = 0.0
        elif loop.limit == ALTERNATING:
            found["alternating"].append(size)
        else:
            swept = size  # Gauss-Seidel sweeps come before Newton's steps
    return Counts(**found, instructions=len(tape))


def rows_of(name: str, scene: Scene) -> list[dict[str, Any]]:
    """Of every problem of a scene's step."""
    simulations = {x: simulation_of(scene, x) for x in OPERATORS}
    matrix, sweeps = (counts_of(step_tape(simulations[x])) for x in OPERATORS)
    automatic = counts_of(step_tape(simulation_of(scene, None)))
    settings = simulations["dense"]._step_settings.contact
    assert settings is not None
    standing, limits = len(settings.contacts.usual), min(settings.limit_slots, 2 * len(settings.limited))
    joints = sum(rub.is_joint for rub in settings.rubs) if settings.exact_friction else 0
    between = [("standing, friction", standing, joints + len(settings.usual_limits))] if joints else []
    problems = [("standing", standing, len(settings.usual_limits)), *between]
    if len(matrix.newton) == len(problems) + 3:  # that of any contacts may be solved twice
        problems.append(("standing, limits", standing, joints + limits))
    problems.append(("any", settings.contacts.slots, joints + limits))
    rows = []
    for k, (kind, contacts, extra) in enumerate(problems[: len(matrix.newton)]):
        numbers = [f"{x[k]:,.0f}" for x in (matrix.newton, sweeps.newton, matrix.swept, sweeps.swept)]
        numbers += [f"{x[k]:,.0f}" for x in (matrix.alternating, sweeps.alternating)]
        decided = "sweeps" if automatic.newton[k] == sweeps.newton[k] else "matrix"
        cells = (name, kind, contacts, 3 * contacts + extra, *numbers, decided)
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def measured(name: str, scene: Scene, batch: int, seconds: float) -> dict[str, Any]:
    """Both compiled from nothing, and run in turns."""
    rng, model = np.random.default_rng(0), scene.model
    home = next(iter(model.keyframes.values())).q if model.keyframes else model.home
    q = np.tile(sarrus.put_down(model, sarrus.neutral(model) if home is None else home), (batch, 1))
    q[:, 2] += 0.03 * rng.uniform(size=batch)
    v, steps = np.zeros((batch, model.nv)), round(seconds / 1e-3)
    compiled, best, means, sizes, simulations = {}, {}, {}, {}, {}
    for x in OPERATORS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["SARRUS_CACHE_DIR"] = folder
            start = time.process_time()
            simulations[x] = simulation_of(scene, x)
            simulations[x].run(q[:1], v[:1], steps=1, controls=scene.controls)
            compiled[x], best[x] = time.process_time() - start, np.inf
        sizes[x] = len(step_tape(simulations[x]))
    for _ in range(4):
        for x, simulation in simulations.items():
            start = time.perf_counter()
            found = simulation.run(q, v, steps=steps, controls=scene.controls)
            best[x] = min(best[x], time.perf_counter() - start)
            means[x] = float(np.asarray(found.iterations)[:, 1:].mean())
            if np.any(np.asarray(found.status)[:, 1:] > 0):
                means[x] = np.nan  # not worth comparing
    cells: list[str] = [name]
    for values, form in ((sizes, "{:,}"), (compiled, "{:.1f}"), (means, "{:.2f}"), (best, "{:.2f}")):
        scale = 1e6 / (steps * batch) if values is best else 1
        cells += [form.format(values[x] * scale) for x in OPERATORS]
    return dict(zip(RUN, cells, strict=True))


def markdown(rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0])
    lines = ["| " + " | ".join(x.strip() for x in columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(str(row[c]) for c in columns) + " |" for row in rows)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=list(SCENES), metavar="scene", help="the beginning of its name")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--write", action="store_true", help="into docs/contact.md")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add scenes to this file, and skip those in it")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=0.2)
    given, console = parser.parse_args(), Console(width=200)
    known = given.keep is not None and given.keep.is_file()
    rows: list[dict[str, Any]] = [json.loads(x) for x in given.keep.read_text().splitlines()] if known else []
    done = {row["scene"] for row in rows}
    for name, make in SCENES.items():
        if name in done or not any(name.startswith(wanted) for wanted in given.scenes):
            continue
        scene = make()
        if scene is None:
            console.print(f"skipped {name}: no such file")
            continue
        new = [measured(name, scene, given.batch, given.seconds)] if given.run else rows_of(name, scene)
        console.print(*("  ".join(map(str, row.values())) for row in new), sep="\n")
        rows += new
        if given.keep is not None:
            with given.keep.open("a") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in new)
    rows.sort(key=lambda row: list(SCENES).index(row["scene"]))
    table = markdown(rows)
    console.print(table)
    if given.write:
        write_figures("contact.md", "contact_operators --run" if given.run else "contact_operators", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
