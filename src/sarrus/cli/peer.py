"""What `sarrus bench` needs of another library that computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_EXACT = 1e-9


class Peer(NamedTuple):
    """`single()` computes state 0 and returns it; `batch()` computes all states (None: it has no batch call)."""

    name: str
    single: Callable[[], Any]
    batch: Callable[[], Any] | None
    first: dict[str, np.ndarray]  # the peer's results for state 0, by the names of our outputs, to validate against
    agreement: float = _EXACT  # relative: how well they must agree
    doubts: tuple[str, ...] = ()  # where its robot may not be ours

    @property
    def must_agree(self) -> bool:
        """Or else something is wrong. Iterated methods fail at some states, and another robot moves otherwise."""
        return self.agreement <= _EXACT and not self.doubts
