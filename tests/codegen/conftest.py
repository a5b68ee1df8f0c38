"""Drivers are loaded before any test looks at what a kernel leaves in its cache directory: they are kept there, too."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus


@pytest.fixture(scope="session", autouse=True)
def _drivers_are_loaded() -> None:
    for dtype in ("float64", "float32"):
        kernel = sarrus.compile(sarrus.zoo.chain(1), "rnea", dtype=dtype)
        kernel(*np.zeros((3, 2, 1), dtype))  # a batch: it has drivers of its own
