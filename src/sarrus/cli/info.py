"""`sarrus info`: what a robot is and what its dynamics cost."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from sarrus.cli import arguments
from sarrus.cli.compiled_kernel import compiled_kernel, show_kernel
from sarrus.cli.console import print_plain, print_table, spinner, table
from sarrus.errors import IllPosedError, UnsupportedError, listed
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import WORLD, WORLD_NAME, Body
from sarrus.model.geometries import Geometry
from sarrus.model.import_report import by_importance
from sarrus.model.meeting_pairs import meeting_pairs
from sarrus.model.model import Model
from sarrus.model.robots import robots_of
from sarrus.registry.table import catalog

_ACTUATOR = ("name", "joint", "kind", "gear", "control range", "force range")


def info(
    robot: arguments.Robot,
    floating_base: arguments.FloatingBase = None,
    extended: arguments.Extended = None,
    allow_outside: arguments.AllowOutside = False,
    compiled: arguments.Compiled = None,
    as_json: arguments.AsJson = False,
) -> None:
    """Bodies, joints, loops, actuators, geometries, keyframes, the import report, and operation counts.

    Operation counts are exact: additions, multiplications, divisions and sines of the code that Sarrus would compile
    for this robot. With -m METHOD it does compile: time of compiling, size of the code, and where the time of a call
    goes.
    """
    console = Console()
    with spinner("loading", as_json) as say:
        model = arguments.robot_from(robot, floating_base, extended, allow_outside)
        kernels = [compiled_kernel(model, method, say) for method in compiled or ()]
        counts, refused = {}, {}
        for name, algorithm in catalog().items():
            if "frame" in algorithm.options:
                continue
            say(f"tracing {name}")
            try:
                counts[name] = algorithm.op_count(model)
            except (UnsupportedError, IllPosedError) as error:
                refused[name] = str(error)
    if as_json:
        typer.echo(json.dumps(_as_dict(model, counts, refused) | {"kernels": kernels}, indent=2))
        return
    show_model(console, model)
    print_table(console, _count_table(model, counts))
    for reason, names in _by_reason(refused).items():
        print_plain(console, f"not for this robot: {', '.join(names)}: {reason}")
    for kernel in kernels:
        show_kernel(console, kernel)


def _by_reason(refused: dict[str, str]) -> dict[str, list[str]]:
    """Algorithms that refuse a robot for the same reason, together."""
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(reason.removeprefix(name).lstrip(": "), []).append(name)
    return reasons


def show_model(console: Console, model: Model) -> None:
    """Print a model's bodies, constraints, actuators, geometries, keyframes and import report."""
    console.print(
        f"[bold]{model.name}[/bold]: {model.nb} bodies, nq {model.nq}, nv {model.nv}, mass {float(model.mass):.6g} kg, "
        f"{len(model.frames)} frames, {len(model.constraints)} declared constraints"
    )
    bodies = [_body_row(model, i, body) for i, body in enumerate(model.bodies)]
    columns = ("#", "body", "parent", "joint", "type", "q", "v", "mass [kg]")
    print_table(console, table(columns, bodies, numbers=("#", "mass [kg]"), title="bodies"))
    rotors = {b.joint.name: b.joint.armature.max() for b in model.bodies if np.any(b.joint.armature)}
    if rotors:
        console.print(
            f"armature on {len(rotors)} joints, {min(rotors.values()):.3g} to {max(rotors.values()):.3g} kg m^2"
        )
    if model.constraints:
        rows = [
            (c.name, c.in_words()[0] + ("" if c.active else " (inactive)"), c.in_words()[1], c.source)
            for c in model.constraints
        ]
        print_table(console, table(("name", "kind", "between", "from"), rows, title="loops, couplings and tendons"))
    if model.actuators:
        rows = map(_actuator_row, model.actuators)
        print_table(console, table(_ACTUATOR, rows, numbers=("gear",), title="actuators"))
    for line in (*_about_geometries(model), *_about_file(model)):
        print_plain(console, line)
    if model.import_report:
        console.print("[bold]import report[/bold]: in the file, not in the model")
        for line in by_importance(model):
            lost = "lost physics: " if line in model.lost_physics else ""
            print_plain(console, f"  - {lost}{line}")
    else:
        console.print("import report: nothing was dropped")


def _parent(model: Model, body: Body) -> str:
    return WORLD_NAME if body.parent < 0 else model.bodies[body.parent].name


def _body_row(model: Model, i: int, body: Body) -> list[str]:
    kind = " ".join([body.joint.type.name, *(_direction(axis) for axis in body.joint.axes)])
    return [
        str(i), body.name, _parent(model, body), body.joint.name, kind, _span(model.layout.q[i]),
        _span(model.layout.v[i]), f"{float(body.inertia.mass):.4g}",
    ]  # fmt: skip


