"""Which tags and attributes of a URDF mean something here. The others are counted and reported, never lost.

Tags of xacro that were left over have no effect in other readers, so such files are around and work. A file that still
has macros or `${...}` values is another matter: its numbers are not there yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from sarrus.errors import listed
from sarrus.importers.document import Document, expected, plain_numbers

_HARMLESS = ("property", "arg")  # they only give names to values, which nothing uses
_ADVICE = "this is a xacro file: turn it into a URDF with `xacro FILE > robot.urdf`"


class Tag(NamedTuple):
    """What may stand in a tag: attributes, children that are read, children that are known but not represented,
    children that are read elsewhere (`visuals_urdf.py`, `geometries_urdf.py`, `urdf_plus.py`)."""

    attributes: dict[str, int]  # how many numbers each holds; 0: words
    children: frozenset[str]
    known: frozenset[str]
    elsewhere: frozenset[str]


def _tag(attributes: str = "", children: str = "", known: str = "", elsewhere: str = "") -> Tag:
    """Names, separated by spaces; `xyz:3` is an attribute of three numbers."""
    counts = dict(f"{word}:0".split(":")[:2] for word in attributes.split())
    tags = (frozenset(words.split()) for words in (children, known, elsewhere))
    return Tag({name: int(count) for name, count in counts.items()}, *tags)


VOCABULARY = {
    "robot": _tag("name version", "link joint loop coupling frame", "gazebo sensor", "material transmission"),
    "link": _tag("name", "inertial", "sensor", "visual collision"),
    "inertial": _tag("", "origin mass inertia"),
    "joint": _tag(
        "name type independent", "parent child origin axis limit dynamics mimic", "safety_controller calibration"
    ),
    "loop": _tag("name type independent", "predecessor successor axis"),
    "coupling": _tag("name type independent", "predecessor successor ratio"),
    "frame": _tag("name link xyz:3 rpy:3"),
    "predecessor": _tag("link", "origin"),
    "successor": _tag("link", "origin"),
    "origin": _tag("xyz:3 rpy:3"),
    "mass": _tag("value:1"),
    "inertia": _tag("ixx:1 ixy:1 ixz:1 iyy:1 iyz:1 izz:1"),
    "parent": _tag("link"),
    "child": _tag("link"),
    "axis": _tag("xyz:3"),
    "limit": _tag("lower:1 upper:1 velocity:1 effort:1"),
    "dynamics": _tag("damping:1 friction:1"),
    "mimic": _tag("joint multiplier:1 offset:1"),
    "ratio": _tag("value:1"),
}

# What URDF demands of a tag that is there. (`parent` and `child`: see `urdf_reader`; an axis: only where it is used.)
_REQUIRED = {
    "mass": ("value",), "inertia": ("ixx", "iyy", "izz"), "mimic": ("joint",), "ratio": ("value",),
}  # fmt: skip
_PRODUCTS = ("ixy", "ixz", "iyz")
_WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
_LINES = 50  # of one kind in a report
_KINDS = 1000  # of unknown tags that are looked at closely
_LIKE = 0.8  # similarity from which a tag is taken for a misspelt one


def check_numbers(document: Document) -> None:
    """Every number that will be read is there and is one; the error names the line, the tag and its owner."""
    for element in read_elements(document.root):
        missing = [name for name in _required(element) if element.get(name) is None]
        if missing:
            raise document.error(
                f"<{element.tag}> in {_owner(element)} has no {', '.join(map(repr, missing))}", element
            )
        for attribute, text in element.attrib.items():
            count = VOCABULARY[element.tag].attributes.get(attribute, 0)
            if count and plain_numbers(text, count, infinite=element.tag == "limit") is None:
                where = f"<{element.tag}> in {_owner(element)}"
                raise document.error(f"{attribute}={text!r} of {where}: expected {expected(count)}", element)


def _required(element: Any) -> tuple[str, ...]:
    if element.tag == "axis":
        parent = element.getparent()
        return ("xyz",) if parent.tag == "loop" or parent.get("type") in _WITH_AXIS else ()
    return _REQUIRED.get(element.tag, ())


def lost_lines(document: Document) -> Iterator[str]:
    """What the file says twice or leaves out, and what looks like physics but is misspelt."""
    for element in read_elements(document.root):
        tag = VOCABULARY[element.tag]
        if element is not document.root:
            for child, count in Counter(part.tag for part in element).items():
                if count > 1 and child in tag.children:
                    yield f"{_owner(element)} has {count} <{child}>: only the first counts, as in other readers"
        absent = [name for name in _PRODUCTS if element.tag == "inertia" and element.get(name) is None]
        if absent:
            yield f"<inertia> in {_owner(element)} has no {', '.join(absent)}: taken as zero"
    for parent, child in list(_unknown_tags(document))[:_KINDS]:
        meant = get_close_matches(child.lower(), sorted(VOCABULARY[parent].children), n=1, cutoff=_LIKE)
        if meant:
            yield f"unknown tag <{child}> in <{parent}>: did the file mean <{meant[0]}>? It has no effect"


def report_lines(document: Document) -> list[str]:
    """What the file says that the model does not represent, grouped."""
    known: Counter[str] = Counter()
    attributes: Counter[tuple[str, str]] = Counter()
    for element in read_elements(document.root):
        tag = VOCABULARY[element.tag]
        for attribute in element.attrib:
            if attribute not in tag.attributes:
                attributes[str(element.tag), _plain(element, attribute)] += 1
        known.update(str(child.tag) for child in element if child.tag in tag.known)
    lines = [f"{count} <{tag}>: not represented" for tag, count in sorted(known.items())]
    tags = list(_unknown_tags(document).items())
    lines += [f"unknown tag <{tag}> in <{parent}>, {_times(n)}: ignored" for (parent, tag), n in tags[:_LINES]]
    if len(tags) > _LINES:
        lines.append(f"{len(tags) - _LINES} more kinds of unknown tags ({listed([t for (_, t), _ in tags[_LINES:]])})")
    more = len(attributes) - _LINES
    for (tag, name), n in list(attributes.items())[:_LINES]:
        lines.append(f"unknown attribute {name!r} of <{tag}>, {_times(n)}: ignored")
    return [*lines, f"{more} more kinds of unknown attributes"] if more > 0 else lines


def _unknown_tags(document: Document) -> Counter[tuple[str, str]]:
    """(parent, tag) that mean nothing here, and how often."""
    found: Counter[tuple[str, str]] = Counter()
    for element in read_elements(document.root):
        tag = VOCABULARY[element.tag]
        valid = tag.children | tag.known | tag.elsewhere
        for child in element:
            if child.tag not in valid:
                found[str(element.tag), _plain(child, child.tag)] += 1
    return found


def read_elements(root: Any) -> list[Any]:
    """Every element that is read, in document order."""
    found, stack = [], [root]
    while stack:
        element = stack.pop()
        found.append(element)
        stack.extend(child for child in reversed(element) if child.tag in VOCABULARY[element.tag].children)
    return found


def _owner(element: Any) -> str:
    while element.get("name") is None and element.getparent() is not None:
        element = element.getparent()
    return f"<{element.tag}> {element.get('name')!r}"


def _plain(element: Any, name: Any) -> str:
    """A tag or attribute as written: with its prefix instead of its namespace."""
    text = str(name)
    for prefix, namespace in element.nsmap.items():
        text = text.replace(f"{{{namespace}}}", f"{prefix}:" if prefix else "")
    return text


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def check_expanded(document: Document) -> Iterator[str]:
    """An error if the file was never expanded; else lines about tags that were left over."""
    root = document.root
    left = Counter(_name(element) for element in root.iter() if _name(element))
    if left["macro"] or (left and root.find("link") is None):
        raise document.error(_ADVICE, root)
    for element in read_elements(root):
        for attribute, text in element.attrib.items():
            if attribute in VOCABULARY[element.tag].attributes and ("${" in text or "$(" in text):
                raise document.error(f"{attribute}={text!r} of <{element.tag}>: {_ADVICE}", element)
    for name, count in left.items():
        if name not in _HARMLESS:
            yield f"{count} <xacro:{name}> that nothing expanded: what they stand for is missing"


def _name(element: Any) -> str:
    """What comes after `xacro:`, or an empty string."""
    if not isinstance(element.tag, str):
        return ""
    if element.prefix == "xacro":
        return element.tag.rpartition("}")[2]
    return element.tag.removeprefix("xacro:") if element.tag.startswith("xacro:") else ""
