"""What is computed for the eye, by compiled kernels: poses, closure errors and constraint forces at a configuration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.calls.defaults import default_dynamics
from sarrus.codegen.runtime.compile import compile
from sarrus.errors import SarrusError, UnsupportedError
from sarrus.mechanics.bodies import joint_kinematics, outward_motion, world_poses
from sarrus.mechanics.constraints.rows import constraint_rows
from sarrus.model.constraints import Constraint, Kind
from sarrus.model.model import Model
from sarrus.model.state import integrate
from sarrus.model.tree import tree_of
from sarrus.once import cached_property
from sarrus.spatial.arrays import Array

CLOSED = 1e-6  # metres or radians: what is farther open is shown
_STEPS = 40  # of Gauss-Newton
_STRIDE = 0.05  # radians or metres that a joint is moved at a time: near enough to stay on the assembly branch


class Poses(NamedTuple):
    """Of every body, and of the two frames of every pair of `Mechanism.pairs`, in the world."""

    R: Array  # (nb, 3, 3)
    p: Array  # (nb, 3)
    a: Array  # (pairs, 3) origins
    b: Array


class Pair(NamedTuple):
    """A constraint that has a place: two frames, or one frame and the place where it is (or should be)."""

    constraint: Constraint
    rows: slice
    frame_a: str
    frame_b: str


class Mechanism:
    """A model with the kernels that drawing it needs."""

    def __init__(self, model: Model) -> None:
        if not model.is_numeric:
            raise UnsupportedError("view: the model contains symbols; give them values first")
        self.model = model = model.spanning  # what is embedded is drawn as well
        self.rows = dict(zip(model.active_constraints, model.row_spans, strict=True))
        self.pairs = [Pair(c, s, c.frames[0], c.frames[-1]) for c, s in self.rows.items() if c.frames]
        names = [*model.body_names, *(p.frame_a for p in self.pairs), *(p.frame_b for p in self.pairs)]
        self._poses = compile(model, "forward_kinematics", frames=tuple(names)) if names else None

    @cached_property
    def _closure(self) -> Any:
        return compile(self.model, "closure")

    @cached_property
    def _dynamics(self) -> Any:
        chosen = default_dynamics(self.model)
        return compile(self.model, chosen.method, **chosen.options)

    def poses(self, q: Array) -> Poses:
        if self._poses is None:
            return Poses(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
        found = self._poses(np.ascontiguousarray(q, float))
        nb, k = self.model.nb, len(self.pairs)
        p = found.position
        return Poses(found.rotation[:nb], p[:nb], p[nb : nb + k], p[nb + k :])

    def errors(self, q: Array) -> dict[Constraint, float]:
        """How far open each constraint is: the largest of its rows, in metres or radians."""
        if not self.rows:
            return {}
        position = self._closure(np.ascontiguousarray(q, float)).position
        return {c: float(np.abs(position[s]).max(initial=0.0)) for c, s in self.rows.items()}

    def forces_at_rest(self, q: Array) -> Array:
        """Constraint forces when the robot is let go at q."""
        if self.model.ill_posed or self.model.n_input_rows or not self.rows:
            return np.zeros(self.model.n_rows)
        zero = np.zeros(self.model.nv)
        forces = np.asarray(self._dynamics(np.ascontiguousarray(q, float), zero, zero).forces)
        return np.where(np.isfinite(forces), forces, 0.0)

    def force_vectors(self, q: Array, forces: Array) -> Array:
        """(pairs, 3): the force on the second frame of each pair, in the world's axes (its moment is not drawn)."""
        model, zero = self.model, np.zeros(self.model.nv)
        joints = joint_kinematics(tree_of(model), q, zero)
        try:
            inputs = np.zeros(model.n_input_rows)
            rows = constraint_rows(model, joints, outward_motion(tree_of(model), joints), q, zero, inputs, "view")
        except SarrusError:
            return np.zeros((len(self.pairs), 3))
        poses = world_poses(tree_of(model), joints)
        vectors = np.zeros((len(self.pairs), 3))
        blocks = dict(zip(self.rows, rows, strict=True))
        for k, pair in enumerate(self.pairs):
            row = blocks[pair.constraint]
            computed = row.force_of_declared(forces[pair.rows])
            body = model.frame(pair.frame_b).body
            block = next((x for x in row.blocks if x.node == body), row.blocks[0] if row.blocks else None)
            if block is not None:  # only the first frame moves: what acts on the second is the opposite
                turned = poses[block.node][0] @ (block.K.T @ computed)[:3]
                vectors[k] = turned if block.node == body else -turned
        return vectors

    def with_coordinate(self, q: Array, k: int, value: float) -> tuple[Array, bool]:
        """q with element k moved to a value and the loops closed around it; False where that is as far as it gets."""
        here = np.array(q, float)
        count = max(1, int(np.ceil(abs(value - here[k]) / _STRIDE)))
        for target in np.linspace(here[k], value, count + 1)[1:]:
            moved = here.copy()
            moved[k] = target
            closed, ok = self.closed(moved, held=k)
            if not ok:
                return here, False
            here = closed
        return here, True

    def closed(self, q: Array, held: int | None = None) -> tuple[Array, bool]:
        """The loops closed near q by Gauss-Newton with element `held` of q left alone.

        In plain NumPy, on the compiled `closure`: a slider needs an answer before `project` is compiled.
        """
        if not self.rows:
            return q, True
        kinds = [np.full(s.stop - s.start, c.kind is not Kind.LINK) for c, s in self.rows.items()]
        loops = np.concatenate(kinds)  # contacts do not pull
        free = np.ones(self.model.nv, bool)
        if held is not None:
            free[self._velocity_of(held)] = False
        for _ in range(_STEPS):
            position, _, J = self._closure(np.ascontiguousarray(q, float))
            error = position[loops]
            if np.abs(error).max(initial=0.0) < 1e-10:
                return q, True
            step = np.zeros(self.model.nv)
            step[free] = -np.linalg.lstsq(J[loops][:, free], error, rcond=1e-8)[0]
            q = integrate(self.model, q, step * min(1.0, 0.3 / max(np.abs(step).max(), 1e-12)))
        return q, bool(np.abs(self._closure(q).position[loops]).max(initial=0.0) < CLOSED)

    def _velocity_of(self, k: int) -> int:
        """The element of v that moves element k of q, of joints without quaternions."""
        layout = self.model.layout
        return next(v.start + k - s.start for s, v in zip(layout.q, layout.v, strict=True) if s.start <= k < s.stop)
