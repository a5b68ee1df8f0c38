"""Every robot of example-robot-data with feet, standing straight: which methods are right, and who answered.

    python -m benchmarks.straight_legs [--json] [--random 500]

At `neutral` legs are stretched, and a limb alone is singular although all rows together are not. Each method runs as
text and compiled, with its fallback and without, against a dense solve. Then random velocities and torques on Go1 and
Talos, at neutral and close to it. A state is right (within 1e-8 and status ok), told (status not ok) or silently wrong;
there must be none of the last. Where J itself is singular, dense accelerations are least squares.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from sarrus.importers.load import example_robots

QUICK, ROBUST = ("pv", "pv_early", "ltl"), ("constrained_aba", "prox_pv", "prox_ltl")
DISTANCES = (0.0, 1e-12, 1e-8, 1e-6, 1e-4)
_FOUR = [f"{side}_foot" for side in ("FL", "FR", "RL", "RR")]
_SOLES = (["left_sole_link", "right_sole_link"], 6)
FEET: dict[str, tuple[list[str], int]] = {
    **dict.fromkeys(("a1", "b1", "b1-z1", "go1", "go2", "laikago"), (_FOUR, 3)),
    **{name: ([f"{x}_FOOT" for x in ("FL", "FR", "HL", "HR")], 3) for name in ("solo", "solo12")},
    "hyq_no_sensors": ([f"{x}_foot" for x in ("lf", "lh", "rf", "rh")], 3),
    **{
        name: ([f"{x}_FOOT" for x in ("LF", "LH", "RF", "RH")], 3)
        for name in ("anymal-kinova", "anymal_b_simple_description/anymal", "anymal_c_simple_description/anymal")
    },
    "bolt": (["FL_FOOT", "FR_FOOT"], 3),
    "quadruped": ([f"{x}_shank" for x in ("FL", "FR", "BL", "BR")], 3),
    "centauro": ([f"wheel_{k}" for k in (1, 2, 3, 4)], 3),
    "alexander_v1.lowerBodyOnly": (["LEFT_FOOT", "RIGHT_FOOT"], 6),
    **{
        name: (["left_ankle_roll_link", "right_ankle_roll_link"], 6)
        for name in ("g1_29dof_rev_1_0", "g1_29dof_with_hand_rev_1_0")
    },
    **{name: (["left_foot", "right_foot"], 6) for name in ("human",)},
    **{name: (["l_sole", "r_sole"], 6) for name in ("icub", "icub_reduced", "romeo", "romeo_small")},
    **{name: (["l_ankle", "r_ankle"], 6) for name in ("simple_humanoid", "simple_humanoid_classical")},
    **{f"talos_{kind}": _SOLES for kind in ("full_v2", "full_v2_box", "reduced", "reduced_box", "reduced_corrected")},
}  # fmt: skip


def standing(name: str) -> sarrus.Model | None:
    """The robot on its feet, or None where its file is not to be had."""
    path = example_robots().get(name)
    if path is None:
        return None
    frames, dim = FEET[name]
    model = sarrus.load(path, floating_base=True).without_constraints()
    return model.with_constraints(*(sarrus.contact(frame, dim) for frame in frames))


def dense(model: sarrus.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, str]:
    """Accelerations by NumPy from M, c, J and the rows' bias, and what is singular here (then they are not right)."""
    M, c = sarrus.crba(model, q), sarrus.bias_forces(model, q, v)
    J = np.vstack([_rows(model, c.frame, c.size, q) for c in model.active_constraints])
    bias = np.concatenate([_bias(model, c.frame, c.size, q, v) for c in model.active_constraints])
    scale = np.sqrt(np.maximum(np.diag(M), 0.0))
    if not (scale > 0.0).all() or np.linalg.eigvalsh(M / np.outer(scale, scale))[0] < 1e-12:
        return np.full(model.nv, np.nan), "M"
    L = np.linalg.cholesky(M)
    Y = np.linalg.solve(L, J.T).T
    free = np.linalg.solve(M, tau - c)
    values = np.linalg.svd(Y, compute_uv=False)
    z = np.linalg.lstsq(Y, -bias - J @ free, rcond=1e-10)[0]
    return free + np.linalg.solve(L.T, z), "" if values[-1] > 1e-10 * values[0] else "J"


def _rows(model: sarrus.Model, frame: str, size: int, q: np.ndarray) -> np.ndarray:
    return sarrus.frame_jacobian(model, q, frame=frame, reference="local")[:size]


