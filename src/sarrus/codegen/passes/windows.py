"""Which pieces of memory a chunk uses most: base registers in their middle make its addresses short."""

from __future__ import annotations

import numpy as np

WORTH = 4  # accesses that save what setting a base costs


def most_used(slots: np.ndarray, span: int, bases: int) -> list[int]:
    """First slots of the windows of `span` slots with the most accesses, each without those before it.

    slots  one number per access; that of constant c is -1 - c, and a window of constants goes down from its first one
    bases  how many windows there may be
    """
    if not len(slots):
        return []
    # One row of counts: the workspace, a gap that no window of the workspace bridges, the constants.
    gap = max(0, int(slots.max()) + 1) + span
    places = np.where(slots >= 0, slots, gap - 1 - slots)
    counts = np.bincount(places, minlength=int(places.max()) + 1 + span)
    found = []
    for _ in range(bases):
        total = np.cumsum(np.concatenate([[0], counts]))
        inside = total[span:] - total[:-span]
        inside[counts[: len(inside)] == 0] = 0  # a window begins with a slot in use, hence never in the gap
        start = int(inside.argmax())
        if inside[start] < WORTH:
            break
        found.append(start if start < gap else gap - 1 - start)
        counts[start : start + span] = 0
    return found
