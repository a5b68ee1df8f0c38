"""Drivers are loaded before any test looks at what a kernel leaves in its cache directory: they are kept there, too."""

from __future__ import annotations

import pytest

import sarrus


@pytest.fixture(scope="session", autouse=True)
def _drivers_are_loaded() -> None:
    for dtype in ("float64", "float32"):
        sarrus.compile(sarrus.zoo.chain(1), "rnea", dtype=dtype)
