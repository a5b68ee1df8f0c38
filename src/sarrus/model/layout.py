"""Where the joints' numbers lie in q and v."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from sarrus.errors import unknown_name
from sarrus.model.bodies import Joint


class StateLayout:
    """Slices of q and v per joint, by number or by name."""

    def __init__(self, joints: Sequence[Joint]) -> None:
        self.q = spans(joint.type.nq for joint in joints)
        self.v = spans(joint.type.nv for joint in joints)
        self.nq, self.nv = (parts[-1].stop if parts else 0 for parts in (self.q, self.v))
        self.index = {joint.name: i for i, joint in enumerate(joints)}
        self.quaternions = [  # names of joints that have one, and where it starts in q
            (joint.name, s.start + joint.type.quaternion_at)
            for joint, s in zip(joints, self.q, strict=True)
            if joint.type.quaternion_at is not None
        ]

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(self.index)

    def joint_index(self, name: str) -> int:
        """The number of a joint; the error for an unknown name lists the valid ones."""
        if name not in self.index:
            raise unknown_name("joint", name, self.index)
        return self.index[name]

    def q_of(self, joint: str) -> slice:
        """Where a joint's position lies in q."""
        return self.q[self.joint_index(joint)]

    def v_of(self, joint: str) -> slice:
        """Where a joint's velocity lies in v."""
        return self.v[self.joint_index(joint)]

    def coordinate_name(self, k: int) -> str:
        """A name for element k of q, for messages."""
        for name, s in zip(self.index, self.q, strict=True):
            if s.start <= k < s.stop:
                return name if s.stop - s.start == 1 else f"{name}[{k - s.start}]"
        raise IndexError(k)


def spans(sizes: Iterable[int]) -> tuple[slice, ...]:
    """Where parts of these sizes lie when they are put one after the other."""
    return tuple(slice(start, stop) for start, stop in pairwise(accumulate(sizes, initial=0)))
