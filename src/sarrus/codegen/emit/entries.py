"""Names of the functions that drivers have: all that a kernel asks for where they are compiled already."""

from __future__ import annotations

ENTRIES = ("batch", "run")
SINGLE = ("single_into", "single_new", "single_checked")  # of one lane, too: builtins of Python (`single.py`)
