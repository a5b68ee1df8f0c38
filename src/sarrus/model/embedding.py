"""What of a model holds by construction: clusters of bodies that move as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sarrus.once import cached_property
from sarrus.spatial.arrays import Array


@dataclass(frozen=True)
class Cluster:
    """Bodies that move as one: which of their velocities are independent, and which rows say what the others do.

    The rows are numbered through all rows of its constraints, in order. They determine the dependent velocities block
    by block: a block needs only those before it.
    """

    bodies: tuple[int, ...]  # ascending, so parents first
    output: int  # the body that its base bodies hang on; -1: the world
    constraints: tuple[str, ...]
    independent: tuple[int, ...] = ()  # velocities, as numbered in v
    dependent: tuple[int, ...] = ()
    blocks: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()  # (rows, dependent velocities)
    lengths: tuple[tuple[float, ...], ...] = ()  # per block: squared lengths that its rows usually have, about
    seen_from_b: tuple[str, ...] = ()  # ball joints whose rows are in axes of their second frame's body

    def __hash__(self) -> int:
        """Kept: clusters are options of kernels, which every call looks up."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.bodies, self.constraints, self.independent, self.blocks))

    def with_coordinates(
        self,
        independent: Sequence[int],
        blocks: Sequence[tuple[Sequence[int], Sequence[int]]],
        lengths: Sequence[float],
    ) -> Cluster:
        """The cluster with its velocities divided; lengths: those of all its rows, squared."""
        pairs = tuple((tuple(rows), tuple(velocities)) for rows, velocities in blocks)
        dependent = tuple(sorted(v for _, velocities in pairs for v in velocities))
        usual = tuple(tuple(float(lengths[row]) for row in rows) for rows, _ in pairs)
        return replace(self, independent=tuple(sorted(independent)), dependent=dependent, blocks=pairs, lengths=usual)


@dataclass(frozen=True, eq=False)
class Embedding:
    """What of a model is embedded."""

    clusters: tuple[Cluster, ...]
    samples: tuple[Array, ...] = ()  # configurations on the constraints, of which independent velocities were chosen

    @cached_property
    def constraints(self) -> frozenset[str]:
        """Names of the constraints that hold by construction."""
        return frozenset(name for cluster in self.clusters for name in cluster.constraints)
