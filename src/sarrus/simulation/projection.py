"""`project` on many states, and what it can be applied to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.algorithms.position.project import ProjectResult, project
from sarrus.codegen.runtime.kernel import Kernel, compile
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

CLOSED = 1e-10  # metres or radians: what counts as closed
_FEW, _SOME = 3, 200  # states at a time, and iterations in all, for which compiling is not worth it


class Projector:
    """`project` of one model, any joints held. Few states run the text as it is; for more it is compiled, once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._kernel: Kernel | None = None
        self._done = 0

    def __call__(self, q: Array, v: Array | None = None, held: Array | None = None) -> ProjectResult:
        """Of states (B, n); `held` is (nv,) or (B, nv)."""
        zero = np.zeros(self.model.nv)
        given = [np.broadcast_to(zero if x is None else x, (len(q), self.model.nv)) for x in (v, held)]
        if self._kernel is None and (len(q) > _FEW or self._done > _SOME):
            self._kernel = compile(self.model, "project", inputs=("q", "v", "held"))
        if self._kernel is not None:
            return self._kernel(q, *(np.ascontiguousarray(x) for x in given))
        found = [project(self.model, *state) for state in zip(q, *given, strict=True)]
        self._done += sum(int(x.iterations) + 1 for x in found)
        columns = zip(*found, strict=True) if found else ((),) * len(ProjectResult._fields)
        return ProjectResult(*(np.array([np.asarray(x, dtype=float) for x in column]) for column in columns))


def of_positions(model: Model) -> Model:
    """The model with only those constraints that hold positions; the model itself if all of them do."""
    model = model.spanning  # what is embedded must hold as well
    kept = tuple(c for c in model.constraints if not c.velocity_only)
    return model if len(kept) == len(model.constraints) else replace(model, constraints=kept)
