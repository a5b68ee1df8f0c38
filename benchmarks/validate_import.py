"""Do robots load right? Every robot file at hand, against Pinocchio and MuJoCo.

- Every URDF of PyPI's example-robot-data, and of the shared robots where they are, that Pinocchio loads: equal nv, mass
  and joint names, with a fixed and with a free base; `aba`, `rnea`, `crba` and frame Jacobians on random states.
- Every MJCF of the shared robots: mass matrix, bias forces and body Jacobians against MuJoCo.

    python benchmarks/validate_import.py [--only talos] [--states 20] [--json FILE]

A difference is max|x - y| / max|y| over the elements of one result, the worst over states. The exit code is 1 if
anything fails.

`aba` solves a linear system, so two right answers may differ by the condition number of the mass matrix times rounding.
The column "backward" is free of that: the torques that give exactly our accelerations, by Pinocchio's rnea, minus those
asked for, relative to the torques that rounding acts on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process per core, so threads are in the way

import numpy as np

from sarrus.algorithms.tree.aba import aba
from sarrus.algorithms.tree.crba import crba
from sarrus.algorithms.tree.frame_jacobian import frame_jacobian
from sarrus.algorithms.tree.rnea import rnea
from sarrus.errors import InertiaError, SarrusError
from sarrus.importers.document import read_document
from sarrus.importers.load import example_robots
from sarrus.importers.mjcf import compile_mjcf, load_mjcf
from sarrus.importers.mujoco_state import to_mujoco_state
from sarrus.importers.pinocchio_model import from_pinocchio, to_pinocchio_configuration
from sarrus.importers.urdf import ROOT_JOINT, load_urdf
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.model import Model
from sarrus.model.state import random_state
from sarrus.spatial.rotations import rotation_from_quaternion

TOLERANCE = 1e-9
FRAMES = 7  # per robot: no multiple of the number of references
REFERENCES = ("local", "local_world_aligned", "world")
REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass
class Row:
    """What was found about one robot with one base."""

    robot: str
    base: str
    peer: str
    nv: int = 0
    mass: float = 0.0
    differences: dict[str, float] = field(default_factory=dict)
    condition: float | None = None  # of the mass matrix, in the first state
    backward: float | None = None  # backward error of aba
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


# --- where the robots are ----------------------------------------------------------------------------


def shared_robots() -> Path | None:
    """The shared robots: $SARRUS_SHARED/robots, or beside the repository."""
    robots = Path(os.environ.get("SARRUS_SHARED", REPOSITORY.parent / "shared")) / "robots"
    return robots if robots.is_dir() else None


# --- URDF against Pinocchio --------------------------------------------------------------------------


def validate_urdf(file: Path, name: str, floating: bool, states: int) -> Row | None:
    """Compare one URDF. None: Pinocchio does not load it, or a free base is asked for that the file has already."""
    import pinocchio as pin

    started = time.perf_counter()
    row = Row(name, "free" if floating else "fixed", "pinocchio")
    try:
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        peer = pin.buildModelFromUrdf(str(file), *root)
    except ValueError:
        return None
    try:
        model = load_robust(file, floating, row)
    except SarrusError as error:
        row.failures.append(str(error))
        return row
    if floating and ROOT_JOINT not in model.joint_names:
        return None
    row.nv, row.mass = model.nv, float(model.mass)
    check_structure(row, model, peer)
    if not row.failures:
        try:
            twin = from_pinocchio(peer)
            check_structure(row, twin, peer)
            if model.nv:  # Pinocchio's crba crashes on a robot that cannot move
                compare_with_pinocchio(row, model, twin, peer, states)
        except SarrusError as error:
            row.failures.append(str(error))
    row.seconds = time.perf_counter() - started
    return row


def load_robust(file: Path, floating: bool, row: Row) -> Model:
    """Load; an inertia that is not positive semidefinite is refused unless asked for, as Pinocchio never does."""
    try:
        model = load_urdf(file, floating)
    except InertiaError as error:
        model = load_urdf(file, floating, allow_nonphysical=True)
        row.notes.append("needs allow_nonphysical: " + str(error).removeprefix(f"{file}: "))
    return model


def check_structure(row: Row, model: Model, peer: Any) -> None:
    import pinocchio as pin

    if model.nv != peer.nv:
        row.failures.append(f"nv {model.nv}, Pinocchio's {peer.nv}")
    mass = pin.computeTotalMass(peer)
    if abs(model.mass - mass) > TOLERANCE * max(mass, 1e-300):
        row.failures.append(f"mass {model.mass}, Pinocchio's {mass}")
    if model.joint_names != tuple(peer.names[1:]):
        row.failures.append("joint names differ from Pinocchio's")


def compare_with_pinocchio(row: Row, model: Model, twin: Model, peer: Any, states: int) -> None:
    import pinocchio as pin

    data = peer.createData()
    rng = np.random.default_rng(0)
    ill_posed = next((line for line in model.import_report if "acceleration is undefined" in line), None)
    if ill_posed:
        row.notes.append(f"aba left out: {ill_posed.split(', so')[0]}")
    frames = choose_frames(model, peer)
    references = (pin.LOCAL, pin.LOCAL_WORLD_ALIGNED, pin.WORLD)
    worst = row.differences
    for k in range(states):
        q, v = random_state(model, rng)
        a, tau = rng.normal(size=(2, model.nv))
        q_peer = to_pinocchio_configuration(model, q)
        M = pin.crba(peer, data, q_peer)
        M = np.triu(M) + np.triu(M, 1).T
        torques = pin.rnea(peer, data, q_peer, v, a)
        note(worst, "rnea", rnea(model, q, v, a), torques)
        note(worst, "crba", crba(model, q), M)
        if k == 0:
            note(worst, "from_pinocchio", rnea(twin, q, v, a), torques)
        pin.computeJointJacobians(peer, data, q_peer)
        pin.updateFramePlacements(peer, data)
        frame = frames[k % len(frames)]  # another frame and reference in every state
        J = pin.getFrameJacobian(peer, data, peer.getFrameId(frame, pin.FrameType.BODY), references[k % 3])
        note(worst, "jacobian", frame_jacobian(model, q, frame, REFERENCES[k % 3]), J)
        if not ill_posed:
            compare_aba(row, model, peer, data, (q, q_peer, v, tau), M)
    judge(row)


def compare_aba(row: Row, model: Model, peer: Any, data: Any, state: tuple, M: np.ndarray) -> None:
    import pinocchio as pin

    q, q_peer, v, tau = state
    ours, theirs = aba(model, q, v, tau), pin.aba(peer, data, q_peer, v, tau).copy()
    note(row.differences, "aba", ours, theirs)
    if row.condition is None:
        row.condition = float(np.linalg.cond(M))
    # Backward error: relative to the torques that rounding acts on, M qdd.
    scale = np.abs(M) @ np.abs(ours) + np.abs(tau)
    residual = np.abs(pin.rnea(peer, data, q_peer, v, ours) - tau)
    row.backward = max(row.backward or 0.0, float(np.max(residual / scale)))


def choose_frames(model: Model, peer: Any) -> list[str]:
    """Some bodies of the file, merged ones included, spread over the robot."""
    ours = set(model.frame_names) - {WORLD_NAME}
    both = [frame.name for frame in peer.frames if frame.type.name == "BODY" and frame.name in ours]
    picks = np.linspace(0, len(both) - 1, min(FRAMES, len(both))).round().astype(int)
    return [both[k] for k in dict.fromkeys(picks.tolist())]


# --- MJCF against MuJoCo -----------------------------------------------------------------------------


def validate_mjcf(file: Path, name: str, states: int) -> Row:
    import mujoco

    started = time.perf_counter()
    row = Row(name, "file's", "mujoco")
    try:
        model = load_mjcf(file)
        peer, _ = compile_mjcf(read_document(file))
    except SarrusError as error:
        row.failures.append(str(error))
        return row
    row.nv, row.mass = model.nv, float(model.mass)
    names = [mujoco.mj_id2name(peer, mujoco.mjtObj.mjOBJ_JOINT, k) for k in range(peer.njnt)]
    if model.nv != peer.nv or model.nq != peer.nq:
        row.failures.append(f"nq, nv {model.nq}, {model.nv}; MuJoCo's {peer.nq}, {peer.nv}")
    if any(name and name != own for name, own in zip(names, model.joint_names, strict=True)):
        row.failures.append("joint names differ from MuJoCo's")
    moving = float(peer.body_mass[peer.body_weldid != 0].sum())
    if abs(model.mass - moving) > TOLERANCE * max(moving, 1e-300):
        row.failures.append(f"mass {model.mass}, MuJoCo's {moving}")
    if not model.nv:
        row.notes.append("no moving bodies: a part of other files")
    elif not row.failures:
        compare_with_mujoco(row, model, peer, states)
    row.seconds = time.perf_counter() - started
    return row


def compare_with_mujoco(row: Row, model: Model, peer: Any, states: int) -> None:
    import mujoco

    data = mujoco.MjData(peer)
    rng = np.random.default_rng(0)
    named = [i for i in range(1, peer.nbody) if peer.body_weldid[i] != 0]
    for _ in range(states):
        q, v = random_state(model, rng)
        data.qpos[:], data.qvel[:] = to_mujoco_state(model, q, v)
        mujoco.mj_forward(peer, data)
        M = np.zeros((peer.nv, peer.nv))
        for column, unit in zip(M, np.eye(peer.nv), strict=True):  # M is symmetric: rows are columns
            mujoco.mj_mulM(peer, data, column, unit)
        T, drift = velocity_map(model, q, v)
        note(row.differences, "crba", T.T @ crba(model, q) @ T, M)
        note(row.differences, "rnea", T.T @ rnea(model, q, v, drift), data.qfrc_bias)
        J, body = np.zeros((6, peer.nv)), int(rng.choice(named))
        mujoco.mj_jacBody(peer, data, J[:3], J[3:], body)
        frame = mujoco.mj_id2name(peer, mujoco.mjtObj.mjOBJ_BODY, body) or f"body_{body}"
        note(row.differences, "jacobian", frame_jacobian(model, q, frame, "local_world_aligned") @ T, J)
    judge(row)


def velocity_map(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T with v = T qvel, and our acceleration while MuJoCo's qacc is zero (dT/dt qvel)."""
    T, drift = np.eye(model.nv), np.zeros(model.nv)
    for body, sq, sv in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        if body.joint.type.name == "free":
            linear = slice(sv.start, sv.start + 3)
            T[linear, linear] = rotation_from_quaternion(q[sq][3:]).T
            drift[linear] = -np.cross(v[sv][3:], v[sv][:3])
    return T, drift


