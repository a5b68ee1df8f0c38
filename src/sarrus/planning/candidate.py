"""One way to compute a model's forward dynamics, with what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.planning.orders import DEFAULT


@dataclass(frozen=True)
class Candidate:
    """One way to compute forward dynamics, and what it costs per state."""

    method: str  # for what is not embedded
    embedded: tuple[str, ...] = ()  # constraints
    order_name: str = DEFAULT  # of lcaba's elimination
    order: tuple[int, ...] | None = None  # None: the method's own
    fallback: str | None = None  # the robust method behind a full-rank one, or behind clusters
    operations: float = 0.0  # exact, with the expected iterations, and the fallback where states needed it; 0: not
    # counted; of one ruled out, a lower bound
    weighted: float = 0.0  # the same with kinds of operations weighted
    nanoseconds: float = 0.0  # about, in a batch on one thread; 0: not known
    iterations: float = 0.0  # expected: measured on a few states
    fallback_share: float = 0.0  # of these states, those that needed the fallback
    ruled_out: str = ""  # why it was not taken although it may be cheap

    @property
    def name(self) -> str:
        """In a few words."""
        parts = [self.method]
        if self.embedded:
            parts.append(f"with {len(self.embedded)} embedded")
        if self.order is not None:
            parts.append(f"({self.order_name})")
        return " ".join(parts)
