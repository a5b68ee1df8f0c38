"""Contact problems for tests: of random mechanisms, and of boxes on the ground."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.mechanics.contact.solve import solve

NONE = np.zeros(0)


def random_problem(
    rng: np.random.Generator, nb: int = 0, nu: int = 0, nc: int = 4, nv: int = 18, ratio: float = 1.0
) -> ContactProblem:
    """Rows of a mechanism with nv velocities, whose inertias differ by the ratio."""
    m = nb + nu + 3 * nc
    J = rng.normal(size=(m, nv))
    inverse_inertia = np.exp(rng.uniform(-0.5, 0.5, nv) * np.log(ratio))
    G = (J * inverse_inertia) @ J.T / nv
    g = J @ rng.normal(size=nv) * rng.choice([0.01, 1.0])
    g[nb + nu + 2 :: 3] -= rng.choice([0.0, 1.0])  # falling
    g[nb:] += 0.01 * rng.uniform(0.0, 1.0, m - nb) * rng.choice([0.0, 1.0], m - nb)
    return ContactProblem(G, g, rng.uniform(0.0, 1.0, nb), rng.uniform(0.1, 1.2, nc), np.ones(nu + nc))


def box_problem(
    points: np.ndarray, velocity: np.ndarray, mu: float, mass: float = 2.0, radius: float = 0.1
) -> ContactProblem:
    """A rigid body with spherical inertia on points relative to its center; velocity [linear; angular] without contact.

    More than two points are redundant: G has rank 6.
    """
    J = np.zeros((3 * len(points), 6))
    for k, (x, y, z) in enumerate(points):
        J[3 * k : 3 * k + 3, :3] = np.eye(3)
        J[3 * k : 3 * k + 3, 3:] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    inverse_inertia = np.array([1.0] * 3 + [1.0 / (0.4 * radius**2)] * 3) / mass
    G = (J * inverse_inertia) @ J.T
    return ContactProblem(G, J @ velocity, NONE, np.full(len(points), mu), np.ones(len(points)))


def corners(count: int) -> np.ndarray:
    """Of a box, its lower four or all eight."""
    all_of_them = np.array([(x, y, z) for z in (-0.05, 0.05) for x in (-0.1, 0.1) for y in (-0.07, 0.07)])
    return all_of_them[:count]


def traced(problem: ContactProblem, **options: Any) -> tuple[Tape, list[np.ndarray]]:
    """The solver's tape for problems of this shape, and this one's arrays."""
    names = {name: x for name, x in problem._asdict().items() if x is not None and x.size}
    arrays = {**names, "start": np.zeros(len(problem.g))}
    graph = Graph()
    ports = tuple(Port(name, x.shape) for name, x in arrays.items())
    symbols = {port.name: graph.inputs(k, port.size).reshape(port.shape) for k, port in enumerate(ports)}
    start = symbols.pop("start")
    found = solve(problem._replace(**symbols), start, **options)
    outputs = {name: np.asarray(x) for name, x in found._asdict().items()}
    return tape_of(graph, ports, outputs), list(arrays.values())