def _bias(model: sarrus.Model, frame: str, size: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    spatial = sarrus.frame_jacobian_bias(model, q, v, frame=frame, reference="local")
    if size == 6:
        return spatial
    velocity = sarrus.frame_jacobian(model, q, frame=frame, reference="local") @ v
    return spatial[:3] + np.cross(velocity[3:], velocity[:3])


def verdict(result: Any, expected: np.ndarray) -> str:
    """Of one state, with who answered."""
    scale = max(1.0, float(np.abs(expected).max()))
    close = bool(np.abs(np.asarray(result.qdd) - expected).max() <= 1e-8 * scale)  # what is no number is not close
    if int(result.status) != sarrus.Status.OK:
        return "told"
    return ("right*" if float(result.fallback) else "right") if close else "WRONG"


def at_neutral(name: str, compiled: bool = True) -> dict[str, Any] | None:
    """One row of the table: the verdict of every method, as text and compiled."""
    model = standing(name)
    if model is None:
        return None
    if model.ill_posed:
        return {"robot": name, "dof": model.nv, "singular": "M, everywhere: an error in words"}
    rng = np.random.default_rng(0)
    q, v, tau = sarrus.neutral(model), rng.normal(size=model.nv), rng.normal(size=model.nv)
    expected, singular = dense(model, q, v, tau)
    row: dict[str, Any] = {"robot": name, "dof": model.nv, "singular": singular}
    for method in (*QUICK, *ROBUST):
        kinds: list[dict[str, Any]] = [{}, {"fallback": None}] if method in QUICK else [{}]
        for options in kinds:
            words = [verdict(sarrus.forward_dynamics(model, q, v, tau, method=method, **options), expected)]
            if compiled:
                words.append(verdict(sarrus.compile(model, method, **options)(q, v, tau), expected))
            row[f"{method} alone" if options else method] = words[0] if len(set(words)) == 1 else "/".join(words)
    return row


def near_neutral(name: str, count: int) -> list[dict[str, Any]]:
    """Random velocities and torques at some distances from neutral, compiled: how many are right, told and wrong."""
    model = standing(name)
    if model is None:
        return []
    rng, rows = np.random.default_rng(1), []
    kernels = {m: sarrus.compile(model, m) for m in (*QUICK, "constrained_aba")}
    kernels |= {f"{m} alone": sarrus.compile(model, m, fallback=None) for m in QUICK}
    for distance in DISTANCES:
        q = np.stack(
            [sarrus.integrate(model, sarrus.neutral(model), distance * rng.normal(size=model.nv)) for _ in range(count)]
        )
        v, tau = rng.normal(size=(2, count, model.nv))
        expected = [dense(model, *state)[0] for state in zip(q, v, tau, strict=True)]
        for method, kernel in kernels.items():
            result = kernel(q, v, tau)
            found = [verdict(_of(result, k), expected[k]) for k in range(count)]
            rows.append(
                {"robot": name, "distance": distance, "method": method, "right": found.count("right"),
                 "by the fallback": found.count("right*"), "told": found.count("told"), "WRONG": found.count("WRONG")}
            )  # fmt: skip
    return rows


def _of(result: Any, k: int) -> Any:
    return type(result)(*(np.asarray(x)[k] for x in result))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--random", type=int, default=500, help="states per distance on Go1 and Talos")
    given = parser.parse_args()
    console = Console(stderr=given.json, width=None if sys.stdout.isatty() else 190)
    standing_rows, random_rows = [], []
    for name in FEET:
        with console.status(name):
            row = at_neutral(name)
        console.log(name)
        standing_rows += [] if row is None else [row]
    for name in ("go1", "talos_full_v2") if given.random else ():
        with console.status(f"{name}, near neutral"):
            random_rows += near_neutral(name, given.random)
    if given.json:
        print(json.dumps({"neutral": standing_rows, "near": random_rows}, indent=1))
    else:
        for title, rows in (("at neutral (right*: by the fallback)", standing_rows), ("near neutral", random_rows)):
            if rows:
                columns = max(rows, key=len)
                table = Table(*map(str, columns), title=title)
                for row in rows:
                    table.add_row(*(str(row.get(name, "")) for name in columns))
                console.print(table)
    wrong = sum("WRONG" in str(x) for row in standing_rows for x in row.values()) + sum(r["WRONG"] for r in random_rows)
    console.print(f"{len(standing_rows)} robots; {wrong} silently wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
