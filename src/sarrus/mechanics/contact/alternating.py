"""The method behind Newton's: alternating directions (ADMM), slow and steady.

With y in the cones and multipliers z, in turn

    (G + rho) x = rho y + z - g - Gamma(z),      y = P(x' - z / rho),      z = z + rho (y - x')

where x' = 1.6 x - 0.6 y is relaxed. The penalty rho balances how far x' is from y with how much y moves. It may change
in every tenth step, and G + rho is factored in each: few states ever take one.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.cone import either, largest, projected, residual, shifted
from sarrus.mechanics.contact.problem import Scaled
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.norms import root

_MAX_STEPS = 1000
_PENALTY = 0.1
_RELAXED = 1.6
_PERIOD = 10.0  # steps with one penalty
_SMALL = 1e-14
_PROXIMAL = 1e-6  # beside rho: G may be singular


def alternate(p: Scaled, found: Array, accepted: Scalar, entry: Scalar) -> Array:
    """Impulses whose residual is accepted, or the best of all steps; where the entry is not greater than 0, those found
    before.

    It begins with none: from where another method got stuck, it takes longer.
    """
    m = len(found)

    def step(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        y, c, z, best, (rho, since, least) = state
        change = _RELAXED * p.G.solve_shifted(rho + _PROXIMAL, 2.0 * z - shifted(p, z) - c)  # z - Gamma(z) - c
        u = y + change - z / rho
        new = projected(p, u)
        apart, moved = largest(y + change - new), rho * largest(new - y)
        c = c + p.G @ (new - y)
        left = residual(p, new, c)
        best = either(least - left, new, best)
        factor = root((apart + _SMALL) / (moved + _SMALL))
        factor = choose(factor, 0.1, 0.1, choose(10.0, factor, 10.0, factor))
        factor = choose(0.5, factor, choose(factor, 2.0, 1.0, factor), factor)  # a little is not worth it
        due = choose(_PERIOD - 1.5, since, 1.0, 0.0)
        numbers = vector(
            choose(0.5, due, rho * factor, rho),
            choose(0.5, due, 0.0, since + 1.0),
            choose(left, least, left, least),
        )
        return (new, c, rho * (new - u), best, numbers), choose(accepted, left, 1.0, 0.0)

    start = (np.zeros(m), p.g, _multipliers(p, p.g), found, vector(_PENALTY, 0.0, 1e30))
    (_, _, _, best, _), _ = iterate(step, start, _MAX_STEPS, entry)
    return best


def _multipliers(p: Scaled, c: Array) -> Array:
    """z to begin with: c + Gamma(c), within K*. (Those of bounded rows may have any sign.)"""
    v = shifted(p, c)
    return np.concatenate([v[: p.nb], (v + projected(p, -v))[p.nb :]])
