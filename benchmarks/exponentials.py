"""Our own exp, log and tanh: the largest errors found, and what a number takes in a batch.

    python -m benchmarks.exponentials [--numbers 1e7] [--write]

Errors are in units of the last place, compared with `np.longdouble` (float64) and double precision (float32), with and
without fused multiply-adds. Arguments are those of the tests, where it is hard, and random ones everywhere.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.command_line import parser_of
from benchmarks.written_figures import measured, write_figures
from tests.codegen.test_exponential import NAMES, arguments, error, kernel

PIECE = 500_000  # numbers at a time
RANGES = {"exp": (-745.0, 709.0), "log": (-300.0, 300.0), "tanh": (-25.0, 25.0)}  # of log: powers of ten
ROUNDS = 7


def pieces(name: str, dtype: str, count: int) -> list[np.ndarray]:
    low, high = RANGES[name]
    if dtype == "float32":
        low, high = (0.12 * low, 0.12 * high) if name != "tanh" else (low, high)
    rng = np.random.default_rng(1)
    found = [arguments(name, dtype)]
    for _ in range(-(-count // PIECE)):
        x = rng.uniform(low, high, PIECE)
        found.append((10.0**x if name == "log" else x).astype(dtype))
    return found


def worst(name: str, dtype: str, count: int) -> float:
    return max(
        error(name, x, kernel(dtype=dtype, fused=fused)(x)[name])
        for x in pieces(name, dtype, count)
        for fused in (True, False)
    )


def table(count: int) -> str:
    evaluate_all, x = kernel(), np.random.default_rng(2).uniform(0.1, 5.0, PIECE)
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        evaluate_all(x)
        seconds.append(time.perf_counter() - began)
    lines = ["| | largest error found, float64 | float32 |", "|---|---:|---:|"]
    for name in NAMES:
        errors = (worst(name, dtype, count) for dtype in ("float64", "float32"))
        lines.append(f"| {name} | " + " | ".join(f"{x:.2f} ulp" for x in errors) + " |")
    each = 1e9 * min(seconds) / PIECE
    lines += ["", f"In a batch, all three of a number take {each:.1f} ns. Numbers tried: {count:.0e} for each."]
    return "\n".join([measured("exponentials"), "", *lines])


if __name__ == "__main__":
    parser = parser_of(__doc__, writes="kernels.md")
    parser.add_argument("--numbers", type=float, default=1e7, help="random ones, of each function and precision")
    given = parser.parse_args()
    text = table(int(given.numbers))
    print(text)
    if given.write:
        write_figures("kernels.md", "exponentials", text)
