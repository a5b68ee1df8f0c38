"""For the API reference: mkdocstrings reads Markdown, which would run the lines of our lists of arguments together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from griffe import Extension

sys.path.insert(0, str(Path(__file__).resolve().parent))

from argument_tables import with_tables


class ArgumentTables(Extension):
    """Every docstring, as it is loaded."""

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_tables(obj.docstring.value)
