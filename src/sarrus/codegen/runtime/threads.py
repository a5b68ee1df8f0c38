"""How many threads a batch is worth."""

from __future__ import annotations

import os

from sarrus.model.arguments import whole_number

_GRAIN = 2_000_000  # operations that are worth handing to another thread


def threads_for(operations: int, threads: int | None) -> int:
    """Those asked for, or as many as so many operations are worth."""
    if threads is not None:
        return whole_number("threads", threads, least=1)
    worth = operations // _GRAIN
    return 1 if worth <= 1 else min(available_cores(), worth)


def available_cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
