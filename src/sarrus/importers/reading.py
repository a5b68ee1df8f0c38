"""Files that somebody else wrote: their bytes, their numbers, how large they may be, and errors in words.

`reading` is the one place where what goes wrong in a reader becomes words.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sarrus.errors import ImportFileError, MissingDependencyError, SarrusError

_SHOWN = 200  # characters of a name in a message
BYTES = 100_000_000  # of a file
ELEMENTS = 500_000  # of XML, after `<replicate>` and the like are carried out
BODIES = 50_000  # that MuJoCo would make of `<replicate>`, `<composite>`, `<flexcomp>`
CELLS = 10_000_000  # of a height field, of a texture
FILES = 1_000  # that include one another
YAML_BYTES = 1_000_000
YAML_DEPTH = 20
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]+")


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
        raise ImportFileError(f"{shown(text)} is no path: it contains a NUL character")
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
