"""Bodies that fly by themselves, and joints that no loop is closed by."""

from __future__ import annotations

import casadi as ca
import numpy as np

import sarrus
from sarrus.model.unconstrained import flying_bodies, free_of_loops


def things() -> sarrus.ModelBuilder:
    """A ball, a puck, a door, a trunk that carries an arm, and a thing without mass."""
    builder, inertia = sarrus.ModelBuilder("things"), 0.1 * np.eye(3)
    builder.add_body("ball", joint="free", mass=2.0, com=(0.1, 0.0, 0.3), inertia=inertia)
    builder.add_body("puck", joint="planar", mass=1.0, inertia=inertia)
    builder.add_body("door", axis=(0, 0, 1), mass=1.0, inertia=inertia)
    builder.add_body("trunk", joint="free", mass=1.0, inertia=inertia)
    builder.add_body("arm", parent="trunk", axis=(0, 1, 0), mass=1.0, inertia=inertia)
    return builder


def flying(model: sarrus.Model) -> set[str]:
    return {model.bodies[k].name for k in flying_bodies(model)}


def test_what_is_alone_on_a_free_or_planar_joint_flies():
    model = things().build()
    assert flying(model) == {"ball", "puck"}
    np.testing.assert_allclose(flying_bodies(model)[0], [0.1, 0.0, 0.3])


def test_what_is_held_or_has_armature_does_not():
    held = things().add_constraint(sarrus.contact("ball", 3)).build()
    assert flying(held) == {"puck"}
    builder = things()
    builder.add_body("wheel", joint="free", mass=1.0, inertia=np.eye(3), armature=0.1)
    builder.add_body("kite", joint="free", mass=1.0, inertia=np.eye(3), armature=[ca.SX.sym("a"), 0, 0, 0, 0, 0])
    assert flying(builder.build()) == {"ball", "puck"}


def test_joints_that_close_no_loop():
    model = things().add_constraint(sarrus.contact("arm", 3)).build()
    free = dict(
        zip((body.name for body in model.bodies), (free_of_loops(model)[at] for at in model.layout.v), strict=True)
    )
    assert all(free[name].all() for name in ("ball", "puck", "door"))
    assert not any(free[name].any() for name in ("trunk", "arm"))
    assert free_of_loops(things().build()).all()
