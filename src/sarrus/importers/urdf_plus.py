"""What others add to URDF: what closes the loops of the tree, as declared constraints; frames; motors with gears.

URDF+ (`<loop>`, `<coupling>`) is from generalized_rbda, `<frame>` from Drake, `<transmission>` from ROS. Files write
the last in several ways: the reduction inside `<actuator>` or beside it, the type as a tag or as an attribute. What is
about software there (hardware interfaces, namespaces) says nothing about the robot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.errors import listed, unknown_name
from sarrus.importers.document import Document, plain_numbers
from sarrus.importers.names import Names, first_free
from sarrus.importers.urdf_reader import three
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import Coupling, LoopClosure
from sarrus.spatial.product import direction

# A URDF+ loop of type "revolute" asks that two origins coincide: position rows only, as upstream. Its axis is kept.
_LOOP_JOINTS = {
    "revolute": "connect", "continuous": "connect", "spherical": "connect", "ball": "connect", "fixed": "weld",
    "prismatic": "prismatic", "cylindrical": "cylindrical", "universal": "universal", "planar": "planar",
}  # fmt: skip
_READ = ("type", "joint", "actuator", "mechanicalReduction")
_SOFTWARE = ("hardwareInterface", "robotNamespace", "role")


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
        builder.add_frame(name, body_of[link], position=three(element, "xyz"), rotation=three(element, "rpy"))


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
            frame = first_free(f"{name}_{side}", builder.has_name)
            builder.add_frame(frame, body_of[link], position=three(origin, "xyz"), rotation=three(origin, "rpy"))
            frames.append(frame)
        axis = element.find("axis")
        along = None
        if axis is not None:
            given = three(axis, "xyz")
            if not any(given):
                raise document.error(f"loop {name!r}: the axis {list(given)} has no direction", axis)
            scaled = np.array(given) / max(map(abs, given))  # squares of huge numbers are not finite
            along = tuple(direction(scaled).tolist())
        source = f'URDF+ <loop type="{kind}">'
        builder.add_constraint(LoopClosure(name, frames[0], frames[1], _LOOP_JOINTS[kind], along, source=source))


def add_couplings(
    document: Document, builder: ModelBuilder, edges: Mapping[str, TreeEdge], body_of: Mapping[str, str]
) -> None:
    """`<coupling>`: ratio * sum(q from the common ancestor to the predecessor) = sum(q from there to the successor)."""
    for element in document.root.findall("coupling"):
        name = _required(document, element, "name")
        ratio = float(_required(document, _child(document, element, "ratio"), "value"))  # seen by `check_numbers`
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
        if not any(coefficient for _, coefficient in terms):
            raise document.error(f"coupling {name!r}: no joint lies between {sides[0]!r} and {sides[1]!r}", element)
        builder.add_constraint(Coupling(name, tuple(terms), source="URDF+ <coupling>"))


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


def add_transmissions(document: Document, builder: ModelBuilder, sizes: Mapping[str, int]) -> None:
    """sizes: how many velocities each joint of the file has."""
    dropped: dict[str, list[str]] = {}
    ignored: Counter[str] = Counter()
    names = Names()
    for element in document.root.findall("transmission"):
        joints, motors = element.findall("joint"), element.findall("actuator")
        own = element.get("name") or "without a name"
        reason, gear = _not_simple(element, joints, motors, sizes), 0.0
        if not reason:
            gear = _reduction(document, element, own)
            reason = "" if gear != 0.0 else "a reduction of 0"
        if reason:
            dropped.setdefault(reason, []).append(own)
            continue
        builder.add_actuator(names.claim(motors[0].get("name") or own), joints[0].get("name"), gear=gear)
        children = (child for part in (element, *joints, *motors) for child in part.iterchildren(tag="*"))
        tags = (str(child.tag).rpartition("}")[2] for child in children)
        ignored.update(tag for tag in tags if tag not in _READ + _SOFTWARE)
    for reason, which in dropped.items():
        builder.report(f"{len(which)} <transmission>, {reason} ({listed(which)}): not represented")
    for tag, count in ignored.items():
        builder.report(f"{count} <{tag}> in <transmission>: not represented")


def _not_simple(element: Any, joints: list[Any], motors: list[Any], sizes: Mapping[str, int]) -> str:
    """Why this is more, or less, than a motor geared to a joint."""
    kind = (element.findtext("type") or element.get("type") or "SimpleTransmission").strip()
    if not kind.endswith("SimpleTransmission"):
        return f"of type {kind}"
    if len(joints) != 1 or len(motors) != 1:
        return f"{len(joints)} joints and {len(motors)} actuators"
    if joints[0].get("name") not in sizes:
        return "of a joint that does not exist"
    nv = sizes[joints[0].get("name")]
    return "" if nv == 1 else "of a fixed joint" if nv == 0 else "of a joint with several coordinates"


def _reduction(document: Document, element: Any, name: str) -> float:
    """The gear: inside the actuator, the joint, or beside them; 1 where nothing is said."""
    found = element.find(".//mechanicalReduction")
    if found is None:
        return 1.0
    gear = plain_numbers(found.text, 1)
    if gear is None:
        raise document.error(f"mechanicalReduction {found.text!r} of <transmission> {name!r}: expected a number", found)
    return gear[0]
