"""The kinds of steps that a kernel may have, and those that are tables of functions."""

from __future__ import annotations

from enum import IntEnum

Kind = IntEnum("Kind", "END CHUNK REPEAT BEGIN AGAIN ENTER PICK FETCH KEEP SINCOS ATAN2 EXP LOG TANH", start=0)
TABLES = {"sincos": Kind.SINCOS, "atan2": Kind.ATAN2, "exp": Kind.EXP, "log": Kind.LOG, "tanh": Kind.TANH}
