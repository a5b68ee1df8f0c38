"""C code for a robot's controller board: one file, no dependencies.

What you learn
- `kernel.to_c` writes any algorithm, unrolled for this robot, as C99 with a header that documents it.
- It is the same program as the kernel: the operations are counted, and nothing is allocated.
- If there is a C compiler, the file is compiled, called, timed and compared with the kernel.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

import sarrus

CALLS = 2000


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    robot = sarrus.embed(sarrus.zoo.biped(contacts=True, arms=False))
    kernel = sarrus.compile(robot, "pv_early")
    console.print(f"{robot.name}, loops embedded, soles on the ground: {kernel.op_count.total:,} operations")

    with tempfile.TemporaryDirectory() as directory:
        source = kernel.to_c(directory, "biped_forward_dynamics")
        for file in (source, source.with_suffix(".h")):
            console.print(f"  {file.name}: {len(file.read_text().splitlines()):,} lines, {file.stat().st_size:,} bytes")
        console.print(prototype(source.with_suffix(".h")), style="dim", markup=False)
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            console.print("no C compiler was found: the file was written but not compiled")
            return
        began = time.perf_counter()
        library = Path(directory) / "biped.so"
        flags = ["-O1", "-std=c99", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
        console.print(f"compiled with {Path(compiler).name} {' '.join(flags)} in {time.perf_counter() - began:.1f} s")
        compare(console, kernel, ctypes.CDLL(str(library)).biped_forward_dynamics, sarrus.neutral(robot))


def compare(console: Console, kernel: sarrus.Kernel, function, q: np.ndarray) -> None:
    """Compare the numbers from C with those of the kernel, and time a call."""
    tape = kernel.tape
    rng = np.random.default_rng(0)
    given = {"q": q, "v": np.zeros(tape.inputs[1].size)}
    inputs = [np.ascontiguousarray(given.get(p.name, rng.normal(size=p.shape))) for p in tape.inputs]
    outputs = [np.zeros(p.shape) for p in tape.outputs]
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*inputs, *outputs)]
    function(*pointers)
    expected = kernel(*inputs)
    for port, got in zip(tape.outputs, outputs, strict=True):
        scale = max(1.0, np.abs(getattr(expected, port.name)).max(initial=0.0))  # residuals are only rounding
        error = np.abs(got - getattr(expected, port.name)).max(initial=0.0) / scale
        assert error < 1e-9, f"{port.name} differs by {error:.1e}"
    began = time.perf_counter()
    for _ in range(CALLS):
        function(*pointers)
    console.print(
        f"{', '.join(p.name for p in tape.outputs)}: equal to the kernel's to 1e-9; "
        f"{1e6 * (time.perf_counter() - began) / CALLS:.1f} us per call from C (for any processor of this family)"
    )


def prototype(header: Path) -> str:
    """The lines that declare the function."""
    text = header.read_text()
    return text[text.index("void ") :].split(";")[0] + ";"


if __name__ == "__main__":
    main()
