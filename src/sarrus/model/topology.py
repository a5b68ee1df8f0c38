"""What the algorithms ask of a tree, be its nodes bodies or clusters of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class AbstractNode(Protocol):
    """A node of the tree; node i of the parent's side has a smaller number."""

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> int:
        """-1: the world."""
        ...

    @property
    def v(self) -> slice:
        """Where its velocities lie among the tree's."""
        ...

    @property
    def m(self) -> int:
        """How many velocities its joint has."""
        ...

    @property
    def size(self) -> int:
        """How many numbers its acceleration has."""
        ...


class AbstractTree(Protocol):
    """Nodes, parents first."""

    @property
    def nodes(self) -> Sequence[AbstractNode]: ...

    @property
    def nv(self) -> int: ...

    @property
    def parents(self) -> tuple[int, ...]: ...

    def children(self, i: int) -> list[int]: ...
