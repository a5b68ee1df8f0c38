"""iLQR on the zoo's biped: it squats on welded soles, knees and ankles in closed loops.

`python -m benchmarks.ilqr_biped`
Prints the cost of every iteration and what it took, and draws demo_output/ilqr_biped.png.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import sarrus
from benchmarks.command_line import parser_of
from examples.ilqr import Solution, Task, ilqr
from sarrus import zoo
from sarrus.simulation.joint_forces import effort_limits

DEPTH, STEPS, DT = 0.06, 60, 5e-3  # metres, steps, seconds


def task() -> Task:
    """From standing to a squat, at rest, by the motors (what has an effort limit)."""
    model = zoo.biped(contacts=True, arms=False)
    q0 = sarrus.neutral(model)
    down = q0.copy()
    down[2] -= DEPTH
    held = np.zeros(model.nv)
    held[:6] = 1.0  # the torso is where it is, and legs follow
    found = sarrus.project(model, down, held=held)
    assert found.status == sarrus.Status.OK
    motors = np.flatnonzero(np.isfinite(effort_limits(model))).tolist()
    options = {"integrator": "semi_implicit_euler", "project_every": 1, "contacts": False}
    simulation = sarrus.Simulation(model, DT, **options)
    return Task(simulation, motors, q0, found.q, holding(model, q0, motors), effort=1e-4, steps=STEPS)


def holding(model: sarrus.Model, q: np.ndarray, motors: list[int]) -> np.ndarray:
    """The smallest torques that hold it: gravity = S u + J^T f, f of soles and loops."""
    J = sarrus.closure(model, q).jacobian
    select = np.eye(model.nv)[:, motors]
    both = np.linalg.lstsq(np.concatenate([select, J.T], axis=1), sarrus.gravity_forces(model, q), rcond=1e-10)[0]
    return both[: len(motors)]


def main() -> None:
    began = time.perf_counter()
    problem = task()
    model = problem.simulation.model
    print(f"{model.name}: {model.nv} velocities, {model.n_rows} rows, {len(problem.motors)} motors, {STEPS} steps")
    found = ilqr(problem, lambda line: print(f"{time.perf_counter() - began:6.1f} s  {line}", flush=True))
    rollout = problem.simulation.rollout(problem.q0, np.zeros(model.nv), problem.tau(found.u))
    off = np.abs(sarrus.difference(model, problem.goal, found.q[-1])).max()
    print(
        f"cost {found.costs[0]:.4f} -> {found.costs[-1]:.6f} in {len(found.costs) - 1} iterations; {off:.1e} from the "
        f"goal, velocities up to {np.abs(found.v[-1]).max():.1e}; loops closed to {rollout.closure_error.max():.1e}"
    )
    draw(rollout, found)


def draw(rollout: sarrus.Trajectory, found: Solution) -> None:
    from matplotlib.figure import Figure

    figure = Figure((10.0, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(rollout.time[:-1], found.u)
    left.set(title="torques of the motors", xlabel="time [s]", ylabel="torque [Nm]")
    middle.plot(rollout.time, rollout.q[:, 2])
    middle.set(title="height of the torso", xlabel="time [s]", ylabel="height [m]")
    right.semilogy(found.costs, "o-", markersize=3)
    right.set(title="cost", xlabel="iteration", ylabel="cost [-]")
    figure.suptitle("A biped squats: torques found by iLQR")
    Path("demo_output").mkdir(exist_ok=True)
    figure.savefig(Path("demo_output") / "ilqr_biped.png", dpi=110)


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
