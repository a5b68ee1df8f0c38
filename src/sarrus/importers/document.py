"""Reading a robot file: what it is called in messages, and its XML with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sarrus.errors import ImportFileError, optional_package
from sarrus.importers.reading import BYTES, ELEMENTS, as_path, check_limit, read_bytes, reading

_BOM = "\ufeff"
_DECLARATIONS = re.compile(rb"<!(ENTITY|DOCTYPE[^>]*\[)")


@dataclass(frozen=True)
class Document:
    """A robot file, or a string of XML: `path` is None then."""

    name: str  # for messages
    path: Path | None
    root: Any  # lxml element

    @property
    def tag(self) -> str:
        return str(self.root.tag)

    @property
    def folder(self) -> Path:
        """What the names of files in it are relative to."""
        return Path.cwd() if self.path is None else self.path.parent

    def check_root(self, expected: str, kind: str) -> None:
        if self.tag != expected:
            raise self.error(f"the root tag of {kind} is <{expected}>, not <{self.tag}>", self.root)

    def error(self, message: str, element: Any = None) -> ImportFileError:
        """An error that names the file and the element's line."""
        line = "" if element is None or element.sourceline is None else f", line {element.sourceline}"
        return ImportFileError(f"{self.name}{line}: {message}")


Source = str | PathLike[str] | Document


def read_document(source: Source) -> Document:
    """Read a path, or a string that starts with `<`, and parse it as XML."""
    if isinstance(source, Document):
        return source
    if isinstance(source, str) and source.lstrip(f"{_BOM} \t\r\n").startswith("<"):
        name = "XML string"
        with reading(name):
            content = source.lstrip(_BOM).encode()
            check_limit(name, "bytes", len(content), BYTES)
            return Document(name, None, _parse(content, name, "utf-8"))
    path = as_path(source)
    with reading(str(path)):
        return Document(str(path), path, _parse(read_bytes(path), str(path), None))


def _parse(content: bytes, name: str, encoding: str | None) -> Any:
    etree = optional_package("lxml.etree", "reading robot files needs lxml", "lxml")
    # Undeclared prefixes (`<sensor:camera>`) are common in robot files and harmless: recover from those only.
    parser = etree.XMLParser(
        recover=True, remove_comments=True, remove_pis=True, resolve_entities=False, no_network=True, encoding=encoding
    )
    if b"\0" in content and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16 has NUL bytes, and says so first
        raise ImportFileError(f"{name}: this is no text: it contains NUL bytes")
    if _DECLARATIONS.search(content):
        raise ImportFileError(f"{name}: it declares entities (<!DOCTYPE [...]>), which are not read")
    root = etree.fromstring(content.lstrip(), parser)
    harmless = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE
    for problem in parser.error_log:
        if problem.type != harmless:
            raise ImportFileError(f"{name}, line {problem.line}: malformed XML: {problem.message}")
    if root is None:
        raise ImportFileError(f"{name}: malformed XML: no root element")
    check_limit(name, "elements", sum(1 for _ in root.iter()), ELEMENTS)
    return root
