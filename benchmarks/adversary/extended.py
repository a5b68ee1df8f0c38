"""Linear algebra on batches of matrices in any floating-point type: NumPy's own knows nothing beyond double."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def cholesky(M: Array) -> Array:
    """L with L L^T = M, (B, n, n)."""
    n = M.shape[-1]
    L = np.zeros_like(M)
    for j in range(n):
        rest = M[:, j:, j] - np.sum(L[:, j:, :j] * L[:, j, None, :j], axis=2)
        L[:, j:, j] = rest / np.sqrt(rest[:, :1])
    return L


def forward(L: Array, X: Array) -> Array:
    """L^-1 X, with X (B, n, k)."""
    out = np.zeros_like(X)
    for i in range(L.shape[-1]):
        out[:, i] = (X[:, i] - np.sum(L[:, i, :i, None] * out[:, :i], axis=1)) / L[:, i, i, None]
    return out


def backward(L: Array, X: Array) -> Array:
    """L^-T X, with X (B, n, k)."""
    out = np.zeros_like(X)
    for i in reversed(range(L.shape[-1])):
        out[:, i] = (X[:, i] - np.sum(L[:, i + 1 :, i, None] * out[:, i + 1 :], axis=1)) / L[:, i, i, None]
    return out


def row_space(Y: Array, rank: int) -> Array:
    """(B, n, rank): an orthonormal basis of what the rows of Y (B, m, n) span, the longest rests first, each twice
    made orthogonal to those before.
    """
    rest = Y.copy()
    states = np.arange(len(Y))
    basis = np.zeros((len(Y), rank, Y.shape[2]), Y.dtype)
    for r in range(rank):
        longest = np.argmax(np.sum(rest * rest, axis=2), axis=1)
        x = rest[states, longest]
        for _ in range(2):
            x = x - np.einsum("brn,br->bn", basis[:, :r], np.einsum("brn,bn->br", basis[:, :r], x))
            x = x / np.sqrt(np.sum(x * x, axis=1))[:, None]
        basis[:, r] = x
        rest = rest - np.einsum("bmn,bn->bm", rest, x)[:, :, None] * x[:, None]
    return np.swapaxes(basis, 1, 2)


def least_squares(A: Array, b: Array) -> Array:
    """x of least |A x - b|, of full column rank, (B, m, r): modified Gram-Schmidt with b as one column more."""
    rest = np.concatenate([A, b[:, :, None]], axis=2)
    r = A.shape[2]
    R = np.zeros((len(A), r, r + 1), A.dtype)
    for j in range(r):
        for _ in range(2 if j else 1):  # once more against those before: their columns were nearly this one
            for i in range(j):
                part = np.einsum("bm,bm->b", rest[:, :, i], rest[:, :, j])
                rest[:, :, j] -= part[:, None] * rest[:, :, i]
                R[:, i, j] += part
        length = np.sqrt(np.sum(rest[:, :, j] ** 2, axis=1))
        rest[:, :, j] /= length[:, None]
        R[:, j, j] = length
        R[:, j, r] = np.einsum("bm,bm->b", rest[:, :, j], rest[:, :, r])
        rest[:, :, r] -= R[:, j, r, None] * rest[:, :, j]
    x = np.zeros((len(A), r), A.dtype)
    for i in reversed(range(r)):
        x[:, i] = (R[:, i, r] - np.einsum("br,br->b", R[:, i, i + 1 : r], x[:, i + 1 :])) / R[:, i, i]
    return x


def minimum_norm(Y: Array, b: Array, ranks: Array) -> Array:
    """The shortest x of least |Y x - b| where Y (B, m, n) is taken to have these ranks (B,)."""
    x = np.zeros((len(Y), Y.shape[2]), Y.dtype)
    for rank in np.unique(ranks):
        of = ranks == rank
        if rank:
            Q = row_space(Y[of], int(rank))
            x[of] = np.einsum("bnr,br->bn", Q, least_squares(Y[of] @ Q, b[of]))
    return x
