"""Public calls in a loop, arguments checked, beside Pinocchio's calls from Python on the same robots and states.

    python -m benchmarks.calls_peers

Each is validated against Pinocchio, then timed, interleaved in one run, on one thread. Pinocchio's models are built
from the declared data, as in the tests. The last column says how long after the first call a plain loop is as fast as
Pinocchio's (the cache of kernels is empty then), the last line compares a call on a batch with the kernel that it runs.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.robots import shared_directory, tree_of, urdf_path
from sarrus.cli.bench import interleaved, ratio
from tests.algorithms.test_loops_against_pinocchio import Loops
from tests.oracles.dense import oracle_of_model
from tests.oracles.pinocchio_peer import PinocchioPeer

BATCH = 4096
WARM = 400  # calls, after which the public function has compiled itself
FRAME, OTHER_FRAME = "left_ankle_link", "right_ankle_link"  # of H1
_ACCURACY = 1e-8  # of Pinocchio's proximal iterations

Call = Callable[[], Any]


def tree_rows() -> dict[str, tuple[Call, Call, float]]:
    """Per name: ours, theirs, and by how much they differ."""
    path = urdf_path("talos_full_v2")
    assert path is not None
    talos, h1 = tree_of(path, floating_base=True), sarrus.load(shared_directory() / "robots/h1/h1.xml")
    h1 = h1.without_constraints()
    rows: dict[str, tuple[Call, Call, float]] = {}
    q, v, tau = state(talos)
    peer = PinocchioPeer(oracle_of_model(talos))
    model, data, at = peer.model, peer.data, peer.configuration(q)
    rows["Talos aba"] = compared(
        lambda: sarrus.aba(talos, q, v, tau), lambda: pin.aba(model, data, at, v, tau), peer.aba(q, v, tau, {})
    )
    q1, _, _ = state(h1)
    peer1 = PinocchioPeer(oracle_of_model(h1))
    model1, data1, at1 = peer1.model, peer1.data, peer1.configuration(q1)
    rows["H1 crba"] = compared(lambda: sarrus.crba(h1, q1), lambda: pin.crba(model1, data1, at1), peer1.crba(q1))
    frame = model1.getFrameId(FRAME)
    theirs = lambda: pin.computeFrameJacobian(model1, data1, at1, frame, pin.LOCAL)  # noqa: E731
    expected = peer1.frame_jacobian(q1, FRAME, "local")
    rows["H1 frame_jacobian"] = compared(lambda: sarrus.frame_jacobian(h1, q1, FRAME, "local"), theirs, expected)
    rows["H1 frame_jacobian by name"] = compared(lambda: sarrus.frame_jacobian(h1, q1, frame=FRAME), theirs, expected)
    other = model1.getFrameId(OTHER_FRAME)
    rows["H1 frame_jacobian, two frames"] = compared(
        lambda: [sarrus.frame_jacobian(h1, q1, frame=x) for x in (FRAME, OTHER_FRAME)],
        lambda: [pin.computeFrameJacobian(model1, data1, at1, x, pin.LOCAL) for x in (frame, other)],
        np.array([expected, peer1.frame_jacobian(q1, OTHER_FRAME, "local")]),
    )
    return rows


def loop_rows() -> dict[str, tuple[Call, Call, float]]:
    cassie = sarrus.load(shared_directory() / "robots/cassie/cassie.xml")
    loops = Loops(cassie)
    q, v, tau = np.array(cassie.home), np.zeros(cassie.nv), np.random.default_rng(0).normal(size=cassie.nv)
    model, at = loops.peer.model, loops.peer.configuration(q)
    data = model.createData()
    pin.initConstraintDynamics(model, data, loops.constraints, loops.datas)
    settings = pin.ProximalSettings(_ACCURACY, 1e-8, 10)
    theirs = lambda: pin.constraintDynamics(model, data, at, v, tau, loops.constraints, loops.datas, settings)  # noqa: E731
    expected = loops.constraint_dynamics(q, v, tau, mu=1e-8)
    return {
        "Cassie forward_dynamics": compared(lambda: sarrus.forward_dynamics(cassie, q, v, tau).qdd, theirs, expected)
    }


def compared(ours: Call, theirs: Call, expected: np.ndarray) -> tuple[Call, Call, float]:
    return ours, theirs, float(np.abs(ours() - expected).max() / np.abs(expected).max())


def state(model: sarrus.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = sarrus.random_state(model, rng=0)
    return q, v, np.random.default_rng(0).normal(size=model.nv)


def main() -> None:
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SARRUS_CACHE_DIR"] = folder
        table = Table("call", "off by", "sarrus, us", "Pinocchio, us", "times", "as fast after, s")
        for name, (ours, theirs, error) in (tree_rows() | loop_rows()).items():
            assert error < 1e-6, f"{name}: off by {error:.1e}"
            delay = seconds_until_as_fast(ours, theirs)
            for _ in range(WARM):
                ours()
            times = interleaved({"ours": ours, "theirs": theirs}, rounds=25, round_seconds=0.02)
            cells = (f"{1e6 * times[x].best:.2f}" for x in ("ours", "theirs"))
            table.add_row(name, f"{error:.0e}", *cells, f"{ratio(times['theirs'], times['ours']):.1f}", f"{delay:.2f}")
        console.print(table)
        console.print(batch_line())


def seconds_until_as_fast(ours: Call, theirs: Call) -> float:
    """How long a loop runs before its calls are as fast as Pinocchio's."""
    for _ in range(20):
        theirs()
    start = time.perf_counter()
    for _ in range(20):
        theirs()
    theirs_per_call = (time.perf_counter() - start) / 20
    begin = time.perf_counter()
    while time.perf_counter() - begin < 60.0:
        start = time.perf_counter()
        for _ in range(5):
            ours()
        if (time.perf_counter() - start) / 5 <= theirs_per_call:
            return time.perf_counter() - begin
    return np.inf


def batch_line() -> str:
    path = urdf_path("talos_full_v2")
    assert path is not None
    talos = tree_of(path, floating_base=True)
    q, v, tau = (np.tile(x, (BATCH, 1)) for x in state(talos))
    kernel = sarrus.compile(talos, "aba")
    assert np.array_equal(sarrus.aba(talos, q, v, tau), kernel(q, v, tau))
    cases = {"call": lambda: sarrus.aba(talos, q, v, tau), "kernel": lambda: kernel(q, v, tau)}
    times = interleaved(cases, rounds=25, round_seconds=0.02)
    per_state = [1e6 * times[name].best / BATCH for name in cases]
    return (
        f"sarrus.aba on {BATCH} states of Talos: {per_state[0]:.3f} us a state, the kernel {per_state[1]:.3f}: "
        f"{ratio(times['call'], times['kernel']):.2f} times"
    )


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
