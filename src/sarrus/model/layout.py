"""Where the joints' numbers lie in q and v."""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.errors import unknown_name
from sarrus.model.bodies import Joint


class StateLayout:
    """Slices of q and v per joint, by number or by name."""

    def __init__(self, joints: Sequence[Joint]) -> None:
        q, v, nq, nv = [], [], 0, 0
        for joint in joints:
            q.append(slice(nq, nq + joint.type.nq))
            v.append(slice(nv, nv + joint.type.nv))
            nq, nv = nq + joint.type.nq, nv + joint.type.nv
        self.q: tuple[slice, ...] = tuple(q)
        self.v: tuple[slice, ...] = tuple(v)
        self.nq, self.nv = nq, nv
        self._index = {joint.name: i for i, joint in enumerate(joints)}

    def joint_index(self, name: str) -> int:
        """The number of a joint; the error for an unknown name lists the valid ones."""
        try:
            return self._index[name]
        except KeyError:
            raise unknown_name("joint", name, tuple(self._index)) from None

    def q_of(self, joint: str) -> slice:
        """Where a joint's position lies in q."""
        return self.q[self.joint_index(joint)]

    def v_of(self, joint: str) -> slice:
        """Where a joint's velocity lies in v."""
        return self.v[self.joint_index(joint)]

    def coordinate_name(self, k: int) -> str:
        """A name for element k of q, for messages."""
        for name, s in zip(self._index, self.q, strict=True):
            if s.start <= k < s.stop:
                return name if s.stop - s.start == 1 else f"{name}[{k - s.start}]"
        raise IndexError(k)
