"""For the API reference: algorithms say all that `help` shows, and lists of arguments become tables (Markdown would run
their lines together)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from griffe import Extension

sys.path.insert(0, str(Path(__file__).resolve().parent))

from argument_tables import with_tables

import sarrus

_ALGORITHMS = {f"{a.__module__}.{name}": a for name, a in sarrus.catalog().items()}  # type: ignore[attr-defined]


_COMMENT = re.compile(r"  # (?P<words>\S.*)$")


class ArgumentTables(Extension):
    """Every docstring, as it is loaded; that of a class gets its fields, by the comments on their lines."""

    def on_class_members(self, *, cls: Any, **kwargs: Any) -> None:
        said = {
            name: found["words"]
            for name, member in cls.members.items()
            if member.is_attribute and member.docstring is None and (found := _COMMENT.search(member.source))
        }
        if said and cls.docstring is not None:
            text, fence, example = cls.docstring.value.partition("```pycon")
            fields = with_tables("\n".join(f"{name}  {words}" for name, words in said.items()))
            cls.docstring.value = f"{text.rstrip()}\n{fields}\n{fence}{example}"

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is not None:
            known = _ALGORITHMS.get(obj.path)
            obj.docstring.value = with_tables(known.__doc__ if known else obj.docstring.value)
