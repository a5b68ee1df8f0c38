"""Reading a robot file: what it is called in messages, and its XML with line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sarrus.errors import ImportFileError, MissingDependencyError, ModelError, UnknownNameError


@dataclass(frozen=True)
class Document:
    """A robot file, or a string of XML: `path` is None then."""

    name: str  # for messages
    path: Path | None
    root: Any  # lxml element

    @property
    def tag(self) -> str:
        return str(self.root.tag)

    def error(self, message: str, element: Any = None) -> ImportFileError:
        """An error that names the file and the element's line."""
        line = "" if element is None or element.sourceline is None else f", line {element.sourceline}"
        return ImportFileError(f"{self.name}{line}: {message}")


def read_document(source: str | PathLike[str]) -> Document:
    """Read a path, or a string that starts with `<`, and parse it as XML."""
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return Document("XML string", None, _parse(source.encode(), "XML string", "utf-8"))
    path = Path(fspath(source)).expanduser()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ImportFileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise ImportFileError(f"{path}: cannot be read: {error.strerror}") from None
    return Document(str(path), path, _parse(content, str(path), None))


def check_root(document: Document, expected: str, kind: str) -> None:
    if document.tag != expected:
        raise document.error(f"the root tag of {kind} is <{expected}>, not <{document.tag}>", document.root)


@contextmanager
def errors_naming(document: Document) -> Iterator[None]:
    """Errors of the builder know the culprit but not the file: add it, keep the class."""
    try:
        yield
    except (ModelError, UnknownNameError) as error:
        raise type(error)(f"{document.name}: {error}") from error


def _parse(content: bytes, name: str, encoding: str | None) -> Any:
    try:
        from lxml import etree
    except ImportError:
        raise MissingDependencyError("reading robot files needs lxml: pip install lxml") from None
    # Undeclared prefixes (`<sensor:camera>`) are common in robot files and harmless: recover from those only.
    parser = etree.XMLParser(
        recover=True, remove_comments=True, remove_pis=True, resolve_entities=False, no_network=True, encoding=encoding
    )
    if not content.strip():
        raise ImportFileError(f"{name}: the file is empty")
    root = etree.fromstring(content.lstrip(), parser)
    harmless = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE
    for problem in parser.error_log:
        if problem.type != harmless:
            raise ImportFileError(f"{name}, line {problem.line}: malformed XML: {problem.message}")
    if root is None:
        raise ImportFileError(f"{name}: malformed XML: no root element")
    return root
