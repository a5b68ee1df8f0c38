"""Which constraint is the farthest from met, for messages."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array


def worst_constraint(model: Model, q: Array) -> str:
    """Its name, at a configuration (nq,)."""
    model = model.spanning  # what is embedded must hold as well
    error = np.abs(closure.text(model, q).position.astype(float))
    ends = np.cumsum([0, *(c.size for c in model.active_constraints)])
    sizes = [float(error[a:b].max(initial=0.0)) for a, b in pairwise(ends)]
    return model.active_constraints[int(np.argmax(sizes))].name if sizes else "none"
