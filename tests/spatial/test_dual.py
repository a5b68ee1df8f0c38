"""Duals: every operation has the slope that differences have; what has none is refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.errors import UnsupportedError
from sarrus.spatial.choice import choose
from sarrus.spatial.dual import Dual, derivatives_of, values_of, variables
from sarrus.spatial.iteration import iterate
from sarrus.spatial.picking import pick
from sarrus.spatial.repetition import recursion, repeat
from sarrus.spatial.replacement import replace_where

X = np.array([0.7, -1.3])
STEP = 1e-6

OPERATIONS = {
    "sums": lambda x, y: x + y + 2.0 - (3.0 - y) - x * 0.5,
    "products": lambda x, y: x * y * x,
    "times zero": lambda x, y: x * 0.0 + y,
    "quotients": lambda x, y: x / y + x / 2.0 + 3.0 / y,
    "minus": lambda x, y: -x * y,
    "sine and cosine": lambda x, y: np.sin(np.array([x * y]))[0] + np.cos(np.array([y]))[0],
    "square root": lambda x, y: np.sqrt(np.array([x * x + y * y]))[0],
    "arc tangent": lambda x, y: np.arctan2(np.array([x * y]), np.array([x + 2.0]))[0],
    "of a dual and a number": lambda x, y: np.arctan2(np.array([y]), np.array([2.0]).astype(np.array([y]).dtype))[0],
    "size": lambda x, y: abs(x) + abs(y),
    "the lesser": lambda x, y: choose(x, y, x, y * y),
    "less than a number": lambda x, y: choose(x, 1.0, x * y, y),
    "a number is less": lambda x, y: choose(1.0, x, x * y, y * y),
    "larger and smaller": lambda x, y: x * y if x > y and y < 0.0 else x,
    "repeated": lambda x, y: repeat(lambda row: row * row[0], np.array([[x, y], [y, x]], dtype=object)).sum(),
    "a recursion": lambda x, y: recursion(
        lambda row, before: row + before * row[0],
        np.array([[x], [y], [x]], dtype=object), [(-1,), (0,), (1,)], np.array([1.0]),
    )[-1, 0],
}  # fmt: skip


def values(function, at):
    x, y = at
    return float(function(x, y))


@pytest.mark.parametrize("name", OPERATIONS)
def test_slopes_are_those_of_differences(name):
    function = OPERATIONS[name]
    result = np.array([function(*variables(X))], dtype=object)
    assert values_of(result)[0] == pytest.approx(values(function, X), rel=1e-14)
    wanted = [(values(function, X + h) - values(function, X - h)) / (2 * STEP) for h in STEP * np.eye(2)]
    np.testing.assert_allclose(derivatives_of(result, 2)[0], wanted, rtol=0, atol=1e-8)


def test_a_choice_between_numbers_is_a_number():
    x, _ = variables(X)
    assert choose(x, 1.0, 2.0, 3.0) == 2.0


def test_a_dual_shows_what_it_holds():
    assert "dual 2.0" in repr(Dual(2.0, {0: 1.0}))


def test_what_ends_by_its_values_is_refused_in_words():
    x, y = variables(X)
    with pytest.raises(UnsupportedError, match="differentiate its solution"):
        iterate(lambda s: ((s[0] * 0.5,), abs(s[0]) - 0.1), (x,), 5, 1.0)
    with pytest.raises(UnsupportedError, match="differentiate what they solve"):
        replace_where(x, (x,), lambda: (y,))
    with pytest.raises(UnsupportedError, match="no derivative"):
        pick([x, y], y)
