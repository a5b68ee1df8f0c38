"""Our own machine code beside LLVM's: the same bits, for every algorithm with all its options, types and registers.

    python -m benchmarks.backend_bits [words of names] [--first]

The cases are those of tests/algorithms/test_three_ways.py, in both precisions, with registers of 256 and (where the
machine has them) 512 bits. Each is compiled twice, and run on ordinary states, on zeros, and on states with numbers
that are tiny, huge, infinite or not numbers; results are compared bit by bit, where they are not numbers by that.
`--first` takes one choice of options per algorithm.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.command_line import parser_of
from sarrus.codegen.emit.backend import LLVM, X86
from sarrus.codegen.emit.host import has_wide_registers
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.spatial.precision import precision
from tests.algorithms.test_three_ways import CASES, FIRST, Case
from tests.codegen.machine_chunks import same

DTYPES, WIDTHS = ("float64", "float32"), (256, 512) if has_wide_registers() else (256,)
STATES = 21
_NASTY = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e-40, 1e30, -1e300)


def states_of(case: Case, tape: Tape, dtype: str) -> Iterator[list[np.ndarray]]:
    """Inputs of the tape, (STATES, size) each: of three kinds."""
    rng = np.random.default_rng(0)
    given = case.inputs()
    flat = [np.resize(np.reshape(given[port.name], (-1, port.size)), (STATES, port.size)) for port in tape.inputs]
    with np.errstate(over="ignore"):
        yield [(x * (1.0 + 0.1 * rng.normal(size=x.shape))).astype(dtype) for x in flat]
        yield [np.zeros(x.shape, dtype) for x in flat]
        yield [np.where(rng.random(x.shape) < 0.05, rng.choice(_NASTY, x.shape), x).astype(dtype) for x in flat]


def differences(case: Case, dtype: str, width: int) -> int:
    """In how many numbers both differ."""
    with precision(np.dtype(dtype)):
        tape = trace(case.model, case.algorithm, inputs=case.names, **dict(case.options))
    lanes = width // 8 // np.dtype(dtype).itemsize
    ours, theirs = (build_native(tape, dtype, lanes, cache=False, backend=name) for name in (X86, LLVM))
    assert tape.op_count.total == 0 or ours.artifact.code != theirs.artifact.code
    found = 0
    for inputs in states_of(case, tape, dtype):
        for batch in (STATES, 1):
            results = []
            for native in (ours, theirs):
                outputs = [np.full((batch, port.size), 7.25, dtype) for port in tape.outputs]
                native.run([np.ascontiguousarray(x[:batch]) for x in inputs], outputs, batch)
                results.append(outputs)
            found += sum(int((~same(x, y)).sum()) for x, y in zip(*results, strict=True))
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "words", nargs="*", help="words that the names of cases contain; all of them (default: every case)"
    )
    parser.add_argument("--first", action="store_true", help="one choice of options per algorithm")
    given = parser.parse_args()
    cases = list(FIRST.values()) if given.first else CASES
    compared, different, start = 0, 0, time.perf_counter()
    for case in cases:
        if not all(word in str(case) for word in given.words):
            continue
        for dtype in DTYPES:
            for width in WIDTHS:
                found = differences(case, dtype, width)
                compared += 1
                different += found > 0
                if found:
                    print(f"{case} {dtype} {width}: {found} numbers differ", flush=True)
    print(f"{compared} kernels, {different} differ, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
