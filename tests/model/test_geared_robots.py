"""The geared robots of the benchmarks: mobility as designed, dynamics as the dense oracle has them."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from benchmarks.geared_robots import HYBRIDS, ROBOTS, mit_humanoid_leg, tello
from benchmarks.rotor_accuracy import Leg, errors, sinusoid
from benchmarks.rotor_free import approximate, unconstrained
from sarrus import zoo
from sarrus.errors import UnknownNameError
from sarrus.model.model import Model
from tests.importers.shared_robots import shared_file
from tests.mechanisms import relative_error
from tests.oracles import loops

FILES = {
    "Mini Cheetah": "mini_cheetah/mini_cheetah.urdf",
    "MIT Humanoid": "mit_humanoid/mit_humanoid.urdf",
    "Tello": "tello/tello_humanoid.urdf",
    "JVRC-1": "jvrc1/jvrc1_humanoid.urdf",
    "Digit": "digit/digit-v3.xml",
}
ALL = ROBOTS | HYBRIDS


def made(name: str) -> Model:
    shared_file(FILES[name.split(",")[0]])
    return ALL[name].make()


@pytest.mark.parametrize("name", ALL)
def test_mobility_and_dynamics(name):
    model = made(name)
    found = sarrus.diagnose(model)
    assert found.error < 1e-10
    assert found.mobility == ALL[name].mobility
    assert found.rows == found.rank
    rng = np.random.default_rng(0)
    start = sarrus.integrate(model, found.q, 0.2 * rng.normal(size=model.nv))
    q, v = loops.assembled(model, start, rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    expected = loops.solve(loops.kkt(model, q, v), tau)[0]
    qdd = sarrus.forward_dynamics(model, q, v, tau, method="lcaba", tolerance=1e-11).qdd
    assert relative_error(qdd, expected) < 1e-8


def test_tello_s_differentials():
    """Equal cranks swing the thigh, opposite ones tilt it; knee and ankle by mean and difference of two rotors."""
    shared_file(FILES["Tello"])
    gears = {c.name: dict(c.ratios) for c in tello("linear").constraints}  # type: ignore[attr-defined]
    one, two = (gears[f"left-hip-clamp-to-hip-rotor-{k}-gear"] for k in (1, 2))
    assert one["left-gimbal-to-thigh"] == pytest.approx(two["left-gimbal-to-thigh"])
    assert one["left-hip-clamp-to-gimbal"] == pytest.approx(-two["left-hip-clamp-to-gimbal"])
    one, two = (gears[f"left-thigh-to-knee-ankle-rotor-{k}-gear"] for k in (1, 2))
    assert one["left-thigh-to-shin"] == two["left-thigh-to-shin"] == -6.0
    assert one["left-shin-to-foot"] == pytest.approx(-two["left-shin-to-foot"])
    with pytest.raises(UnknownNameError, match=r"Valid: .*linear"):
        tello("bevel")


def test_rotors_become_armature():
    """A rotor's inertia times ratio^2; a belt's counts for every joint that it runs over."""
    shared_file(FILES["MIT Humanoid"])
    leg = mit_humanoid_leg()
    armature = {b.joint.name: float(b.joint.armature[0]) for b in approximate(leg).bodies}
    assert armature["base_to_hipz_link"] == pytest.approx(36.0 * 1.6841e-4)
    assert armature["hipy_to_knee_link"] == pytest.approx(144.0 * (5.548e-4 + 1.6841e-4))
    assert armature["knee_to_ankle"] == pytest.approx(144.0 * 1.6841e-4)
    bare = unconstrained(leg)
    assert (bare.nb, bare.n_rows) == (5, 0)
    assert not any(b.joint.armature.any() for b in bare.bodies)


def test_armature_is_what_rotors_reflect():
    """Reduced to the links, the mass matrix of the last joint is the approximate one: no other rotor moves with it."""
    model, home = zoo.humanoid_leg(), zoo.humanoid_leg().home
    assert home is not None
    rotors = [i for i, name in enumerate(model.body_names) if "rotor" in name]
    links = [i for i in range(model.nb) if i not in rotors]
    J = sarrus.closure(model, home).jacobian
    G = np.zeros((model.nv, len(links)))
    G[links], G[rotors] = np.eye(len(links)), -np.linalg.solve(J[:, rotors], J[:, links])
    exact = G.T @ sarrus.crba(model, home) @ G
    near, bare = (sarrus.crba(m, home[links]) for m in (approximate(model), unconstrained(model)))
    assert near[-1, -1] == pytest.approx(exact[-1, -1], rel=1e-12)
    assert bare[-1, -1] < 0.9 * exact[-1, -1]
    assert near[-1, -2] == bare[-1, -2] < 0.9 * exact[-1, -2]  # what a diagonal cannot have: the belt over the knee


def test_the_paper_s_torque_errors():
    """Fig. 13: what neglecting rotors costs. The paper's numbers are those of the knee (see `rotor_accuracy.py`)."""
    shared_file(FILES["MIT Humanoid"])
    leg = Leg(mit_humanoid_leg())
    off = errors(leg.torques(sinusoid(5, 1.5)))
    knee = leg.joints.index("hipy_to_knee_link")
    assert round(float(off["unconstrained"][knee]), 2) == 4.31
    assert round(float(off["approximate"][knee]), 2) == 1.04
