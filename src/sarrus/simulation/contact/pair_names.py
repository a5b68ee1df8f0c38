"""Whether contacts of two steps or trajectories are numbered alike: by the pairs of geometries that may touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PairNames = Iterable[Sequence[str]]


def same_pairs(first: PairNames | None, second: PairNames | None) -> bool:
    """Whether numbers of contacts mean the same in both. None: no contacts."""
    return _pairs(first) == _pairs(second)


def differing_pairs(first: PairNames | None, second: PairNames | None) -> str:
    """In words, which pairs only one of them has."""
    one, two = _pairs(first), _pairs(second)
    found = []
    for which, mine, others in (("first", one, two), ("second", two, one)):
        only = [pair for pair in dict.fromkeys(mine) if pair not in set(others)]
        if only:
            more = f" and {len(only) - 1} more" if len(only) > 1 else ""
            found.append(f"only the {which} has {' on '.join(map(repr, only[0]))}{more}")
    return ", ".join(found) or "the same pairs in another order"


def _pairs(names: PairNames | None) -> list[tuple[str, ...]]:
    return [tuple(pair) for pair in names or ()]
