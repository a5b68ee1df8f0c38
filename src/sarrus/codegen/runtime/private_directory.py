"""A directory whose files only this user can have written.

Machine code is run as it is read, so it is read only from where nobody else could have put it: the directory belongs to
this user and others may not write to it; a file in it is a regular file of this user's, of a size that makes sense.
All of it goes through the descriptor of the directory that was looked at, so exchanging the path later changes nothing.

Windows has no such owners and modes; there the user's own folder has to do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

TEMPORARY = ".tmp"
_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_AT_ALL = stat.S_IRWXG | stat.S_IRWXO
_HAS_OWNERS = hasattr(os, "geteuid")
_BY_DESCRIPTOR = {os.open, os.stat, os.unlink} <= os.supports_dir_fd and os.scandir in os.supports_fd


def _flags(*names: str) -> int:
    """Those of these flags of `os.open` that this system has."""
    return sum(getattr(os, name, 0) for name in names)


_DIRECTORY = _flags("O_RDONLY", "O_DIRECTORY", "O_CLOEXEC")
_READ = _flags("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")  # a FIFO is opened without waiting
_CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")
_NOT_A_FILE = {errno.ELOOP: "a symbolic link", errno.EMLINK: "a symbolic link", errno.ENXIO: "not a regular file"}


class UntrustedError(Exception):
    """Why a directory or a file is not used, in words that follow its path and "is"."""


class PrivateDirectory:
    """An open directory that only this user may write to, and the files in it by name."""

    def __init__(self, path: Path) -> None:
        """FileNotFoundError if there is none; UntrustedError if others may have written to it."""
        self.path = path
        self._descriptor: int | None = None
        if _HAS_OWNERS and path.is_symlink() and path.lstat().st_uid not in (os.geteuid(), 0):
            raise UntrustedError(f"a symbolic link of another user ({path.lstat().st_uid})")
        try:
            if _BY_DESCRIPTOR:
                self._descriptor = os.open(path, _DIRECTORY)
            self._check(path.stat() if self._descriptor is None else os.fstat(self._descriptor))
        except PermissionError:
            raise UntrustedError("a directory that this user may not open") from None
        except BaseException:
            self.close()
            raise

    @staticmethod
    def make(path: Path) -> None:
        """Make it and the parents that are missing, for this user only."""
        missing = []
        while not path.exists():
            missing.append(path)
            path = path.parent
        for each in reversed(missing):
            each.mkdir(mode=_PRIVATE, exist_ok=True)

    @staticmethod
    def _check(status: os.stat_result) -> None:
        if not stat.S_ISDIR(status.st_mode):
            raise UntrustedError("not a directory")
        if not _HAS_OWNERS:
            return
        if status.st_uid != os.geteuid():
            raise UntrustedError(f"owned by another user ({status.st_uid}; this is {os.geteuid()})")
        if status.st_mode & _OTHERS_WRITE:
            mode = stat.S_IMODE(status.st_mode)
            raise UntrustedError(f"writable by others (mode {mode:04o}; `chmod go-w` changes that)")

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)

    def read(self, name: str, largest: int, secret: bool = False) -> bytes | None:
        """All of a file; None if there is none. `secret`: others must not even be able to read it."""
        try:
            descriptor = os.open(self._at(name), _READ, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except PermissionError:
            raise UntrustedError("a file that this user may not read") from None
        except OSError as error:
            if error.errno in _NOT_A_FILE:
                raise UntrustedError(_NOT_A_FILE[error.errno]) from None
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UntrustedError("not a regular file")
            if _HAS_OWNERS and status.st_uid != os.geteuid():
                raise UntrustedError(f"owned by another user ({status.st_uid})")
            if _HAS_OWNERS and status.st_mode & (_OTHERS_AT_ALL if secret else _OTHERS_WRITE):
                raise UntrustedError(f"open to others (mode {stat.S_IMODE(status.st_mode):04o})")
            if status.st_size > largest:
                raise UntrustedError(f"damaged: {status.st_size} bytes long, at most {largest} make sense")
            return _first_bytes(descriptor, status.st_size)
        finally:
            os.close(descriptor)

    def write(self, name: str, data: bytes) -> None:
        """Put a file in place, whole, whatever was there; OSError if the disk does not allow it."""
        temporary = self._temporary(data)
        try:
            os.replace(self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            self.remove(temporary)
            raise

    def write_first(self, name: str, data: bytes) -> None:
        """Put a file in place, whole and for good; FileExistsError if somebody was faster."""
        temporary = self._temporary(data, lasting=True)
        try:
            os.link(self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        finally:
            self.remove(temporary)

    def _temporary(self, data: bytes, lasting: bool = False) -> str:
        """A new file with these bytes."""
        name = f"{os.urandom(8).hex()}{TEMPORARY}"
        descriptor = os.open(self._at(name), _CREATE, 0o600, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if lasting:
                    file.flush()
                    os.fsync(descriptor)
        except BaseException:
            self.remove(name)
            raise
        return name

    def remove(self, name: str) -> None:
        """As far as the disk allows it."""
        with contextlib.suppress(OSError):
            os.unlink(self._at(name), dir_fd=self._descriptor)

    def touch(self, name: str) -> None:
        """It was used now."""
        with contextlib.suppress(OSError):
            os.utime(self._at(name), dir_fd=self._descriptor)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Names of all that is in it, with what `lstat` says."""
        with os.scandir(self.path if self._descriptor is None else self._descriptor) as entries:
            for entry in entries:
                try:
                    yield entry.name, entry.stat(follow_symlinks=False)
                except OSError:
                    continue


def _first_bytes(descriptor: int, count: int) -> bytes:
    """So many bytes, or fewer if the file ends before."""
    pieces = []
    while count > 0:
        piece = os.read(descriptor, count)
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
