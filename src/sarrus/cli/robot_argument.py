"""What a user may write where a command wants a robot."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from sarrus import zoo
from sarrus.errors import ImportFileError, SarrusError, check_name
from sarrus.importers import load, load_urdf
from sarrus.importers.load import example_robot
from sarrus.model.model import Model
from sarrus.planning.embedding import embed
from sarrus.registry.features import Feature
from sarrus.registry.table import find

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
