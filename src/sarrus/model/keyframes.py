"""States that a file gives a name: where to start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sarrus.errors import unknown_name
from sarrus.model.bodies import freeze
from sarrus.spatial.arrays import Array


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A state, and the controls that belong to it."""

    q: Array  # (nq,)
    v: Array  # (nv,)
    controls: Array  # (nu,)
    time: float = 0.0

    def __post_init__(self) -> None:
        freeze(self.q, self.v, self.controls)


class Keyframes(Mapping[str, Keyframe]):
    """Keyframes by name, in the order of the file; nothing in it can be changed."""

    def __init__(self, keyframes: Mapping[str, Keyframe] | Iterable[tuple[str, Keyframe]] = ()) -> None:
        self._found = dict(keyframes)

    def __getitem__(self, name: str) -> Keyframe:
        if name not in self._found:
            raise unknown_name("keyframe", name, self._found)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<Keyframes {', '.join(self._found) or 'none'}>"
