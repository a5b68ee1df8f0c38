"""Which candidates get a slot."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.simulation.contact.slots import nearest


def chosen(gaps, reach, slots):
    numbers, count, left_out = nearest(list(gaps), reach, slots)
    return [int(n) for n in numbers[: int(count)]], left_out


def test_all_within_reach_where_there_are_slots_enough():
    assert chosen([0.3, -0.1, 0.05, 0.2, 0.0], 0.1, 4) == ([1, 2, 4], 0.0)
    assert chosen([0.3, 0.3], 0.1, 2) == ([], 0.0)


def test_the_nearest_where_there_are_not():
    assert chosen([0.03, -0.1, 0.05, 0.02, 0.0], 0.1, 3) == ([1, 3, 4], 2.0)


def test_the_first_of_those_that_are_equally_near():
    assert chosen([0.0] * 6, 0.1, 4) == ([0, 1, 2, 3], 2.0)
    assert chosen([0.01, 0.0, 0.01, 0.01, -0.2], 0.1, 3) == ([0, 1, 4], 2.0)


@pytest.mark.parametrize("seed", range(20))
def test_random_ones(seed):
    rng = np.random.default_rng(seed)
    gaps = rng.choice([rng.normal(scale=0.1), 0.02, -0.01, 0.3], size=30) + rng.normal(scale=0.05, size=30)
    got, left_out = chosen(gaps, 0.05, 8)
    within = np.flatnonzero(gaps < 0.05)
    assert len(got) == min(8, len(within))
    assert left_out == max(0, len(within) - 8)
    nearest_ones = sorted(within, key=lambda k: gaps[k])[:8]
    # The bisection ends at a thousandth of the range: what is nearer than that by chance may change places.
    assert max(gaps[got], default=0.0) <= max(gaps[nearest_ones], default=0.0) + 1e-3
