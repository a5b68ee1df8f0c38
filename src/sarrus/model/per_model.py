"""What is computed from a model once."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import TypeVar

from sarrus.model.model import Model

Result = TypeVar("Result")
_lock = RLock()


def per_model(function: Callable[[Model], Result]) -> Callable[[Model], Result]:
    """Remember the result for each model, for as long as the model lives.

    Threads that ask at the same time get the same result.
    """

    @wraps(function)
    def remembered(model: Model) -> Result:
        known = model.remembered
        if function not in known:
            with _lock:
                if function not in known:
                    known[function] = function(model)
        return known[function]

    return remembered


def _unlock() -> None:
    """A thread that held the lock when its process forked is not there in the child."""
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
