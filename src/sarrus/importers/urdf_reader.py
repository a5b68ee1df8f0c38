"""The links and joints of a URDF: that names exist and are unique, that links form a tree, and their numbers.

Numbers are as they stand in the file: what is not there is not made up. Defaults are those that URDF itself names (an
origin is zero, an axis is x, a mimic has ratio 1); what it demands, and a file leaves out, is an error
(`urdf_vocabulary`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import listed, unknown_name
from sarrus.importers.document import Document, plain_numbers
from sarrus.model.builder import ring
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import product
from sarrus.spatial.rotations import rotation_from_rpy

JOINT_KINDS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "floating": "free",
    "planar": "planar", "spherical": "spherical",
}  # fmt: skip
_SHOWN = 8  # names in an error
_DEFAULT_AXIS = (1.0, 0.0, 0.0)
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def check_names(document: Document) -> None:
    root = document.root
    if not root.get("name"):
        raise document.error("<robot> has no 'name'", root)
    for tag in ("link", "joint", "loop", "coupling"):
        seen: dict[str, Any] = {}
        for element in root.iterchildren(tag):
            name = element.get("name")
            if not name:
                raise document.error(f"<{tag}> has no 'name'", element)
            if name in seen:
                other = seen[name].sourceline
                raise document.error(f"two {tag}s are called {name!r}: the other is in line {other}", element)
            seen[name] = element
    if root.find("link") is None:
        raise document.error("<robot> has no <link>", root)
    names = {element.get("name"): None for element in root.iterchildren("link")}
    for element in root.iterchildren("joint"):
        name, kind = element.get("name"), element.get("type")
        if kind not in JOINT_KINDS:
            raise document.error(f"type of joint {name!r}: {kind!r}. Valid: {', '.join(JOINT_KINDS)}", element)
        for side in ("parent", "child"):
            part = element.find(side)
            if part is None or part.get("link") is None:
                raise document.error(f'joint {name!r} has no <{side} link="...">', element)
            if part.get("link") not in names:
                raise document.error(f"{side} of joint {name!r}: {unknown_name('link', part.get('link'), names)}", part)


def check_tree(document: Document) -> tuple[dict[str, list[str]], str]:
    """Joints below each link, sorted by name, and the root; errors if it is not one tree."""
    below: dict[str, list[str]] = {element.get("name"): [] for element in document.root.iterchildren("link")}
    child_of: dict[str, str] = {}  # by joint
    above: dict[str, tuple[str, str]] = {}  # by link: its parent, and the joint between them
    for element in sorted(document.root.findall("joint"), key=lambda e: e.get("name").encode()):
        name, parent, child = element.get("name"), element.find("parent").get("link"), element.find("child").get("link")
        if child in above:
            raise document.error(
                f"link {child!r} is the child of joints {above[child][1]!r} and {name!r}. "
                f"Close a loop by URDF+'s <loop> instead",
                element,
            )
        above[child] = (parent, name)
        child_of[name] = child
        below[parent].append(name)
    roots = [link for link in below if link not in above]
    if len(roots) > 1:
        names = listed(list(map(repr, roots)), _SHOWN)
        raise document.error(f"links {names} have no parent: a URDF has one root", document.root)
    reached = list(roots)
    for link in reached:  # it grows
        reached += [child_of[joint] for joint in below[link]]
    if len(reached) < len(below):
        found = set(reached)
        stuck = next(link for link in below if link not in found)
        cycle = _ring(stuck, {child: parent for child, (parent, _) in above.items()})
        raise document.error(f"cyclic parents: {cycle}", document.root)
    return below, roots[0]


def check_mimics(document: Document, drivers: dict[str, str]) -> None:
    """drivers: which joint each mimicking joint follows. A joint that follows itself, at last, follows nothing."""
    resolved: set[str] = set()  # joints that follow, at last, one that is no mimic
    for start in drivers:
        path: dict[str, None] = {}
        name = start
        while name in drivers and name not in resolved:
            if name in path:
                raise document.error(f"joints that mimic themselves: {_ring(name, drivers)}", document.root)
            path[name] = None
            name = drivers[name]
        resolved.update(path)


def _ring(start: str, before: dict[str, str]) -> str:
    """The ring that one gets into from `start`, in words."""
    *names, first = map(repr, ring(start, before))
    shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"... ({len(names)} in all)"]
    return " <- ".join([*shown, first])


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
        moments = product(product(R, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])), R.T)
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
