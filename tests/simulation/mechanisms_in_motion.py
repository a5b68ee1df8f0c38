"""Conservative mechanisms that tests of the simulation share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sarrus


def with_joints(model: sarrus.Model, **fields: float) -> sarrus.Model:
    """The same robot with these numbers in every joint that is not free (damping, stiffness, ...)."""
    bodies = []
    for body in model.bodies:
        joint = body.joint
        if joint.type.name != "free":
            changed = {name: np.full(np.shape(getattr(joint, name)), x) for name, x in fields.items()}
            joint = replace(joint, **changed)
        bodies.append(replace(body, joint=joint))
    return replace(model, bodies=tuple(bodies))


def sprung_sarrus_linkage() -> sarrus.Model:
    """The Sarrus linkage on springs that keep it from lying flat, where all its hinges would be in one plane."""
    return with_joints(sarrus.zoo.sarrus_linkage(), stiffness=20.0)


def floating_four_bar() -> sarrus.Model:
    """A four-bar linkage on a floating base, without gravity: a chain with a loop that nothing holds."""
    b = sarrus.ModelBuilder("floating_four_bar", gravity=(0.0, 0.0, 0.0))
    rod = {"mass": 0.5, "com": (0.1, 0.0, 0.0), "inertia": np.diag([1e-3, 2e-3, 2e-3])}
    b.add_body("base", "world", joint="free", mass=2.0, com=(0, 0, 0), inertia=np.diag([0.02, 0.03, 0.04]))
    b.add_body("crank", "base", joint="revolute", axis=(0, 1, 0), **rod)
    b.add_body("coupler", "crank", joint="revolute", axis=(0, 1, 0), position=(0.2, 0, 0), **rod)
    b.add_body("rocker", "base", joint="revolute", axis=(0, 1, 0), position=(0, 0, 0.15), **rod)
    b.add_frame("coupler_tip", "coupler", position=(0.25, 0, 0))
    b.add_frame("rocker_tip", "rocker", position=(0.3, 0, 0))
    return b.build().with_constraints(sarrus.connect("coupler_tip", "rocker_tip", name="loop"))


def on_the_loop(model: sarrus.Model, seed: int = 0, speed: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """A state that meets the constraints, near the neutral one."""
    q = sarrus.neutral(model)
    v = speed * np.random.default_rng(seed).normal(size=model.nv)
    if not model.active_constraints:
        return q, v
    found = sarrus.project(model, q, v)
    assert found.error < 1e-10
    return found.q, found.v
