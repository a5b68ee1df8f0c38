"""Batches over a Ray cluster: the bits of one process, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import sarrus
from benchmarks.ray_sweep import own_workers
from sarrus.errors import StateError, UnknownNameError, UnsupportedError

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
    with pytest.raises(StateError, match="use another directory"):
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
        if done >= 2 and not killed and (workers := own_workers()):  # on a busy machine one may be between two pieces
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])

    long = sarrus.Simulation(MODEL, 1e-3, record=("status",), record_every=1000)
    found = sarrus.ray.rollout(long, *states, steps=20_000, piece=30, save=tmp_path, progress=kill)
    assert killed
    assert same(found, long.rollout(*states, steps=20_000))


SWEEP = """
import signal
import sys
from pathlib import Path
import numpy as np
import ray
import sarrus

signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where tests run in the background
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20)
simulation = sarrus.Simulation(sarrus.zoo.four_bar(), 1e-3, record=("status",), record_every=1000)
q, v = sarrus.random_state(simulation.model, rng=0, batch=200)

def sweep(**more):
    tell = lambda done, of: print("piece", done, flush=True)
    return sarrus.ray.rollout(simulation, q, v, steps=20_000, piece=20, save=sys.argv[1], progress=tell, **more)

try:
    sweep()
except KeyboardInterrupt:
    print("kept", len(list(Path(sys.argv[1]).glob("*.parquet"))), flush=True)
found, expected = sweep(resume=True), simulation.rollout(q, v, steps=20_000)
print("same", all(np.array_equal(found[name], getattr(expected, name)) for name in ("q", "v", "status")), flush=True)
"""


def test_ctrl_c_keeps_whole_pieces(tmp_path):
    """To the whole group of processes, as a terminal sends it: what is there is whole, and the rest is computed."""
    command = [sys.executable, "-c", SWEEP, str(tmp_path)]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    said = []
    with subprocess.Popen(command, start_new_session=True, **piped) as process:
        for line in process.stdout:
            said.append(line.split())
            if said[-1] == ["piece", "3"] and said.count(["piece", "3"]) == 1:  # not again when it is resumed
                os.killpg(process.pid, signal.SIGINT)
    assert process.returncode == 0
    kept = next(int(words[1]) for words in said if words[0] == "kept")
    assert 3 <= kept < 10
    assert said[-1] == ["same", "True"]
    assert sum(words[0] == "piece" for words in said[: said.index(["kept", str(kept)])]) <= kept
    assert ["piece", "10"] in said


@pytest.mark.filterwarnings("ignore")  # of Ray Data about its own settings
def test_a_dataset(states, expected):
    """Of Ray Data, in pieces that are computed when they are read; and a kernel on its columns."""
    data = sarrus.ray.dataset(SIMULATION, *states, steps=50, piece=64)
    rows = sorted(data.take_all(), key=lambda row: row["state"])
    assert [row["state"] for row in rows] == list(range(300))
    assert all(np.array_equal(np.stack([row[name] for row in rows]), getattr(expected, name)) for name in ("q", "v"))
    kernel, (q, v) = sarrus.compile(MODEL, "lcaba"), states
    columns = (
        ray.data.from_numpy(q).rename_columns({"data": "q"}).zip(ray.data.from_numpy(v).rename_columns({"data": "v"}))
    )
    with pytest.raises(UnknownNameError, match="tau"):
        sarrus.ray.map(kernel, columns)
    found = sarrus.ray.map(kernel, columns.add_column("tau", lambda batch: list(np.zeros_like(v[: len(batch)]))))
    rows = found.take_all()
    want = kernel(q, v, np.zeros_like(v)).qdd
    at = {tuple(row["q"]): row["qdd"] for row in rows}
    assert all(np.array_equal(at[tuple(x)], y) for x, y in zip(q, want, strict=True))


def test_on_the_command_line(tmp_path):
    """`sarrus simulate --cluster` does what it does without; errors are in words."""
    from sarrus.cli.main import app

    run, common = CliRunner().invoke, ["simulate", "zoo:four_bar", "--batch", "200", "-d", "0.1", "--quiet"]
    address = ray.get_runtime_context().gcs_address
    for more in (["--cluster", address, "--save", str(tmp_path / "there.npz")], ["--save", str(tmp_path / "here.npz")]):
        done = run(app, [*common, *more])
        assert done.exit_code == 0, done.output
    there, here = (sarrus.Trajectory.load(tmp_path / f"{name}.npz", MODEL) for name in ("there", "here"))
    assert np.array_equal(there.time, here.time)
    assert same(there.arrays, here)
    for wrong, words in ((["--cluster", "127.0.0.1:9"], "refused"), (["--cluster", "anywhere"], "HOST:PORT")):
        assert words in str(run(app, [*common, *wrong]).exception)


@pytest.mark.filterwarnings("ignore")
def test_environments_under_rllib():
    """Its workers make the vector of environments themselves, by the registered name."""
    pytest.importorskip("ray.rllib", reason="needs RLlib: pip install 'ray[rllib]'", exc_type=ImportError)
    pytest.importorskip("gymnasium")
    from gymnasium.envs.registration import VectorizeMode
    from ray.rllib.algorithms.ppo import PPOConfig

    config = (
        PPOConfig()
        .environment("sarrus.hooks.gym:Sarrus/QuadrupedStand-v0")
        .env_runners(num_env_runners=1, num_envs_per_env_runner=16, rollout_fragment_length=20,
                     gym_env_vectorize_mode=VectorizeMode.VECTOR_ENTRY_POINT)
        .training(train_batch_size_per_learner=320, minibatch_size=160, num_epochs=1)
    )  # fmt: skip
    algorithm = config.build_algo()
    try:
        found = algorithm.train()["env_runners"]
        assert found["num_env_steps_sampled"] >= 320
        kinds = algorithm.env_runner_group.foreach_env_runner(
            lambda x: type(x.env.unwrapped).__name__, local_env_runner=False
        )
        assert kinds == ["VectorEnv"]
    finally:
        algorithm.stop()


def test_what_does_not_travel(states):
    with pytest.raises(UnsupportedError, match="cannot be sent"):
        sarrus.ray.rollout(sarrus.Simulation(MODEL, controller=lambda t, q, v: -v), *states, steps=3)
    with pytest.raises(StateError, match="expected states"):
        sarrus.ray.rollout(SIMULATION, states[0][0], steps=3)
    with pytest.raises(StateError, match="the batch is empty"):
        sarrus.ray.rollout(SIMULATION, *(x[:0] for x in states), steps=3)
    with pytest.raises(UnsupportedError, match=r"sarrus\.Simulation"):
        sarrus.ray.rollout(MODEL, *states, steps=3)
    with pytest.raises(StateError, match="has 299 states"):
        sarrus.ray.rollout(SIMULATION, states[0], states[1][:299], steps=3)
