"""What several commands ask: their options, and what a user may write for a robot or a configuration."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sarrus import zoo
from sarrus.errors import ImportFileError, SarrusError, StateError, check_name
from sarrus.importers import load, load_urdf
from sarrus.importers.load import example_robot
from sarrus.model.model import Model
from sarrus.planning.embedding import embed
from sarrus.registry.features import Feature
from sarrus.registry.table import find

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
ZOO = {name: getattr(zoo, name) for name in zoo.__all__}


def robot_from(
    text: str, floating_base: bool | None, extended: Path | None = None, allow_outside: bool = False
) -> Model:
    """The model that the text names; `extended`: a YAML file beside a URDF, which says what closes loops."""
    if extended is not None:
        return load_urdf(text, floating_base, extended=extended)
    kind, _, rest = text.partition(":")
    if kind == "zoo":
        return _from_zoo(rest)
    if kind == "example":
        return load(example_robot(rest), floating_base=floating_base)
    return load(text, floating_base=floating_base, allow_outside=allow_outside)


def robot_for(text: str, floating_base: bool | None, method: str, allow_outside: bool = False) -> Model:
    """The model that the text names, its loops and couplings embedded where the method needs that (ce_aba, ...)."""
    model = robot_from(text, floating_base, allow_outside=allow_outside)
    return embed(model) if Feature.EMBEDDED in find(method).needs and model.embedding is None else model


def _from_zoo(text: str) -> Model:
    name, *arguments = text.split(":")
    check_name("zoo mechanism", name, ZOO)
    usage = f"zoo:{name} takes {inspect.signature(ZOO[name])}, separated by colons"
    try:
        parameters = list(inspect.signature(ZOO[name]).parameters.values())
        values = [
            _value(argument, str(parameters[k].annotation) if k < len(parameters) else "")
            for k, argument in enumerate(arguments)
        ]
        return ZOO[name](*values)
    except SarrusError:
        raise
    except (ValueError, SyntaxError, TypeError) as error:
        raise ImportFileError(f"{usage}: {error}") from None


def _value(text: str, kind: str) -> object:
    """An argument as its annotation says: words need no quotes."""
    if kind == "str":
        return text.strip("'\"")
    if kind == "bool":
        known = {"true": True, "false": False, "1": True, "0": False}
        if text.lower() not in known:
            raise ValueError(f"{text!r} is neither True nor False")
        return known[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"{text!r} is not a number") from None


def configuration(model: Model, text: str) -> np.ndarray:
    """The numbers of `--q`."""
    try:
        return np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise StateError(f"--q {text!r}: expected {model.nq} numbers, separated by commas or spaces") from None
