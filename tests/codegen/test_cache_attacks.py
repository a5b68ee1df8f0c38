"""Attacks on the cache of compiled kernels: each is a miss with a warning, never wrong numbers, a crash or a hang."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus.codegen.emit.artifact import Artifact
from sarrus.codegen.runtime import cache, cache_names
from sarrus.codegen.runtime.native import build_native
from sarrus.codegen.runtime.private_directory import PrivateDirectory
from sarrus.codegen.runtime.seal import KEY_FILE, key_in, sealed, unsealed
from sarrus.codegen.tape.tape import Tape
from sarrus.errors import CacheWarning
from tests.codegen.random_tapes import random_tape

ROOT = Path(__file__).parents[2]


def pendulum(mass: float):
    bob = {"axis": (0, 1, 0), "mass": mass, "com": (0, 0, -0.5), "inertia": 0.01 * np.eye(3)}
    return sarrus.ModelBuilder(f"pendulum of {mass} kg").add_body("bob", **bob).build()


ONE, OTHER = pendulum(1.0), pendulum(2.0)
STATE = np.array([0.3]), np.array([-0.2]), np.array([0.7])
needs_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners and modes")
needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def kernel_of(model=ONE):
    return sarrus.compile(model, "aba")


def file_of(model, directory) -> Path:
    """The entry that compiling makes."""
    before = set(directory.glob("*.kernel"))
    kernel_of(model)
    (new,) = set(directory.glob("*.kernel")) - before
    return new


def right(kernel, model=ONE) -> bool:
    return np.allclose(kernel(*STATE), sarrus.aba(model, *STATE), rtol=1e-12)


def assert_missed(match: str, model=ONE, kept_after: bool = True) -> None:
    """It is compiled with a warning, gives the right numbers, and (`kept_after`) is found again without one."""
    with pytest.warns(CacheWarning, match=match):
        kernel = kernel_of(model)
    assert not kernel.native.from_cache
    assert right(kernel, model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # and each cause is named once
        assert kernel_of(model).native.from_cache is kept_after


@pytest.mark.parametrize(("target", "source"), [(ONE, OTHER), (OTHER, ONE)])
def test_another_robots_entry_under_this_ones_name(directory, target, source):
    mine, theirs = file_of(target, directory), file_of(source, directory)
    mine.write_bytes(theirs.read_bytes())
    assert_missed("that of another kernel", target)


def test_entries_swapped(directory):
    first, second = file_of(ONE, directory), file_of(OTHER, directory)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    assert_missed("that of another kernel", ONE)
    assert not kernel_of(OTHER).native.from_cache  # the same cause is not named again
    assert right(kernel_of(OTHER), OTHER)


def test_an_entry_resealed_without_the_key(directory):
    mine, theirs = file_of(ONE, directory), file_of(OTHER, directory)
    with PrivateDirectory(directory) as private:
        payload = unsealed(key_in(private), theirs.stem, theirs.read_bytes())
    mine.write_bytes(sealed(bytes(32), mine.stem, payload))
    assert_missed("not sealed with this user's key")


def test_an_entry_with_the_unkeyed_checksum_of_earlier_versions(directory):
    mine = file_of(ONE, directory)
    payload = mine.read_bytes()[112:]
    mine.write_bytes(b"sarrus kernel 1\n" + hashlib.sha256(payload).digest() + payload)
    assert_missed("damaged, or no kernel of this version")


def test_sealed_garbage(directory):
    """Nobody but this user can write it, but if it is there it must not be run."""
    mine = file_of(ONE, directory)
    with PrivateDirectory(directory) as private:
        key = key_in(private)
    good = unsealed(key, mine.stem, mine.read_bytes())
    for seed, payload in enumerate((b"", b"\xff" * 8, b"\xff" * 4096, bytes(4096), good[:9], good[: len(good) // 2])):
        mine.write_bytes(sealed(key, mine.stem, payload))
        cache._told.clear()
        with pytest.warns(CacheWarning, match="damaged"):
            assert right(kernel_of()), seed


def test_readers_of_garbage_raise_and_do_nothing_else():
    """Any bytes at all: at worst an exception of Python's."""
    native = build_native(random_tape(30, seed=3), cache=False)
    rng = random.Random(0)
    for whole, read in ((native.artifact.to_bytes(), Artifact.from_bytes), (native.tape.to_bytes(), Tape.from_bytes)):
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(min(len(data), 700))] = rng.randrange(256)
            with contextlib.suppress(Exception):
                read(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))