def _actuator_row(actuator: Actuator) -> list[str]:
    both = (actuator.control_range, actuator.force_range)
    ranges = (f"{low:.4g} to {high:.4g}" if np.isfinite([low, high]).any() else "any" for low, high in both)
    return [actuator.name, actuator.joint, actuator.kind, f"{actuator.gear:.4g}", *ranges]


def _about_geometries(model: Model) -> list[str]:
    """How many there are of each shape, which are the world's, and how many pairs may meet."""
    if not model.geometries:
        return ["geometries: none, so it touches nothing"]
    counts = ", ".join(f"{count} {shape}" for shape, count in _shapes(model).items())
    world = [f"{g.name} ({_shape(g)})" for g in model.geometries if g.body == WORLD]
    ground = f"on the world: {listed(world)}" if world else "none on the world: no ground"
    robots = robots_of(model)
    pairs = [
        (robots[model.geometries[pair.a].body], robots[model.geometries[pair.b].body]) for pair in meeting_pairs(model)
    ]
    own = sum(a == b for a, b in pairs)
    within = f", {own} of them within one robot (--self-collision)" if own else ""
    return [f"geometries: {counts}; {ground}; {len(pairs)} pairs may meet{within}"]


def _about_file(model: Model) -> list[str]:
    """What the file says about time and states."""
    lines = [f"keyframes: {', '.join(model.keyframes)}"] if model.keyframes else []
    if model.time_step is not None:
        lines.append(f"time step: {model.time_step:g} s, {model.integrator_hint or 'an integrator that is not here'}")
    return lines


def _shapes(model: Model) -> Counter[str]:
    return Counter(_shape(geometry) for geometry in model.geometries)


def _shape(geometry: Geometry) -> str:
    """In words: "height field"."""
    name = type(geometry.shape).__name__
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def _finite(x: tuple[float, float]) -> list[float | None]:
    """JSON has no infinity."""
    return [bound if np.isfinite(bound) else None for bound in x]


def _direction(axis: np.ndarray) -> str:
    for k, name in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return name if axis[k] > 0 else f"-{name}"
    return "(" + " ".join(f"{x:.3g}" for x in axis) + ")"


def _span(s: slice) -> str:
    return f"{s.start}" if s.stop - s.start == 1 else f"{s.start}:{s.stop}"


def _count_table(model: Model, counts: dict[str, Any]) -> Table:
    kinds = ("add", "mul", "div", "trig")
    rows = [
        (name, f"{x.total:,}", f"{x.total / max(model.nv, 1):.0f}", *(f"{x.by_kind[k]:,}" for k in kinds))
        for name, x in counts.items()
    ]
    columns = ("total", "per dof", *kinds)
    return table(("algorithm", *columns), rows, numbers=columns, title="operation counts, exact, for this robot")


def _as_dict(model: Model, counts: dict[str, Any], refused: dict[str, str]) -> dict[str, Any]:
    bodies = [
        _fields(body, "name") | {"parent": _parent(model, body), "joint": body.joint.name}
        | {"type": body.joint.type.name, "mass": float(body.inertia.mass)}
        for body in model.bodies
    ]  # fmt: skip
    constraints = [
        _fields(c, "name", "active", "source") | dict(zip(("kind", "between"), c.in_words(), strict=True))
        for c in model.constraints
    ]
    actuators = [
        _fields(a, "name", "kind", "gear") | {"joints": dict(a.joints)}
        | {"control_range": _finite(a.control_range), "force_range": _finite(a.force_range)}
        for a in model.actuators
    ]  # fmt: skip
    return _fields(model, "name", "nb", "nq", "nv", "import_report", "lost_physics", "time_step", "integrator_hint") | {
        "mass": float(model.mass),
        "bodies": bodies,
        "constraints": constraints,
        "actuators": actuators,
        "geometries": [
            {"name": g.name, "link": g.link, "shape": _shape(g), "dimensions": g.dimensions}
            | {"friction": [g.friction.sliding, g.friction.torsional, g.friction.rolling]}
            for g in model.geometries
        ],
        "meeting_pairs": len(meeting_pairs(model)),
        "keyframes": {
            name: {"time": key.time} | {x: getattr(key, x).tolist() for x in ("q", "v", "controls")}
            for name, key in model.keyframes.items()
        },
        "op_counts": {name: _fields(count, "total", "by_kind", "by_stage") for name, count in counts.items()},
        "not_supported": refused,
    }


def _fields(x: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(x, name) for name in names}
