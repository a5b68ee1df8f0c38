"""What a compiled kernel is kept under: a hash of everything that its code depends on, so that it is never stale."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.emit import host
from sarrus.codegen.emit.backend import backend


def key(digest: str, variant: str, made_by: str | None = None) -> str:
    """The name of the kernel of this tape, in this variant, made by this code (and back end) on this machine."""
    text = "\n".join([digest, variant, made_by or backend(), host.identity(), _compiler_version()])
    return hashlib.sha256(text.encode()).hexdigest()


def model_key(model_digest: str, what: str, variant: str, room: str) -> str:
    """The name of the kernel of this algorithm (and its options) on this model: found without tracing it again.

    room  in which the algorithm is: its text determines it, beside the rooms that determine every algorithm
    """
    sources = _hash_of_sources(*dict.fromkeys(("spatial", "model", "registry", "mechanics", "algorithms", room)))
    return key("\n".join([model_digest, what, sources]), variant)


def described(value: Any) -> str | None:
    """The `repr` of options with every digit of every array in it; None if it says less than all: an address."""
    with np.printoptions(threshold=sys.maxsize, floatmode="unique", suppress=False, formatter=None):
        text = repr(value)
    return None if " at 0x" in text else text


@functools.cache
def _hash_of_sources(*rooms: str) -> str:
    h = hashlib.sha256()
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    folders = [os.path.join(package, room) for room in rooms]
    for path in (
        os.path.join(package, "status.py"),
        *(path for folder in folders for path in sorted(_sources(folder))),
    ):
        with open(path, "rb", buffering=0) as file:
            h.update(file.read())
    return h.hexdigest()


def _sources(folder: str) -> list[str]:
    """All Python files below it. (By plain strings: paths take three times as long, in every process.)"""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                found += _sources(entry.path)
            elif entry.name.endswith(".py"):
                found.append(entry.path)
    return found


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
