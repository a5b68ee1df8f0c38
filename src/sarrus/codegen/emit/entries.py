"""Names of the functions that drivers have: all that a kernel asks for where they are compiled already."""

from __future__ import annotations

SINGLE = ("single_into", "single_new", "single_checked")  # builtins of Python (`single.py`)
ENTRIES = ["batch", "batch_single", "run", "run_single", *SINGLE]
