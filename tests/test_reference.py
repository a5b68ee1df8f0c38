"""The API reference: every public name, and every public member of a class, says what it takes, gives and refuses, and
shows it by an example that runs; and the reference says what `help` says."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from enum import EnumMeta as EnumType
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import sarrus
from benchmarks.api_page import home_of

ROOT = Path(__file__).resolve().parents[1]
FREE_OF_ARGUMENTS = {"model", "self", "cls"}  # what a model is needs no words each time


def parts_of(doc: str) -> set[str]:
    """The names of entries, "name  what it is" or "a, b  what they are"."""
    found = re.findall(r"^(\w+(?:(?:, | or )\w+)*)(?: {2,}|: )\S", doc, flags=re.MULTILINE)
    return {name for names in found for name in re.split(", | or ", names)} | set(re.findall(r"^Returns$", doc, re.M))


def commented_fields(thing: type) -> set[str]:
    """Fields of a class whose line says what they are, as the reference shows them (`docs_site/docstrings.py`)."""
    known = {c for base in thing.__mro__ if base.__module__.startswith("sarrus") for c in [inspect.getsource(base)]}
    return {name for source in known for name in re.findall(r"^    (\w+)(?:: .*| = .*)  # \S", source, flags=re.M)}


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
        needed = lacking_of_function(thing)
    out += sorted(needed - parts)
    return out if ">>> " in doc else [*out, "an example"]


def lacking_of_function(function: Any) -> set[str]:
    """What a function must say; one that takes nothing has nothing to refuse."""
    given = arguments_of(function)
    is_silent = inspect.signature(function).return_annotation in (None, "None")
    return given | ({"returns"} if not is_silent else set()) | ({"errors"} if given else set())


PUBLIC = {name: getattr(sarrus, name) for name in sarrus.__all__}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}


def members_of(thing: type) -> Iterator[tuple[str, Any, type]]:
    """What a class of ours has that is public: name, what it is, and the first class above it that says what it is."""
    for name in dir(thing):
        above = [base for base in thing.__mro__ if name in vars(base)]
        if name.startswith("_") or not above or not above[0].__module__.startswith("sarrus"):
            continue
        if issubclass(thing, tuple) and name in getattr(
            thing, "_fields", ()
        ):  # of a NamedTuple, where it is a descriptor
            yield name, None, thing
            continue
        member = vars(above[0])[name]
        speaking = [base for base in above if isinstance(getattr(vars(base)[name], "__doc__", None), str)]
        yield name, member, (speaking or above)[0]


def is_called(member: Any) -> bool:
    return isinstance(member, (FunctionType, classmethod, staticmethod))


def is_property(member: Any) -> bool:
    return not is_called(member) and hasattr(type(member), "__get__") and not isinstance(member, type)


METHODS = {
    f"{name}.{member}": getattr(thing, member)
    for name, thing in CLASSES.items()
    for member, found, _ in members_of(thing)
    if is_called(found) and member in vars(thing)
}
ZOO = {f"zoo.{name}": getattr(sarrus.zoo, name) for name in sarrus.zoo.__all__}


def test_every_public_name_says_what_it_takes_gives_and_refuses():
    found = {name: what for name in sarrus.__all__ if (what := lacking(name))}
    assert found == {}


def test_every_method_and_mechanism_says_what_it_takes_gives_and_refuses():
    found = {}
    for name, function in (METHODS | ZOO).items():
        needed = lacking_of_function(function) if arguments_of(function) else set()
        said = inspect.getdoc(function) or ""
        if not said or needed - parts_of(said):
            found[name] = sorted(needed - parts_of(said)) or ["words"]
    assert found == {}


@pytest.mark.parametrize("name", [*sarrus.__all__, *METHODS, *ZOO])
def test_the_example_of_a_name_runs(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "sarrus": sarrus}
    thing = (PUBLIC | METHODS | ZOO)[name]
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", names, name, "its docstring", 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=told.append)
    assert runner.failures == 0, "".join(told)
    last = example.examples[-1:]
    assert all(x.want or doctest.SKIP in x.options for x in last), "the example ends without showing anything"


# --- what the site shows ---------------------------------------------------------------------------------------------


@cache
def pages() -> Any:
    """The package as mkdocstrings has it."""
    griffe = pytest.importorskip("griffe", reason="the site's generator is not installed")
    extension = griffe.load_extensions(str(ROOT / "docs_site" / "docstrings.py"))
    return griffe.load("sarrus", search_paths=[str(ROOT / "src")], extensions=extension)


def shown(path: str) -> Any:
    return pages()[path.removeprefix("sarrus.")]


def entries_shown(text: str) -> set[str]:
    """The names in the first column of tables."""
    found = re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)
    return {name for names in found for name in re.split(", | or ", names)}


def home_of_any(name: str) -> str:
    """The dotted path of a public name, a method, or a mechanism."""
    if name in PUBLIC:
        return home_of(name)
    function = (METHODS | ZOO)[name]
    owner, _, method = function.__qualname__.rpartition(".")
    return ".".join(part for part in (function.__module__, owner, method) if part)


@pytest.mark.parametrize("name", [*sarrus.__all__, *METHODS, *ZOO])
def test_the_reference_has_all_that_help_says(name):
    found = shown(home_of_any(name))
    if found.docstring is None:  # of a method that says what the one above it says
        return
    said, there = inspect.getdoc((PUBLIC | METHODS | ZOO)[name]) or "", found.docstring.value
    assert parts_of(said) - {"Returns"} - entries_shown(there) - set(re.findall(r"^(\w+):", there, re.M)) == set()
    assert [x.source for x in doctest.DocTestParser().get_examples(said) if x.source.splitlines()[0] not in there] == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_member_of_a_class_is_on_the_page(name):
    """With words: as a member of its own, or in the list of fields. Properties are shown as such."""
    thing = CLASSES[name]
    absent, mistaken = [], []
    for member, found, speaking in members_of(thing):
        if is_called(found) or is_property(found):
            there = shown(f"{speaking.__module__}.{speaking.__name__}").members[member]
            on_page = speaking in CLASSES.values() and there.docstring is not None
            if on_page and is_property(found) != ("property" in there.labels):
                mistaken.append(member)
        else:
            bases = [base for base in thing.__mro__ if base in CLASSES.values()]
            texts = [shown(f"{base.__module__}.{base.__name__}").docstring.value for base in bases]
            on_page = any(member in entries_shown(text) for text in texts)
        if not on_page:
            absent.append(member)
    assert (absent, mistaken) == ([], [])


def test_every_mechanism_is_on_the_page():
    page = (ROOT / "docs" / "reference.md").read_text()
    assert [name for name in sarrus.zoo.__all__ if f"\n        - {name}\n" not in page] == []
