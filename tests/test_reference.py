"""The API reference: every public name says what it takes, gives and refuses, and shows it by an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from enum import EnumMeta as EnumType
from types import ModuleType

import numpy as np
import pytest

import sarrus

FREE_OF_ARGUMENTS = {"model", "self"}  # what a model is needs no words each time


def parts_of(doc: str) -> set[str]:
    """The names of entries, "name  what it is" or "a, b  what they are"."""
    found = re.findall(r"^(\w+(?:(?:, | or )\w+)*)(?: {2,}|: )\S", doc, flags=re.MULTILINE)
    return {name for names in found for name in re.split(", | or ", names)} | set(re.findall(r"^Returns$", doc, re.M))


def commented_fields(thing: type) -> set[str]:
    """Fields of a class whose line says what they are, as the reference shows them (`docs_site/docstrings.py`)."""
    known = {c for base in thing.__mro__ if base.__module__.startswith("sarrus") for c in [inspect.getsource(base)]}
    return {name for source in known for name in re.findall(r"^    (\w+): .*  # \S", source, flags=re.MULTILINE)}


def arguments_of(thing: object) -> set[str]:
    try:
        parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return set()
    named = {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    return {name for name in named - FREE_OF_ARGUMENTS if not name.startswith("_")}


def lacking(name: str) -> list[str]:
    thing = getattr(sarrus, name)
    doc = inspect.getdoc(thing) or ""
    parts, out = parts_of(doc), []
    if isinstance(thing, sarrus.Algorithm):
        needed = arguments_of(thing) | {"Returns", "errors"} | set(thing.output_names)
    elif inspect.isclass(thing) or isinstance(thing, ModuleType):
        data = not isinstance(thing, (ModuleType, EnumType))
        needed = arguments_of(thing) - commented_fields(thing) if data else set()
        if data and issubclass(thing, sarrus.Constraint):
            needed -= parts_of(inspect.getdoc(sarrus.Constraint) or "")  # said once, of all constraints
    else:
        needed = arguments_of(thing) | {"returns"} | ({"errors"} if arguments_of(thing) else set())
    out += sorted(needed - parts)
    return out if ">>> " in doc else [*out, "an example"]


def test_every_public_name_says_what_it_takes_gives_and_refuses():
    found = {name: what for name in sarrus.__all__ if (what := lacking(name))}
    assert found == {}


@pytest.mark.parametrize("name", sarrus.__all__)
def test_the_example_of_a_name_runs(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "sarrus": sarrus}
    example = doctest.DocTestParser().get_doctest(
        inspect.getdoc(getattr(sarrus, name)) or "", names, name, "its docstring", 0
    )
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=told.append)
    assert runner.failures == 0, "".join(told)
