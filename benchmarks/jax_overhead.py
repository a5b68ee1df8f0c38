"""What JAX adds to a kernel: `python -m benchmarks.jax_overhead [--write]`.

A call inside `lax.scan`, less the same kernel called from native code; and `vmap` of 1,000 states beside the batched
kernel on one thread. Interleaved, medians of rounds. --write puts the table into docs/hooks/jax.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.written_figures import measured, write_figures
from sarrus.codegen.runtime.program import Gather, Program, Run, Scatter

ROUNDS, LENGTH, STATES = 15, 1000, 1000
ROBOTS = {"chain of 6": lambda: sarrus.zoo.chain(6), "stem(2, 1), 18 dof": lambda: sarrus.zoo.stem(2, 1)}


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def natively(kernel: sarrus.Kernel, arrays: list[np.ndarray]) -> Callable[[], None]:
    """The kernel, so many times in a native loop, on one state: what a call costs without anybody's overhead."""
    result = np.zeros((1, arrays[1].shape[1]))
    moves = [Gather(0, name, x[:1]) for name, x in zip(kernel.input_names, arrays, strict=True)]
    program = Program((kernel.native,), [], [*moves, Run(0), Scatter(0, "qdd", result)], [])
    return lambda: program.run(1, LENGTH)


def main(write: bool) -> None:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    lines = ["| `aba` | one call in `lax.scan` | kernel alone | overhead | `vmap` of 1,000 | batched kernel | ratio |"]
    lines += ["|---|---:|---:|---:|---:|---:|---:|"]
    for name, make in ROBOTS.items():
        model = make()
        q, v = sarrus.random_state(model, rng=0, batch=STATES)
        kernel, f = sarrus.compile(model, "aba"), sarrus.jax.function(model, "aba")
        one = [jnp.asarray(x[0]) for x in (q, v, v)]
        many = [jnp.asarray(x) for x in (q, v, v)]
        scanned = jax.jit(lambda q, v, u, f=f: jax.lax.scan(lambda u, _: (f(q, v, u), None), u, None, length=LENGTH)[0])
        mapped = jax.jit(jax.vmap(f))
        alone = natively(kernel, [q, v, v])
        timed: dict[str, list[float]] = {}
        ways: dict[str, Callable[[], object]] = {
            "scan": lambda: scanned(*one).block_until_ready(),
            "alone": alone,
            "vmap": lambda: mapped(*many).block_until_ready(),
            "batch": lambda: kernel(q, v, v, threads=1),
        }
        for way in ways.values():
            way()
        for _ in range(ROUNDS):
            for key, way in ways.items():
                timed.setdefault(key, []).append(seconds(way))
        scan, own = (1e6 * np.array(timed[key]) / LENGTH for key in ("scan", "alone"))
        vmap, batch = (1e6 * np.array(timed[key]) for key in ("vmap", "batch"))
        lines.append(
            f"| {name} | {np.median(scan):.2f} us | {np.median(own):.2f} us | {np.median(scan - own):.2f} us "
            f"| {np.median(vmap):.0f} us | {np.median(batch):.0f} us | {np.median(vmap / batch):.2f} |"
        )
    print("\n".join(lines))
    if write:
        write_figures("hooks/jax.md", "jax", "\n".join([measured("jax_overhead"), "", *lines]))


if __name__ == "__main__":
    main(parser_of(__doc__, writes="hooks/jax.md").parse_args().write)
