"""Derivatives beside Pinocchio's, validated and then timed in one interleaved run, on one core.

    python -m benchmarks.derivative_peers [--quick] [--json FILE] [--write]

write: the table in docs/derivatives.md is written again. Kernels write into arrays that are there (`out=`). A batch is
timed at three sizes, as three dense matrices of Talos are 60 KB a state: up to 64 states stay in the cache, 4,096 do
not. `packed` leaves out what is zero by structure. The peer is called from Python, as users of it do, one state at a
time. Best of several rounds, in which all take their turns. Cassie and Digit with their loops have no peer.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.derivative_counts import markdown
from benchmarks.robots import shared_directory, tree_of
from benchmarks.written_figures import measured, write_figures
from sarrus.importers.load import example_robots
from sarrus.model.model import Model

BATCHES = (64, 512, 4096)
STATES = 4096  # evaluated by every batch size in a round
CALLS = 100
TOLERANCE = 1e-8


class Contest(NamedTuple):
    """One algorithm on one robot, and what the peer calls it."""

    robot: str
    algorithm: str
    options: dict[str, Any]
    bar_batch: float
    bar_single: float
    feet: tuple[str, ...] = ()
    size: int = 0


LEGS = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
SOLES = ("left_sole_link", "right_sole_link")
CONTESTS = (
    Contest("go1", "aba_derivatives", {}, 10.0, 2.5),
    Contest("talos_full_v2", "aba_derivatives", {}, 7.0, 2.5),
    Contest("go1", "rnea_derivatives", {}, 12.0, 2.5),
    Contest("go1", "rnea_derivatives", {"packed": True}, 12.0, 2.5),
    Contest("talos_full_v2", "rnea_derivatives", {}, 10.0, 2.5),
    Contest("talos_full_v2", "rnea_derivatives", {"packed": True}, 10.0, 2.5),
    Contest("solo12", "forward_dynamics_derivatives", {}, 8.0, 2.5, LEGS, 3),
    Contest("talos_full_v2", "forward_dynamics_derivatives", {}, 8.0, 2.5, SOLES, 6),
)
ALONE = {"Cassie": "cassie/cassie.xml", "Digit": "digit/digit-v3.xml"}


class Peer:
    """The same of Pinocchio: call it with a state."""

    def __init__(self, contest: Contest, path: Path) -> None:
        import pinocchio as pin

        self._pin, self._algorithm = pin, contest.algorithm
        self._model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        self._data = self._model.createData()
        self._contacts = pin.StdVec_RigidConstraintModel()
        self._contact_data = pin.StdVec_RigidConstraintData()
        kind = pin.ContactType.CONTACT_6D if contest.size == 6 else pin.ContactType.CONTACT_3D
        for foot in contest.feet:
            frame = self._model.frames[self._model.getFrameId(foot)]
            made = pin.RigidConstraintModel(kind, self._model, frame.parentJoint, frame.placement, pin.LOCAL)
            self._contacts.append(made)
            self._contact_data.append(made.createData())
        pin.initConstraintDynamics(self._model, self._data, self._contacts, self._contact_data)
        self._settings = pin.ProximalSettings(1e-12, 0.0, 1)

    def __call__(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
        pin, model, data = self._pin, self._model, self._data
        if self._algorithm == "rnea_derivatives":
            return pin.computeRNEADerivatives(model, data, q, v, x)
        if self._algorithm == "aba_derivatives":
            return pin.computeABADerivatives(model, data, q, v, x)
        pin.constraintDynamics(model, data, q, v, x, self._contacts, self._contact_data, self._settings)
        return pin.computeConstraintDynamicsDerivatives(model, data, self._contacts, self._contact_data, self._settings)


def robot_of(contest: Contest) -> tuple[Model, Path] | None:
    path = example_robots().get(contest.robot)
    if path is None:
        return None
    model = tree_of(path, floating_base=True)
    return model.with_constraints(*(sarrus.contact(foot, contest.size) for foot in contest.feet)), path


def validate(contest: Contest, model: Model, kernel: Any, peer: Peer, state: tuple[np.ndarray, ...]) -> None:
    """The derivatives agree; of Pinocchio's symmetric ones, the upper half is filled."""
    found = list(kernel(*state))
    first = 2 if contest.feet else 1
    for ours, theirs in zip(found[first : first + 6], peer(*state), strict=False):
        if contest.options.get("packed"):
            ours = sarrus.mass_matrix_pattern(model).dense(ours, model.nv)
        if not contest.feet and theirs.shape[0] == theirs.shape[1] and not np.tril(theirs, -1).any():
            ours = np.triu(ours)
        error = np.abs(ours - theirs).max() / np.abs(theirs).max()
        if not error < TOLERANCE:
            raise SystemExit(f"{contest.algorithm} of {contest.robot} differs from the peer by {error:.1e}: not timed")


