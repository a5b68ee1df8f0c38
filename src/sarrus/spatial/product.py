"""Products of small matrices that have the same bits on every machine.

`@` leaves numbers to the BLAS library, whose order of additions differs from processor to processor, and so do the last
bits. Of a model's constants these decide which elements are equal and which are zero, hence how much code is traced.
"""

from __future__ import annotations

import numpy as np

from sarrus.spatial.arrays import Array, is_numeric


def product(A: Array, B: Array) -> Array:
    """A @ B of matrices and vectors; numbers are added in order."""
    if not (is_numeric(A) and is_numeric(B)):
        return A @ B
    return (A * B).sum(axis=-1) if B.ndim == 1 else (A[..., None] * B).sum(axis=-2)


def direction(x: Array) -> Array:
    """Numbers (n,) divided by their length."""
    return x / np.sqrt(product(x, x))
