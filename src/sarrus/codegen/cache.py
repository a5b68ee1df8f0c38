"""Compiled kernels on disk, by content.

A file is named by a hash of everything that its code depends on, so it is never stale. It is written to a temporary
name and renamed, so readers and writers in many processes need no lock; it carries a checksum, so a damaged file is
noticed and made again. A disk that cannot be written only costs the next process its time.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from sarrus.codegen import host
from sarrus.errors import CacheWarning

LIMIT_BYTES = 512 * 1024 * 1024  # beyond it the least recently used files go
_MAGIC = b"sarrus kernel 1\n"
_SUFFIX = ".kernel"
_ABANDONED_SECONDS = 3600.0


@dataclass(frozen=True)
class CacheInfo:
    directory: Path
    files: int
    bytes: int
    limit_bytes: int


def cache_directory() -> Path:
    """$SARRUS_CACHE_DIR, or the platform's place for such files."""
    chosen = os.environ.get("SARRUS_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sarrus"


def key(digest: str, variant: str) -> str:
    """The name of the kernel of this tape, in this variant, made by this code on this machine."""
    text = "\n".join([digest, variant, host.identity(), _compiler_version()])
    return hashlib.sha256(text.encode()).hexdigest()


def model_key(model_digest: str, what: str, variant: str, *rooms: str) -> str:
    """The name of the kernel of this algorithm (and its options) on this model: found without tracing it again.

    rooms  whose text determines it, beside those that determine every algorithm
    """
    sources = _hash_of_sources("spatial", "model", "algorithms", *rooms)
    return key("\n".join([model_digest, what, sources]), variant)


@functools.cache
def _hash_of_sources(*rooms: str) -> str:
    h = hashlib.sha256()
    for room in rooms:
        for path in sorted((Path(__file__).parents[1] / room).glob("*.py")):
            h.update(path.read_bytes())
    return h.hexdigest()


@functools.cache
def _compiler_version() -> str:
    """A hash of the code generator itself, and LLVM's version: nobody has to remember to raise a number."""
    h = hashlib.sha256(_hash_of_sources("codegen").encode())
    # Asking importlib.metadata for the version takes longer than everything else here together.
    spec = importlib.util.find_spec("llvmlite")
    if spec is not None and spec.origin is not None:
        with contextlib.suppress(OSError):
            h.update(Path(spec.origin).with_name("_version.py").read_bytes())
    return h.hexdigest()


def load(name: str) -> bytes | None:
    """What was saved under that name, if it is there and whole."""
    path = cache_directory() / (name + _SUFFIX)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        warnings.warn(f"the cached kernel {path} is damaged; it is compiled again", CacheWarning, stacklevel=3)
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now: the last to go
    return data[start:]


def save(name: str, payload: bytes) -> None:
    """Keep bytes under a name, if the disk allows it."""
    directory = cache_directory()
    data = _MAGIC + hashlib.sha256(payload).digest() + payload
    temporary = None
    try:
        import tempfile

        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=directory, suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, directory / (name + _SUFFIX))
        _trim(directory)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _files(directory: Path) -> list[tuple[float, int, str]]:
    """(time of last use, size, path) of every kernel; leftovers of writers that died are removed on the way."""
    found = []
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return []
    for entry in entries:
        with contextlib.suppress(OSError):
            status = entry.stat()
            if entry.name.endswith(_SUFFIX):
                found.append((status.st_mtime, status.st_size, entry.path))
            elif entry.name.endswith(".tmp") and time.time() - status.st_mtime > _ABANDONED_SECONDS:
                os.unlink(entry.path)
    return found


def _trim(directory: Path) -> None:
    files = sorted(_files(directory))
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total <= LIMIT_BYTES:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def cache_info() -> CacheInfo:
    """Where compiled kernels are kept, how many, and how large."""
    directory = cache_directory()
    files = _files(directory)
    return CacheInfo(directory, len(files), sum(size for _, size, _ in files), LIMIT_BYTES)


def cache_clear() -> int:
    """Forget all compiled kernels; how many there were."""
    files = _files(cache_directory())
    for _, _, path in files:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return len(files)
