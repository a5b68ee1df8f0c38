"""Table II of the PV paper: constrained dynamics of iiwa, Go1, Atlas and Talos by every method, and by Pinocchio.

    python -m benchmarks.pv_table2 [--json] [--quick]

Each method is validated against a dense solve before it is timed. Times are medians of interleaved rounds on one
thread.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.robots import tree_of, urdf_path
from sarrus.cli.bench import Case, Timing, interleaved, ratio

BATCH = 1024
METHODS = ("pv", "pv_early", "ltl", "pv_soft", "ltl_soft")
SOFT = ("pv_soft", "ltl_soft")
WEIGHT = 1e6
FRAMES: dict[str, dict[str, list[str]]] = {
    "iiwa": {"H": ["iiwa_link_7"]},
    "go1": {"F": ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]},
    "atlas": {"F": ["l_foot", "r_foot"], "H": ["l_hand", "r_hand"]},
    "talos_full_v2": {
        "F": ["left_sole_link", "right_sole_link"],
        "H": ["gripper_left_base_link", "gripper_right_base_link"],
    },
}
ROWS: list[tuple[str, str, list[tuple[str, int, int]]]] = [  # robot, label, [(kind, how many, dim)]
    ("iiwa", "0D", []),
    ("iiwa", "H3", [("H", 1, 3)]),
    ("iiwa", "H", [("H", 1, 6)]),
    ("go1", "0D", []),
    *(("go1", f"{n}F3", [("F", n, 3)]) for n in (1, 2, 3, 4)),
    ("atlas", "0D", []),
    ("atlas", "F", [("F", 1, 6)]),
    ("atlas", "2F", [("F", 2, 6)]),
    ("atlas", "2F+H", [("F", 2, 6), ("H", 1, 6)]),
    ("atlas", "2F+2H", [("F", 2, 6), ("H", 2, 6)]),
    ("talos_full_v2", "0D", []),
    ("talos_full_v2", "F", [("F", 1, 6)]),
    ("talos_full_v2", "2F", [("F", 2, 6)]),
    ("talos_full_v2", "2F+H", [("F", 2, 6), ("H", 1, 6)]),
    ("talos_full_v2", "2F+2H", [("F", 2, 6), ("H", 2, 6)]),
]


def constrained(model: sarrus.Model, robot: str, what: list[tuple[str, int, int]]) -> sarrus.Model:
    contacts = [sarrus.contact(frame, dim) for kind, count, dim in what for frame in FRAMES[robot][kind][:count]]
    return model.with_constraints(*contacts)


def validate(model: sarrus.Model, kernels: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Against M, c, J from other algorithms and one dense solve, on a few states."""
    for i in range(3):
        q, v, tau = (x[i] for x in arrays)
        M, c = sarrus.crba(model, q), sarrus.bias_forces(model, q, v)
        J, k = [np.zeros((0, model.nv))], [np.zeros(0)]
        for contact in model.active_constraints:
            jacobian = sarrus.frame_jacobian(model, q, frame=contact.frame)
            bias = sarrus.frame_jacobian_bias(model, q, v, frame=contact.frame)
            w = jacobian @ v
            if contact.dim == 3:
                bias = bias[:3] + np.cross(w[3:], w[:3])
            J.append(jacobian[: contact.dim])
            k.append(-bias)
        jacobian, target = np.vstack(J), np.concatenate(k)
        m = len(target)
        for name, kernel in kernels.items():
            R = np.eye(m) / WEIGHT if name in SOFT else np.zeros((m, m))
            system = np.block([[M, -jacobian.T], [jacobian, R]])
            expected = np.linalg.solve(system, np.concatenate([tau - c, target]))[: model.nv]
            got = kernel(q.copy(), v.copy(), tau.copy()).qdd
            error = np.abs(got - expected).max() / np.abs(expected).max()
            if not error < 1e-7:
                raise SystemExit(f"{model.name} {name}: off by {error:.1e}; not timed")


def pinocchio_cases(robot: str, model: sarrus.Model, arrays: list[np.ndarray], floating: bool) -> dict[str, Any]:
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    path = urdf_path(robot)
    built = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    if list(built.names)[1:] != list(model.joint_names) or built.nq != model.nq:
        return {}
    models = pin.StdVec_RigidConstraintModel()
    for contact in model.active_constraints:
        frame = built.frames[built.getFrameId(contact.frame)]
        kind = pin.ContactType.CONTACT_6D if contact.dim == 6 else pin.ContactType.CONTACT_3D
        models.append(
            pin.RigidConstraintModel(kind, built, frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL)
        )
    datas = pin.StdVec_RigidConstraintData()
    for m in models:
        datas.append(m.createData())
    q, v, tau = (np.ascontiguousarray(x[0]) for x in arrays)
    data, data2 = built.createData(), built.createData()
    pin.initConstraintDynamics(built, data, models, datas)
    # One iteration of each: the same work as our direct methods.
    settings = pin.ProximalSettings(1e-12, 1e-12, 1)
    loop_settings = pin.ProximalSettings(1e-8, 1e-6, 1)
    pin.computeJointMinimalOrdering(built, data2, models)
    return {
        "pin constraintDynamics": lambda: pin.constraintDynamics(built, data, q, v, tau, models, datas, settings),
        "pin lcaba": lambda: pin.lcaba(built, data2, q, v, tau, models, datas, loop_settings),
    }


