"""A step of bodies that are free to turn, in axes that stay as they were when it began.

The velocity of a free (or planar) joint is in the body's own axes, which turn during the step; where an impact makes
them turn faster, by more than the step could know when it began. In the axes of the beginning an impulse changes the
momentum by just that impulse, and a body in flight keeps its own.

What moves straight is the origin of a joint, or of a body that flies by itself the centre of mass, which is at c from
the origin: v + w x c does not change in flight, and the origin goes around it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.calls.evaluator import evaluate
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.model.unconstrained import flying_bodies
from sarrus.simulation.contact.flight import Flight, cayley
from sarrus.simulation.manifold import joints_of
from sarrus.simulation.step import kernel_algorithm
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.rotations import conjugate, cross, exp_quaternion, multiply_quaternions, rotate_by_quaternion, unit


def acceleration_in_fixed_axes(model: Model, v: Array, qdd: Array) -> Array:
    """Accelerations as they are in axes that do not turn, from the rates of change of velocities."""
    parts = []
    for joint, _, at in joints_of(model):
        a, mine = qdd[at], v[at]
        if joint.type.name == "free":
            a = np.concatenate([a[:3] + cross(mine[3:], mine[:3]), a[3:]])
        elif joint.type.name == "planar":
            a = a + _across(mine[2], mine)
        parts.append(a)
    return np.concatenate([np.zeros(0), *parts])


def without_flight(model: Model, v: Array) -> Array:
    """v, with zero for bodies that fly by themselves: whose velocity products `moved_straight` has."""
    out = v.copy()
    for k in flying_bodies(model):
        out[model.layout.v[k]] = 0.0
    return out


def moved_straight(model: Model, q: Array, v: Array, dt: Scalar, shift: Array) -> tuple[Array, Array]:
    """The configuration after a step with velocities v, which are in the axes of its beginning, and v in those of its
    end.

    shift  (nv,) by which positions change beside that
    """
    positions, velocities = [np.zeros(0)], [np.zeros(0)]
    for k, (joint, of_q, of_v) in enumerate(joints_of(model)):
        mine, beside = v[of_v], shift[of_v]
        if joint.type.name in _TURNING:
            turn = _Turn.of(model, k, mine, dt, beside)
            position, velocity = turn.moved(joint.type, q[of_q], mine, dt * mine + beside)
        else:
            position, velocity = joint.type.integrate(q[of_q], dt * mine + beside), mine
        positions.append(position)
        velocities.append(velocity)
    return np.concatenate(positions), np.concatenate(velocities)


_TURNING = ("free", "planar")


class _Turn(NamedTuple):
    """How axes turn in a step, of a joint whose own they are."""

    turn: Array  # (4,) quaternion; of a planar joint (2,) cosine and sine
    way: Array  # (3,) (1,) what it turns by
    after: Array  # (3,) (1,) the angular velocity at the end
    c: Array  # (3,) what moves straight, from the origin

    @staticmethod
    def of(model: Model, body: int, v: Array, dt: Scalar, beside: Array) -> _Turn:
        flying = flying_bodies(model)
        c = flying.get(body, np.zeros(3))
        if model.bodies[body].joint.type.name == "planar":
            way = dt * v[2:] + beside[2:]
            return _Turn(np.concatenate([each(np.cos, way), each(np.sin, way)]), way, v[2:], c)
        if body not in flying:
            way = dt * v[3:] + beside[3:]
            return _Turn(exp_quaternion(way), way, v[3:], c)
        flight = Flight.of(model.bodies[body], v[3:], dt)
        way = flight.way + beside[3:]
        return _Turn(cayley(way), way, flight.after, c)

    def forth(self, x: Array) -> Array:
        """A vector in the axes of the end, in those of the beginning."""
        if len(self.turn) == 4:
            return rotate_by_quaternion(self.turn, x)
        (k, l), (a, b) = self.turn, x[:2]
        return vector(k * a - l * b, l * a + k * b, 0.0)

    def back(self, x: Array) -> Array:
        """A vector in the axes of the beginning, in those of the end."""
        if len(self.turn) == 4:
            return rotate_by_quaternion(conjugate(self.turn), x)
        (k, l), (a, b) = self.turn, x[:2]
        return vector(k * a + l * b, k * b - l * a, 0.0)

    def moved(self, joint: AbstractJointType, q: Array, v: Array, way: Array) -> tuple[Array, Array]:
        """The configuration and the velocity after a step of which the origin's way would be this one."""
        went = _with_lever(way, self.c) + (self.c - self.forth(self.c))
        end = self.back(_with_lever(v, self.c)) - _around(self.after, self.c)
        if joint.name == "planar":
            c, s = (each(f, q[2:])[0] for f in (np.cos, np.sin))
            p = vector(q[0] + (c * went[0] - s * went[1]), q[1] + (s * went[0] + c * went[1]), q[2] + way[2])
            return p, np.concatenate([end[:2], self.after])
        turned = unit(multiply_quaternions(q[3:], self.turn))
        p = q[:3] + rotate_by_quaternion(q[3:], went)
        return np.concatenate([p, turned]), np.concatenate([end, self.after])


def _with_lever(v: Array, c: Array) -> Array:
    """(3,) how what is at c from a joint's origin moves with velocities v."""
    if len(v) == 3:
        return vector(v[0], v[1], 0.0) + _around(v[2:], c)
    return v[:3] + _around(v[3:], c)


def _around(w: Array, c: Array) -> Array:
    """(3,) w x c; w about z if it is a number."""
    return cross(w, c) if len(w) == 3 else _across(w[0], c)


def _across(turning: Scalar, x: Array) -> Array:
    """(3,) of a vector in the plane: what turning makes of it."""
    return vector(-(turning * x[1]), turning * x[0], 0.0)


def velocities_between(model: Model, before: Array, after: Array, dt: float) -> Array:
    """(..., nv) at configurations to which steps led with velocities `before`, and from which `after` lead away.

    A step changes velocities where it begins, and then moves with them: energies of what is being accelerated or braked
    are half a step late with one of the two alone.
    """
    times = np.full(after.shape[:-1], dt)
    return 0.5 * (before + evaluate(model, _DEPARTING, {"v": after, "dt": times})["v"])


class _Departing(NamedTuple):
    v: Array


def _departing(model: Model, v: Array, dt: Array) -> _Departing:
    """The velocities with which a step begins that ends with v, in the axes of its beginning."""
    parts = []
    for k, (joint, _, at) in enumerate(joints_of(model)):
        mine = v[at]
        if joint.type.name in _TURNING:
            # Back in time, the same turn leads from the axes of the end to those of the beginning.
            turn = _Turn.of(model, k, mine, -dt.item(), np.zeros(len(mine)))
            mine = np.concatenate([turn.back(_with_lever(mine, turn.c)) - _around(turn.after, turn.c), turn.after])
            mine = mine if joint.type.name == "free" else np.concatenate([mine[:2], mine[3:]])
        parts.append(mine)
    return _Departing(np.concatenate([np.zeros(0), *parts]))


_DEPARTING = kernel_algorithm(_departing, {"v": None, "dt": ()}, ())
