"""xacro in a URDF: a file of macros that was never expanded, or a few tags that were left over.

Other readers ignore tags that they do not know, so files with leftovers are around and work. A file that still has
macros or `${...}` values is another matter: its numbers are not there yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sarrus.importers.document import Document
from sarrus.importers.urdf_vocabulary import VOCABULARY, read_elements

_HARMLESS = ("property", "arg")  # they only give names to values, which nothing uses
_ADVICE = "this is a xacro file: turn it into a URDF with `xacro FILE > robot.urdf`"


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
