"""For the API reference: algorithms say all that `help` shows, and lists of arguments become tables (Markdown would run
their lines together)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from griffe import Docstring, Extension

sys.path.insert(0, str(Path(__file__).resolve().parent))

from argument_tables import with_tables

import sarrus

_ALGORITHMS = {f"{a.__module__}.{name}": a for name, a in sarrus.catalog().items()}  # type: ignore[attr-defined]


_COMMENT = re.compile(r"  # (?P<words>\S.*)$")


class ArgumentTables(Extension):
    """Every docstring, as it is loaded. A field's is the comment on its line."""

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        said = _COMMENT.search(obj.source) if obj.is_attribute and obj.parent.is_class else None
        if said is not None and obj.docstring is None:
            obj.docstring = Docstring(said["words"], parent=obj)
        if obj.docstring is not None:
            known = _ALGORITHMS.get(obj.path)
            obj.docstring.value = with_tables(known.__doc__ if known else obj.docstring.value)
