"""What an object computes once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")
Mine = TypeVar("Mine", bound="cached_property[Any]")


class cached_property(Generic[Value]):  # noqa: N801 (the name that readers know)
    """`functools.cached_property` as it is since Python 3.12, without a lock.

    Before, all objects of a class share a lock per property. A process that forks while another thread computes one of
    them has a child in which it stays locked, and two threads may wait for each other's. Here two threads may compute
    a value twice; both get the one that was there first.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self: Mine, instance: None, owner: type | None = None) -> Mine: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        known = instance.__dict__
        return known[self._name] if self._name in known else known.setdefault(self._name, self._function(instance))
