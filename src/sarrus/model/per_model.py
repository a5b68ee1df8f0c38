"""What is computed from a model once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import TypeVar
from weakref import WeakKeyDictionary

from sarrus.model.model import Model

Result = TypeVar("Result")


def per_model(function: Callable[[Model], Result]) -> Callable[[Model], Result]:
    """Remember the result for each model, for as long as the model lives; it must not refer to the model itself.

    Threads that ask at the same time get the same result.
    """
    results: WeakKeyDictionary[Model, Result] = WeakKeyDictionary()
    lock = RLock()

    @wraps(function)
    def remembered(model: Model) -> Result:
        try:
            return results[model]
        except KeyError:
            with lock:
                if model not in results:
                    results[model] = function(model)
                return results[model]

    return remembered
