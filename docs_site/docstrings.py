"""For the API reference: it says what `help` says and shows properties as such, and lists of arguments become tables
(Markdown would run their lines together)."""

from __future__ import annotations

import re
import sys
from inspect import cleandoc, getattr_static
from pathlib import Path
from types import FunctionType
from typing import Any

from griffe import Attribute, Extension

sys.path.insert(0, str(Path(__file__).resolve().parent))

from argument_tables import with_tables

import sarrus

_PUBLIC = [getattr(sarrus, name) for name in sarrus.__all__]  # modules that are imported when used are, from here on
_COMMENT = re.compile(r"  # (?P<words>\S.*)$")


def at_run_time(path: str) -> Any:
    """What has this dotted path in the running program; None: nothing, or nothing that is imported."""
    module, names = path, list[str]()
    while module not in sys.modules:
        module, _, name = module.rpartition(".")
        if not module:
            return None
        names.insert(0, name)
    found: Any = sys.modules[module]
    for name in names:
        found = getattr_static(found, name, None)
    return found


class ArgumentTables(Extension):
    """Every docstring, as it is loaded; that of a class gets its fields, by the comments on their lines."""

    def on_class_members(self, *, cls: Any, **kwargs: Any) -> None:
        for name, member in list(cls.members.items()):
            if member.is_function and _is_property(at_run_time(f"{cls.path}.{name}")):
                cls.members[name] = _as_property(member)
        said = {
            name: found["words"]
            for name, member in cls.members.items()
            if member.is_attribute and not member.docstring and (found := _COMMENT.search(member.source))
        }
        if said and cls.docstring is not None:
            text, fence, example = cls.docstring.value.partition("```pycon")
            fields = with_tables("\n".join(f"{name}  {words}" for name, words in said.items()))
            cls.docstring.value = f"{text.rstrip()}\n{fields}\n{fence}{example}"

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is None:
            return
        text = obj.docstring.value
        if obj.is_function or obj.is_class:  # whose docstring may be completed when they are made
            complete = getattr(at_run_time(obj.path), "__doc__", None)
            text = cleandoc(complete) if isinstance(complete, str) else text
        obj.docstring.value = with_tables(text)


def _is_property(thing: Any) -> bool:
    """Whether this member of a class is not called: by what it is, since a property may be made by any decorator."""
    return hasattr(type(thing), "__get__") and not isinstance(thing, (FunctionType, classmethod, staticmethod))


def _as_property(function: Any) -> Attribute:
    """The same as griffe has it for decorators that it knows."""
    found = Attribute(
        function.name,
        annotation=function.returns,
        lineno=function.lineno,
        endlineno=function.endlineno,
        docstring=function.docstring,
        parent=function.parent,
    )
    found.labels = {*function.labels, "property"}
    return found
