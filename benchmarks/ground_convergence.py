"""Robots on the ground against MuJoCo, as MuJoCo's contacts stiffen.

    python -m benchmarks.ground_convergence [--seconds 0.3] [--drop 0.03] [--write] [robot ...]

MuJoCo's contacts are springs: what stands on them sinks in. Sarrus' are rigid. So where robots are, and what force
the ground bears, must come together as the time constant of MuJoCo's contacts (and limits, and dry friction) goes to
zero. Same file, same controls, same short time step for both; MuJoCo's cones elliptic, friction of sliding only; dry
friction of joints exact in both. (By default a joint of ours changes between sticking and slipping one step late: the
last column is how far that is from MuJoCo's stiffest contacts. It falls with the time step.)

Springs that are critically damped each by itself still throw back a robot that strikes several of them at once; rigid
contacts do not. So the stiffest are also run with more damping, and how far MuJoCo is then from itself says how well
the limit is determined. Limits of joints at which a robot does not stand are a little further out in Sarrus
(`limits.py`): MuJoCo's are moved by as much.

H1 has motors and no servos: it is limp. It is compared twice, also before its ankles and a knee strike their limits:
from then on the feet slide, and what happens depends on how the force is shared by the points of a foot.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.ground_mujoco import ROBOTS, Scene, load
from benchmarks.written_figures import write_figures
from sarrus.importers.mujoco_state import from_mujoco_state, to_mujoco_state
from sarrus.simulation.contact.limits import LOOSE
from sarrus.spatial.arrays import Array

TIMES = (0.02, 0.01, 0.005, 0.002, 0.001)
DT = 2.5e-4
LIMP = {"h1": 0.2}  # seconds after which robots that nothing holds are compared, too
IMPEDANCE = (0.99, 0.9999, 1e-4, 0.5, 2.0)


DAMPED = 4.0  # times critical


def stiffened(peer: Any, time: float, damping: float = 1.0) -> Any:
    """The same model with contacts, limits and dry friction of that time constant; damping: times critical."""
    import mujoco

    peer.opt.timestep, peer.opt.cone, peer.opt.impratio = DT, mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0
    peer.opt.tolerance, peer.opt.iterations, peer.opt.ls_iterations = 1e-12, 200, 50  # some files ask for 5 and 8
    for field in ("geom_solref", "pair_solref", "jnt_solref", "dof_solref", "eq_solref"):
        getattr(peer, field)[:] = (time, damping)
    for field in ("geom_solimp", "pair_solimp", "jnt_solimp", "dof_solimp", "eq_solimp"):
        getattr(peer, field)[:] = IMPEDANCE
    peer.geom_condim[peer.geom_condim > 3] = 3
    peer.geom_margin[:] = peer.geom_gap[:] = 0.0
    return peer


def run_peer(scene: Scene, q: Array, steps: int) -> tuple[Array, float]:
    """Positions at the end, and the mean force of the ground over the last tenth, as a part of the weight."""
    import mujoco

    data = mujoco.MjData(scene.peer)
    qpos, _ = to_mujoco_state(scene.model, q, np.zeros(scene.model.nv))
    data.qpos[:], data.ctrl[:] = qpos, scene.controls
    forces, one = [], np.zeros(6)
    for step in range(steps):
        mujoco.mj_step(scene.peer, data)
        if step >= steps - steps // 10:
            total = 0.0
            for k in range(data.ncon):
                mujoco.mj_contactForce(scene.peer, data, k, one)
                grounded = 0 in scene.peer.geom_bodyid[data.contact[k].geom]
                total += one[0] * abs(data.contact[k].frame[2]) * grounded
            forces.append(total)
    found, _ = from_mujoco_state(scene.model, data.qpos, data.qvel)
    return found, float(np.mean(forces)) / (scene.model.mass * 9.81)


def difference(ours: Array, theirs: Array) -> str:
    """Of joints, the largest, and of height."""
    return f"{np.abs(ours[7:] - theirs[7:]).max():.1e} {abs(ours[2] - theirs[2]):.1e}"


def compared(scene: Scene, steps: int, drop: float) -> list[str]:
    """The differences for all time constants, what the ground bears, and the difference where friction is late."""
    q = scene.q.copy()
    q[2] += drop
    exact, late = (
        sarrus.Simulation(
            scene.model, DT, contacts=sarrus.ContactOptions(exact_friction=how), record=("contacts", "status")
        ).run(q, steps=steps, controls=scene.controls)
        for how in (True, False)
    )
    cells, force, theirs = [], 0.0, q
    for time in TIMES:
        stiffened(scene.peer, time)
        theirs, force = run_peer(scene, q, steps)
        cells.append(difference(exact.q[-1], theirs))
    stiffened(scene.peer, TIMES[-1], DAMPED)
    damped, _ = run_peer(scene, q, steps)
    cells += [difference(exact.q[-1], damped), difference(theirs, damped)]
    assert exact.contacts is not None
    bears = exact.contacts.total_force[-steps // 10 :, 2].mean() / (scene.model.mass * 9.81)
    return [*cells, f"{bears:.3f} {force:.3f}", difference(late.q[-1], theirs)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS), metavar="robot", help=f"of {', '.join(ROBOTS)}")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--drop", type=float, default=0.03, help="metres above the keyframe")
    parser.add_argument("--write", action="store_true", help="into docs/contact.md")
    given = parser.parse_args()
    console = Console(width=190)
    stiffest = f"{1e3 * TIMES[-1]:g} ms"
    columns = [
        "robot", *(f"{1e3 * time:g} ms" for time in TIMES), f"{stiffest}, {DAMPED:g} times critical damping",
        "MuJoCo's last two, from each other", "ground bears: Sarrus, MuJoCo", f"{stiffest}, friction one step late",
    ]  # fmt: skip
    rows = []
    for name in given.robots:
        scene = load(ROBOTS[name])
        if scene is None:
            console.print(f"skipped {name}: no such file")
            continue
        scene.peer.jnt_range[:, 0] -= LOOSE
        scene.peer.jnt_range[:, 1] += LOOSE
        for seconds in sorted({min(given.seconds, LIMP.get(name, given.seconds)), given.seconds}):
            label = name if seconds == given.seconds else f"{name}, {seconds} s"
            rows.append([label, *compared(scene, round(seconds / DT), given.drop)])
            console.print(*rows[-1], sep="  ", highlight=False)
    title = f"after {given.seconds} s, dropped by {given.drop} m: difference of joints (rad), of height (m)"
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if given.write:
        lines = [columns, ["---"] * len(columns), *rows]
        when = f"{date.today():%d %B %Y}"
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        write_figures("contact.md", "ground_convergence", f"Measured on {when}:\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
