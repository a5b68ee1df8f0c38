"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Robot = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A URDF or MJCF file; `zoo:NAME:ARGS` for a mechanism of the zoo (zoo:chain:7, zoo:stem:5:4, "
        "zoo:sarrus_linkage); `example:NAME` for a robot of the package example-robot-data (example:talos_full_v2).",
    ),
]
Extended = Annotated[
    Path | None, typer.Option(help="A YAML file of example-parallel-robots: which frames of the URDF close loops.")
]
FloatingBase = Annotated[
    bool | None,
    typer.Option("--floating-base/--fixed-base", help="Put the root on a free joint (default: as the file says)."),
]
AllowOutside = Annotated[
    bool, typer.Option("--allow-outside", help="Read files that an MJCF includes also outside its folder.")
]
Configuration = Annotated[
    str | None,
    typer.Option(
        "--q", help="A configuration: numbers, separated by commas or spaces. Default: the file's pose, or neutral."
    ),
]
Method = Annotated[str, typer.Option("--method", "-m", help="An algorithm, e.g. aba, rnea, crba.")]
FrameName = Annotated[str | None, typer.Option("--frame", help="For algorithms of a frame: its name.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object instead of tables.")]
