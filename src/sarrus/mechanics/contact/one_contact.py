"""Coulomb's law for one contact, everything else held still: open, stick or slip, exactly.

    c = A x + b,   x in K,   c + Gamma(c) in K*,   x . (c + Gamma(c)) = 0

Open: x = 0, if b_n >= 0. Stick: x = -A^-1 b, if that is in the cone. Else it slips, c_T = -a x_T with a > 0. Without
the normal row, W = A_TT - k A_nT with k = A_Tn / A_nn and q = b_T - k b_n,

    (W + a) x_T = -q,      x_n = -b_n / A_nn - k . x_T,      |x_T| = mu x_n

With p = adj(W + a) q = adj(W) q + a q, this is one equation for a: |p| = mu N, where
N = det(W + a) (-b_n / A_nn) + k . p is a quadratic polynomial, as |p|^2 is. Were W a multiple of the identity,
mu N / |p| would be linear in a: Newton's method on mu N / |p| = 1 takes few steps, within a bracket.
"""

from __future__ import annotations

from sarrus.mechanics.contact.cone import length
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import root

STEPS = 3  # of Newton's method for a
_ROUGH = 1e-9  # a coefficient of friction that is none: with 0, a would be infinite
_BELOW = 1.0 - 1e-6
_TINY = 1e-30  # beside numbers whose size is about 1


def solve_one(A: Array, b: Array, mu: Scalar, steps: int = STEPS) -> Array:
    """x of one contact. A is positive definite."""
    over = 1.0 / A[2, 2]
    k0, k1 = A[0, 2] * over, A[1, 2] * over
    w00, w11, w01 = A[0, 0] - k0 * A[0, 2], A[1, 1] - k1 * A[1, 2], A[0, 1] - k0 * A[1, 2]
    trace, det = w00 + w11, w00 * w11 - w01 * w01
    k_length = length(k0, k1)
    free = -b[2] * over  # the normal impulse without friction
    q0, q1 = b[0] - k0 * b[2], b[1] - k1 * b[2]
    p0, p1 = w11 * q0 - w01 * q1, w00 * q1 - w01 * q0
    pp, pq, qq = p0 * p0 + p1 * p1, p0 * q0 + p1 * q1, q0 * q0 + q1 * q1
    rough = choose(_ROUGH, mu, mu, _ROUGH)
    n0, n1, n2 = rough * (free * det + k0 * p0 + k1 * p1), rough * (free * trace + k0 * q0 + k1 * q1), rough * free
    # |p| / det is at most |q| / a, and mu x_n at least mu (free - |k| |x_T|): beyond this a it would stick.
    pull = root(qq)
    over_pull = 1.0 / (choose(0.0, n2, n2, 1.0) + _TINY)
    high = pull * (1.0 + mu * k_length) * over_pull
    low: Scalar = 0.0
    guess = pull * over_pull - 0.5 * trace
    a = choose(1e-3 * high, guess, choose(guess, high, guess, high), 1e-3 * high)
    for _ in range(steps):
        square = pp + a * (2.0 * pq + a * qq) + _TINY
        size, N = root(square), n0 + a * (n1 + a * n2)
        low, high = choose(N, size, a, low), choose(N, size, high, a)
        rate = (n1 + 2.0 * a * n2) - N * ((pq + a * qq) / square)
        following = a + (size - N) / choose(0.0, rate, rate, 1.0)
        middle = choose(0.0, low, root(low * high), 0.1 * high)
        # Once a is found, it is an end of the bracket, and rounding may take it a little beyond.
        inside = choose(_BELOW * low, following, choose(_BELOW * following, high, 1.0, 0.0), 0.0)
        inside = choose(0.0, rate, inside, 0.0)
        a = choose(0.5, inside, following, middle)
    stick = choose(n0 * n0, pp, 0.0, choose(0.0, n0, 1.0, 0.0))
    a = choose(0.5, stick, 0.0, a)
    scale = 1.0 / (det + a * (trace + a))
    x, y = -(p0 + a * q0) * scale, -(p1 + a * q1) * scale
    n = free - (k0 * x + k1 * y)
    n = choose(0.0, n, n, 0.0)
    onto = choose(0.5, stick, 1.0, mu * n / (length(x, y) + _TINY))
    closed = choose(b[2], 0.0, 1.0, 0.0)
    return vector(closed * (onto * x), closed * (onto * y), closed * n)
