"""The contact problem: which impulses keep bodies apart, within friction, limits and dry friction of joints.

    v = G x + g        velocities of the rows after the impulses x

    bounded rows      |x| <= bound; where it is less, v = 0; else v is against it         (dry friction of a joint)
    unilateral rows   x >= 0, v >= 0, x v = 0                                             (a limit)
    contacts          x in K = { |x_T| <= mu x_n },  v + Gamma(v) in K*,  x . (v + Gamma(v)) = 0

A contact that resists spinning and rolling has more rows in T, along angular velocities and times a length each, so
that they are velocities, too: with coefficients of twisting and rolling mu_t and mu_r, in metres, these lengths are
mu_t / mu and mu_r / mu, and K is the cone of ellipses |x_t|^2 / mu^2 + torque^2 / mu_t^2 + |roll|^2 / mu_r^2 <= x_n^2.

Gamma(v) = (0, mu |v_T|), De Saxce's term, makes Coulomb's law of this: friction against the sliding and no more.
Without it, the problem is convex, and what slides lifts off.

Rows have their own units and masses. `scaled` divides by w = sqrt(G_ii) (of a contact: the root mean square of all of
its), so that impulses and velocities are comparable and every diagonal block is about the identity; a row that is
not active, or that no impulse can move, has nothing to do with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.delassus import AbstractDelassus, DenseDelassus
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import root, total
from sarrus.spatial.precision import epsilon


class ContactProblem(NamedTuple):
    """Rows: nb bounded, then nu unilateral, then of each of nc contacts two tangents (and more) and the normal."""

    G: Array | AbstractDelassus  # (m, m) symmetric, positive semidefinite: J M^-1 J^T
    g: Array  # (m,) velocities of the rows without any of these impulses (restitution, gaps included)
    bounds: Array  # (nb,) of impulses
    friction: Array  # (nc,) coefficients mu >= 0
    active: Array  # (nu + nc,) greater than 0 where this row or contact exists at this state
    compliance: Array | None = None  # (m,) velocity per impulse by which a row gives way; of a dense G only
    sizes: tuple[int, ...] | None = None  # how many rows each contact has; None: three
    freedoms: int | None = None  # of what the rows move: where they are more, some are redundant; None: not known

    @property
    def contacts(self) -> list[slice]:
        """The rows of each contact."""
        return row_spans(self.nb + self.nu, self.sizes or (3,) * self.nc)

    @property
    def unilateral(self) -> list[int]:
        """The rows of limits, and the normals of contacts."""
        return [*range(self.nb, self.nb + self.nu), *(rows.stop - 1 for rows in self.contacts)]

    @property
    def nb(self) -> int:
        return len(self.bounds)

    @property
    def nu(self) -> int:
        return len(self.active) - len(self.friction)

    @property
    def nc(self) -> int:
        return len(self.friction)


class ContactSolution(NamedTuple):
    """What a solver found, and how good it is."""

    impulses: Array  # (m,)
    velocities: Array  # (m,) G x + g
    residual: Scalar  # m/s (rad/s): how far cones, velocities and complementarity are from met; see `cone.py`
    iterations: Scalar  # Newton steps
    status: Scalar


class Scaled(NamedTuple):
    """The problem in scaled rows: x = w lam and c = v / w are of one size."""

    G: AbstractDelassus  # (m, m)
    blocks: list[Array]  # of every contact, its own block of G; the identity where there is nothing to do
    g: Array  # (m,)
    bounds: Array  # (nb,)
    friction: Array  # (nc,)
    w: Array  # (m,) 1 where there is nothing to do
    inverse: Array  # (m,) 1 / w, 0 where there is nothing to do: impulses are 0 there
    contacts: list[slice]  # the rows of each
    convex: bool

    @property
    def nb(self) -> int:
        return len(self.bounds)

    @property
    def first(self) -> int:
        """The first row of the contacts."""
        return self.contacts[0].start if self.contacts else len(self.g)


def row_spans(first: int, sizes: Sequence[int]) -> list[slice]:
    """Rows one after the other, so many each."""
    ends = list(accumulate(sizes, initial=first))
    return [slice(start, stop) for start, stop in pairwise(ends)]


def scaled(problem: ContactProblem, convex: bool = False) -> Scaled:
    """The same problem with rows of one size."""
    nb, nu, m = problem.nb, problem.nu, len(problem.g)
    G, first = _compliant(problem), nb + nu
    contacts = problem.contacts
    normals = set(problem.unilateral)
    blocks = [*(G.block(slice(i, i + 1)) for i in range(first)), *(G.block(rows) for rows in contacts)]
    traces = [total([block[i, i] for i in range(len(block))]) for block in blocks]
    least = (G.rounding * epsilon()) * total(traces)
    w: list[Scalar] = []
    inverse: list[Scalar] = []
    for k, (block, trace) in enumerate(zip(blocks, traces, strict=True)):
        size = len(block)
        one, over = _scale(trace * (1.0 / size), least, 1.0 if k < nb else problem.active[k - nb])
        w, inverse = [*w, *[one] * size], [*inverse, *[over] * size]
    # A velocity of 1 without any impulse: such a row is open. (A bounded one is at rest.)
    g = [
        problem.g[i] * inverse[i] if i not in normals
        else choose(0.0, inverse[i], problem.g[i] * inverse[i], 1.0)
        for i in range(m)
    ]  # fmt: skip
    bounds = vector(*[problem.bounds[i] * w[i] for i in range(nb)])
    own = [
        _identity_where_nothing(block, inverse[rows.start])
        for block, rows in zip(blocks[first:], contacts, strict=True)
    ]
    over = vector(*inverse)
    return Scaled(G.scaled(over), own, vector(*g), bounds, problem.friction, vector(*w), over, contacts, convex)


def _compliant(problem: ContactProblem) -> AbstractDelassus:
    """G with what rows give way."""
    G = problem.G if isinstance(problem.G, AbstractDelassus) else DenseDelassus(problem.G)
    if problem.compliance is None:
        return G
    assert isinstance(G, DenseDelassus)
    return DenseDelassus(G.G + np.diag(problem.compliance))


def _identity_where_nothing(block: Array, inverse: Scalar) -> Array:
    """A contact's block, scaled; the identity where there is nothing to do."""
    block = block * (inverse * inverse)
    for i in range(len(block)):
        block[i, i] = choose(0.0, inverse, block[i, i], 1.0)
    return block


def _scale(mobility: Scalar, least: Scalar, exists: Scalar) -> tuple[Scalar, Scalar]:
    """w and 1 / w; 1 and 0 for a row that does not exist or that nothing moves."""
    w = root(choose(0.0, exists, choose(least, mobility, mobility, 1.0), 1.0))
    return w, choose(0.0, exists, choose(least, mobility, 1.0 / w, 0.0), 0.0)
