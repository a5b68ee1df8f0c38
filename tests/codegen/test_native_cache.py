"""Kernels on disk: found again, never stale, never trusted when damaged, harmless when the disk is not."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from sarrus.codegen.runtime import cache, cache_names
from sarrus.codegen.runtime.native import build_native
from sarrus.errors import CacheWarning
from tests.codegen.random_tapes import empty_outputs, random_inputs, random_tape

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@pytest.fixture(scope="module")
def tape():
    return random_tape(50, seed=11)


def values(native, tape):
    outputs = empty_outputs(tape, 5)
    native.run(random_inputs(tape, 5), outputs, 5)
    return np.concatenate([x.ravel() for x in outputs])


def test_second_build_comes_from_the_cache_with_the_same_bits(tape):
    first, second = build_native(tape), build_native(tape)
    assert not first.from_cache
    assert second.from_cache
    assert (values(first, tape) == values(second, tape)).all()
    assert second.stats == first.stats
    info = cache.cache_info()
    assert info.files == 1
    assert 0 < info.bytes <= info.limit_bytes
    assert cache.cache_clear() == 1
    assert cache.cache_info().files == 0


def test_variants_and_tapes_have_their_own_files(tape):
    variants = (("float64", 1), ("float64", 2), ("float32", 2))
    for dtype, lanes in variants:
        build_native(tape, dtype, lanes, cache=False)  # drivers are kept, too
    cache.cache_clear()
    for dtype, lanes in variants:
        assert not build_native(tape, dtype, lanes).from_cache
    assert not build_native(random_tape(50, seed=12), lanes=1).from_cache
    assert cache.cache_info().files == 4


def test_not_used_when_not_wanted(tape, directory):
    build_native(tape, cache=False)
    assert not directory.exists()


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "foreign"])
def test_damaged_files_are_noticed_and_replaced(tape, directory, damage):
    expected = values(build_native(tape), tape)
    (file,) = directory.glob("*.kernel")
    data = bytearray(file.read_bytes())
    if damage == "truncated":
        data = data[: len(data) // 2]
    elif damage == "empty":
        data = bytearray()
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
    else:
        data = bytearray(b"something else")
    file.write_bytes(data)
    with pytest.warns(CacheWarning, match="damaged"):
        again = build_native(tape)
    assert not again.from_cache
    assert (values(again, tape) == expected).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build_native(tape).from_cache


def test_a_directory_that_cannot_be_made_only_costs_time(tape, tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(blocker / "kernels"))
    with pytest.warns(CacheWarning, match="Not a directory"):
        assert not build_native(tape).from_cache
    assert cache.cache_info().files == 0


def test_a_full_disk_only_costs_time_and_leaves_nothing(tape, directory, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert not build_native(tape).from_cache
    assert [file.name for file in directory.iterdir()] == ["seal.key"]


def test_least_recently_used_files_go_first(tape, directory, monkeypatch):
    build_native(tape, lanes=1)
    (first,) = directory.glob("*.kernel")
    build_native(tape, lanes=2)
    (second,) = set(directory.glob("*.kernel")) - {first}
    os.utime(first, (1_000_000, 1_000_000))
    os.utime(second, (2_000_000, 2_000_000))
    assert build_native(tape, lanes=1).from_cache  # now the first one is the most recent
    monkeypatch.setattr(cache, "LIMIT_BYTES", 0)
    real_unlink, removed = os.unlink, []
    monkeypatch.setattr(os, "unlink", lambda path, **how: (removed.append(path), real_unlink(path, **how)))
    build_native(tape, lanes=4)
    assert removed[:2] == [second.name, first.name]


def test_the_code_generator_is_part_of_the_key(tape, monkeypatch):
    build_native(tape)
    monkeypatch.setattr(cache_names, "_compiler_version", lambda: "another")
    assert not build_native(tape).from_cache


_CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/src"]
from tests.codegen.random_tapes import random_tape
from sarrus.codegen.runtime.native import build_native
native = build_native(random_tape(50, seed=11))
print(native.from_cache, "llvmlite" in sys.modules)
"""


def test_eight_processes_at_once_make_one_file(directory):
    command = [sys.executable, "-c", _CHILD, str(ROOT)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    assert all(child.communicate(timeout=300)[0] for child in children)
    assert all(child.returncode == 0 for child in children)
    assert len(list(directory.glob("*.kernel"))) == 1 + 4  # and modules of drivers: steps, calls, sines, arc tangents


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere LLVM may be needed")
def test_loading_does_not_start_llvm(tape):
    command = [sys.executable, "-c", _CHILD, str(ROOT)]
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert outputs == ["False True\n", "True False\n"]
