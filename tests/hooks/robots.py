"""Small robots for tests of hooks: quick to compile."""

from __future__ import annotations

from functools import cache

import numpy as np

import sarrus
from sarrus.model.visuals import Box, Sphere


@cache
def table() -> sarrus.Model:
    """A board of 4 kg on three legs with a hinge each, which stands on balls on the ground."""
    builder = sarrus.ModelBuilder("table")
    builder.add_body("board", joint="free", mass=4.0, inertia=np.diag([0.03, 0.03, 0.05]))
    builder.add_geometry("board", Box((0.3, 0.3, 0.04)), name="board_box")
    for k, angle in enumerate((0.0, 2.1, 4.2)):
        at = 0.12 * np.array([np.cos(angle), np.sin(angle), 0.0])
        axis = (-np.sin(angle), np.cos(angle), 0.0)
        builder.add_body(f"leg_{k}", "board", axis=axis, position=at, mass=0.3, com=(0.0, 0.0, -0.1), independent=True,
                         inertia=np.diag([1e-3, 1e-3, 1e-4]))  # fmt: skip
        builder.add_geometry(f"leg_{k}", Sphere(0.02), name=f"foot_{k}", position=(0.0, 0.0, -0.2))
    return builder.build().with_ground(friction=0.8)
