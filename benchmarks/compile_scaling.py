"""Time per instruction of tracing and compiling, for code of up to a million instructions: it should not grow.

    python -m benchmarks.compile_scaling [--write] [INSTRUCTIONS]

`aba` of `zoo.chain(n)`, written out, for n that double until there are so many instructions (default 1,000,000). CPU
microseconds per instruction of the tape, by stage; each chain is a process of its own. `--write` puts the table
into docs/kernels.md, with the date and the processor.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.command_line import parser_of
from benchmarks.written_figures import measured, write_figures

PER_LINK = 200  # instructions, about
SMALLEST = 60  # links


def measure(links: int) -> str:
    """One row: links, instructions, and microseconds per instruction of each stage and of all."""
    import sarrus
    from sarrus.codegen.emit import compile as stages
    from sarrus.codegen.runtime.compile import without_collection
    from sarrus.codegen.runtime.native import build_native
    from sarrus.codegen.tape.trace import trace
    from sarrus.mechanics import long_chains
    from sarrus.model.tree import tree_of

    long_chains.LONG = links + 1  # all links are written out
    model = sarrus.zoo.chain(links)
    tree_of(model)
    sarrus.compile(sarrus.zoo.chain(1), "aba")  # drivers are there once per machine
    spent: dict[str, float] = {}

    def timed(name: str, function):
        def wrapped(*args, **kwargs):
            start = time.process_time()
            found = function(*args, **kwargs)
            spent[name] = spent.get(name, 0.0) + time.process_time() - start
            return found

        return wrapped

    for name in ("fuse", "chain", "schedule", "plan", "allocate", "_encode"):
        setattr(stages, name, timed(name.strip("_"), getattr(stages, name)))
    with without_collection():
        start = time.process_time()
        tape = timed("trace", trace)(model, "aba")
        timed("load and all else", build_native)(tape, cache=False)
        total = time.process_time() - start
    spent["load and all else"] -= sum(s for name, s in spent.items() if name not in ("trace", "load and all else"))
    cells = " | ".join(f"{1e6 * spent[name] / len(tape):.2f}" for name in STAGES)
    return f"| {links:,} | {len(tape):,} | {cells} | {1e6 * total / len(tape):.2f} |"


STAGES = ("trace", "fuse", "chain", "schedule", "plan", "allocate", "encode", "load and all else")


def main(words: list[str]) -> None:
    if words[:1] == ["--links"]:
        print(measure(int(words[1])))
        return
    parser = parser_of(__doc__, writes="kernels.md")
    parser.add_argument("instructions", nargs="?", type=int, default=1_000_000, help="of the longest code (1,000,000)")
    given = parser.parse_args(words)
    most = given.instructions
    lines = [f"| links | instructions | {' | '.join(STAGES)} | all |", "|---:" * (len(STAGES) + 3) + "|"]
    print("\n".join(lines))
    links = SMALLEST
    while links * PER_LINK <= 1.1 * most:
        command = [sys.executable, "-m", "benchmarks.compile_scaling", "--links", str(links)]
        lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
        print(lines[-1], flush=True)
        links = links * 2 if 2 * links * PER_LINK <= 1.1 * most or links * PER_LINK > 0.9 * most else most // PER_LINK
    if given.write:
        write_figures("kernels.md", "compile_scaling", "\n".join([measured("compile_scaling"), "", *lines]))


if __name__ == "__main__":
    main(sys.argv[1:])
