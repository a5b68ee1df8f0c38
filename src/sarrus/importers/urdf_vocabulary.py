"""Which tags and attributes of a URDF mean something here. The others are counted and reported, never lost."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from sarrus.importers.document import Document


class Tag(NamedTuple):
    """What may stand in a tag: attributes, children that are read, children that are known but not represented,
    children that are read elsewhere (`visuals_urdf.py`, `urdf_transmissions.py`)."""

    attributes: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


def _tag(attributes: str = "", children: str = "", known: str = "", elsewhere: str = "") -> Tag:
    return Tag(*(frozenset(words.split()) for words in (attributes, children, known, elsewhere)))


VOCABULARY = {
    "robot": _tag("name version", "link joint loop coupling frame", "gazebo sensor", "material transmission"),
    "link": _tag("name", "inertial", "collision sensor", "visual"),
    "inertial": _tag("", "origin mass inertia"),
    "joint": _tag(
        "name type independent", "parent child origin axis limit dynamics mimic", "safety_controller calibration"
    ),
    "loop": _tag("name type independent", "predecessor successor axis"),
    "coupling": _tag("name type independent", "predecessor successor ratio"),
    "frame": _tag("name link xyz rpy"),
    "predecessor": _tag("link", "origin"),
    "successor": _tag("link", "origin"),
    "origin": _tag("xyz rpy"),
    "mass": _tag("value"),
    "inertia": _tag("ixx ixy ixz iyy iyz izz"),
    "parent": _tag("link"),
    "child": _tag("link"),
    "axis": _tag("xyz"),
    "limit": _tag("lower upper velocity effort"),
    "dynamics": _tag("damping friction"),
    "mimic": _tag("joint multiplier offset"),
    "ratio": _tag("value"),
}

# How many numbers each attribute holds.
_NUMBERS = {
    ("origin", "xyz"): 3, ("origin", "rpy"): 3, ("axis", "xyz"): 3,
    ("frame", "xyz"): 3, ("frame", "rpy"): 3, ("mass", "value"): 1, ("ratio", "value"): 1,
    ("mimic", "multiplier"): 1, ("mimic", "offset"): 1,
    **{("inertia", name): 1 for name in VOCABULARY["inertia"].attributes},
    **{("limit", name): 1 for name in VOCABULARY["limit"].attributes},
    **{("dynamics", name): 1 for name in VOCABULARY["dynamics"].attributes},
}  # fmt: skip


def check_numbers(document: Document) -> None:
    """Every number that will be read is a number; the error names the line, the tag and its owner."""
    for element in _read_elements(document.root):
        for attribute, text in element.attrib.items():
            count = _NUMBERS.get((element.tag, attribute))
            if count is None:
                continue
            try:
                values = [float(word) for word in text.split()]
            except ValueError:
                values = []
            if len(values) != count:
                expected = "a number" if count == 1 else f"{count} numbers"
                where = f"<{element.tag}> in {_owner(element)}"
                raise document.error(f"{attribute}={text!r} of {where}: expected {expected}", element)


def report_lines(document: Document) -> list[str]:
    """What the file says that the model does not represent, grouped."""
    known: Counter[str] = Counter()
    tags: Counter[tuple[str, str]] = Counter()
    attributes: Counter[tuple[str, str]] = Counter()
    for element in _read_elements(document.root):
        tag = VOCABULARY[element.tag]
        for attribute in element.attrib:
            if attribute not in tag.attributes:
                attributes[str(element.tag), _plain(element, attribute)] += 1
        for child in element:
            if child.tag in tag.known:
                known[str(child.tag)] += 1
            elif child.tag not in tag.children | tag.elsewhere:
                tags[str(element.tag), _plain(child, child.tag)] += 1
    lines = [f"{count} <{tag}>: not represented" for tag, count in sorted(known.items())]
    lines += [f"unknown tag <{tag}> in <{parent}>, {_times(n)}: ignored" for (parent, tag), n in tags.items()]
    lines += [f"unknown attribute {name!r} of <{tag}>, {_times(n)}: ignored" for (tag, name), n in attributes.items()]
    return lines


def _read_elements(root: Any) -> list[Any]:
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
