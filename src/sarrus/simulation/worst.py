"""Which constraint is the farthest from met, for messages."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sarrus.algorithms.constraint_metric import ANGLES
from sarrus.algorithms.closure import position_rows
from sarrus.algorithms.sweeps import joint_kinematics
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array


def worst_constraint(model: Model, q: Array) -> str:
    """Its name, at a configuration (nq,)."""
    error = np.abs(position_rows(model, joint_kinematics(model.tree, q), q, None, ANGLES)[0].astype(float))
    ends = np.cumsum([0, *(c.size for c in model.active_constraints)])
    sizes = [float(error[a:b].max(initial=0.0)) for a, b in pairwise(ends)]
    return model.active_constraints[int(np.argmax(sizes))].name if sizes else "none"
