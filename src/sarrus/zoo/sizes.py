"""How many parts a mechanism is asked to have, checked."""

from __future__ import annotations

from sarrus.errors import ModelError


def at_least(minimum: int, **numbers: int) -> None:
    """An error that names the first of the numbers that is not whole, or smaller."""
    for name, value in numbers.items():
        if int(value) != value or value < minimum:
            raise ModelError(f"{name} is {value!r}: expected a whole number of at least {minimum}")
