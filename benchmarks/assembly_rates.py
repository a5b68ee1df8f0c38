"""How often loops close: `project` and `assemble` from random seeds, on robots and mechanisms with loops.

    python -m benchmarks.assembly_rates            # 1,000 seeds each
    python -m benchmarks.assembly_rates 100 cassie four_bar
    python -m benchmarks.assembly_rates --write    # all of them, into docs/loops_stay_closed.md

project: random configurations, every joint anywhere within its limits; "within limits": where it can be closed there,
too, as `random_state` does. assemble: the robot's own freedoms (a set of
joints that determines the others) at the values that they have in an assembly that exists, from the pose in the file.
Closed means that no error exceeds 1e-10 m or rad; the rest said "not found" (anything else stops the benchmark).
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import yaml

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.robots import shared_directory
from benchmarks.written_figures import measured, write_figures
from sarrus.model.state import outside_limits, starting_configuration
from sarrus.simulation.projection import CLOSED, Projector, with_position_constraints
from sarrus.simulation.random_states import project_within_limits, random_configurations

ZOO: dict[str, Callable[[], sarrus.Model]] = {
    "four_bar": sarrus.zoo.four_bar,
    "slider_crank": sarrus.zoo.slider_crank,
    "five_bar": sarrus.zoo.five_bar,
    "sarrus_linkage": sarrus.zoo.sarrus_linkage,
    "bennett": sarrus.zoo.bennett,
    "stewart": sarrus.zoo.stewart,
    "delta": sarrus.zoo.delta,
    "cycle_8": lambda: sarrus.zoo.cycle(8),
    "chain_of_loops_2": lambda: sarrus.zoo.chain_of_loops(2),
    "coupled_loops_2": lambda: sarrus.zoo.coupled_loops(2),
    "star_pairs_3": lambda: sarrus.zoo.star_pairs(3),
    "hand_cube": sarrus.zoo.hand_cube,
    "two_hands_cube": sarrus.zoo.two_hands_cube,
}


def robots(chosen: list[str]) -> Iterator[tuple[str, sarrus.Model]]:
    """Files beside the repository, if they are there, and the zoo."""
    folder = shared_directory() / "robots"
    files = {"cassie": folder / "cassie/cassie.xml", "digit": folder / "digit/digit-v3.xml"}
    files |= {path.parent.name: path for path in sorted(folder.glob("parallel_robots/*/robot.urdf"))}
    for name, path in files.items():
        if path.is_file() and (not chosen or name in chosen):
            extended = path.with_suffix(".yaml")
            yield name, sarrus.load_urdf(path, extended=extended) if extended.is_file() else sarrus.load(path)
        if name == "kangaroo_like_2legs" and path.is_file() and (not chosen or name in chosen):
            yield f"{name}, ball joints", with_ball_joints(path)
    for name, make in ZOO.items():
        if not chosen or name in chosen:
            yield name, make()


def with_ball_joints(path: Path) -> sarrus.Model:
    """What its joints called `spherical` are meant to be: the YAML does not say so, and as hinges they hold it open."""
    content = yaml.safe_load(path.with_suffix(".yaml").read_text())
    named = re.findall(r'<joint name="([^"]*spherical[^"]*)" type="revolute"', path.read_text())
    content |= {"joint_name": named, "joint_type": ["SPHERICAL"] * len(named)}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(content, file)
        file.flush()
        return sarrus.load_urdf(path, extended=file.name)


def freedoms(model: sarrus.Model, q: np.ndarray) -> dict[str, slice]:
    """Joints that, held, leave the loops no freedom, motors first: independent of the rows and of each other."""
    J = sarrus.closure(model, q).jacobian
    basis = np.linalg.svd(J)[2][: np.linalg.matrix_rank(J, tol=1e-7)]
    names = {}
    driven = {name for actuator in model.actuators for name, _ in actuator.joints}

    def rank(name: str) -> tuple[bool, bool, int]:
        joint = model.bodies[model.joint_index(name)].joint
        return (
            joint.type.name != "free",
            name not in driven and "mot" not in name,
            joint.type.nv,
        )  # rods with balls last

    order = sorted(model.joint_names, key=rank)
    for name in order:
        unit = np.eye(model.nv)[model.layout.v_of(name)]
        for _ in range(2):
            unit = unit - (unit @ basis.T) @ basis
        length = np.linalg.svd(unit, compute_uv=False)
        if length[-1] > 1e-3:
            names[name] = model.layout.q_of(name)
            basis = np.concatenate([basis, np.linalg.svd(unit, full_matrices=False)[2]])
    return names


def row(name: str, model: sarrus.Model, count: int) -> str:
    rng = np.random.default_rng(0)
    close = Projector(with_position_constraints(model))
    start = random_configurations(model, rng, count)
    for _ in range(3):
        close(start)  # interpreted until compiling pays
    began = time.perf_counter()
    found = close(start)
    seconds = time.perf_counter() - began
    closed = found.error <= CLOSED
    if not np.isfinite(found.q).all() or (~closed & (found.status == 0)).any():
        raise SystemExit(f"{name}: a state that is neither closed nor said not to be found")
    within, error = project_within_limits(close, start)
    inside = (error <= CLOSED) & ~outside_limits(model, within).any(axis=-1)
    try:
        q, v = sarrus.random_state(model, rng, count)
    except sarrus.errors.AssemblyError as error:
        print(f"  {error}", file=sys.stderr)
        return f"| {name} | {model.nv} | {model.n_rows} | {closed.mean():.1%} | {inside.mean():.1%} | - | - | - |"
    opening = np.abs(np.einsum("bij,bj->bi", sarrus.closure(model, q).jacobian, v)).max()
    if opening > 1e-7:
        raise SystemExit(f"{name}: a velocity that opens a loop, by {opening:.1e}")
    q = q[~outside_limits(model, q).any(axis=-1)]
    known = {joint: q[:, s] for joint, s in freedoms(model, q[0]).items()}
    assembled = sarrus.assemble(model, known, attempts=64, strict=False)
    same = np.mean(assembled.status == 0.0)
    return (
        f"| {name} | {model.nv} | {model.n_rows} | {closed.mean():.1%} | {inside.mean():.1%} | "
        f"{found.iterations.mean():.1f} | {1e6 * seconds / count:.0f} us | "
        f"{np.mean(assembled.error <= CLOSED):.1%} ({same:.1%}) |"
    )


def main() -> None:
    parser = parser_of(__doc__, writes="loops_stay_closed.md")
    parser.add_argument(
        "words", nargs="*", metavar="SEEDS | NAME", help="how many seeds (1,000), names of robots (all)"
    )
    given = parser.parse_args()
    words = given.words
    count = int(words[0]) if words and words[0].isdigit() else 1000
    lines = [
        "| robot | nv | rows | project: closed | within limits | iterations | time | assemble: closed (same branch) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines))
    for name, model in robots([w for w in words if not w.isdigit()]):
        try:
            starting_configuration(model)
            lines.append(row(name, model, count))
        except sarrus.errors.SarrusError as error:
            lines.append(f"| {name} | {type(error).__name__}: {error} |")
        print(lines[-1], flush=True)
    if given.write:
        said = measured("assembly_rates", "all cores")
        write_figures("loops_stay_closed.md", "assembly_rates", "\n".join([said, "", *lines]))


if __name__ == "__main__":
    main()
