"""Robot files, which somebody else wrote: bytes, XML with line numbers, numbers, and how large all that may be.

`reading` is the one place where what goes wrong in a reader becomes words.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sarrus.errors import ImportFileError, MissingDependencyError, SarrusError, optional_package

_SHOWN = 200  # characters of a name in a message
# How large a robot file may be. Robots have a thousandth of each of these; a file that exceeds one is refused in words
# before it can exhaust memory or time.
BYTES = 100_000_000  # of a file
ELEMENTS = 500_000  # of XML, after `<replicate>` and the like are carried out
BODIES = 50_000  # that MuJoCo would make of `<replicate>`, `<composite>`, `<flexcomp>`
CELLS = 10_000_000  # of a height field, of a texture
FILES = 1_000  # that include one another
YAML_BYTES = 1_000_000
YAML_DEPTH = 20
# Numbers as files write them: plain decimal ones. Python's `float` also takes 1_000, nan and digits of all alphabets,
# which no other reader of robot files does.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]+")
_BOM = "\ufeff"
_DECLARATIONS = re.compile(rb"<!(ENTITY|DOCTYPE[^>]*\[)")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Every exception inside leaves as one of Sarrus that names the file. The cause stays attached.

    Errors of the builder know the culprit but not the file: it is added, the class is kept. Anything else is a file
    that a reader was not made for, and says so with the exception's own words.
    """
    try:
        yield
    except (ImportFileError, MissingDependencyError):
        raise
    except SarrusError as error:
        raise type(error)(f"{name}: {error}") from error
    except RecursionError as error:
        raise ImportFileError(f"{name}: it is nested too deeply") from error
    except MemoryError as error:
        raise ImportFileError(f"{name}: there is not enough memory for it") from error
    except Exception as error:
        raise ImportFileError(f"{name}: cannot be read: {type(error).__name__}: {error}") from error


def as_path(source: Any) -> Path:
    """The path that a user names; errors in words for what can be none."""
    if not isinstance(source, (str, PathLike)) or isinstance(fspath(source), bytes):
        raise ImportFileError(f"expected a path, or a string of XML, got {type(source).__name__}: {shown(source)}")
    text = fspath(source)
    if not text:
        raise ImportFileError("the path of the file is empty")
    if "\0" in text:
        raise ImportFileError(f"{shown(text)} is not a path: it contains a NUL character")
    with reading(shown(text)):
        return Path(text).expanduser()


def read_bytes(path: Path, most: int = BYTES, *, may_be_empty: bool = False) -> bytes:
    """The content of a regular file that is not too large. Opening a pipe would wait, a device may have no end."""
    name = str(path)
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ImportFileError(f"{name}: this is a folder, not a file")
        if not stat.S_ISREG(found.st_mode):
            raise ImportFileError(f"{name}: this is a pipe, a device or a socket, not a file")
        check_limit(name, "bytes", found.st_size, most)
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise ImportFileError(f"{shown(name, quoted=False)}: there is no such file") from None
    except OSError as error:
        raise ImportFileError(f"{shown(name, quoted=False)}: cannot be read: {error.strerror}") from error
    check_limit(name, "bytes", len(content), most)  # some files of the system say that they are empty
    if not content.strip() and not may_be_empty:
        raise ImportFileError(f"{name}: the file is empty")
    return content


def check_inside(path: Path, folders: list[Path], name: str, what: str, allow_outside: bool) -> None:
    """That a file which another one names is a regular one, and lies in its folder. Missing files are for others."""
    if not allow_outside:
        real = Path(os.path.realpath(path))
        if not any(real.is_relative_to(folder) for folder in folders):
            raise ImportFileError(
                f"{name}: {what} leads out of the folder of the file, to {real}. "
                f"`allow_outside=True` (on the command line --allow-outside) reads it all the same"
            )
    if path.exists() and not path.is_file():
        raise ImportFileError(f"{name}: {what} is not a regular file")


def shown(value: Any, quoted: bool = True) -> str:
    """A name for messages: not longer than a few lines."""
    text = repr(value) if quoted else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def check_limit(name: str, what: str, count: float, most: float) -> None:
    """name: of the file."""
    if not count <= most:
        raise ImportFileError(f"{name}: {what}: {count:,.15g}, more than the limit of {most:,.15g}")


def plain_numbers(text: str | None, count: int, *, infinite: bool = False) -> tuple[float, ...] | None:
    """So many finite numbers, separated by spaces; None: the text is something else. infinite: they may be that."""
    words = [word for word in _SPACE.split(text or "") if word]
    if len(words) != count:
        return None
    values = []
    for word in words:
        if not _NUMBER.fullmatch(word) and not (infinite and _INFINITE.fullmatch(word)):
            return None
        values.append(float(word))
    if not infinite and any(abs(x) == float("inf") for x in values):  # 1e999
        return None
    return tuple(values)


def expected(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"


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
        raise ImportFileError(f"{name}: this is not a text file: it contains NUL bytes")
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
