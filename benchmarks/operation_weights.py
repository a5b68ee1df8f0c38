"""What kinds of operations take in compiled kernels, relative to an addition: the weights of `planning/cost.py`.

    python -m benchmarks.operation_weights [--only=NAME;NAME;...]

Kernels of plans' candidates (`plan_table.py`) are timed in batches on one thread, in one interleaved run per mechanism,
and their times fitted by the numbers of their operations, none of them negative, relative errors alike. Operations of
an iteration count as often as the slowest lane of a block ran it, those of a fallback in blocks where a lane needed it.
How long one mechanism's candidates take beside another's says little about weights, and the machine may have changed in
between: the fit has a factor per mechanism.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.plan_table import compiled, label, measured, states_of
from benchmarks.planned_mechanisms import MECHANISMS
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Tape
from sarrus.planning.cost import KINDS
from sarrus.planning.search import LANES

NAMES = (
    "delta robot", "Stewart platform", "humanoid leg, geared", "quadruped, geared", "cycle(6)", "cycle(12)",
    "star_pairs(4)", "star_to_one(4)", "chain_of_loops(3)", "coupled_loops(2)", "hand with a cube", "biped", "Cassie",
    "chain_every_kth_welded(5)", "MIT Humanoid leg",
)  # fmt: skip
MOST = 8  # candidates of a mechanism
GROUPS = {"add and mul": ("add", "mul"), "div and sqrt": ("div", "sqrt"), "trig": ("trig",), "compare": ("compare",)}


def counts(tape: Tape, result: Any) -> np.ndarray:
    """Operations by group, as often as blocks of lanes did them."""
    fallback = np.asarray(getattr(result, "fallback", 0.0)) > 0
    iterations = np.where(fallback, 0.0, getattr(result, "iterations", 0.0))
    blocks = (len(iterations) // LANES, LANES)
    times = np.ones(len(tape))
    for loop in tape.loops:
        more = max(float(iterations.reshape(blocks).max(axis=1).mean()) - 1.0, 0.0)
        times[loop.start : loop.stop] = loop.limit if loop.is_repetition else more
    for guard in tape.guards:
        times[guard.start : guard.stop] = float(fallback.reshape(blocks).any(axis=1).mean())
    fused = np.isin(tape.op, (Op.FMA, Op.FNMA, Op.FMS))
    out = []
    for kinds in GROUPS.values():
        ops = [op for kind in kinds for op in KINDS[kind]]
        out.append(float(times @ np.isin(tape.op, ops)) + (2.0 * float(times @ fused) if "add" in kinds else 0.0))
    numbers = sum(port.size for port in (*tape.inputs, *tape.outputs))
    return np.array([*out, float(numbers)])


def fitted(groups: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Weights (relative to the first), with a factor per mechanism, by turns."""
    x = np.array([1.0, *[2.0] * (groups[0][0].shape[1] - 1)])
    for _ in range(200):
        scaled = [A / (ns / np.exp(np.mean(np.log(ns / (A @ x)))))[:, None] for A, ns in groups]
        rows = np.concatenate(scaled)
        x = nonnegative(rows, np.ones(len(rows)))
        x = x / x[0]
    return x


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", metavar="NAME;NAME;...", help="mechanisms (default: all)")
    only = parser.parse_args().only
    groups, used = [], []
    for name in only.split(";") if only else NAMES:
        model = MECHANISMS[name]()
        candidates = [x for x in sarrus.plan(model).candidates if not x.ruled_out][:MOST]
        kernels = compiled(model, candidates)
        arrays = states_of(model)
        ns = measured(model, kernels)
        rows = [counts(kernel.tape, kernel(*arrays)) for kernel in kernels.values()]
        groups.append((np.array(rows), np.array([ns[label(x)] for x in candidates])))
        used.append(name)
    x = fitted(groups)
    for name, value in zip((*GROUPS, "in and out"), x, strict=True):
        print(f"{name:<14} weight {value:6.2f}")
    factors = [float(np.exp(np.mean(np.log(ns / (A @ x))))) for A, ns in groups]
    off = np.concatenate([np.abs(A @ x * factor / ns - 1.0) for (A, ns), factor in zip(groups, factors, strict=True)])
    print(
        f"nanoseconds a unit, by mechanism: {', '.join(f'{f:.4f}' for f in factors)}; median {np.median(factors):.4f}"
    )
    print(
        f"{len(off)} kernels; relative error of the fit: median {np.median(off):.1%}, 90 % {np.quantile(off, 0.9):.1%}"
    )


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
    main()
