"""Throughput of batch rollouts of Cassie with its loops, against `mujoco.rollout`.

    python -m benchmarks.rollout_mujoco [--batch 4096] [--steps 100]

One thread each, the same step size, equality constraints on, contacts and limits off, the same torques, every state
recorded. The trajectories are compared before anything is timed; both are timed in turns in one run.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from rich.console import Console

import sarrus
from benchmarks.mujoco_pair import FORCES, load_pair
from sarrus.cli.bench import Timing, interleaved, ratio

WANTED = 12.0
DT = 5e-4
AGREE = 5e-3  # radians and metres: the integrators differ by dt (see mujoco_convergence.py)
STIFF = (2 * DT, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solref, solimp: loops as stiff as MuJoCo allows


def compared(console: Console, batch: int, steps: int, rounds: int) -> dict[str, Timing] | None:
    """Times of the whole batch by case; None where something is missing."""
    try:
        import mujoco
        from mujoco import rollout as mujoco_rollout
    except ImportError:
        console.print("skipped: MuJoCo is not installed")
        return None
    pair = load_pair("cassie/cassie.xml", DT)
    if pair is None:
        console.print("skipped: cassie.xml is not there")
        return None
    model, peer = pair.model, pair.peer
    rng = np.random.default_rng(0)
    q, v = np.tile(pair.q, (batch, 1)), np.zeros((batch, model.nv))
    tau = np.zeros((batch, steps, model.nv))
    tau[..., pair.motors] = 3.0 * rng.normal(size=(batch, 1, len(pair.motors)))
    states = pair.state(q, v)
    recorded = np.empty((batch, steps, states.shape[1]))
    pool = mujoco_rollout.Rollout(nthread=0)
    data = mujoco.MjData(peer)
    applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

    def theirs() -> None:
        pool.rollout(peer, data, states, tau, control_spec=applied, state=recorded)

    def ours(integrator: str = "semi_implicit_euler") -> sarrus.Trajectory:
        return sarrus.rollout(model, q, v, tau, DT, integrator=integrator, joint_forces=FORCES, threads=1)

    # Validate, with MuJoCo's loops made stiff; then time, with the file's own.
    soft = peer.eq_solref.copy(), peer.eq_solimp.copy()
    peer.eq_solref[:], peer.eq_solimp[:] = STIFF
    theirs()
    peer.eq_solref[:], peer.eq_solimp[:] = soft
    found = ours("implicit")
    their_q, _ = pair.from_state(recorded)
    off = np.abs(sarrus.difference(model, their_q[:, -1], found.q[:, -1])).max()
    moved = np.abs(sarrus.difference(model, q, found.q[:, -1])).max()
    # Without projections loops drift by 1e-7 m: a few states of 400,000 say so, of the integrator that is not timed.
    statuses = ours().statuses
    console.print(f"after {steps * DT:g} s: moved {moved:.3f}, apart {off:.1e} (rad, m); {found.statuses}; {statuses}")
    if not off < AGREE or set(statuses) != {"ok"}:
        raise AssertionError("the trajectories do not agree: not timed")
    cases = {"mujoco": theirs, "semi_implicit_euler": ours, "implicit": lambda: ours("implicit")}
    return interleaved(cases, rounds=rounds, round_seconds=0.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    console = Console(width=130)
    times = compared(console, given.batch, given.steps, given.rounds)
    if times is None:
        return 0
    for name, timing in times.items():
        each = timing.median / (given.batch * given.steps)
        console.print(f"{name:20} {1e6 * each:7.2f} us a step, {1 / each:12,.0f} steps per second on one thread")
    faster = ratio(times["mujoco"], times["semi_implicit_euler"])
    verdict = "PASS" if faster >= WANTED else "FAIL"
    console.print(
        f"{verdict}  Cassie, {given.batch} x {given.steps} steps: {faster:.1f}x >= {WANTED:.0f}x of mujoco.rollout"
    )
    return 0 if faster >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
