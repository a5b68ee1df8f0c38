"""Loops of Cassie and Digit against Pinocchio's loop solvers, and the redundant four-bar on which they fail.

Pinocchio's model is built from the declared data, because its own reader drops and reorders joints of these files.
"""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from tests.importers.shared_robots import shared_file
from tests.mechanisms import relative_error
from tests.oracles.dense import oracle_of_model
from tests.oracles.loops import kkt, solve

pin = pytest.importorskip("pinocchio", exc_type=ImportError)


class Loops:
    """A model's connects in Pinocchio."""

    def __init__(self, model: sarrus.Model) -> None:
        from tests.oracles.pinocchio_peer import PinocchioPeer

        self.peer = PinocchioPeer(oracle_of_model(model))
        self.constraints = pin.StdVec_RigidConstraintModel()
        for closure in model.active_constraints:
            sides = []
            for name in (closure.frame_a, closure.frame_b):
                frame = model.frame(name)
                placement = pin.SE3(np.array(frame.placement.R, float), np.array(frame.placement.p, float))
                on_joint = self.peer.on_joint[frame.body]
                sides += [self.peer.joint[frame.body], on_joint * placement]
            kind = pin.ContactType.CONTACT_3D
            self.constraints.append(pin.RigidConstraintModel(kind, self.peer.model, *sides, pin.ReferenceFrame.LOCAL))
        self.datas = pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            self.datas.append(constraint.createData())

    def constraint_dynamics(self, q, v, tau, mu: float) -> np.ndarray:
        data = self.peer.model.createData()
        pin.initConstraintDynamics(self.peer.model, data, self.constraints, self.datas)
        settings = pin.ProximalSettings(1e-12, mu, 100)
        q = self.peer.configuration(q)
        return np.array(
            pin.constraintDynamics(self.peer.model, data, q, v, tau, self.constraints, self.datas, settings)
        )

    def lcaba(self, q, v, tau, mu: float) -> np.ndarray:
        data = self.peer.model.createData()
        pin.computeJointMinimalOrdering(self.peer.model, data, self.constraints)
        settings = pin.ProximalSettings(1e-12, mu, 100)
        q = self.peer.configuration(q)
        return np.array(pin.lcaba(self.peer.model, data, q, v, tau, self.constraints, self.datas, settings))


@pytest.mark.parametrize("file", ["cassie/cassie.xml", "digit/digit-v3.xml"])
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
def test_accelerations_agree(file, method):
    model = sarrus.load(shared_file(file))
    loops = Loops(model)
    q, v = model.home, np.zeros(model.nv)
    tau = np.random.default_rng(0).normal(size=model.nv)
    got = sarrus.forward_dynamics(model, q, v, tau, method=method, tolerance=1e-10)
    assert got.status == 0.0
    assert relative_error(got.qdd, loops.constraint_dynamics(q, v, tau, mu=1e-8)) < 1e-6
    # Pinocchio's lcaba loses digits as its mu falls (1e-5 at 1e-6, 2e-3 at 1e-8): compared where it is at its best.
    assert relative_error(got.qdd, loops.lcaba(q, v, tau, mu=1e-2)) < 1e-6


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
def test_a_redundant_four_bar_that_pinocchio_cannot_solve_without_regularisation(method):
    """A planar four-bar closed in space: one of the three rows of its ball joint does nothing."""
    model = sarrus.zoo.four_bar().without_constraints()
    closure = sarrus.zoo.four_bar().active_constraints[0]
    model = model.with_constraints(sarrus.connect(closure.frame_a, closure.frame_b))
    q, v, tau = sarrus.neutral(model), np.zeros(model.nv), np.ones(model.nv)
    expected, _ = solve(kkt(model, q, v), tau)
    got = sarrus.forward_dynamics(model, q, v, tau, method=method)
    assert got.status == 0.0
    assert relative_error(got.qdd, expected) < 1e-8
    assert not np.isfinite(Loops(model).constraint_dynamics(q, v, tau, mu=0.0)).all()
