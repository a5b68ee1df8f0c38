"""URDF's `<transmission>`: a simple one, between a motor and a joint, becomes a motor with a gear.

The tag is ROS's, and files write it in several ways: the reduction inside `<actuator>` or beside it, the type as a
tag or as an attribute. What is about software (hardware interfaces, namespaces) says nothing about the robot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sarrus.importers.document import Document
from sarrus.importers.names import Names, some
from sarrus.importers.numbers import plain_numbers
from sarrus.model.builder import ModelBuilder

_READ = ("type", "joint", "actuator", "mechanicalReduction")
_SOFTWARE = ("hardwareInterface", "robotNamespace", "role")


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
        builder.report(f"{len(which)} <transmission>, {reason} ({some(which)}): not represented")
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
