"""Compiled kernels on disk.

A file is named by a hash of everything that its code depends on (`cache_names.py`), sealed with the user's key
(`seal.py`) and lies in a directory that nobody else may write to (`private_directory.py`). It is written to a temporary
name and renamed, so readers and writers in many processes need no lock. Whatever is doubtful about it is a reason to
compile the kernel again, with a warning; a disk that cannot be written only costs the next process its time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from sarrus.codegen.runtime.private_directory import TEMPORARY, PrivateDirectory, UntrustedError
from sarrus.codegen.runtime.seal import KEY_FILE, OVERHEAD, key_in, make_key_in, sealed, unsealed
from sarrus.errors import CacheWarning

LIMIT_BYTES = 512 * 1024 * 1024  # beyond it the least recently used files go
LARGEST_BYTES = 128 * 1024 * 1024  # of one kernel
OFF = "off"
_SUFFIX = ".kernel"
_ABANDONED_SECONDS = 3600.0
_NAME = re.compile("[0-9a-f]{64}")
# The directory cannot be made or written to: nothing is wrong with what is read.
_ONLY_COSTS_TIME = {
    errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EMFILE, errno.ENFILE,
    getattr(errno, "EDQUOT", errno.ENOSPC),
}  # fmt: skip
_told: set[tuple[str, str]] = set()

T = TypeVar("T")


@dataclass(frozen=True)
class CacheInfo:
    directory: Path | None  # None: there is no cache
    files: int
    bytes: int
    limit_bytes: int


def cache_directory() -> Path | None:
    """$SARRUS_CACHE_DIR, or the platform's place for such files; None if that is "off" or there is none."""
    chosen = os.environ.get("SARRUS_CACHE_DIR")
    if chosen == OFF:
        return None
    try:
        directory = Path(chosen) if chosen else _platform_directory()
    except RuntimeError:
        _tell("", "no home", "kernels are not kept on disk: this user has no home directory. Set SARRUS_CACHE_DIR")
        return None
    if not directory.is_absolute():
        expected = f"SARRUS_CACHE_DIR must be an absolute path, or {OFF!r}"
        _tell(directory, "relative", f"kernels are not kept on disk: {str(directory)!r} is not absolute. {expected}")
        return None
    return directory


def _platform_directory() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        base = chosen if os.path.isabs(chosen) else Path.home() / ".cache"
    return Path(base) / "sarrus"


def load(name: str, read: Callable[[bytes], T]) -> T | None:
    """What `read` makes of the bytes that were saved under that name; None if they are not there, or in doubt."""
    directory = _open() if _NAME.fullmatch(name) else None
    if directory is None:
        return None
    file = name + _SUFFIX
    with directory, contextlib.suppress(OSError):
        try:
            key = _key(directory)
            data = None if key is None else directory.read(file, LARGEST_BYTES)
            if key is None or data is None:
                return None
            payload = unsealed(key, name, data)
            try:
                result = read(payload)
            except Exception as error:  # whatever a reader stumbles over
                raise UntrustedError(f"damaged: {type(error).__name__}: {error}") from None
        except UntrustedError as why:
            directory.remove(file)
            words = f"the cached kernel {directory.path / file} is {why}; it is compiled again"
            _tell(directory.path, f"kernel {str(why).partition(':')[0]}", words)
            return None
        directory.touch(file)  # the last to go
        return result
    return None


def save(name: str, payload: bytes) -> None:
    """Keep bytes under a name, if the disk allows it."""
    directory = _open(make=True) if len(payload) + OVERHEAD <= LARGEST_BYTES else None
    if directory is None:
        return
    with directory, contextlib.suppress(OSError):
        key = _key(directory, make=True)
        if key is not None:
            directory.write(name + _SUFFIX, sealed(key, name, payload))
            _trim(directory)


def cache_info() -> CacheInfo:
    """Where compiled kernels are kept, how many, and how large."""
    directory = _open()
    files = []
    if directory is not None:
        with directory:
            files = _kernels(directory)
    return CacheInfo(cache_directory(), len(files), sum(size for _, size, _ in files), LIMIT_BYTES)


def cache_clear() -> int:
    """Forget all compiled kernels; how many there were."""
    directory = _open()
    if directory is None:
        return 0
    with directory:
        files = _kernels(directory)
        for _, _, name in files:
            directory.remove(name)
    return len(files)


def _open(make: bool = False) -> PrivateDirectory | None:
    """The directory, or None if there is none that can be trusted."""
    path = cache_directory()
    if path is None:
        return None
    try:
        if make:
            PrivateDirectory.make(path)
        return PrivateDirectory(path)
    except UntrustedError as why:
        _tell(path, str(why), f"kernels are not kept on disk: {path} is {why}")
    except OSError as error:
        if error.errno not in _ONLY_COSTS_TIME:
            _tell(path, str(error.errno), f"kernels are not kept on disk: {path}: {error.strerror}")
    return None


def _key(directory: PrivateDirectory, make: bool = False) -> bytes | None:
    """The user's key. One that others may know is replaced; kernels that it sealed are not used any more."""
    try:
        key = key_in(directory)
    except UntrustedError as why:
        _tell(directory.path, f"key {why}", f"{directory.path / KEY_FILE} is {why}; a new key is made")
        directory.remove(KEY_FILE)
        key = None
    if key is None and make:
        with contextlib.suppress(UntrustedError):
            key = make_key_in(directory)
    return key


def _kernels(directory: PrivateDirectory) -> list[tuple[float, int, str]]:
    """(time of last use, size, name) of every kernel; leftovers of writers that died are removed on the way."""
    found = []
    with contextlib.suppress(OSError):
        for name, status in list(directory.files()):
            if name.endswith(_SUFFIX):
                found.append((status.st_mtime, status.st_size, name))
            elif name.endswith(TEMPORARY) and time.time() - status.st_mtime > _ABANDONED_SECONDS:
                directory.remove(name)
    return found


def _trim(directory: PrivateDirectory) -> None:
    files = sorted(_kernels(directory))
    total = sum(size for _, size, _ in files)
    for _, size, name in files:
        if total <= LIMIT_BYTES:
            break
        directory.remove(name)
        total -= size


def _tell(where: Path | str, cause: str, words: str) -> None:
    """A warning, once for each cause: a thousand kernels in the wrong place are one problem."""
    if (str(where), cause) not in _told:
        _told.add((str(where), cause))
        warnings.warn(words, CacheWarning, stacklevel=4)
