"""Loops that cannot be met are told, on the ground as anywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sarrus
from sarrus.model.bodies import Placement
from sarrus.model.geometries import Geometry, Plane
from sarrus.model.visuals import Sphere


def test_rows_in_conflict_are_told():
    model = sarrus.zoo.four_bar()
    ball = Geometry("ball", 0, Placement.identity(), Sphere(0.01))
    ground = Geometry("ground", -1, Placement(np.eye(3), np.array([0.0, 0.0, -50.0])), Plane())
    model = replace(model, geometries=(ball, ground))
    q, v = sarrus.random_state(model, 0)
    fine = sarrus.Simulation(model, 1e-3, project_every=None).run(q, v, steps=5)
    assert not fine.status.any()
    name = model.joint_names[0]
    at = float(q[model.layout.q_of(name)][0])
    both = [
        sarrus.coupling({name: 1.0}, polynomial=(at + off,), name=f"held {off}", stabilization=0.01)
        for off in (-0.004, 0.004)
    ]
    found = sarrus.Simulation(model.with_constraints(*both), 1e-3, project_every=None).run(q, steps=5)
    assert (found.status[:-1] == sarrus.Status.CONSTRAINTS_NOT_MET).any()
