"""The table of derivatives beside differences: right where they are right, and it sees where they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.algorithms.derivatives.rnea_derivatives import RneaDerivativesResult
from sarrus.diagnosis import derivative_check
from sarrus.errors import SarrusError
from sarrus.spatial.inertia import Inertia
from tests.algorithms.embedded_cases import state_of
from tests.algorithms.kinds import limbs
from tests.mechanisms import MOVING_KINDS, mechanism, relative_error

TIGHT = 1e-10


@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_every_type_of_joint(kind):
    model = mechanism(3, ["free", kind, "revolute", kind, "revolute"], parents=[-1, 0, 1, 0, 3]).model
    found = sarrus.check_derivatives(model, tolerance=TIGHT)
    assert found.ok, str(found)
    assert {x.algorithm for x in found.errors} == set(derivative_check.VALUES) - {"ce_aba_derivatives"}


def test_every_derivative_of_the_catalog_is_compared():
    known = {name for name, x in sarrus.catalog().items() if x.family == "derivatives"}
    assert set(derivative_check.VALUES) == known


EMBEDDED = {
    "four_bar": zoo.four_bar, "stewart": zoo.stewart, "delta": zoo.delta, "geared_quadruped": zoo.geared_quadruped,
    "biped": zoo.biped, "belts": lambda: zoo.tree_of("parallel_belt", 2, 1),
    "rods": lambda: zoo.parallel_chains(4, 2, "connecting_rod"),
}  # fmt: skip


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_loops_and_gears(name):
    """In independent coordinates, along which loops stay closed; beside them all as rows."""
    model = sarrus.embed(EMBEDDED[name]())
    q, v, tau = state_of(model, 1)
    names = ["ce_aba_derivatives", "forward_dynamics_derivatives"]
    found = sarrus.check_derivatives(model, q, v, tau=tau, algorithms=names, tolerance=1e-9)
    assert found.ok, str(found)
    outputs = {x.output for x in found.errors if x.algorithm == "ce_aba_derivatives"}
    assert outputs == {"dydd_dy", "dydd_dyd", "dydd_dtau_y"}


REDUNDANT = {
    "a plane in space": (),
    "a weld that is pinned, too": (sarrus.weld("tip_a", "tip_b"), sarrus.connect("tip_a", "tip_b")),
    "a foot held twice": (sarrus.contact("tip_a", 6), sarrus.contact("tip_a", 3, name="again")),
    "a gear twice": tuple(
        sarrus.coupling({"a0_joint": x, "b2_joint": -6.0 * x}, name=f"gear_{x}") for x in (1.0, 2.0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUNDANT)
def test_forces_of_redundant_rows_are_of_the_smallest_norm(name):
    """As the proximal methods return them, and their derivatives: compared where rows depend on each other."""
    rows = REDUNDANT[name]
    model = limbs(*rows, root="free", middle=("spherical", "cylindrical")) if rows else zoo.four_bar()
    q, v, tau = state_of(model, 1)
    v = 0.0 * v if "foot" in name else v  # in motion, its point would have to accelerate in two ways
    got = sarrus.forward_dynamics_derivatives(model, q, v, tau, minimum_norm=True)
    assert got.rank < model.n_rows
    assert got.unique == 1.0
    for method in ("prox_ltl", "prox_bbo", "lcaba"):
        forces = sarrus.forward_dynamics(model, q, v, tau, method=method).forces
        assert relative_error(got.forces, forces, 1.0) < 1e-7
    found = sarrus.check_derivatives(model, q, v, tau=tau, algorithms=["forward_dynamics_derivatives"], tolerance=1e-8)
    assert found.ok, str(found)
    assert {"dforces_dq", "dforces_dv", "dforces_dtau"} <= {x.output for x in found.errors if not x.note}
    plain = sarrus.forward_dynamics_derivatives(model, q, v, tau)  # the first rows carry all of it
    assert relative_error(plain.dqdd_dq, got.dqdd_dq) < 1e-9
    J = sarrus.closure(model, q).jacobian
    assert relative_error(J.T @ plain.dforces_dtau, J.T @ got.dforces_dtau, 1.0) < 1e-9


def test_accelerations_that_are_given():
    model = limbs(sarrus.contact("tip_a", 6, k="input"), root="free")
    found = sarrus.check_derivatives(model, algorithms=["forward_dynamics_derivatives"], tolerance=TIGHT)
    assert found.ok, str(found)
    assert {"dqdd_dk", "dforces_dk"} <= {x.output for x in found.errors}


@pytest.mark.parametrize("make", [zoo.stewart, zoo.delta, zoo.geared_quadruped, zoo.five_bar], ids=lambda f: f.__name__)
def test_loops(make):
    found = sarrus.check_derivatives(make(), algorithms=["forward_dynamics_derivatives"], tolerance=1e-9)
    assert found.ok, str(found)


def test_what_is_not_unique_is_said():
    found = sarrus.check_derivatives(zoo.bennett())
    assert found.ok
    notes = {x.output: x.note for x in found.errors if x.algorithm == "forward_dynamics_derivatives"}
    assert "keep loops closed" in notes["dqdd_dq"]
    assert notes["dqdd_dtau"] == ""


@pytest.mark.parametrize("weight", [1.0, 1e-9], ids=["a robot", "a light one"])
def test_a_wrong_derivative_is_seen(monkeypatch, weight):
    """Of a robot that weighs a microgram, forces and their derivatives are small."""
    real, chain = sarrus.rnea_derivatives, zoo.chain(3)
    inertias = [Inertia(*(weight * x for x in (b.inertia.mass, b.inertia.h, b.inertia.Sigma))) for b in chain.bodies]
    light = replace(chain, bodies=tuple(replace(b, inertia=x) for b, x in zip(chain.bodies, inertias, strict=True)))
    assert sarrus.check_derivatives(light).ok

    def wrong(model, q, v, a, external_forces=None, packed=False) -> RneaDerivativesResult:
        x = real.text(model, q, v, a)
        return x._replace(dtau_dv=x.dtau_dv + 1e-5 * weight)

    changed = replace(real, text=wrong)
    monkeypatch.setattr(derivative_check, "find", lambda name: changed if name == "rnea_derivatives" else sarrus.rnea)
    found = sarrus.check_derivatives(light, algorithms=["rnea_derivatives"])
    assert not found.ok
    assert "WRONG" in str(found)


def test_what_differences_do_not_know_is_said():
    """Of a last link that weighs almost nothing, unit torques make accelerations of 1e17 rad/s^2."""
    builder = sarrus.ModelBuilder("a rod and a grain")
    builder.add_body("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=0.1 * np.eye(3), axis=(0, 1, 0))
    builder.add_body("grain", "rod", mass=1e-12, inertia=1e-17 * np.eye(3), position=(0, 0, -1.0), axis=(0, 1, 0))
    found = sarrus.check_derivatives(builder.build(), v=np.array([1.0, 2.0]), tau=np.ones(2))
    assert found.ok, str(found)
    empty = sarrus.check_derivatives(sarrus.ModelBuilder("empty").build())
    assert not empty.ok
    assert "nothing to compare" in str(empty)


def test_the_state_is_the_one_given():
    model = zoo.chain(3)
    still = sarrus.check_derivatives(model, v=np.zeros(3), algorithms=["rnea_derivatives"])
    assert {x.output: x.largest for x in still.errors}["dtau_dv"] == 0.0
    with pytest.raises(SarrusError, match="rnea_derivatives"):
        sarrus.check_derivatives(model, algorithms=["rnea"])
