"""Random numbers of thousands of environments, each with a stream of its own that only its seed determines.

An environment's numbers must not depend on how many others there are, nor on when those begin anew. Number k of the
stream with key s is a hash of both (the finaliser of SplitMix64): all environments at once, and no state but a counter.
"""

from __future__ import annotations

import numpy as np

from sarrus.spatial.arrays import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


class Streams:
    """So many streams; `seed` begins them anew."""

    def __init__(self, count: int) -> None:
        self._keys, self._drawn = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        self.seed(np.random.SeedSequence().generate_state(count, np.uint64), np.ones(count, bool))

    def seed(self, seeds: Array, which: Array) -> None:
        """Streams where `which` is true begin with these seeds."""
        self._keys[which] = _mixed(np.asarray(seeds).astype(np.uint64)[which])
        self._drawn[which] = 0

    def uniform(self, which: Array, size: int) -> Array:
        """(streams, size) in [0, 1): the next numbers of the streams whose numbers are `which`."""
        first = self._drawn[which]
        self._drawn[which] = first + np.uint64(size)
        counters = first[:, None] + np.arange(size, dtype=np.uint64)
        with np.errstate(over="ignore"):
            bits = _mixed(self._keys[which][:, None] + counters * _GOLDEN)
        return (bits >> np.uint64(11)) * 2.0**-53


def _mixed(x: Array) -> Array:
    with np.errstate(over="ignore"):
        x = x + _GOLDEN
        for shift, factor in _STEPS:
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x
