"""Checks of what constraints are declared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import ModelError


def finite_numbers(value: Any, size: int, what: str, meaning: str = "") -> np.ndarray:
    """So many numbers; the error for others says what they mean."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be {size} finite numbers{meaning}, got {value!r}")
    return array


def checked_desired(k: Any, size: int, what: str) -> Any:
    """A desired acceleration: None, "input" or `size` finite numbers."""
    if k is None or (isinstance(k, str) and k == "input"):
        return k
    return finite_numbers(k, size, f"constraint of {what}: k", ', or None, or "input"')


def checked_softness(R: Any, size: int, what: str) -> Any:
    """None, or `size` positive numbers, of which one stands for all."""
    if R is None:
        return None
    array = np.array(R, dtype=float) * np.ones(size) if np.ndim(R) == 0 else np.array(R, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all() or (array <= 0.0).any():
        raise ModelError(f"constraint of {what}: R must be positive, one number or {size}, got {R!r}")
    return array


def checked_time(stabilization: float | None, what: str) -> float | None:
    """A time constant: None, or positive."""
    if stabilization is not None and not (np.isfinite(stabilization) and stabilization > 0.0):
        raise ModelError(f"constraint of {what}: the stabilization time must be positive, got {stabilization!r}")
    return stabilization
