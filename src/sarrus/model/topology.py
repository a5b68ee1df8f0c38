"""What the algorithms ask of a tree, be its nodes bodies or clusters of bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from sarrus.model.answer import answer
from sarrus.model.bodies import WORLD
from sarrus.once import cached_property


@dataclass(frozen=True, eq=False)
class AbstractNode(ABC):
    """A node of a tree."""

    name: str
    parent: int  # smaller than its own number; -1: the world
    v: slice  # where its velocities lie among the tree's

    @cached_property
    def m(self) -> int:
        """How many velocities its joint has."""
        return self.v.stop - self.v.start

    @answer
    @abstractmethod
    def size(self) -> int:
        """How many numbers its acceleration has."""


@dataclass(frozen=True, eq=False)
class AbstractTree:
    """Nodes, parents first."""

    nodes: tuple[AbstractNode, ...]

    @cached_property
    def nv(self) -> int:
        return sum(node.m for node in self.nodes)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        return tuple(node.parent for node in self.nodes)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of every node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for i, parent in enumerate(self.parents):
            if parent != WORLD:
                found[parent].append(i)
        return tuple(map(tuple, found))

    @cached_property
    def paths(self) -> dict[int, tuple[int, ...]]:
        """From every node to its root; from the world, none."""
        found: dict[int, tuple[int, ...]] = {WORLD: ()}
        for i, parent in enumerate(self.parents):
            found[i] = (i, *found[parent])
        return found

    def support(self, nodes: Iterable[int]) -> set[int]:
        """Those nodes and all their ancestors."""
        return {i for node in nodes for i in self.paths[node]}

    def common_ancestor(self, nodes: Iterable[int]) -> int:
        """The nearest node that supports all of them; the world if there is none."""
        return max(set.intersection(*(set(self.paths[i]) for i in nodes)), default=WORLD)
