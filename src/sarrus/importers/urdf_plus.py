"""What others add to URDF: mostly what closes the loops of the tree, as declared constraints.

URDF+ (`<loop>`, `<coupling>`) is from generalized_rbda, `<frame>` from Drake, the YAML beside a URDF from Gepetto's
example-parallel-robots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import ImportFileError, unknown_name
from sarrus.importers.document import Document
from sarrus.importers.names import free_name
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Coupling, LoopClosure

# A URDF+ loop of type "revolute" asks that two origins coincide: position rows only, as upstream. Its axis is kept.
_LOOP_JOINTS = {
    "revolute": "connect", "continuous": "connect", "spherical": "connect", "ball": "connect", "fixed": "weld",
    "prismatic": "prismatic", "cylindrical": "cylindrical", "universal": "universal", "planar": "planar",
}  # fmt: skip
_EXTENDED_TYPES = {"3d": "connect", "6d": "weld"}


@dataclass(frozen=True)
class TreeEdge:
    """The joint above a link."""

    joint: str
    parent: str
    nv: int


def add_frames(document: Document, builder: ModelBuilder, body_of: Mapping[str, str]) -> None:
    """`<frame>`: a named pose on a link."""
    for element in document.root.findall("frame"):
        name, link = _required(document, element, "name"), _link(document, element, body_of)
        builder.add_frame(name, body_of[link], position=_numbers(element, "xyz"), rotation=_numbers(element, "rpy"))


def add_loops(document: Document, builder: ModelBuilder, body_of: Mapping[str, str]) -> None:
    """`<loop>`: a frame on each of two links, and the joint between them."""
    for element in document.root.findall("loop"):
        name = _required(document, element, "name")
        kind = element.get("type", "revolute")
        if kind not in _LOOP_JOINTS:
            raise document.error(f"type of loop {name!r}: {kind!r}. Valid: {', '.join(_LOOP_JOINTS)}", element)
        frames = []
        for side in ("predecessor", "successor"):
            part = _child(document, element, side)
            link = _link(document, part, body_of)
            origin = part.find("origin")
            frame = free_name(builder, f"{name}_{side}")
            builder.add_frame(frame, body_of[link], position=_numbers(origin, "xyz"), rotation=_numbers(origin, "rpy"))
            frames.append(frame)
        axis = element.find("axis")
        direction = None if axis is None else _numbers(axis, "xyz")
        source = f'URDF+ <loop type="{kind}">'
        builder.add_constraint(LoopClosure(name, frames[0], frames[1], _LOOP_JOINTS[kind], direction, source=source))


def add_couplings(
    document: Document, builder: ModelBuilder, edges: Mapping[str, TreeEdge], body_of: Mapping[str, str]
) -> None:
    """`<coupling>`: ratio * sum(q from the common ancestor to the predecessor) = sum(q from there to the successor)."""
    for element in document.root.findall("coupling"):
        name = _required(document, element, "name")
        ratio = float(_required(document, _child(document, element, "ratio"), "value"))
        sides = [_link(document, _child(document, element, side), body_of) for side in ("predecessor", "successor")]
        predecessor, successor = (_path(edges, link) for link in sides)
        shared = {edge.joint for edge in predecessor} & {edge.joint for edge in successor}
        terms = []
        for path, coefficient in ((predecessor, ratio), (successor, -1.0)):
            for edge in path:
                if edge.joint in shared or edge.nv == 0:
                    continue
                if edge.nv != 1:
                    raise document.error(
                        f"coupling {name!r}: joint {edge.joint!r} has {edge.nv} dof; only joints of one can be coupled",
                        element,
                    )
                terms.append((edge.joint, coefficient))
        if not terms:
            raise document.error(f"coupling {name!r}: no joint lies between {sides[0]!r} and {sides[1]!r}", element)
        builder.add_constraint(Coupling(name, tuple(terms), source="URDF+ <coupling>"))


@dataclass(frozen=True)
class Extension:
    """The YAML of example-parallel-robots: which frames close loops, which joints have motors, which change type."""

    name: str
    closed_loop: tuple[tuple[str, str], ...] = ()
    types: tuple[str, ...] = ()
    motors: tuple[str, ...] = ()
    joint_types: Mapping[str, str] = field(default_factory=dict)

    def add_loops(self, builder: ModelBuilder, body_of: Mapping[str, str]) -> None:
        """`body_of` has links, and joints: a joint's name stands for the link that it moves."""
        for k, ((a, b), kind) in enumerate(zip(self.closed_loop, self.types, strict=True)):
            for link in (a, b):
                if link not in body_of:
                    raise ImportFileError(f"{self.name}: closed_loop: {unknown_name('link or joint', link, body_of)}")
            joint = _EXTENDED_TYPES.get(kind.lower())
            if joint is None:
                valid = ", ".join(_EXTENDED_TYPES)
                raise ImportFileError(f"{self.name}: type of closed loop {k}: {kind!r}. Valid: {valid}")
            builder.add_constraint(LoopClosure(f"loop_{k}", body_of[a], body_of[b], joint, source="YAML closed_loop"))
        called = [name for name in body_of if "spherical" in name and name not in self.joint_types]
        if called and not self.joint_types:
            builder.report(
                f"{len(called)} joints are called spherical ({', '.join(called[:3])}, ...), but {Path(self.name).name} "
                f"has no joint_name and joint_type: they stay what the URDF says, and loops through them may not close"
            )
        if self.motors:
            builder.report(f"{len(self.motors)} joints have motors ({', '.join(self.motors)}): not represented")

    def joint(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """What this joint is instead of what the URDF says: its type and axes."""
        kind = self.joint_types.get(name)
        if kind is None:
            return None
        if kind.startswith("UJOINT_") and len(kind) == 9 and set(kind[7:]) <= set("XYZ") and kind[7] != kind[8]:
            first, second = (np.eye(3)["XYZ".index(letter)] for letter in kind[7:])
            return "universal", {"axis": first, "second_axis": second}
        if kind in ("SPHERICAL", "FIXED"):
            return kind.lower(), {}
        raise ImportFileError(
            f"{self.name}: joint_type of {name!r}: {kind!r}. Valid: SPHERICAL, FIXED, UJOINT_XY (any two axes)"
        )


def read_extension(path: str | PathLike[str]) -> Extension:
    """Read the YAML beside a URDF of example-parallel-robots."""
    import yaml

    file = Path(fspath(path)).expanduser()
    try:
        content = yaml.safe_load(file.read_text()) or {}
    except FileNotFoundError:
        raise ImportFileError(f"{file}: there is no such file") from None
    except yaml.YAMLError as error:
        raise ImportFileError(f"{file}: malformed YAML: {error}") from None
    loops = tuple((str(a), str(b)) for a, b in content.get("closed_loop", ()))
    types = tuple(str(kind) for kind in content.get("type", ()))
    names, kinds = content.get("joint_name") or (), content.get("joint_type") or ()
    if len(loops) != len(types) or len(names) != len(kinds):
        raise ImportFileError(f"{file}: closed_loop and type, and joint_name and joint_type, must have equal lengths")
    joint_types = dict(zip(map(str, names), map(str, kinds), strict=True))
    return Extension(str(file), loops, types, tuple(map(str, content.get("name_mot") or ())), joint_types)


def _path(edges: Mapping[str, TreeEdge], link: str) -> list[TreeEdge]:
    """The joints from a link to the root."""
    path = []
    while link in edges:
        path.append(edges[link])
        link = edges[link].parent
    return path


def _child(document: Document, element: Any, tag: str) -> Any:
    child = element.find(tag)
    if child is None:
        raise document.error(f"<{element.tag}> {element.get('name')!r} has no <{tag}>", element)
    return child


def _required(document: Document, element: Any, attribute: str) -> str:
    value = element.get(attribute)
    if value is None:
        raise document.error(f"<{element.tag}> has no {attribute!r}", element)
    return value


def _link(document: Document, element: Any, body_of: Mapping[str, str]) -> str:
    link = _required(document, element, "link")
    if link not in body_of:
        owner = element.get("name") or element.getparent().get("name")
        raise document.error(f"<{element.tag}> of {owner!r}: {unknown_name('link', link, body_of)}", element)
    return link


def _numbers(element: Any, attribute: str) -> tuple[float, float, float]:
    """Three numbers, which `check_numbers` has found there; zeros where nothing is given."""
    text = None if element is None else element.get(attribute)
    if text is None:
        return (0.0, 0.0, 0.0)
    x, y, z = (float(word) for word in text.split())
    return (x, y, z)