@pytest.mark.parametrize("size", [0, 1, 15, 16, 48, 111, 112, 113])
def test_truncated(directory, size):
    mine = file_of(ONE, directory)
    mine.write_bytes(mine.read_bytes()[:size])
    assert_missed("damaged")


def test_a_huge_file_is_not_read(directory):
    mine = file_of(ONE, directory)
    with mine.open("r+b") as file:
        file.truncate(1 << 40)  # a sparse file: no disk is used
    assert_missed("at most")


@needs_owners
@pytest.mark.parametrize("what", ["fifo", "symlink", "symlink to /dev/zero", "dangling symlink", "0666", "0664"])
def test_an_entry_that_is_no_file_of_ours(directory, tmp_path, what):
    mine = file_of(ONE, directory)
    moved = tmp_path / "moved"
    if what.startswith("0"):
        mine.chmod(int(what, 8))
    else:
        mine.rename(moved)
        if what == "fifo":
            os.mkfifo(mine)
        else:
            mine.symlink_to({"symlink": moved, "dangling symlink": tmp_path / "nothing"}.get(what, "/dev/zero"))
    assert_missed("open to others" if what.startswith("0") else "not a regular file|a symbolic link")


def test_a_directory_in_an_entrys_place_only_costs_time(directory):
    mine = file_of(ONE, directory)
    mine.unlink()
    mine.mkdir()
    assert_missed("not a regular file|may not read", kept_after=False)


@needs_root
@pytest.mark.parametrize("what", ["entry", "directory", "key"])
def test_a_foreign_owner(directory, what):
    mine = file_of(ONE, directory)
    os.chown({"entry": mine, "directory": directory, "key": directory / KEY_FILE}[what], 12345, 12345)
    assert_missed("owned by another user", kept_after=what != "directory")


@needs_root
def test_a_link_of_somebody_else_to_the_directory(directory, tmp_path, monkeypatch):
    kernel_of()
    link = tmp_path / "link"
    link.symlink_to(directory)
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(link))
    assert kernel_of().native.from_cache  # one's own is fine
    os.chown(link, 12345, 12345, follow_symlinks=False)
    assert_missed("a symbolic link of another user", kept_after=False)


@needs_owners
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702, 0o1777])
def test_a_directory_that_others_may_write_to(directory, mode):
    mine = file_of(ONE, directory)
    before = mine.read_bytes()
    directory.chmod(mode)
    assert_missed("writable by others", kept_after=False)
    assert mine.read_bytes() == before  # nothing is touched there
    assert directory.stat().st_mode & 0o7777 == mode
    directory.chmod(0o700)
    assert kernel_of().native.from_cache


@needs_owners
@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_directory_that_this_user_may_not_write_to(directory, mode):
    """(Root may do everything.) What is there already is used as long as it can be read."""
    kernel_of()
    directory.chmod(mode)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernels = [kernel_of(), kernel_of(OTHER)]
    directory.chmod(0o700)
    assert right(kernels[0])
    assert right(kernels[1], OTHER)
    assert kernels[0].native.from_cache or mode == 0
    assert [type(x.message) for x in told] == ([] if kernels[0].native.from_cache else [CacheWarning])