def measure(
    robot: str,
    label: str,
    what: list[tuple[str, int, int]],
    rounds: int,
    others: Callable[[sarrus.Model], dict[str, Case]] = lambda model: {},
) -> dict[str, Any] | None:
    """A row of the table; `others` are further cases of the model, timed in the same rounds."""
    path = urdf_path(robot)
    if path is None:
        return None
    floating = robot != "iiwa"
    model = constrained(tree_of(path, floating), robot, what)
    kernels = {m: sarrus.compile(model, m, **({"weight": WEIGHT} if m in SOFT else {})) for m in METHODS}
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng, BATCH)
    arrays = [q, v, rng.normal(size=v.shape)]
    validate(model, kernels, arrays)
    first = [np.ascontiguousarray(x[0]) for x in arrays]
    cases: dict[str, Any] = {}
    for name, kernel in kernels.items():
        out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
        cases[f"{name} batch"] = lambda kernel=kernel, out=out: kernel(*arrays, out=out, threads=1)
        cases[f"{name} single"] = lambda kernel=kernel: kernel(*first)
    peers = pinocchio_cases(robot, model, arrays, floating) | others(model)
    cases |= peers
    times = interleaved(cases, rounds=rounds, round_seconds=0.02)
    scaled = {n: Timing([s / BATCH for s in t.seconds]) if n.endswith("batch") else t for n, t in times.items()}
    ops = {m: k.op_count.total for m, k in kernels.items()}
    row: dict[str, Any] = {
        "robot": robot.removesuffix("_full_v2"), "constraints": label, "rows": model.n_rows, "nv": model.nv,
        "ops": {"aba": sarrus.op_count(model, "aba").total} | ops,
        "us": {n: 1e6 * t.median for n, t in scaled.items()}, "ratios": {},
        "over pv_early": {peer: ratio(scaled[peer], scaled["pv_early single"]) for peer in peers},
    }  # fmt: skip
    for peer in ("pin constraintDynamics", "pin lcaba"):
        if peer in scaled:
            for mode in ("batch", "single"):
                best = min(("pv", "pv_early", "ltl"), key=lambda m, mode=mode: scaled[f"{m} {mode}"].median)
                row["ratios"][f"{peer} / {mode}"] = ratio(scaled[peer], scaled[f"{best} {mode}"])
    return row


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--json", action="store_true", help="print rows as JSON, and tables and verdicts on stderr")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of timing")
    given = parser.parse_args()
    rounds = 3 if given.quick else 9
    console = Console(stderr=given.json)
    rows = []
    for robot, label, what in ROWS:
        with console.status(f"{robot} {label}"):
            row = measure(robot, label, what, rounds)
        if row is None:
            console.print(f"skipped {robot} {label}: no robot file")
        else:
            rows.append(row)
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        show(console, rows)
    return 1 if failures(console, rows) else 0


def show(console: Console, rows: list[dict[str, Any]]) -> None:
    counts = Table(title="operations")
    times = Table(title=f"microseconds per state: batch of {BATCH} / single call from Python")
    for table in (counts, times):
        table.add_column("robot")
        table.add_column("rows", justify="right")
    for name in ("aba", *METHODS):
        counts.add_column(name, justify="right")
    for name in METHODS:
        times.add_column(name, justify="right")
    for name in ("pin constraintDynamics", "pin lcaba"):
        times.add_column(name, justify="right")
    for row in rows:
        label = f"{row['robot']} {row['constraints']}"
        counts.add_row(label, str(row["rows"]), *(f"{row['ops'][m]:,}" for m in ("aba", *METHODS)))
        us = row["us"]
        peers = [f"{us[p]:.1f}" if p in us else "-" for p in ("pin constraintDynamics", "pin lcaba")]
        cells = [f"{us[f'{m} batch']:.2f} / {us[f'{m} single']:.2f}" for m in METHODS]
        times.add_row(label, str(row["rows"]), *cells, *peers)
    console.print(counts, times)


def failures(console: Console, rows: list[dict[str, Any]]) -> int:
    """The findings that must hold, printed one by one."""
    found = {(r["robot"], r["constraints"]): r for r in rows}
    checks: list[tuple[str, bool]] = []
    for robot in ("atlas", "talos"):
        row = found.get((robot, "2F+2H"))
        if row:
            ops = row["ops"]
            checks.append(
                (f"{robot} 2F+2H: pv_early < pv < ltl in operations", ops["pv_early"] < ops["pv"] < ops["ltl"])
            )
    row = found.get(("talos", "2F+2H"))
    if row:
        share = row["ops"]["pv_soft"] / row["ops"]["aba"]
        checks.append((f"talos 2F+2H: pv_soft / aba = {share:.3f} <= 1.10 in operations", share <= 1.10))
        for name, wanted in (
            ("pin constraintDynamics / batch", 20.0), ("pin lcaba / batch", 12.0), ("pin lcaba / single", 2.5),
        ):  # fmt: skip
            if name in row["ratios"]:
                value = row["ratios"][name]
                checks.append((f"talos 2F+2H: {name} = {value:.1f} >= {wanted}", value >= wanted))
    for text, ok in checks:
        console.print(f"{'PASS' if ok else 'FAIL'}  {text}")
    return sum(not ok for _, ok in checks)


if __name__ == "__main__":
    sys.exit(main())
