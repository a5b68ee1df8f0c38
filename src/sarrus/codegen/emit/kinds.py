"""The kinds of steps that a kernel may have, those that are tables of functions, and which drivers come together."""

from __future__ import annotations

from enum import IntEnum

Kind = IntEnum("Kind", "END CHUNK REPEAT BEGIN AGAIN ENTER PICK FETCH KEEP SINCOS ATAN2 EXP LOG TANH", start=0)
TABLES = {"sincos": Kind.SINCOS, "atan2": Kind.ATAN2, "exp": Kind.EXP, "log": Kind.LOG, "tanh": Kind.TANH}
# Drivers that one kernel needs with another are one module: for a short one, LLVM takes as long as for a longer one.
_TOGETHER = (
    ("run", "check"),
    ("run_most", "enter_if_many"),
    (Kind.BEGIN.name, Kind.AGAIN.name, Kind.ENTER.name),
    (Kind.FETCH.name, Kind.KEEP.name),
)


def together_with(driver: str) -> tuple[str, ...]:
    """The drivers of the module of this one: of steps (run), of a kind of them, of arguments (check), ..."""
    return next((names for names in _TOGETHER if driver in names), (driver,))