@needs_owners
@pytest.mark.parametrize("what", ["short", "long", "empty", "0644", "symlink", "fifo"])
def test_a_key_that_is_not_to_be_trusted_is_replaced(directory, tmp_path, what):
    kernel_of()
    key = directory / KEY_FILE
    before = key.read_bytes()
    if what == "0644":
        key.chmod(0o644)
    elif what == "symlink":
        key.rename(tmp_path / "elsewhere")
        key.symlink_to(tmp_path / "elsewhere")
    elif what == "fifo":
        key.unlink()
        os.mkfifo(key, 0o600)
    else:
        key.write_bytes({"short": before[:31], "long": before * 2, "empty": b""}[what])
    with pytest.warns(CacheWarning, match=KEY_FILE):
        assert right(kernel_of())
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.read_bytes() != before
    assert kernel_of().native.from_cache


def test_a_key_that_is_gone(directory):
    kernel_of()
    (directory / KEY_FILE).unlink()
    assert not kernel_of().native.from_cache
    assert kernel_of().native.from_cache


def test_a_directory_in_the_keys_place_only_costs_time(directory):
    kernel_of()
    (directory / KEY_FILE).unlink()
    (directory / KEY_FILE).mkdir()
    assert_missed(KEY_FILE, kept_after=False)


@needs_owners
def test_what_is_made_is_for_this_user_only(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "a" / "b" / "kernels"))
    before = os.umask(0)
    try:
        kernel_of()
    finally:
        os.umask(before)
    made = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert len(made) == 5
    for path in made:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


