"""`sarrus codegen`: C code for a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sarrus.cli import arguments
from sarrus.codegen.tape.c_export import identifier, write_c
from sarrus.codegen.tape.trace import trace


def codegen(
    robot: arguments.Robot,
    method: arguments.Method = "aba",
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write into.")] = Path(),
    floating_base: arguments.FloatingBase = None,
    extended: arguments.Extended = None,
    allow_outside: arguments.AllowOutside = False,
    frame: arguments.FrameName = None,
    single_precision: Annotated[bool, typer.Option("--float32", help="Use float instead of double.")] = False,
) -> None:
    """Write one dependency-free C99 file and its header: the algorithm, unrolled for this robot.

    For example:

        [bold]sarrus codegen zoo:biped --method lcaba -o generated[/bold]

    Compile it with any C compiler and link with -lm; the header documents the function.
    """
    model = arguments.robot_for(robot, floating_base, method, extended, allow_outside)
    options: dict[str, Any] = dict(arguments.frame_option(method, model, frame))
    tape = trace(model, method, **options)
    name = identifier(f"{model.name}_{method}")
    source = write_c(tape, output, name, np.dtype(np.float32 if single_precision else np.float64))
    typer.echo(f"wrote {source} and {source.with_suffix('.h')}: {tape.op_count.total:,} operations")
    typer.echo(f"compile with: cc -O2 -c {source}")
    for line in arguments.ignored_by(method, model):
        typer.echo(line)
