"""Paper D: the proximal and sparse method. Fig. 2: its time against that of Pinocchio's `forwardDynamics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sarrus
from benchmarks.paper.item import Item, Panel, Table, Tell, Verdict, missing
from benchmarks.pv_table2 import constrained, pinocchio_cases
from benchmarks.robots import tree_of, urdf_path
from sarrus.cli.bench import Timing, interleaved

CASES = [
    ("iiwa", "arm, hand welded", [("H", 1, 6)]),
    ("go1", "quadruped, 4 points", [("F", 4, 3)]),
    ("talos_full_v2", "humanoid, feet welded", [("F", 2, 6)]),
]
BATCH = 512


def dense_peer(robot: str, model: sarrus.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Callable[[], Any]:
    """The state of the art of that paper, `forwardDynamics`: a sparse factor of M and a dense J M^-1 J^T. With what it
    needs: M and c, Jacobians and their drift."""
    import pinocchio as pin

    built = pin.buildModelFromUrdf(str(urdf_path(robot)), *([pin.JointModelFreeFlyer()] if robot != "iiwa" else []))
    data = built.createData()
    frames = [(built.getFrameId(c.frame), c.size) for c in model.active_constraints]
    J, drift = np.zeros((model.n_rows, built.nv)), np.zeros(model.n_rows)
    zero = np.zeros(built.nv)

    def run() -> Any:
        pin.computeAllTerms(built, data, q, v)
        pin.forwardKinematics(built, data, q, v, zero)
        row = 0
        for frame, size in frames:
            J[row : row + size] = pin.getFrameJacobian(built, data, frame, pin.LOCAL)[:size]
            acceleration = pin.getFrameClassicalAcceleration if size == 3 else pin.getFrameAcceleration
            drift[row : row + size] = acceleration(built, data, frame, pin.LOCAL).vector[:size]
            row += size
        return pin.forwardDynamics(built, data, tau, J, drift, 0.0)

    return run


def measure(quick: bool, tell: Tell) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for robot, name, what in CASES[1:2] if quick else CASES:
        path = urdf_path(robot)
        if path is None:
            continue
        tell(name)
        model = constrained(tree_of(path, robot != "iiwa"), robot, what)
        rng = np.random.default_rng(0)
        q, v = sarrus.random_state(model, rng, BATCH)
        arrays = [q, v, rng.normal(size=v.shape)]
        first = [np.ascontiguousarray(x[0]) for x in arrays]
        try:
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dense = dense_peer(robot, model, *first)
                expected = np.array(dense())
        except (ImportError, AttributeError, RuntimeError, TypeError, ValueError) as error:
            tell(f"{name}: no Pinocchio: {error}")
            continue
        kernel = sarrus.compile(model, "prox_ltl")
        got = kernel(*first).qdd
        off = float(np.abs(got - expected).max() / np.abs(expected).max())
        if not off < 1e-6:
            raise SystemExit(f"{name}: prox_ltl and Pinocchio's forwardDynamics differ by {off:.1e}: not timed")
        out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
        cases = {
            "pin forwardDynamics": dense,
            "prox_ltl, single": lambda k=kernel, f=first: k(*f),
            "prox_ltl, batch": lambda k=kernel, a=arrays, o=out: k(*a, out=o, threads=1),
        }
        cases |= {
            n: c
            for n, c in pinocchio_cases(robot, model, arrays, robot != "iiwa").items()
            if n == "pin constraintDynamics"
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = interleaved(cases, rounds=3 if quick else 7, round_seconds=0.02)
        scaled = {n: Timing([s / BATCH for s in t.seconds]) if "batch" in n else t for n, t in times.items()}
        rows[name] = {
            "us": {n: 1e6 * t.median for n, t in scaled.items()},
            "ops": sarrus.op_count(model, "prox_ltl", max_iterations=1).total,
        }
    return {"rows": rows, "cases": [n for _, n, _ in CASES], "quick": quick}


def verdicts(result: dict[str, Any]) -> list[Verdict]:
    out = []
    for name, row in result["rows"].items():
        us = row["us"]
        theirs = us.get("pin constraintDynamics")
        if theirs is not None:
            part = theirs / us["pin forwardDynamics"]
            out.append(
                Verdict(
                    f"{name}: the sparse method takes less than half the time of forwardDynamics, both in Pinocchio",
                    f"{part:.2f} of it ({theirs:.1f} and {us['pin forwardDynamics']:.1f} us, from Python)",
                    part < 0.5,
                    ""
                    if part < 0.5
                    else "Pinocchio 4.1's forwardDynamics is not that of the paper, and both are called from Python",
                )
            )
        out.append(
            Verdict(
                f"{name}: generated code improves a little more, capped by a lack of vectorization",
                f"prox_ltl traced: {us['prox_ltl, single']:.2f} us a call, {us['prox_ltl, batch']:.2f} us a "
                "state in batches",
                us["prox_ltl, single"] < us["pin forwardDynamics"],
                "generated code that is vectorized over states is not capped",
            )
        )
    absent = [n for n in result["cases"] if n not in result["rows"]]
    if absent and result["quick"]:
        return [*out, Verdict("the other robots", "; ".join(absent), None, "full mode only")]
    return out + missing(absent)


def tables(result: dict[str, Any]) -> list[Table]:
    names = ("pin forwardDynamics", "pin constraintDynamics", "prox_ltl, single", "prox_ltl, batch")
    rows = [
        (n, *(f"{r['us'][k]:.2f}" if k in r["us"] else "-" for k in names), f"{r['ops']:,}")
        for n, r in result["rows"].items()
    ]
    return [
        Table(
            "Microseconds per state, one thread; the paper's figure has bars without numbers",
            ("robot", *names, "operations, one iteration"),
            rows,
        )
    ]


def panels(result: dict[str, Any]) -> list[Panel]:
    names = list(result["rows"])
    keys = ("pin forwardDynamics", "pin constraintDynamics", "prox_ltl, single", "prox_ltl, batch")
    bars = {k: (names, [result["rows"][n]["us"].get(k, 0.0) for n in names]) for k in keys}
    return [Panel("Fig. 2: constrained dynamics", "robot", "time per call [us]", bars)] if names else []


ITEMS = [
    Item(
        "D.fig2",
        "Fig. 2",
        "II",
        "times of forwardDynamics, of the sparse method and of its generated code: over 50 % less on all robots",
        measure,
        verdicts,
        tables,
        panels,
    )
]
