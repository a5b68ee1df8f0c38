"""A and B of steps of whole robots on the ground: the biped, a geared quadruped and Cassie, with rows and embedded.

Columns by q of robots with loops are where differences mislead. Rows of a planar four-bar in space are redundant while
it is closed: off the loops a step is so stiff that no difference of steps means anything, and along them states must be
on the loops to far below the size of the difference. So loops are followed in 80-bit numbers (`exact_steps.py`).
Embedded robots have no such rows: there every column is compared, and what they say along loops is what rows say.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import ContactOptions, Simulation, zoo
from sarrus.simulation.contact.put_down import put_down
from sarrus.simulation.trajectory import State
from tests.derivatives.differences import along_the_constraints, slope
from tests.importers.shared_robots import shared_file
from tests.mechanisms import relative_error
from tests.simulation.contact.exact_steps import ExactStep, exact_slopes
from tests.simulation.contact.test_contact_linearize import EXACT

BIPED = zoo.biped(arms=False).with_ground(friction=0.8)
QUADRUPED = zoo.geared_quadruped().with_ground(friction=0.6)
HOW = {"contacts": EXACT, "project_every": None}


def on_the_ground(model: sarrus.Model, moving: float, deep: float = 1e-4) -> tuple[np.ndarray, np.ndarray]:
    """Where it stands, a little in the ground, with random velocities that keep loops closed."""
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", **HOW)
    assert simulation._contact is not None
    home = sarrus.neutral(model) if model.home is None else model.home
    at = sarrus.project(model, home, tolerance=1e-15).q
    q = put_down(model, simulation._contact.contacts, at[None], -deep)[0]
    return q, sarrus.project(model, q, moving * np.random.default_rng(1).normal(size=model.nv)).v


def along_loops(model: sarrus.Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Changes (nv, k) of q and v that keep loops closed, as many as there are."""
    pairs = along_the_constraints(model.spanning, q, v)
    return np.stack([dq for dq, _ in pairs], axis=1), np.stack([dv for _, dv in pairs], axis=1)


@pytest.mark.parametrize("moving", [0.0, 0.3], ids=["stands", "moves"])
@pytest.mark.parametrize("name", ["biped", "quadruped"])
def test_rows_along_loops_and_embedded_in_all_directions(name, moving):
    model = {"biped": BIPED, "quadruped": QUADRUPED}[name]
    q, v = on_the_ground(model, moving)
    tau = 0.3 * np.ones(model.nv)
    rows = Simulation(model, 1e-3, "semi_implicit_euler", **HOW)
    embedded = Simulation(sarrus.embed(model), 1e-3, "semi_implicit_euler", **HOW)
    state = rows.start(q, v)
    by_rows, by_embedding = (simulation.linearize(state, tau=tau) for simulation in (rows, embedded))
    assert by_rows.unique == by_embedding.unique == 1.0
    exact = exact_slopes(embedded, state, tau)
    assert relative_error(by_embedding.A, exact.A) < 1e-10
    assert relative_error(by_embedding.B, exact.B, 1e-6) < 1e-9
    dq, dv = along_loops(model, q, v)
    along = np.concatenate([dq, dv])
    by = ExactStep(rows, state, tau).slope_on_loops(q=dq, v=dv)
    assert relative_error(by_rows.A @ along, by) < 1e-9
    if not moving:  # else what rows leave of velocities after a step is on the loops to first order only
        assert relative_error(by_rows.A @ along, by_embedding.A @ along) < 1e-8


def test_the_biped_beside_its_own_steps():
    """The solver's own steps from states on the loops, along all 42 motions that keep these closed."""
    q, v = on_the_ground(BIPED, 0.0)
    tau = 0.3 * np.ones(BIPED.nv)
    simulation = Simulation(
        sarrus.embed(BIPED), 1e-3, "semi_implicit_euler", contacts=ContactOptions(tolerance=1e-13), project_every=None
    )
    A, base = simulation.linearize(simulation.start(q, v), tau=tau).A, simulation.step(simulation.start(q, v), tau=tau)
    dq, dv = along_loops(BIPED, q, v)
    assert dq.shape[1] == 2 * (6 + 12)

    def after(t: float) -> np.ndarray:
        found = np.zeros((2 * BIPED.nv, dq.shape[1]))
        for k in range(dq.shape[1]):
            at = sarrus.project(BIPED, sarrus.integrate(BIPED, q, t * dq[:, k]), v + t * dv[:, k], tolerance=1e-15)
            stepped = simulation.step(State(0.0, at.q, at.v), tau=tau)
            found[:, k] = np.concatenate([sarrus.difference(BIPED, base.q, stepped.q), stepped.v])
        return found

    found = A @ np.concatenate([dq, dv])
    assert relative_error(found, ExactStep(simulation, simulation.start(q, v), tau).slope_on_loops(q=dq, v=dv)) < 1e-10
    assert np.abs(found - slope(after, 5e-7)).max() < 1e-6  # of 20: the solver's tolerance over that step


@pytest.mark.parametrize("is_embedded", [False, True], ids=["rows", "embedded"])
def test_a_quadruped_that_has_just_landed(is_embedded):
    """Gaps are a few micrometres then."""
    model = sarrus.embed(QUADRUPED) if is_embedded else QUADRUPED
    simulation = Simulation(model, 1e-3, "semi_implicit_euler", **HOW)
    q, _ = on_the_ground(model, 0.0, deep=-1e-3)
    v = sarrus.project(model, q, np.array([0.2, 0.0, -0.5, 0.1, 0.0, 0.2, *np.zeros(model.nv - 6)])).v
    state, tau = simulation.start(q, v), np.zeros(model.nv)
    for _ in range(6):
        state = simulation.step(state, tau=tau)
    found, exact = simulation.linearize(state, tau=tau), exact_slopes(simulation, state, tau)
    assert found.unique == 1.0
    assert relative_error(found.A, exact.A) < 1e-9
    assert relative_error(found.B, exact.B, 1e-6) < 1e-8


def test_cassie():
    """As it stands in its file, and moving, along all motions that keep its loops closed: two rows are redundant."""
    model = sarrus.load(shared_file("cassie/scene.xml"))
    model = replace(model, home=model.keyframes["home"].q)
    simulation, tau = Simulation(model, 1e-3, "semi_implicit_euler", **HOW), np.zeros(model.nv)
    for moving in (0.0, 0.1):
        q, v = on_the_ground(model, moving)
        state = simulation.start(q, v)
        found = simulation.linearize(state, tau=tau)
        assert found.unique == 1.0
        dq, dv = along_loops(model, q, v)
        exact = ExactStep(simulation, state, tau).slope_on_loops(q=dq, v=dv)
        assert relative_error(found.A @ np.concatenate([dq, dv]), exact) < 1e-8
