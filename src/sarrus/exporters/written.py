"""What was written, and what could not be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

_EPS = 1e-15


class Written(NamedTuple):
    """`text` is the file; `report` what it does not say; `lost_physics` the lines of it that make it move otherwise."""

    text: str
    report: tuple[str, ...]
    lost_physics: tuple[str, ...]


class Report:
    """Lines, physics that is lost first; the same line once."""

    def __init__(self) -> None:
        self._lines: dict[str, bool] = {}

    def add(self, line: str, *, lost: bool = False) -> None:
        self._lines[line] = lost or self._lines.get(line, False)

    def add_split(self, joint: str, kind: str, count: int) -> None:
        """A joint that became several."""
        self.add(f"joint {joint!r}: {kind}, written as {count} joints {joint}/0, ...")

    def add_order(self, read: Sequence[str], declared: Sequence[str]) -> None:
        """How readers of the file number joints, if that is another order."""
        if tuple(read) != tuple(declared):
            early, late = next((a, b) for a, b in zip(read, declared, strict=True) if a != b)
            self.add(f"the order of joints, and so of q and v: read again, {early!r} comes before {late!r}")

    def written(self, root: ElementTree.Element, path: str | PathLike[str] | None) -> Written:
        """With the tree as text, in the file if there is one."""
        ElementTree.indent(root)
        text = ElementTree.tostring(root, encoding="unicode") + "\n"
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)  # as `Kernel.to_c` does
            Path(path).write_text(text, encoding="utf-8")
        lost = tuple(line for line, is_lost in self._lines.items() if is_lost)
        return Written(text, (*lost, *(line for line, is_lost in self._lines.items() if not is_lost)), lost)


def check_numeric(model: Model, form: str) -> None:
    if not model.is_numeric:
        raise UnsupportedError(f"{form}: the model contains symbols; give them values first")


def numbers(values: Any) -> str:
    """With all digits that count."""
    return " ".join(repr(float(x) + 0.0) for x in np.ravel(values))


def child(parent: ElementTree.Element, tag: str, **attributes: Any) -> ElementTree.Element:
    """An element with these attributes; those that are None are left out, arrays and numbers written in full."""
    said = {key: x if isinstance(x, str) else numbers(x) for key, x in attributes.items() if x is not None}
    return ElementTree.SubElement(parent, tag, said)


def rpy_of(R: Array) -> Array:
    """URDF's fixed-axis angles of a rotation matrix."""
    across = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = np.arctan2(-R[2, 0], across)
    if across < _EPS:  # straight up or down: only the sum of the others counts
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def mass_center_inertia(mass: float, h: Array, Io: Array) -> tuple[float, Array, Array]:
    """Mass, centre of mass and the inertia matrix about it."""
    if mass == 0.0:
        return 0.0, np.zeros(3), Io
    c = h / mass
    return mass, c, Io - mass * ((c @ c) * np.eye(3) - np.outer(c, c))


def distinct(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores until it is free."""
    used = set(taken)
    while name in used:
        name += "_"
    return name