def seconds(run: Callable[[], Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def measure(kernel: Any, peer: Peer | None, state: tuple[np.ndarray, ...], rounds: int) -> dict[str, float]:
    """Microseconds a state: of batches, by size, of single calls and of the peer."""
    rng = np.random.default_rng(0)
    runs: dict[str, tuple[Callable[[], Any], int, int]] = {}
    for batch in BATCHES:
        arrays = [np.repeat(x[None], batch, 0) for x in state]
        arrays[1] = rng.normal(size=arrays[1].shape)
        out = tuple(np.zeros((batch, *port.shape)) for port in kernel.tape.outputs)
        runs[str(batch)] = (lambda a=arrays, o=out: kernel(*a, out=o, threads=1)), STATES // batch, STATES
    runs["single"] = (lambda: kernel(*state)), CALLS, CALLS
    if peer is not None:
        runs["peer"] = (lambda: peer(*state)), CALLS, CALLS
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, (run, times, states) in runs.items():
            best[name] = min(best[name], seconds(run, times) * times / states * 1e6)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", help="robots whose names contain this")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--write", action="store_true", help="write the table in docs/derivatives.md again")
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else 9
    table = Table("robot", "algorithm", *(f"batch of {b}" for b in BATCHES), "single", "peer", "batch", "single", "")
    results: dict[str, dict[str, float]] = {}
    for contest in CONTESTS:
        if arguments.only and arguments.only not in contest.robot:
            continue
        found = robot_of(contest)
        if found is None:
            print(f"{contest.robot} is skipped: example-robot-data is not here")
            continue
        model, path = found
        kernel, peer = sarrus.compile(model, contest.algorithm, **contest.options), Peer(contest, path)
        q, v = sarrus.random_state(model.without_constraints(), 0)
        state = (q, v, np.random.default_rng(1).normal(size=model.nv))
        validate(contest, model, kernel, peer, state)
        best = measure(kernel, peer, state, rounds)
        name = contest.algorithm + (", packed" if contest.options else "") + (" on its feet" if contest.feet else "")
        results[f"{contest.robot} {name}"] = best
        fastest = best["peer"] / min(best[str(b)] for b in BATCHES)
        single = best["peer"] / best["single"]
        met = "met" if fastest >= contest.bar_batch and single >= contest.bar_single else "MISSED"
        bars = f"{met} ({contest.bar_batch:g}x, {contest.bar_single:g}x)"
        figures = [f"{x:.2f} us" for x in best.values()]
        table.add_row(contest.robot, name, *figures, f"{fastest:.1f}x", f"{single:.1f}x", bars)
    for name, file in ALONE.items():
        path = shared_directory() / "robots" / file
        if (arguments.only and arguments.only not in name) or not path.is_file():
            continue
        model = sarrus.load(path)
        kernel = sarrus.compile(model, "forward_dynamics_derivatives")
        q, v = sarrus.random_state(model, 0)
        best = measure(kernel, None, (q, v, np.zeros(model.nv)), rounds)
        results[name] = best
        table.add_row(name, "with its loops", *(f"{x:.2f} us" for x in best.values()), "", "", "", "no peer")
    Console(width=200).print(table)
    if arguments.write:
        write_figures("derivatives.md", "derivative_peers", f"{measured('derivative_peers')}\n\n{markdown(table)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
