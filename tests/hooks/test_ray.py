"""Batches over a Ray cluster: the bits of one process, whatever happens to workers."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import sarrus
from benchmarks.ray_sweep import own_workers
from sarrus.errors import StateError, UnsupportedError

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'sarrus[ray]'")
MODEL = sarrus.zoo.four_bar()
SIMULATION = sarrus.Simulation(MODEL, 1e-3, record=("status",), record_every=10)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20)
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def states():
    return sarrus.random_state(MODEL, rng=0, batch=300)


@pytest.fixture(scope="module")
def expected(states):
    return SIMULATION.rollout(*states, steps=50)


def same(found, expected) -> bool:
    return all(np.array_equal(found[name], getattr(expected, name)) for name in ("q", "v", "status"))


@pytest.mark.parametrize("piece", [300, 64, 7])
def test_bits_do_not_depend_on_pieces(states, expected, piece):
    seen = []
    found = sarrus.ray.rollout(SIMULATION, *states, steps=50, piece=piece, progress=lambda *x: seen.append(x))
    assert same(found, expected)
    assert seen[-1] == (-(-300 // piece),) * 2


def test_torques_of_every_state_and_of_all(states):
    tau = np.random.default_rng(0).normal(size=(300, 20, MODEL.nv))
    found = sarrus.ray.rollout(SIMULATION, *states, tau, piece=100)
    assert same(found, SIMULATION.rollout(*states, tau))
    found = sarrus.ray.rollout(SIMULATION, *states, tau[0], piece=100)
    assert same(found, SIMULATION.rollout(*states, tau[0]))


def test_a_kernel(states):
    kernel = sarrus.compile(MODEL, "lcaba")
    found = sarrus.ray.map(kernel, *states, np.zeros((300, MODEL.nv)), piece=50)
    expected = kernel(*states, np.zeros((300, MODEL.nv)))
    assert list(found) == list(kernel.output_names)
    assert all(np.array_equal(found[name], getattr(expected, name)) for name in found)


def test_files_and_going_on(states, expected, tmp_path):
    found = sarrus.ray.rollout(SIMULATION, *states, steps=50, piece=40, save=tmp_path)
    assert same(found, expected)
    files = sorted(tmp_path.glob("*.parquet"))
    assert len(files) == 8
    with pytest.raises(StateError, match="resume=True"):
        sarrus.ray.rollout(SIMULATION, *states, steps=50, piece=40, save=tmp_path)
    with pytest.raises(StateError, match="take another directory"):
        sarrus.ray.rollout(SIMULATION, *states, steps=50, piece=50, save=tmp_path, resume=True)
    files[3].unlink()
    kept = files[0].stat().st_mtime_ns
    with pytest.raises(StateError, match="1 of 8 pieces are missing"):
        sarrus.ray.read(tmp_path)
    seen = []
    again = sarrus.ray.rollout(
        SIMULATION, *states, steps=50, piece=40, save=tmp_path, resume=True, progress=lambda *x: seen.append(x)
    )
    assert same(again, expected)
    assert seen == [(8, 8)]
    assert files[0].stat().st_mtime_ns == kept


def test_a_worker_is_killed(states, expected, tmp_path):
    """In the middle: its pieces are done again, none is lost or there twice."""
    killed = []

    def kill(done: int, of: int) -> None:
        if done == 2 and not killed:
            workers = own_workers()
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])

    long = sarrus.Simulation(MODEL, 1e-3, record=("status",), record_every=1000)
    found = sarrus.ray.rollout(long, *states, steps=20_000, piece=30, save=tmp_path, progress=kill)
    assert killed
    assert same(found, long.rollout(*states, steps=20_000))


def test_what_does_not_travel(states):
    with pytest.raises(UnsupportedError, match="does not travel"):
        sarrus.ray.rollout(sarrus.Simulation(MODEL, controller=lambda t, q, v: -v), *states, steps=3)
    with pytest.raises(StateError, match="expected states"):
        sarrus.ray.rollout(SIMULATION, states[0][0], steps=3)
    with pytest.raises(StateError, match="has 299 states"):
        sarrus.ray.rollout(SIMULATION, states[0], states[1][:299], steps=3)
