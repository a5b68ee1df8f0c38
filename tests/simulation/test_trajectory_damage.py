"""A trajectory's file that is cut, damaged, or of another kind is refused in words."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import StateError
from sarrus.simulation.trajectory import Trajectory
from sarrus.simulation.trajectory_files import metadata

MODEL = zoo.chain(2)


def members(**changed):
    """The arrays of a good file, some of them replaced; None: left out."""
    said = np.array(json.dumps(metadata(MODEL, {"dt": 0.1})))
    good = {"about": said, "time": np.arange(3.0), "q": np.zeros((3, 2)), "v": np.zeros((3, 2))}
    return {name: x for name, x in (good | changed).items() if x is not None}


def written(file, **changed):
    np.savez(file, allow_pickle=True, **members(**changed))
    return file


def refused(file, words):
    with pytest.raises(StateError) as error:
        Trajectory.load(file, MODEL)
    assert words in str(error.value)
    assert file.name in str(error.value)


def test_a_good_file_is_read(tmp_path):
    assert len(Trajectory.load(written(tmp_path / "a.npz"), MODEL)) == 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"about": None}, "no 'about'"),
        ({"q": None}, "no 'q'"),
        ({"time": None}, "no 'time'"),
        ({"about": np.array("{")}, "JSONDecodeError"),
        ({"about": np.array("[1]")}, "does not name a model"),
        ({"about": np.array('{"format": 1}')}, "'model' is None"),
        ({"about": np.array(json.dumps(metadata(MODEL, {}) | {"settings": 3}))}, "'settings' is 3"),
        ({"about": np.zeros(3)}, "expected text"),
        ({"q": np.zeros((3, 5))}, "expected shape"),
        ({"q": np.array([["a", "b"]] * 3)}, "expected numbers"),
        ({"q": np.array([[1j, 0]] * 3)}, "expected numbers"),
        ({"q": np.array([{}, {}, {}])}, "expected numbers"),
        ({"time": np.zeros((3, 1))}, "time: expected shape"),
    ],
)
def test_arrays_of_another_kind(tmp_path, changed, words):
    refused(written(tmp_path / "a.npz", **changed), words)


def test_a_file_that_is_cut_anywhere(tmp_path):
    whole = written(tmp_path / "a.npz").read_bytes()
    for length in range(0, len(whole), 37):
        cut = tmp_path / "cut.npz"
        cut.write_bytes(whole[:length])
        refused(cut, "cut.npz")


def test_damaged_bytes_are_noticed_or_harmless(tmp_path):
    whole = bytearray(written(tmp_path / "a.npz").read_bytes())
    for at in range(0, len(whole), 23):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        file = tmp_path / "damaged.npz"
        file.write_bytes(damaged)
        try:
            found = Trajectory.load(file, MODEL)
        except StateError:
            continue
        assert not found.q.any()
        assert found.time.tolist() == [0.0, 1.0, 2.0]


def test_an_archive_after_something_else(tmp_path):
    file = tmp_path / "a.npz"
    file.write_bytes(b"x" + written(tmp_path / "b.npz").read_bytes())
    refused(file, "does not begin as an archive")


@pytest.mark.parametrize("shape", ["(3, 100000000000)", "(-1, 2)", "(1000000, 1000000)"])
def test_a_shape_that_is_not_there(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\0" * 48
    file = tmp_path / "a.npz"
    with zipfile.ZipFile(file, "w") as archive:
        for name, x in members(q=None).items():
            content = io.BytesIO()
            np.save(content, x)
            archive.writestr(f"{name}.npy", content.getvalue())
        archive.writestr("q.npy", member)
    refused(file, "damaged")


def test_an_archive_that_unpacks_to_too_much(tmp_path):
    file = tmp_path / "a.npz"
    np.savez_compressed(file, **members(q=np.zeros((2_000_000, 2))))
    refused(file, "claim to be")


@pytest.mark.parametrize("name", ["a\0.npz", "a.txt", ".npz"])
def test_names_that_are_none(name):
    with pytest.raises(StateError):
        Trajectory.load(name, MODEL)


def test_a_damaged_recording(tmp_path):
    folder = tmp_path / "run"
    with sarrus.Recorder(folder, MODEL) as recorder:
        recorder.record(0.0, np.zeros(2), np.zeros(2))
    (folder / "part_000000.npz").write_bytes(b"PK")
    refused(folder, "run")
    (folder / "about.json").write_text("{")
    refused(folder, "JSONDecodeError")


def test_a_damaged_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    file = tmp_path / "a.parquet"
    file.write_bytes(b"PAR1 nothing PAR1")
    refused(file, "damaged")
