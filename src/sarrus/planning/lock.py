"""Joints that do not move: a smaller robot, with what was behind them fixed where it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.errors import ModelError, StateError, UnsupportedError, listed
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import WORLD, Body, Frame, Placement
from sarrus.model.computational_frames import canonical_axes
from sarrus.model.constraints import Constraint, Coupling, Tendon
from sarrus.model.constraints.loops import LoopConstraint
from sarrus.model.keyframes import Keyframe, Keyframes
from sarrus.model.model import Model
from sarrus.model.state import check_configuration, starting_configuration
from sarrus.model.well_posed import noted_ill_posed
from sarrus.spatial.arrays import Array
from sarrus.spatial.transforms import Transform

_CLOSED = 1e-6  # metres or radians by which what is locked may miss a constraint
_SAME = 1e-9


def lock(model: Model, joints: str | Iterable[str] | Mapping[str, Any]) -> Model:
    """The same robot with some joints locked: fewer bodies, shorter q and v, every frame and every loop still there.

    joints  names (locked where the file shows them: `model.home`, else neutral), or positions by name: a number, or as
            many as the joint has coordinates

    Bodies behind a locked joint become part of the body before it, with inertia, frames, shapes and geometries.
    Couplings, tendons and actuators keep what is left of them: a locked coordinate is a constant there. A constraint
    between parts that no longer move against each other is left out if it holds, and is an error if it does not.
    Motors of locked joints, and keyframes in which those are elsewhere, are left out (lines of `import_report`).
    """
    if model.embedding is not None:
        raise UnsupportedError(
            f"model {model.name!r} has embedded constraints: lock joints of `model.spanning`, then embed the result"
        )
    if not model.is_numeric:
        raise UnsupportedError(f"model {model.name!r} contains symbols; give them values first")
    q = _configuration(model, joints)
    return _Locked(model, q, frozenset([joints] if isinstance(joints, str) else joints)).model()


def _configuration(model: Model, joints: str | Iterable[str] | Mapping[str, Any]) -> Array:
    if not isinstance(joints, Iterable):
        raise StateError(f"lock: joints is {joints!r}: expected names of joints, or positions by name")
    q = np.array(starting_configuration(model))
    for name in [joints] if isinstance(joints, str) else joints:
        s = model.layout.q_of(name)
        if isinstance(joints, Mapping):
            given = np.atleast_1d(np.asarray(joints[name], dtype=float))
            if given.shape != (s.stop - s.start,):
                raise StateError(f"lock: joint {name!r} has {s.stop - s.start} coordinates, got {joints[name]!r}")
            q[s] = given
    return check_configuration(model, q)


class _Locked:
    """One model with some of its joints at q."""

    def __init__(self, before: Model, q: Array, names: frozenset[str]) -> None:
        self.before, self.q, self.names = before, q, names
        self.bodies: list[Body] = []
        self.carrier = {WORLD: (WORLD, Placement.identity())}  # of every old body: the new one, and the pose on it
        self.report: list[str] = []

    def model(self) -> Model:
        before = self.before
        for i, body in enumerate(before.bodies):
            self._add(i, body)
        frames = tuple(Frame(f.name, *self._moved(f.body, f.placement)) for f in before.frames)
        body_of = {frame.name: frame.body for frame in frames}
        constraints = tuple(c for c in map(self._constraint, before.constraints) if c and self._moves(c, body_of))
        actuators = tuple(a for a in map(self._actuator, before.actuators) if a)
        locked = replace(
            before,
            bodies=tuple(self.bodies),
            frames=frames,
            constraints=constraints,
            home=None if before.home is None else self._free(before.home, before.layout.q),
            visuals=tuple(v.moved(*self.carrier[v.body]) for v in before.visuals),
            actuators=actuators,
            geometries=tuple(g.moved(*self.carrier[g.body]) for g in before.geometries),
            keyframes=Keyframes(self._keyframes({a.name for a in actuators})),
            import_report=(*before.import_report, *self.report),
        )
        return noted_ill_posed(locked)  # a joint without inertia may be among those that no longer move, or be left

    def _add(self, i: int, body: Body) -> None:
        parent, pose = self._moved(body.parent, body.placement)
        if body.joint.name not in self.names:
            self.carrier[i] = (len(self.bodies), Placement.identity())
            self.bodies.append(replace(body, parent=parent, placement=pose))
            return
        A, X = canonical_axes(body), Transform(body.joint.type.factors(self.q[self.before.layout.q[i]]))
        pose = pose @ Placement(A @ X.R @ A.T, A @ X.p)
        self.carrier[i] = (parent, pose)
        if parent != WORLD:
            merged = self.bodies[parent].inertia + body.inertia.transformed(pose.transform)
            self.bodies[parent] = replace(self.bodies[parent], inertia=merged)

    def _moved(self, body: int, placement: Placement) -> tuple[int, Placement]:
        number, carrier = self.carrier[body]
        return number, carrier @ placement

    def _free(self, x: Array, spans: tuple[slice, ...]) -> Array:
        """The elements of joints that are not locked."""
        kept = [x[s] for s, joint in zip(spans, self.before.joint_names, strict=True) if joint not in self.names]
        return np.concatenate(kept) if kept else np.zeros(0)

    def _position(self, joint: str) -> float:
        return float(self.q[self.before.layout.q_of(joint)][0])

    # --- what names joints ----------------------------------------------------------------------------

    def _constraint(self, constraint: Constraint) -> Constraint | None:
        if isinstance(constraint, Coupling) and self.names.intersection(constraint.joints):
            return self._coupling(constraint)
        if isinstance(constraint, Tendon) and self.names.intersection(constraint.joints):
            return self._tendon(constraint)
        return constraint

    def _coupling(self, coupling: Coupling) -> Coupling | None:
        zero = dict(coupling.references)
        at = {j: self._position(j) - zero.get(j, 0.0) for j in self.names.intersection(coupling.joints)}
        ratios = tuple((j, c) for j, c in coupling.ratios if j not in at)
        known = sum(c * at[j] for j, c in coupling.ratios if j in at)
        driver, polynomial = coupling.driver, coupling.polynomial
        if driver in at:
            driver, polynomial = None, (float(np.polynomial.polynomial.polyval(at[driver], polynomial)),)
        polynomial = (polynomial[0] - known, *polynomial[1:])
        if driver is not None and not ratios:
            ratios = ((driver, 0.0),)  # 0 = polynomial(driver)
        if not ratios:
            if abs(polynomial[0]) > _CLOSED and coupling.active:
                raise self._broken(coupling, abs(polynomial[0]))
            self._left_out("constraint", coupling.name)
            return None
        references = tuple((j, x) for j, x in coupling.references if j not in at)
        return replace(coupling, ratios=ratios, driver=driver, polynomial=polynomial, references=references)

    def _tendon(self, tendon: Tendon) -> Tendon | None:
        left = tuple((j, c) for j, c in tendon.coefficients if j not in self.names)
        length = sum(c * self._position(j) for j, c in tendon.coefficients if j in self.names)
        if not left:
            self._left_out("tendon", tendon.name)
            return None
        lengths = ("lengthspring", "range")
        shifted = ((key, (np.asarray(x) - length).tolist() if key in lengths else x) for key, x in tendon.properties)
        return replace(tendon, coefficients=left, properties=tuple(shifted))

    def _actuator(self, actuator: Actuator) -> Actuator | None:
        """With a locked part of its length as a constant."""
        left = tuple((j, c) for j, c in actuator.joints if j not in self.names)
        if not left:
            self._left_out("actuator", actuator.name)
            return None
        length = actuator.gear * sum(c * self._position(j) for j, c in actuator.joints if j in self.names)
        gain, bias = ((x[0] + x[1] * length, x[1], x[2]) for x in (actuator.gain, actuator.bias))
        return replace(actuator, joints=left, gain=gain, bias=bias)

    def _keyframes(self, actuators: set[str]) -> dict[str, Keyframe]:
        kept, layout = {}, self.before.layout
        controlled = np.array([a.name in actuators for a in self.before.actuators], dtype=bool)
        for name, key in self.before.keyframes.items():
            if any(np.abs(key.q[layout.q_of(j)] - self.q[layout.q_of(j)]).max() > _SAME for j in self.names):
                self._left_out("keyframe", name, "locked joints are elsewhere in it")
                continue
            q, v = self._free(key.q, layout.q), self._free(key.v, layout.v)
            kept[name] = Keyframe(q, v, key.controls[controlled], key.time)
        return kept

    # --- what names frames ----------------------------------------------------------------------------

    def _moves(self, constraint: Constraint, body_of: dict[str, int]) -> bool:
        """Whether parts that a constraint holds can move; if not, it must hold as it is."""
        bodies = {body_of[frame] for frame in constraint.frames}
        if not bodies or (len(bodies) > 1 if isinstance(constraint, LoopConstraint) else bodies != {WORLD}):
            return True
        if constraint.active and not constraint.velocity_only:
            alone = replace(self.before, constraints=(constraint,))
            error = float(np.abs(closure.text(alone, self.q).position.astype(float)).max(initial=0.0))
            if not error <= _CLOSED:
                raise self._broken(constraint, error)
        self._left_out("constraint", constraint.name)
        return False

    def _broken(self, constraint: Constraint, error: float) -> ModelError:
        return ModelError(
            f"lock: constraint {constraint.name!r} cannot hold: with {listed(sorted(self.names))} locked there it is "
            f"off by {error:.3g} and nothing is left that could close it. `sarrus.assemble` finds positions that do"
        )

    def _left_out(self, what: str, name: str, why: str = "nothing of it moves") -> None:
        self.report.append(f"{what} {name!r}: left out, {why} (locked: {listed(sorted(self.names))})")
