"""Contacts as rows on the velocities of bodies.

Where a body touches with many points, their rows depend on its velocity alone: six numbers. So the joints' response is
needed for six rows, not for three of each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.contact_rows import ContactPoint, Poses, contact_jacobian, on_body, static_moves
from sarrus.mechanics.contact.delassus import MANY, AbstractDelassus, DenseDelassus
from sarrus.mechanics.contact.problem import row_spans
from sarrus.mechanics.contact.wrenches import Group, WrenchDelassus
from sarrus.mechanics.mechanism import Mechanism
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


class ContactRows(NamedTuple):
    """Rows of single coordinates and of contacts, on as few velocities as they depend on."""

    J: Array  # (n, nv) of those velocities
    groups: list[Group]  # which rows depend on which of them, and how

    @property
    def are_redundant(self) -> bool:
        """Whether there are more rows than velocities."""
        return any(len(group.rows) > 1 for group in self.groups)

    def delassus(self, W: Array) -> AbstractDelassus:
        """What impulses along all rows do, where W is what those along J do."""
        return WrenchDelassus(self.groups, W) if self.are_redundant else DenseDelassus(W)


def contact_rows(
    at: Mechanism, poses: Poses, rows: Sequence[Array], contacts: Sequence[ContactPoint], together: bool
) -> ContactRows:
    """Rows (nv,) that are given, then three of each contact, or more.

    together  contacts of one body, if there are many, are rows on the body's velocity
    """
    bodies = [contact.body for contact in contacts if contact.body is not None]
    many = [body for body in dict.fromkeys(bodies) if together and bodies.count(body) >= MANY]
    first = len(rows)
    parts, groups = [np.zeros((0, at.model.nv)), *(row[None] for row in rows)], list[Group]()
    for k in range(first):
        groups.append(Group(slice(k, k + 1), [slice(k, k + 1)], [np.eye(1)]))
    where = first
    spans = row_spans(first, [contact.size for contact in contacts])
    for body in many:
        mine = [(span, c) for span, c in zip(spans, contacts, strict=True) if c.body == body]
        parts.append(node_jacobian(at, poses, body))
        B = [on_body(c, poses[body][1]) for _, c in mine]
        groups.append(Group(slice(where, where + 6), [span for span, _ in mine], B))
        where += 6
    for span, contact in zip(spans, contacts, strict=True):
        if contact.body is None or contact.body not in many:
            parts.append(contact_jacobian(at, poses, [contact])[0])
            groups.append(Group(slice(where, where + contact.size), [span], [np.eye(contact.size)]))
            where += contact.size
    return ContactRows(np.concatenate(parts), groups)


def node_jacobian(at: Mechanism, poses: Poses, body: int) -> Array:
    """(6, nv) the velocity of a node's origin, then its angular velocity, in the world's axes."""
    axes, on_path = np.eye(3), static_moves(tree_of(at.model), body, -1)
    linear, _ = contact_jacobian(at, poses, [ContactPoint(poses[body][1], axes, on_path)])
    angular = np.zeros_like(linear)
    with stage("contact rows"):
        for i, factor in enumerate(on_path):
            if factor:
                angular[:, at.model.layout.v[i]] = poses[i][0] @ at.joints[i].S[3:]
    return np.concatenate([linear, angular])
