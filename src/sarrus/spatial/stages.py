"""Names for the stages of an algorithm (outward sweep, inward sweep, ...).

An algorithm says `with stage("inward"):` around a sweep. On numbers this does nothing; a tracer reads
`current_stage()` when it records an operation, which is how operation counts are reported by stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str] = ContextVar("sarrus_stage", default="other")


current_stage = _current.get  # the innermost stage that is open, or "other"; a tracer asks it of every operation


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Everything computed inside belongs to the stage `name`."""
    token = _current.set(name)
    try:
        yield
    finally:
        _current.reset(token)
