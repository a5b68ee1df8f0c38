"""The contact solver beside Pinocchio's ADMM solver, on the same problems: G, g and friction along trajectories.

    python -m benchmarks.contact_admm [--seconds 0.3] [--problems 40] [--tolerance 1e-9] [robot ...]

Robots stand and land as in `benchmarks.ground_mujoco`; problems are those of the contacts at which they stand, where
they touch, spread over the time. Both begin with nothing and have the same tolerance. Residuals are measured by one
ruler, `cone.residual` (m/s), of what each returns. Solutions may differ: Coulomb's problem has more than one. Times
are of one problem: Pinocchio's own clock, and ours of a compiled kernel, the states of a batch side by side.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.ground_mujoco import DROP, ROBOTS, Scene, load
from sarrus.codegen.runtime.compile import compile
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.cone import residual
from sarrus.mechanics.contact.contact_rows import node_twists
from sarrus.mechanics.contact.delassus import AbstractDelassus
from sarrus.mechanics.contact.problem import ContactProblem, scaled
from sarrus.mechanics.contact.solve import solve
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.contact_motion import contacts_where_it_stands
from sarrus.simulation.contact.contact_problem import ContactProblemAtState
from sarrus.simulation.contact.free_motion import free_motion
from sarrus.simulation.contact.settings import ContactOptions, contact_settings
from sarrus.simulation.step import kernel_algorithm
from sarrus.spatial.arrays import Array

MOST_ADMM = 10_000  # iterations
ROUNDS = 5
NONE = np.zeros(0)


def problems(scene: Scene, height: float, seconds: float, count: int) -> Iterator[ContactProblem]:
    """Dense contact problems of all usual contacts, at states in which they all touch or are about to."""
    model, dt = scene.model, float(scene.peer.opt.timestep)
    settings = contact_settings(model, ContactOptions())
    assert settings is not None
    q = scene.q.copy()
    q[2] += height
    found = sarrus.Simulation(model, dt, record=("tau",)).run(q, duration=seconds, controls=scene.controls)
    for k in np.unique(np.linspace(0, len(found.q) - 2, count).astype(int)):
        q, v = found.q[k], found.v[k]
        free = free_motion(mechanism(model, q, v, found.tau[k]), np.zeros(model.nv), dt)
        poses = world_poses(tree_of(model), free.at.joints)
        v_free = v + dt * free.qdd
        step = ContactProblemAtState(model, settings, free, poses, v, v_free, dt)
        usual = contacts_where_it_stands(step, settings.contacts, node_twists(free.at, poses, v_free))
        posed, _ = step.posed(usual, [])
        assert isinstance(posed.G, AbstractDelassus)
        if (posed.active > 0.0).all():
            G = np.stack([posed.G @ e for e in np.eye(len(posed.g))], axis=1).astype(float)
            yield posed._replace(G=0.5 * (G + G.T), g=posed.g.astype(float))


class Answer(NamedTuple):
    """What a solver found."""

    impulses: Array
    converged: bool
    iterations: int
    microseconds: float


def by_admm(problem: ContactProblem, tolerance: float) -> Answer:
    """Pinocchio's."""
    import pinocchio as pin

    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for mu in problem.friction:
        contact = pin.PointContactConstraintModel(model, 1)
        contact.setFriction(float(mu))
        models.append(pin.ConstraintModel(contact))
        datas.append(models[len(models) - 1].createData())
    settings = pin.ADMMSolverSettings()
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = tolerance
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.max_iterations, settings.measure_timings = MOST_ADMM, True
    solver, result = pin.ADMMConstraintSolver(len(problem.g)), pin.ADMMSolverResult()
    converged = solver.solve(pin.DelassusOperatorDense(problem.G), problem.g, models, datas, settings, result)
    impulses = np.array(result.retrieveConstraintImpulses())
    return Answer(impulses, bool(converged), int(result.iterations), float(solver.getElapsedTime()))


class Solved(NamedTuple):
    """Outputs of our kernel."""

    impulses: Array
    iterations: Array
    status: Array


def solved(model: Model, friction: tuple[float, ...], tolerance: float, G: Array, g: Array) -> Solved:
    """The solver as an algorithm, which can be compiled; the model plays no part."""
    problem = ContactProblem(G, g, NONE, np.array(friction), np.ones(len(friction)))
    found = solve(problem, tolerance=tolerance)
    scalars = (np.asarray(x, dtype=object) for x in (found.iterations, found.status))
    return Solved(found.impulses, *scalars)


def by_us(model: Model, given: list[ContactProblem], tolerance: float) -> list[Answer]:
    """All at once."""
    m, friction = len(given[0].g), tuple(map(float, given[0].friction))
    algorithm = kernel_algorithm(solved, {"G": (m, m), "g": (m,)}, ("friction", "tolerance"))
    kernel = compile(model, algorithm, friction=friction, tolerance=tolerance)
    G, g = np.array([p.G for p in given]), np.array([p.g for p in given])
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found: Any = kernel(G, g)
        times.append((time.perf_counter() - began) / len(given) * 1e6)
    rows = zip(found.impulses, found.status, found.iterations, strict=True)
    return [Answer(x, bool(status == 0), int(count), min(times)) for x, status, count in rows]


def ruler(problem: ContactProblem, x: Array) -> float:
    """The residual of impulses, in m/s."""
    p = scaled(problem)
    assert isinstance(problem.G, np.ndarray)
    return float(residual(p, p.w * x, p.inverse * (problem.G @ x + problem.g)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS), metavar="robot", help=f"of {', '.join(ROBOTS)}")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--problems", type=int, default=40, help="of each robot and motion, at most")
    parser.add_argument("--tolerance", type=float, default=1e-9)
    given = parser.parse_args()
    console = Console(width=140)
    table = Table(
        title=f"tolerance {given.tolerance:g}; iterations 50 / 100 %; residuals in m/s, the worst; microseconds"
    )
    for column in ("robot", "rows", "problems", "ours", "residual", "us", "not ok", "ADMM", "residual", "us", "not ok"):
        table.add_column(column)
    worse = 0
    for name in given.robots:
        scene = load(ROBOTS[name]) if name in ROBOTS else None
        if scene is None:
            console.print(f"skipped {name}: no such robot or file. Valid: {', '.join(ROBOTS)}")
            continue
        found = [p for height in (0.0, DROP) for p in problems(scene, height, given.seconds, given.problems)]
        cells, largest = [], []
        for answers in (by_us(scene.model, found, given.tolerance), [by_admm(p, given.tolerance) for p in found]):
            counts, left = (
                [a.iterations for a in answers],
                [ruler(p, a.impulses) for p, a in zip(found, answers, strict=True)],
            )
            cells += [f"{np.median(counts):.0f} / {max(counts)}", f"{max(left):.1e}"]
            cells += [f"{np.median([a.microseconds for a in answers]):.1f}", f"{sum(not a.converged for a in answers)}"]
            largest.append(left)
        worse += int(np.sum(np.array(largest[0]) > np.array(largest[1])))
        table.add_row(name, str(len(found[0].g)), str(len(found)), *cells)
    console.print(table)
    console.print(f"problems in which our residual is the larger one: {worse}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