class TestPlaces:
    @pytest.mark.parametrize("chosen", ["kernels", "./kernels", "~/kernels", " ", "../x"])
    def test_relative_paths_are_refused(self, chosen, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SARRUS_CACHE_DIR", chosen)
        cache._told.clear()
        assert_missed("absolute path, or 'off'", kept_after=False)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("chosen", ["file", "file/under", "x" * 5000, "/dev/null", "/proc/nothing/x"])
    def test_nonsense(self, chosen, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("not a directory")
        monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / chosen))
        cache._told.clear()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert right(kernel_of())
        assert len(told) == (0 if chosen.startswith("/proc") else 1)

    def test_off(self, directory, monkeypatch):
        monkeypatch.setenv("SARRUS_CACHE_DIR", "off")
        assert not kernel_of().native.from_cache
        assert not kernel_of().native.from_cache
        assert cache.cache_info().directory is None
        assert cache.cache_clear() == 0

    def test_empty_is_the_default_place(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SARRUS_CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(sys, "platform", "linux")
        assert cache.cache_directory() == tmp_path / "sarrus"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says its specification
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache.cache_directory() == tmp_path / ".cache" / "sarrus"

    def test_nobody_has_a_home(self, monkeypatch):
        def nobody():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.delenv("SARRUS_CACHE_DIR")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("LOCALAPPDATA", raising=False)
        monkeypatch.setattr(Path, "home", staticmethod(nobody))
        cache._told.clear()
        assert_missed("no home directory", kept_after=False)

    def test_a_name_that_leaves_the_directory_is_nobodys(self, directory):
        mine = file_of(ONE, directory)
        (directory.parent / "x.kernel").write_bytes(mine.read_bytes())
        assert cache.load("../x", bytes) is None

    def test_without_owners_and_descriptors_as_on_windows(self, directory, monkeypatch):
        from sarrus.codegen.runtime import private_directory

        monkeypatch.setattr(private_directory, "_HAS_OWNERS", False)
        monkeypatch.setattr(private_directory, "_BY_DESCRIPTOR", False)
        mine = file_of(ONE, directory)
        assert kernel_of().native.from_cache
        assert cache.cache_info().files == 1
        mine.write_bytes(mine.read_bytes()[:-1])
        assert_missed("damaged")
        assert cache.cache_clear() == 1


class TestNames:
    """Options that differ are other kernels, however alike they look."""

    def test_arrays_have_all_their_digits(self):
        a = np.linspace(0.0, 1.0, 2000)
        for k, change in ((1000, 1e-3), (3, 1e-15)):
            b = a.copy()
            b[k] += change
            assert cache_names.described({"weight": a}) != cache_names.described({"weight": b})
        assert cache_names.described({"weight": a}) == cache_names.described({"weight": a.copy()})
        with np.printoptions(precision=2, formatter={"float": lambda x: "?"}):
            assert cache_names.described(a) != cache_names.described(a + 1.0)

    def test_an_address_is_no_name(self):
        assert cache_names.described({"function": test_sealed_garbage}) is None
        assert cache_names.described({"thing": object()}) is None

    def test_an_algorithm_of_somebody_elses_is_named_by_what_it_does(self):
        """Its text may change, and its name stay the same."""
        from sarrus.registry.table import Algorithm, Input

        def kernel_that(scales: float):
            def scaled(model, q):
                return scales * q

            entry = Algorithm("scaled", scaled, (Input("q", False),), "x", (), "O(n)")
            return sarrus.compile(ONE, entry)

        assert kernel_that(2.0)(np.array([1.5])) == 3.0
        assert kernel_that(3.0)(np.array([1.5])) == 4.5
        assert kernel_that(3.0).native.from_cache


_CHILD = """
import os, sys, warnings
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/src"]
import numpy as np
import sarrus
from tests.codegen.test_cache_attacks import pendulum
if "full" in sys.argv:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
warnings.simplefilter("ignore" if "quiet" in sys.argv else "error")
state = np.array([0.3]), np.array([-0.2]), np.array([0.7])
print("ready", flush=True)
for line in sys.stdin:
    model = pendulum(1.0 + int(line))
    kernel = sarrus.compile(model, "aba")
    same = np.allclose(kernel(*state), sarrus.aba(model, *state), rtol=1e-12)
    print(bool(same), kernel.native.from_cache, flush=True)
"""


def child(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", _CHILD, str(ROOT), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answers(process: subprocess.Popen, numbers) -> list[str]:
    out, _ = process.communicate("".join(f"{n}\n" for n in numbers), timeout=120)
    assert process.returncode == 0
    return out.split("\n")[1:-1]


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_full_disk(directory):
    assert answers(child("full"), [0, 0]) == ["True False"] * 2
    assert list(directory.glob("*.kernel")) == []
    assert list(directory.glob("*.tmp")) == []


def test_eight_writers_of_the_same_and_of_different_kernels(directory):
    children = [child() for _ in range(8)]
    for number, process in enumerate(children):
        process.stdin.write(f"0\n{number % 3}\n1\n")
        process.stdin.flush()
    for process in children:
        lines = answers(process, [])
        assert len(lines) == 3
        assert all(line.startswith("True") for line in lines)
    assert len(list(directory.glob("*.kernel"))) == 3 + 3  # and modules of drivers: of steps, of calls, of sines
    assert not list(directory.glob("*.tmp"))
    assert answers(child(), [0, 1, 2]) == ["True True"] * 3


_KILLED = """
import os, signal, sys, time
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/src"]
import sarrus
from sarrus.codegen.runtime import cache
from sarrus.codegen.runtime import kernel
from tests.codegen.test_cache_attacks import pendulum
kernels = [sarrus.compile(pendulum(1.0 + k), "aba") for k in range(3)]
key_file = cache.cache_directory() / "seal.key"
killed = 0
for k in range(50):
    pid = os.fork()
    if pid == 0:
        if k % 5 == 0:
            key_file.unlink(missing_ok=True)
        while True:
            for one in kernels:
                kernel._save(one._key, one.native)
                kernel._load(one._key, one.native.lane)
    time.sleep(0.001 + 0.0006 * k)
    os.kill(pid, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
print(killed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_fifty_processes_killed_while_they_write_and_load(directory):
    command = [sys.executable, "-W", "ignore", "-c", _KILLED, str(ROOT)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout == "50\n"
    assert all(line.startswith("True") for line in answers(child("quiet"), range(3)))
    assert answers(child(), range(3)) == ["True True"] * 3
