"""The robots of the embedding paper, and with feet on the ground, against the dense oracle to 1e-8."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from benchmarks.geared_robots import HYBRIDS, ROBOTS
from sarrus import zoo
from sarrus.model.constraints import LinkConstraint
from tests.importers.shared_robots import shared_file
from tests.mechanisms import relative_error
from tests.model.test_geared_robots import FILES
from tests.oracles import loops

OWN = {
    "geared quadruped": zoo.geared_quadruped,
    "geared quadruped, standing": lambda: zoo.geared_quadruped(contacts=True),
    "humanoid leg": lambda: zoo.humanoid_leg(floating=True),
}


def made(name: str) -> sarrus.Model:
    if name in OWN:
        return OWN[name]()
    shared_file(FILES[name.split(",")[0]])
    return (ROBOTS | HYBRIDS)[name].make()


@pytest.mark.parametrize("name", [*OWN, *ROBOTS, *HYBRIDS])
def test_accelerations(name):
    model = made(name)
    embedded = sarrus.embed(model)
    rng = np.random.default_rng(0)
    start = embedded.embedding.samples[0] if model.home is None else model.home
    start = sarrus.integrate(model, start, 0.2 * rng.normal(size=model.nv))
    q, v = loops.assembled(model, start, rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    expected = loops.solve(loops.kkt(model, q, v), tau)[0]
    left = [c for c in model.active_constraints if isinstance(c, LinkConstraint)]
    assert embedded.active_constraints == tuple(left)
    for method in ("lcaba", "constrained_aba", "pv") if left else (None,):
        found = sarrus.forward_dynamics(embedded, q, v, tau, method=method)
        assert relative_error(found.qdd, expected) < 1e-8, method
        assert found.status == 0.0
