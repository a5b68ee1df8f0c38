"""What a kernel costs: compiling it, its code, and where the time of a call goes. Part of `sarrus info`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from sarrus.cli import arguments
from sarrus.cli.bench import empty_outputs, interleaved, random_inputs
from sarrus.cli.console import print_plain, print_table, table
from sarrus.codegen.runtime.compile import compile as compile_kernel
from sarrus.model.model import Model
from sarrus.registry.table import check_model, find

_BATCH, _ROUNDS, _SECONDS = 1024, 7, 0.01


def compiled_kernel(model: Model, method: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Compile a method for a robot, and time it: one state, and a state of a batch on one thread."""
    algorithm, model = find(method), arguments.embedded_for(model, method)
    check_model(algorithm, model)
    options: dict[str, Any] = dict(
        arguments.frame_option(method, model, model.frame_names[-1] if "frame" in algorithm.options else None)
    )
    say(f"compiling {method}")
    kernel = compile_kernel(model, method, **options)
    many = random_inputs(model, kernel, _BATCH)
    one = [np.ascontiguousarray(x[0]) for x in many]
    out = empty_outputs(kernel, _BATCH)
    say(f"timing {method}")
    cases = {"single": lambda: kernel(*one), "batch": lambda: kernel(*many, out=out, threads=1)}
    times = interleaved(cases, _ROUNDS, _SECONDS)
    native, count = kernel.native, kernel.op_count
    return {
        "method": method, "options": options, "operations": count.total, "code_bytes": native.code_bytes,
        "from_cache": native.from_cache, "seconds": native.compile_seconds,
        "compile_seconds": kernel.seconds_of_compiling,
        "single_us": 1e6 * times["single"].best, "batch_us": 1e6 * times["batch"].best / _BATCH,
        "stages": {stage: n / max(sum(count.by_stage.values()), 1) for stage, n in count.by_stage.items() if n},
    }  # fmt: skip


def show_kernel(console: Console, kernel: dict[str, Any]) -> None:
    """Print what `compiled_kernel` found."""
    compiling = ", ".join(f"{what} {seconds:.3f}" for what, seconds in kernel["compile_seconds"].items())
    origin = f"; loaded from the cache in {kernel['seconds']:.3f} s now" if kernel["from_cache"] else ""
    options = "".join(f", {name}={value}" for name, value in kernel["options"].items())
    print_plain(
        console,
        f"{kernel['method']}{options}: {kernel['operations']:,} operations, {kernel['code_bytes']:,} bytes of code\n"
        f"  compiling [s]: {compiling}{origin}\n"
        f"  a call: {kernel['single_us']:.2f} us for one state, {kernel['batch_us']:.3f} us for a state of {_BATCH:,} "
        "on one thread",
    )
    rows = [
        (stage, f"{100 * share:.0f} %", f"{share * kernel['batch_us']:.3f}")
        for stage, share in kernel["stages"].items()
    ]
    title = f"where the time of {kernel['method']} goes, by operations"
    print_table(console, table(("stage", "share", "us / state"), rows, numbers=("share", "us / state"), title=title))
