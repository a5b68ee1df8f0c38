"""What users hand over is taken as it is, or refused in words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sarrus.errors import StateError
from sarrus.model.arguments import (
    as_numbers,
    as_type,
    empty,
    names_of,
    pairs_of_names,
    positive_number,
    true_or_false,
    whole_number,
)


class Raises:
    def __array__(self, *_, **__):
        raise RuntimeError("no array")


def test_numbers_of_any_type_are_numbers():
    x = np.arange(3.0)
    assert as_numbers("q", x) is x
    for value in ([1, 2], (True, 0.5), [Fraction(1, 2), 3], np.float32(1.5), np.array([1, 2], dtype=object)):
        assert as_numbers("q", value).dtype.kind in "biuf"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ma.masked_array([1.0, 2.0], [True, False]), "masked array"), ("1.0", "text"), (b"1", "text"),
        (np.array(["2026-01-01"], dtype="datetime64"), "dates"), (np.array([1], dtype="timedelta64"), "durations"),
        ([1j], "complex128"), (object(), "object"), ([[1], [2, 3]], "q"), (Raises(), "no array"),
    ],
)  # fmt: skip
def test_what_is_no_array_of_numbers_is_refused(value, words):
    with pytest.raises(StateError, match=words):
        as_numbers("q: expected numbers", value)


def test_types_and_memory():
    x = np.arange(3.0)
    assert as_type("q", x, np.float64) is x
    assert np.isinf(as_type("q", np.array([1e300]), np.float32)).all()
    assert empty("q", (2, 3), np.float64).shape == (2, 3)
    with pytest.raises(StateError, match="no memory"):
        empty("q", (2**60,), np.float64)
    with pytest.raises(StateError, match="no memory"):
        as_type("q", np.broadcast_to(1.0, (2**45,)), np.float32)


def test_whole_numbers_switches_and_positive_numbers():
    assert whole_number("n", 3, 1) == whole_number("n", np.int64(3), 1) == 3
    for value in (0, 2.0, True, "3", None):
        with pytest.raises(StateError, match=r"n is .*: expected a whole number, at least 1"):
            whole_number("n", value, 1)
    assert true_or_false("x", np.True_) is True
    for value in (1, "no", None):
        with pytest.raises(StateError, match="expected True or False"):
            true_or_false("x", value)
    assert positive_number("dt", np.float32(0.5)) == 0.5
    assert positive_number("e", 0, least=0.0) == 0.0
    for value in (0.0, -1, np.nan, np.inf, 10**400, True, "1"):
        with pytest.raises(StateError, match="expected a finite positive number"):
            positive_number("dt", value)
    with pytest.raises(StateError, match="at least 2"):
        positive_number("dt", 1.0, least=2.0)


def test_names_and_pairs_of_names():
    assert names_of("motors", (name for name in ("left", "right"))) == ("left", "right")
    for value in ("left", 3, ["left", 3]):
        with pytest.raises(StateError, match="expected names"):
            names_of("motors", value)
    assert pairs_of_names(iter([["foot", "ground"]])) == (("foot", "ground"),)
    for value in ("foot", 3):
        with pytest.raises(StateError, match="expected pairs of names"):
            pairs_of_names(value)
    for value in (["foot"], [("a", "b", "c")], [("a", 1)], [3]):
        with pytest.raises(StateError, match="expected two names"):
            pairs_of_names(value)
    with pytest.raises(StateError, match="cannot touch itself"):
        pairs_of_names([("foot", "foot")])
