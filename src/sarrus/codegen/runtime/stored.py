"""Kernels on disk that are found by what they were asked for, so that nothing is traced: code and tape together."""

from __future__ import annotations

import time

from sarrus.codegen.emit.artifact import Artifact, joined, split
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.runtime import cache as disk
from sarrus.codegen.runtime.native import NativeKernel
from sarrus.codegen.tape.tape import Tape


def load(key: str, lane: Lane) -> NativeKernel | None:
    """The kernel that is kept under this name; None if there is none."""
    start = time.perf_counter()
    kept = disk.load(key, _read)
    return None if kept is None else NativeKernel(kept[0], lane, kept[1], True, start)


def save(key: str, native: NativeKernel) -> None:
    disk.save(key, joined(native.tape.to_bytes(), native.artifact.to_bytes()))


def _read(kept: bytes) -> tuple[Tape, Artifact]:
    tape, artifact = split(kept)
    return Tape.from_bytes(tape), Artifact.from_bytes(artifact)
