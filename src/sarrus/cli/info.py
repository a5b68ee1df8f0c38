"""`sarrus info`: what a robot is and what its dynamics cost."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from sarrus.cli.robot_argument import HELP, AllowOutside, robot_from
from sarrus.codegen.tape.trace import op_count
from sarrus.errors import IllPosedError, UnsupportedError
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import Body
from sarrus.model.constraints import CenterOfMass, Coupling, LinkConstraint, LoopClosure, Tendon
from sarrus.model.model import Model
from sarrus.registry import table as registry

_ACTUATOR = ("name", "joint", "kind", "gear", "control range", "force range")


def info(
    robot: Annotated[str, typer.Argument(help=HELP, metavar="ROBOT")],
    floating_base: Annotated[
        bool | None,
        typer.Option("--floating-base/--fixed-base", help="Put the root on a free joint (default: as the file says)."),
    ] = None,
    allow_outside: AllowOutside = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of tables.")] = False,
) -> None:
    """Bodies, joints, mass, loops, couplings and actuators of a robot, what the import dropped, and operation counts.

    Operation counts are exact: additions, multiplications, divisions and sines of the code that Sarrus would compile
    for this robot.
    """
    console = Console()
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True, disable=as_json) as progress:
        task = progress.add_task("loading")
        model = robot_from(robot, floating_base, allow_outside=allow_outside)
        counts, refused = {}, {}
        for entry in registry.algorithms().values():
            if entry.options and "frame" in entry.options:
                continue
            progress.update(task, description=f"tracing {entry.name}")
            try:
                counts[entry.name] = op_count(model, entry.name)
            except (UnsupportedError, IllPosedError) as error:
                refused[entry.name] = str(error)
    if as_json:
        typer.echo(json.dumps(_as_dict(model, counts, refused), indent=2))
        return
    show_model(console, model)
    console.print(_count_table(model, counts))
    for reason, names in _by_reason(refused).items():
        console.print(
            f"not for this robot: {', '.join(names)}: {reason}", markup=False, highlight=False, soft_wrap=True
        )


def _by_reason(refused: dict[str, str]) -> dict[str, list[str]]:
    """Algorithms that refuse a robot for the same reason, together."""
    reasons: dict[str, list[str]] = {}
    for name, reason in refused.items():
        reasons.setdefault(reason.removeprefix(name).lstrip(": "), []).append(name)
    return reasons


def show_model(console: Console, model: Model) -> None:
    """Print a model's bodies, constraints, actuators and import report."""
    console.print(
        f"[bold]{model.name}[/bold]: {model.nb} bodies, nq {model.nq}, nv {model.nv}, mass {float(model.mass):.6g} kg, "
        f"{len(model.frames)} frames, {len(model.constraints)} declared constraints"
    )
    table = Table(title="bodies", title_justify="left")
    for column in ("#", "body", "parent", "joint", "type", "q", "v", "mass [kg]"):
        table.add_column(column, justify="right" if column in ("#", "mass [kg]") else "left", overflow="fold")
    for i, body in enumerate(model.bodies):
        table.add_row(*_body_row(model, i, body))
    console.print(table)
    rotors = {b.joint.name: b.joint.armature.max() for b in model.bodies if np.any(b.joint.armature)}
    if rotors:
        console.print(
            f"armature on {len(rotors)} joints, {min(rotors.values()):.3g} to {max(rotors.values()):.3g} kg m^2"
        )
    if model.constraints:
        constraints = Table(title="loops, couplings and tendons", title_justify="left")
        for column in ("name", "kind", "between", "from"):
            constraints.add_column(column)
        for constraint in model.constraints:
            kind, between = _describe(constraint)
            constraints.add_row(
                constraint.name, kind + ("" if constraint.active else " (inactive)"), between, constraint.source
            )
        console.print(constraints)
    if model.actuators:
        actuators = Table(title="actuators", title_justify="left")
        for column in _ACTUATOR:
            actuators.add_column(column, justify="right" if column == "gear" else "left", overflow="fold")
        for actuator in model.actuators:
            actuators.add_row(*_actuator_row(actuator))
        console.print(actuators)
    if model.import_report:
        console.print("[bold]import report[/bold]: in the file, not in the model")
        for line in model.import_report:
            lost = "lost physics: " if line in model.lost_physics else ""
            console.print(f"  - {lost}{line}", markup=False, highlight=False)
    else:
        console.print("import report: nothing was dropped")