# --- judging -----------------------------------------------------------------------------------------


def note(worst: dict[str, float], quantity: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Keep the worst relative difference of a quantity; not-a-number counts as infinite."""
    if not theirs.size:
        return
    difference = float(np.max(np.abs(ours - theirs)) / max(1e-300, float(np.max(np.abs(theirs)))))
    worst[quantity] = max(worst.get(quantity, 0.0), difference if np.isfinite(difference) else np.inf)


def judge(row: Row) -> None:
    for quantity, difference in row.differences.items():
        if difference > TOLERANCE:
            row.failures.append(f"{quantity} differs by {difference:.1e}")
    if row.backward is not None and row.backward > TOLERANCE:
        row.failures.append(f"backward error of aba {row.backward:.1e}")


# --- running -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    kind: str  # "urdf" or "mjcf"
    file: Path
    name: str
    floating: bool
    states: int


def run(job: Job) -> Row | None:
    try:
        if job.kind == "urdf":
            return validate_urdf(job.file, job.name, job.floating, job.states)
        return validate_mjcf(job.file, job.name, job.states)
    except Exception as error:  # one robot must not hide the others
        base = "free" if job.floating else "fixed"
        return Row(job.name, base, job.kind, failures=[f"{type(error).__name__}: {error}"])


def jobs(only: str, states: int) -> Iterator[Job]:
    urdfs = {f"example-robot-data/{name}": file for name, file in example_robots().items()}
    if not urdfs:
        print("skipped: example-robot-data is not installed (pip install example-robot-data)", file=sys.stderr)
    shared, mjcfs = shared_robots(), {}
    if shared is None:
        print("skipped: the shared robots are not there (SARRUS_SHARED names their folder)", file=sys.stderr)
    else:
        urdfs |= {f"shared/{file.relative_to(shared).as_posix()}": file for file in sorted(shared.rglob("*.urdf"))}
        mjcfs |= {f"shared/{file.relative_to(shared).as_posix()}": file for file in sorted(shared.rglob("*.xml"))}
    for name, file in urdfs.items():
        if only in name:
            yield Job("urdf", file, name, False, states)
            yield Job("urdf", file, name, True, states)
    for name, file in mjcfs.items():
        if only in name:
            yield Job("mjcf", file, name, False, states)


def show(rows: list[Row], seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="import validation: worst relative differences", header_style="bold")
    for column in ("robot", "base", "nv", "mass", "aba", "backward", "cond M", "rnea", "crba", "jacobian", "result"):
        table.add_column(column, justify="left" if column in ("robot", "base", "result") else "right", no_wrap=True)

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.0e}"

    for row in rows:
        d = row.differences
        result = "[red]" + "; ".join(row.failures) if row.failures else "[green]ok"
        table.add_row(
            row.robot, row.base, str(row.nv), f"{row.mass:.4g}", number(d.get("aba")), number(row.backward),
            number(row.condition), number(d.get("rnea")), number(d.get("crba")), number(d.get("jacobian")), result,
        )  # fmt: skip
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    notes: dict[str, list[str]] = {}
    for row in rows:
        for text in row.notes:
            notes.setdefault(text, []).append(f"{row.robot} ({row.base})")
    for text, robots in notes.items():
        more = f" and {len(robots) - 1} more" if len(robots) > 1 else ""
        console.print(f"note: {robots[0]}{more}: {text}", highlight=False, soft_wrap=True)
    quantities = ("aba", "rnea", "crba", "jacobian", "from_pinocchio")
    worst = {x: max((row.differences.get(x, 0.0) for row in rows), default=0.0) for x in quantities}
    files = {row.robot for row in rows}
    failed = [row for row in rows if row.failures]
    console.print("worst: " + ", ".join(f"{x} {value:.1e}" for x, value in worst.items()))
    console.print(f"{len(files)} files, {len(rows)} comparisons, {seconds:.0f} s; failures: {len(failed)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare every robot file at hand with Pinocchio and MuJoCo.")
    parser.add_argument("--only", default="", help="only robots whose name contains this")
    parser.add_argument("--states", type=int, default=20, help="random states per robot")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    if find_spec("pinocchio") is None:
        print("skipped: Pinocchio is not installed (pip install pin example-robot-data)", file=sys.stderr)
        return 0
    started = time.perf_counter()
    with ProcessPoolExecutor(max_workers=options.workers) as pool:
        found = [row for row in pool.map(run, jobs(options.only, options.states)) if row is not None]
    show(found, time.perf_counter() - started)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in found], indent=1))
    return 1 if any(row.failures for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
