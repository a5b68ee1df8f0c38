"""Cassie and Digit with their loops against MuJoCo, as MuJoCo's constraints stiffen.

    python -m benchmarks.mujoco_convergence [--write]

MuJoCo's equalities are springs: `solimp`'s impedance d (at most 0.9999) says how much of a constraint is met at once,
`solref`'s time constant how fast the rest is. Sarrus meets them exactly. So accelerations must agree as d goes to 1,
and trajectories as the time constant goes to 0. `--write` puts both into docs/simulation.md, with the date.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.mujoco_pair import FORCES, Pair, load_pair
from benchmarks.written_figures import computed, write_figures
from sarrus.importers.mujoco_state import from_mujoco_state, to_mujoco_state
from sarrus.spatial.arrays import Array

ROBOTS = {"Cassie": "cassie/cassie.xml", "Digit": "digit/digit-v3.xml"}
IMPEDANCES = (0.9, 0.99, 0.999, 0.9999)
TIMES = (0.02, 0.01, 0.005, 0.002, 0.001)
DT, SECONDS, STATES = 1e-4, 0.1, 8
WANTED = {"acceleration": 2e-3, "position": 1e-4}


def main(write: bool) -> int:
    console = Console(width=130)
    try:
        import mujoco
    except ImportError:
        console.print("skipped: MuJoCo is not installed")
        return 0
    failed = 0
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name, file in ROBOTS.items():
        pair = load_pair(file, DT)
        if pair is None:
            console.print(f"skipped {file}: no such file")
            continue
        pair.peer.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        pair.peer.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        pair.peer.opt.tolerance, pair.peer.opt.iterations = 0.0, 50
        rng = np.random.default_rng(0)
        v = 0.3 * rng.normal(size=(STATES, pair.model.nv))
        q = np.tile(pair.q, (STATES, 1))
        v = np.stack([sarrus.project(pair.model, a, b).v for a, b in zip(q, v, strict=True)])
        tau = np.zeros_like(v)
        tau[:, pair.motors] = 2.0 * rng.normal(size=(STATES, len(pair.motors)))
        errors = [accelerations(pair, q, v, tau, d) for d in IMPEDANCES]
        show(console, f"{pair.model.name}: accelerations, relative", "impedance d", IMPEDANCES, errors)
        failed += verdict(console, pair, "acceleration", errors)
        positions = trajectories(pair, q, v, tau)
        show(console, f"{pair.model.name}: after {SECONDS} s, rad or m", "time constant", TIMES, positions)
        failed += verdict(console, pair, "position", positions)
        found[name] = (errors, positions)
    if write and len(found) == len(ROBOTS):
        write_figures("simulation.md", "mujoco_convergence", tables(found))
    return 1 if failed else 0


def accelerations(pair: Pair, q: Array, v: Array, tau: Array, impedance: float) -> float:
    """The largest difference relative to the largest acceleration, over all states."""
    import mujoco

    peer, model = pair.peer, pair.model
    peer.eq_solref[:], peer.eq_solimp[:] = (2 * DT, 1.0), (impedance, impedance, 0.001, 0.5, 2.0)
    data = mujoco.MjData(peer)
    worst = 0.0
    # Stiff dampers would ask for implicit steps, whose accelerations are means over the step.
    explicit = {"integrator": "semi_implicit_euler", "joint_forces": FORCES, "record": ("qdd",)}
    own = sarrus.rollout(model, q, v, tau[:, None], DT, steps=1, **explicit).qdd
    assert own is not None
    for k in range(len(q)):
        data.qpos[:], data.qvel[:] = to_mujoco_state(model, q[k], v[k])
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_forward(peer, data)
        theirs = from_mujoco_state(model, data.qpos, data.qacc)[1]  # the world's axes for linear accelerations ...
        for body, at in zip(model.bodies, model.layout.v, strict=True):
            if body.joint.type.name == "free":  # ... and their derivative there
                linear, angular = slice(at.start, at.start + 3), slice(at.start + 3, at.stop)
                theirs[linear] -= np.cross(v[k, angular], v[k, linear])
        worst = max(worst, np.abs(theirs - own[k, 0]).max() / np.abs(own[k, 0]).max())
    return worst


def trajectories(pair: Pair, q: Array, v: Array, tau: Array) -> list[float]:
    """Per time constant: the largest difference of positions at the end."""
    import mujoco
    from mujoco import rollout

    steps, model = round(SECONDS / DT), pair.model
    own = sarrus.rollout(
        model, q, v, tau[:, None], DT, steps=steps, integrator="rk4", project_every=1, joint_forces=FORCES,
        record_every=steps,
    )  # fmt: skip
    states = pair.state(q, v)
    found = np.empty((len(q), steps, states.shape[1]))
    errors = []
    for time in TIMES:
        pair.peer.eq_solref[:], pair.peer.eq_solimp[:] = (time, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0)
        rollout.rollout(
            pair.peer, mujoco.MjData(pair.peer), states, np.repeat(tau[:, None], steps, axis=1),
            control_spec=mujoco.mjtState.mjSTATE_QFRC_APPLIED.value, state=found,
        )  # fmt: skip
        theirs, _ = pair.from_state(found[:, -1])
        errors.append(float(np.abs(sarrus.difference(model, theirs, own.q[:, -1])).max()))
    return errors


def tables(found: dict[str, tuple[list[float], list[float]]]) -> str:
    """Both, in Markdown."""
    lines = [computed("mujoco_convergence")]
    titles = (
        f"| accelerations, relative | {' | '.join(f'd = {d:g}' for d in IMPEDANCES)} |",
        f"| after {SECONDS} s, rad or m | time constant {' | '.join(f'{1e3 * time:g} ms' for time in TIMES)} |",
    )
    for k, title in enumerate(titles):
        rows = [f"| {name} | {' | '.join(f'{x:.1e}' for x in errors[k])} |" for name, errors in found.items()]
        lines += ["", title, "|---|" + "---:|" * (title.count("|") - 2), *rows]
    return "\n".join(lines)


def show(console: Console, title: str, kind: str, values: tuple[float, ...], errors: list[float]) -> None:
    table = Table(title=title)
    table.add_column(kind)
    for value in values:
        table.add_column(f"{value:g}", justify="right")
    table.add_row("difference", *(f"{e:.1e}" for e in errors))
    console.print(table)


def verdict(console: Console, pair: Pair, kind: str, errors: list[float]) -> int:
    """They agree at the stiffest, and better than at the softest."""
    good = errors[-1] <= WANTED[kind] and errors[-1] < errors[0]
    console.print(f"{'PASS' if good else 'FAIL'}  {pair.model.name} {kind}: {errors[-1]:.1e} <= {WANTED[kind]:g}")
    return not good


if __name__ == "__main__":
    sys.exit(main(parser_of(__doc__, writes="simulation.md").parse_args().write))
