"""Files that somebody else wrote: their bytes, and the one place where what goes wrong in a reader becomes words."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sarrus.errors import ImportFileError, MissingDependencyError, SarrusError
from sarrus.importers.limits import BYTES, check_limit

_SHOWN = 200  # characters of a name in a message


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
