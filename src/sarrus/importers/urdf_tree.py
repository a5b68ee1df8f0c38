"""Whether a URDF is one: names that exist and are unique, links that form a tree, mimics that lead somewhere."""

from __future__ import annotations

from typing import Any

from sarrus.errors import unknown_name
from sarrus.importers.document import Document
from sarrus.model.builder import ring

JOINT_KINDS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed", "floating": "free",
    "planar": "planar", "spherical": "spherical",
}  # fmt: skip
_SHOWN = 8  # names in an error


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
        more = f" and {len(roots) - _SHOWN} more" if len(roots) > _SHOWN else ""
        raise document.error(
            f"links {', '.join(map(repr, roots[:_SHOWN]))}{more} have no parent: a URDF has one root", document.root
        )
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
    led: set[str] = set()  # to something that is no mimic
    for start in drivers:
        way: dict[str, None] = {}
        name = start
        while name in drivers and name not in led:
            if name in way:
                raise document.error(f"joints that mimic themselves: {_ring(name, drivers)}", document.root)
            way[name] = None
            name = drivers[name]
        led.update(way)


def _ring(start: str, before: dict[str, str]) -> str:
    """The ring that one gets into from `start`, in words."""
    *names, first = map(repr, ring(start, before))
    shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], f"... ({len(names)} in all)"]
    return " <- ".join([*shown, first])
