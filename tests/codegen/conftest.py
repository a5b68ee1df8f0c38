"""Drivers are loaded before any test looks at what a kernel leaves in its cache directory: they are kept there, too."""

from __future__ import annotations

import pytest

from sarrus.codegen.emit.drivers import DRIVERS
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.runtime.native import driver_address, lane_of


@pytest.fixture(scope="session", autouse=True)
def _drivers_are_loaded() -> None:
    """Of one lane and of a batch."""
    for dtype in ("float64", "float32"):
        lane = lane_of(dtype, "auto")
        for name in DRIVERS:
            driver_address(Lane(lane.bits, 1, lane.fma), name)
            if name not in ("single", "listed"):
                driver_address(lane, name)
