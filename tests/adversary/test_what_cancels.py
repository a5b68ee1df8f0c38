"""A residual is measured against what cancels in it, which is known before the answer is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sarrus
from benchmarks.adversary.tally import Tally
from benchmarks.adversary.trial import attack
from sarrus import Status
from tests.oracles.loops import kkt, solve

ALONE: dict[str, dict[str, Any]] = {name: {"fallback": None} for name in ("pv", "pv_early", "ltl", "bbo")}
METHODS = ALONE | {name: {} for name in ("constrained_aba", "prox_pv", "prox_ltl", "prox_bbo", "lcaba")}
LOOPS = ("bbo", "prox_ltl", "prox_bbo", "lcaba")
BENT = np.array([0.3, -0.5, 0.7, 0.9, -0.4, 0.6, 0.2])
SPEEDS = 10.0 ** np.arange(0.0, 8.5, 0.25)


def wheel(closed: bool) -> sarrus.Model:
    """A wheel that is not balanced, on an arm that is welded to the world: as a contact, or as a loop."""
    builder = sarrus.ModelBuilder("wheel")
    axes = ((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))
    for k, axis in enumerate(axes):
        builder.add_body(f"l{k}", "world" if k == 0 else f"l{k - 1}", axis=axis, position=(0.3, 0.1, 0.05), mass=1.0,
                         com=(0.1, 0.05, 0.02), inertia=np.eye(3) * 0.02)  # fmt: skip
    builder.add_body("wheel", "l5", axis=(0, 0.6, 0.8), position=(0.1, 0, 0.1), mass=0.5, com=(0.1, 0, 0.02),
                     inertia=np.diag([0.01, 0.012, 0.015]))  # fmt: skip
    model = builder.add_frame("tip", "l5").build()
    if not closed:
        return model.with_constraints(sarrus.contact("tip", 6))
    tip = sarrus.forward_kinematics(model, BENT, frames=["tip"])
    builder.add_frame("socket", "world", position=tip.position[0], rotation=tip.rotation[0])
    return builder.build().with_constraints(sarrus.weld("socket", "tip"))


@pytest.mark.parametrize(("method", "closed"), [(x, False) for x in METHODS] + [(x, True) for x in LOOPS])
def test_what_is_locked_but_for_a_fast_wheel_is_right_at_any_speed(method, closed):
    """All accelerations but the wheel's are zero, and forces of any size cancel in them."""
    model = wheel(closed)
    q, v = np.tile(BENT, (len(SPEEDS), 1)), np.zeros((len(SPEEDS), model.nv))
    v[:, -1] = SPEEDS
    tau = np.ones(v.shape)
    result = sarrus.compile(model, method, **METHODS[method])(q, v, tau)
    assert set(result.status) == {Status.OK}
    for x in range(len(SPEEDS)):
        problem = kkt(model, q[x], v[x])
        expected, _ = solve(problem, tau[x])
        free = np.linalg.solve(problem.M, tau[x] - problem.c)
        assert np.abs(result.qdd[x] - expected).max() <= 1e-9 * np.abs(free).max()
    for x in range(0, len(SPEEDS), 8):
        with sarrus.interpreted():
            assert sarrus.forward_dynamics(model, q[x], v[x], tau[x], method=method, **METHODS[method]).status == 0


CONFLICTS = (
    ("rows of any length", 2, "ltl alone", "near singular"), ("rows of any length", 2, "bbo alone", "near singular"),
    ("foot of points", 6, "pv_early alone", "near singular"), ("conflicting contacts", 7, "pv alone", "fast"),
)  # fmt: skip


@pytest.mark.parametrize(("family", "seed", "method", "states"), CONFLICTS)
def test_forces_as_large_as_rounding_allows_excuse_nothing(family, seed, method, states):
    """Rows in conflict and all but dependent: beside their forces, 1e15 and more, any residual would be rounding."""
    found = Tally(attack(family, seed, per_class=200, texts=0, only=[method], classes=[states]))
    assert found.total["tried"] == 200
    assert found.bad == 0, "\n" + "\n".join(found.worst())