def _body_row(model: Model, i: int, body: Body) -> list[str]:
    parent = "world" if body.parent < 0 else model.bodies[body.parent].name
    kind = " ".join([body.joint.type.name, *(_direction(axis) for axis in body.joint.axes)])
    return [
        str(i), body.name, parent, body.joint.name, kind, _span(model.layout.q[i]), _span(model.layout.v[i]),
        f"{float(body.inertia.mass):.4g}",
    ]  # fmt: skip


def _actuator_row(actuator: Actuator) -> list[str]:
    ranges = (_range(x) for x in (actuator.control_range, actuator.force_range))
    return [actuator.name, actuator.joint, actuator.kind, f"{actuator.gear:.4g}", *ranges]


def _range(x: tuple[float, float]) -> str:
    return f"{x[0]:.4g} to {x[1]:.4g}" if np.isfinite(x).any() else "any"


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


def _describe(constraint: Any) -> tuple[str, str]:
    if isinstance(constraint, LoopClosure):
        return f"loop closed by {constraint.joint}", f"{constraint.frame_a} - {constraint.frame_b}"
    if isinstance(constraint, Coupling):
        terms = " ".join(f"{ratio:+.4g} {name}" for name, ratio in constraint.ratios)
        if constraint.driver is None:
            return "coupling", f"{terms} = {constraint.polynomial[0]:.4g}"
        polynomial = " ".join(f"{c:+.4g} x^{k}" for k, c in enumerate(constraint.polynomial) if c)
        return "coupling", f"{terms} = {polynomial or '0'}, x = {constraint.driver}"
    if isinstance(constraint, Tendon):
        return "tendon", " ".join(f"{ratio:+.4g} {name}" for name, ratio in constraint.coefficients)
    if isinstance(constraint, CenterOfMass):
        return f"centre of mass, {constraint.size} rows", f"along {', '.join(constraint.axes)}"
    if isinstance(constraint, LinkConstraint):
        return f"{type(constraint).__name__.lower()}, {constraint.size} rows", f"{constraint.frame} - world"
    return type(constraint).__name__.lower(), f"{constraint.frame_a} - {constraint.frame_b}"


def _count_table(model: Model, counts: dict[str, Any]) -> Table:
    table = Table(title="operation counts, exact, for this robot", title_justify="left")
    table.add_column("algorithm")
    for column in ("total", "per dof", "add", "mul", "div", "trig"):
        table.add_column(column, justify="right")
    for name, count in counts.items():
        kinds = count.by_kind
        per_dof = count.total / max(model.nv, 1)
        table.add_row(
            name, f"{count.total:,}", f"{per_dof:.0f}", *(f"{kinds[k]:,}" for k in ("add", "mul", "div", "trig"))
        )
    return table


def _as_dict(model: Model, counts: dict[str, Any], refused: dict[str, str]) -> dict[str, Any]:
    return {
        "name": model.name,
        "nb": model.nb,
        "nq": model.nq,
        "nv": model.nv,
        "mass": float(model.mass),
        "bodies": [
            {
                "name": body.name,
                "parent": "world" if body.parent < 0 else model.bodies[body.parent].name,
                "joint": body.joint.name,
                "type": body.joint.type.name,
                "mass": float(body.inertia.mass),
            }
            for body in model.bodies
        ],
        "constraints": [
            {
                "name": c.name,
                "kind": _describe(c)[0],
                "between": _describe(c)[1],
                "active": c.active,
                "source": c.source,
            }
            for c in model.constraints
        ],
        "actuators": [
            {
                "name": a.name,
                "joints": dict(a.joints),
                "kind": a.kind,
                "gear": a.gear,
                "control_range": _finite(a.control_range),
                "force_range": _finite(a.force_range),
            }
            for a in model.actuators
        ],
        "import_report": list(model.import_report),
        "lost_physics": list(model.lost_physics),
        "op_counts": {
            name: {"total": c.total, "by_kind": c.by_kind, "by_stage": c.by_stage} for name, c in counts.items()
        },
        "not_supported": refused,
    }
