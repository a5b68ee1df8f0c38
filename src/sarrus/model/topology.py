"""What the algorithms ask of a tree, be its nodes bodies or clusters of bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sarrus.model.bodies import WORLD


@dataclass(frozen=True, eq=False)
class AbstractNode(ABC):
    """A node of a tree."""

    name: str
    parent: int  # smaller than its own number; -1: the world
    v: slice  # where its velocities lie among the tree's

    @property
    def m(self) -> int:
        """How many velocities its joint has."""
        return self.v.stop - self.v.start

    @property
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

    def children(self, i: int) -> list[int]:
        return [k for k, parent in enumerate(self.parents) if parent == i]

    def path(self, i: int) -> list[int]:
        """The nodes from i to its root; none from the world."""
        path = []
        while i != WORLD:
            path.append(i)
            i = self.parents[i]
        return path

    def support(self, nodes: Iterable[int]) -> set[int]:
        """Those nodes and all their ancestors."""
        return {i for node in nodes for i in self.path(node)}

    def common_ancestor(self, nodes: Iterable[int]) -> int:
        """The nearest node that supports all of them; the world if there is none."""
        return max(set.intersection(*(set(self.path(i)) for i in nodes)), default=WORLD)
