"""Products of constants have bits that do not depend on the machine."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.spatial.product import direction, product

SHAPES = [
    ((3, 3), (3, 3)), ((3, 3), (3,)), ((3,), (3, 3)), ((3,), (3,)), ((2, 5), (5, 4)), ((6, 6), (6, 1)),
    ((0, 3), (3, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_numbers_are_added_in_order(left, right):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=left), rng.normal(size=right)
    found, expected = product(A, B), A.astype(object) @ B.astype(object)  # Python's own sums
    assert np.shape(found) == np.shape(expected)
    assert np.array_equal(found, np.array(expected, float))


def test_what_is_not_a_number_is_multiplied_as_ever():
    A, B = np.array([[1.0, "a"]], dtype=object)[:, :1], np.array([[2.0]])
    assert product(A, B).dtype == object
    assert product(A, B)[0, 0] == 2.0


def test_directions_have_length_one():
    for x in np.random.default_rng(1).normal(size=(50, 3)):
        assert np.linalg.norm(direction(x)) == pytest.approx(1.0, rel=3e-16)
        assert np.allclose(np.cross(direction(x), x), 0.0, atol=1e-15)
