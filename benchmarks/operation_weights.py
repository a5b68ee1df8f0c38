"""What kinds of operations take in compiled kernels, relative to an addition: the weights of `planning/cost.py`.

    python -m benchmarks.operation_weights

Kernels of many mechanisms and methods are timed in batches on one thread, interleaved, and their times fitted by the
numbers of their operations (iterations as often as they ran), none of them negative, relative errors alike.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import sarrus
from sarrus import zoo
from sarrus.cli.bench import interleaved
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Tape
from sarrus.planning.cost import KINDS

BATCH = 512
MECHANISMS = (
    zoo.stewart, zoo.humanoid_leg, zoo.geared_quadruped, zoo.delta, zoo.hand_cube, lambda: zoo.cycle(6),
    lambda: zoo.chain_of_loops(3),
)  # fmt: skip
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lcaba", {}), ("prox_bbo", {}), ("prox_ltl", {}), ("bbo", {"fallback": None}), ("aba", {}), ("rnea", {}),
)  # fmt: skip
GROUPS = {"add and mul": ("add", "mul"), "div and sqrt": ("div", "sqrt"), "trig": ("trig",), "compare": ("compare",)}


def counts(tape: Tape, iterations: float) -> np.ndarray:
    """Operations by group, as often as they run."""
    times = np.ones(len(tape))
    for loop in tape.loops:
        times[loop.start : loop.stop] = loop.limit if loop.is_repetition else max(iterations - 1.0, 0.0)
    fused = np.isin(tape.op, (Op.FMA, Op.FNMA, Op.FMS))
    out = []
    for kinds in GROUPS.values():
        ops = [op for kind in kinds for op in KINDS[kind]]
        out.append(float(times @ np.isin(tape.op, ops)) + (2.0 * float(times @ fused) if "add" in kinds else 0.0))
    numbers = sum(port.size for port in (*tape.inputs, *tape.outputs))
    return np.array([*out, float(numbers)])


def main() -> int:
    rows, cases = [], {}
    for make in MECHANISMS:
        model = make()
        q, v = sarrus.random_state(model, 0, BATCH)
        for method, options in METHODS:
            kernel = sarrus.compile(model, method, **options)
            arrays = [{"q": q, "v": v, "a": v, "tau": v}[name] for name in kernel.input_names]
            result = kernel(*arrays)
            iterations = float(np.max(getattr(result, "iterations", 0.0)))
            rows.append(counts(kernel.tape, iterations))
            cases[f"{model.name} {method}"] = lambda kernel=kernel, arrays=arrays: kernel(*arrays, threads=1)
    found = interleaved(cases, rounds=7, round_seconds=0.004)
    ns = np.array([1e9 * t.median / BATCH for t in found.values()])
    A = np.array(rows) / ns[:, None]  # relative errors count alike
    x = nonnegative(A, np.ones(len(A)))
    for name, value in zip((*GROUPS, "in and out"), x, strict=True):
        print(f"{name:<14} {value:8.4f} ns   weight {value / x[0]:6.2f}")
    off = np.abs(A @ x - 1.0)
    print(
        f"{len(ns)} kernels; relative error of the fit: median {np.median(off):.0%}, 90 % {np.quantile(off, 0.9):.0%}"
    )
    return 0


def nonnegative(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Least squares with no unknown below zero, by leaving out those that would be."""
    active = list(range(A.shape[1]))
    while True:
        x = np.zeros(A.shape[1])
        x[active] = np.linalg.lstsq(A[:, active], b, rcond=None)[0]
        if (x >= 0.0).all():
            return x
        active = [k for k in active if x[k] > 0.0]


if __name__ == "__main__":
    sys.exit(main())
