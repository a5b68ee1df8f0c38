"""The numbers of a URDF's links and joints, as they stand in the file: what is not there is not made up.

Defaults are those that URDF itself names (an origin is zero, an axis is x, a mimic has ratio 1); what it demands, and a
file leaves out, is an error (`urdf_vocabulary`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.importers.document import Document
from sarrus.importers.numbers import plain_numbers
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import rotation_from_rpy

_DEFAULT_AXIS = (1.0, 0.0, 0.0)
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class Mimic(NamedTuple):
    joint: str
    multiplier: float
    offset: float


class UrdfJoint(NamedTuple):
    name: str
    type: str
    parent: str
    child: str
    position: Array  # (3,)
    rotation: Array  # (3, 3)
    axis: tuple[float, ...]
    limit: dict[str, float] | None  # lower, upper, velocity, effort: those that are given
    dynamics: dict[str, float]  # damping, friction
    mimic: Mimic | None
    independent: bool | None


def read_inertials(document: Document) -> dict[str, dict[str, Any]]:
    """By link: mass, com, and inertia about it in the link's axes (None: the file gives none).

    Links without `<inertial>` are not there.
    """
    links = ((link, link.find("inertial")) for link in document.root.iterchildren("link"))
    return {link.get("name"): _inertial(document, link, found) for link, found in links if found is not None}


def read_joints(document: Document) -> dict[str, UrdfJoint]:
    """By name. The document's names and numbers were checked before."""
    return {element.get("name"): _joint(document, element) for element in document.root.iterchildren("joint")}


def three(element: Any, attribute: str) -> tuple[float, float, float]:
    """Three numbers, which `check_numbers` has found there; zeros where nothing is given."""
    text = None if element is None else element.get(attribute)
    x, y, z = (None if text is None else plain_numbers(text, 3)) or (0.0, 0.0, 0.0)
    return (x, y, z)


def _turn(origin: Any) -> Array:
    rpy = three(origin, "rpy")
    return rotation_from_rpy(*rpy) if any(rpy) else np.eye(3)


def _inertial(document: Document, link: Any, element: Any) -> dict[str, Any]:
    mass, inertia, origin = (element.find(tag) for tag in ("mass", "inertia", "origin"))
    if mass is None:
        raise document.error(f"<inertial> in <link> {link.get('name')!r} has no <mass>", element)
    moments = None
    if inertia is not None:
        xx, xy, xz, yy, yz, zz = (_number(inertia, key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        R = _turn(origin)
        moments = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return {"mass": _number(mass, "value"), "com": np.array(three(origin, "xyz")), "inertia": moments}


def _joint(document: Document, element: Any) -> UrdfJoint:
    origin, axis, limit, dynamics, mimic = (
        element.find(tag) for tag in ("origin", "axis", "limit", "dynamics", "mimic")
    )
    flag = element.get("independent")
    if flag is not None and flag.lower() not in _FLAGS:
        raise document.error(
            f"independent={flag!r} of <joint> {element.get('name')!r}. Valid: {', '.join(_FLAGS)}", element
        )
    follows = None
    if mimic is not None:
        follows = Mimic(mimic.get("joint"), _number(mimic, "multiplier", 1.0), _number(mimic, "offset"))
    return UrdfJoint(
        name=element.get("name"),
        type=element.get("type"),
        parent=element.find("parent").get("link"),
        child=element.find("child").get("link"),
        position=np.array(three(origin, "xyz")),
        rotation=_turn(origin),
        axis=_DEFAULT_AXIS if axis is None or axis.get("xyz") is None else three(axis, "xyz"),
        limit=None if limit is None else _numbers(limit, ("lower", "upper", "velocity", "effort")),
        dynamics={} if dynamics is None else _numbers(dynamics, ("damping", "friction")),
        mimic=follows,
        independent=None if flag is None else _FLAGS[flag.lower()],
    )


def _numbers(element: Any, attributes: tuple[str, ...]) -> dict[str, float]:
    return {key: _number(element, key) for key in attributes if element.get(key) is not None}


def _number(element: Any, attribute: str, default: float = 0.0) -> float:
    text = element.get(attribute)
    return default if text is None else (plain_numbers(text, 1, infinite=True) or (np.nan,))[0]
