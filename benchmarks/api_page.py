"""Writes docs/reference.md: every public name of Sarrus, where its docstring is.

    python -m benchmarks.api_page

The page has one mkdocstrings directive per name of `sarrus.__all__`, under the headings that stand there as comments;
that of `sarrus.zoo` lists every mechanism. A test compares.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import sarrus

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"


def groups() -> list[tuple[str, list[str]]]:
    """The comments of `__all__`, with the names that follow each."""
    text = Path(str(sarrus.__file__)).read_text()
    inside = text.partition("__all__ = [")[2].partition("\n]")[0]
    out: list[tuple[str, list[str]]] = []
    for line in inside.splitlines():
        if line.strip().startswith("#"):
            out.append((line.strip("# \n"), []))
        elif out:
            out[-1][1].extend(re.findall(r'"(\w+)"', line))
    return out


def home_of(name: str) -> str:
    """The dotted path under which the text of a name is found."""
    thing = getattr(sarrus, name)
    if isinstance(thing, ModuleType):
        return thing.__name__
    module = getattr(thing, "__module__", "")
    if module and hasattr(importlib.import_module(module), name):
        return f"{module}.{name}"
    for loaded, found in list(sys.modules.items()):
        if loaded.startswith("sarrus.") and getattr(found, name, None) is thing:
            return f"{loaded}.{name}"
    raise SystemExit(f"where is sarrus.{name}?")


def members_of(thing: object) -> list[str]:
    """Of a module that gathers names from others, these names; of all else, what mkdocstrings finds by itself."""
    names = getattr(thing, "__all__", []) if isinstance(thing, ModuleType) else []
    listed = [f"        - {name}" for name in sorted(names, key=str.lower)]
    return ["    options:", "      members:", *listed] if listed else []


def page() -> str:
    out = [
        "# API reference", "",
        "Every name of `sarrus.__all__`, from its docstring. Arrays are (n,) or (B, n): a single state or a batch. "
        "Units are SI: metres, radians, kilograms, seconds; spatial vectors are [linear; angular]. Errors are those of "
        "`sarrus.errors`: a wrong shape, a number that is not finite or a quaternion that is not of length one is a "
        "`StateError`, a name that does not exist an `UnknownNameError` that lists the valid ones, a robot that a "
        "method does not support an `UnsupportedError` that names one that does. An algorithm can be called, counted "
        "(`.op_count(model)`) and compiled (`.compile(model)`), and takes CasADi symbols.",
    ]  # fmt: skip
    for title, names in groups():
        out += ["", f"## {title[0].upper()}{title[1:]}"]
        for name in sorted(names, key=str.lower):
            out += ["", f"::: {home_of(name)}", *members_of(getattr(sarrus, name))]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE}: {sum(len(names) for _, names in groups())} names")
