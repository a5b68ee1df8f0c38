"""How the state after a step on the ground varies with the state before it and with what acts: A and B at the solution.

The impulses x of a step solve equations of which every contact and limit has those of what it does, c = G x + g being
the velocities of its rows (`mechanics/contact/problem.py`):

    open      x = 0
    stick     c = 0
    slip      c_n = 0,    |c_T| x_T + mu x_n c_T = 0
    a limit   c = 0 where it pushes, else x = 0

While these stay what they are, x varies smoothly: with r(x, c) = 0 all of them, and t the state and what acts,

    (dr/dx + dr/dc G) dx = -dr/dc dc/dt        and then v+ and q+ follow by the chain rule

as in Le Lidec et al., "End-to-end and highly-efficient differentiable simulation for robotics" (2024). Nothing goes
through the iterations that found x; x is made exact by Newton's method on these equations first.

Where a contact is just about to open, to slip or to stick, or a gap is just closed (an open one may close within the
step, of a penetration a part is undone), the step has a derivative to either side and none in between: `unique` is 0,
and A and B are those of one side. So they are where rows that depend on each other ask for different things.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError, UnsupportedError
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import node_twists
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.simulation.contact.contact_motion import contacts_where_it_stands
from sarrus.simulation.contact.contact_problem import ContactProblemAtState
from sarrus.simulation.contact.free_motion import free_motion
from sarrus.simulation.contact.limits import JointLimit, limits_of, usual_limit
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.contact.straight_motion import acceleration_in_fixed_axes, moved_straight
from sarrus.simulation.step import StepSettings, forces_of
from sarrus.simulation.step_kernels import implicit_step
from sarrus.spatial.arrays import Array, vector
from sarrus.status import Status

_EDGE = 1e-6  # of the largest scaled impulse or velocity: what is nearer to an edge is on it
_CLOSED = 1e-9  # metres: a gap that is neither open nor a penetration
_SAME = 20.0  # tolerances of the contact problem by which the step's own velocities may differ ...
_ROUNDING = 1e-9  # ... which is not less than this
_RANK = 1e-10  # of the largest singular value
_SLOWEST = 1e-150  # m/s, of what slips: it is on the edge anyway, and must be a number
_NEWTON = 8  # steps, of a problem that is almost solved


class ContactLinearization(NamedTuple):
    """x' = A x + B u: x = (q, v) in the tangent space, u = controls where they are given, else tau."""

    A: Array  # (2 nv, 2 nv) or (B, 2 nv, 2 nv)
    B: Array  # (2 nv, nu)
    unique: Array  # () or (B,) 1; 0 on the edge between two motions, of which A and B are then one


class OpenContactStep(NamedTuple):
    """The state after a step with given impulses, and the velocities of their rows."""

    q: Array
    v: Array
    rows: Array  # (m,) of limits, then of contacts two tangents and the normal
    gaps: Array  # (limits + contacts,)


def open_contact_step(model: Model, settings: StepSettings, **inputs: Array) -> OpenContactStep:
    """A step on the ground whose impulses are inputs: those of all limits, and of contacts where the robot stands."""
    contact = settings.contact
    assert contact is not None
    q, v, x = inputs["q"], inputs["v"], inputs["impulses"]
    count = inputs["step"].item() if "step" in inputs else 0.0
    dt = inputs["dt"].item() if settings.dt is None else settings.dt
    _, tau = forces_of(model, settings, inputs, lambda c: (count + c) * dt)(q, v, 0.0)
    free = free_motion(mechanism(model, q, v, tau, inputs.get("external_forces")), np.zeros(model.nv), dt)
    poses = world_poses(tree_of(model), free.at.joints)
    v_free = v + dt * acceleration_in_fixed_axes(model, v, free.qdd)
    step = ContactProblemAtState(model, contact, free, poses, v, v_free, dt)
    contacts = contacts_where_it_stands(step, contact.contacts, node_twists(free.at, poses, v_free))
    limits = [usual_limit(limit, q, v_free, dt) for limit in limits_in_step(model, contact)]
    # Whether it is looked at is decided by the step itself: impulses of what is not are zero.
    problem, velocity = step.posed([c._replace(active=1.0) for c in contacts], limits)
    q_end, v_end = moved_straight(model, q, v_free + velocity(problem.G.wrenches(x)), dt)  # type: ignore[union-attr]
    rows = problem.G @ x + problem.g
    rows = rows if problem.compliance is None else rows + problem.compliance * x
    return OpenContactStep(q_end, v_end, rows, vector(*(x.gap for x in (*limits, *contacts))))


def limits_in_step(model: Model, settings: ContactSettings) -> list[JointLimit]:
    """As a step has them: those at which a robot does not stand are a little further out."""
    limits = limits_of(model) if settings.limits else []
    return [limit if k in settings.usual_limits else limit.loose() for k, limit in enumerate(limits)]


class ContactLinearizer:
    """The linearization of a step of one kind on the ground, compiled."""

    def __init__(self, model: Model, settings: StepSettings, inputs: dict[str, Array], u: str, dt: float) -> None:
        """inputs: what the step takes beside the state, (B, n) each; u: which of them B is for."""
        contact = settings.contact
        assert contact is not None
        if contact.convex or contact.rubs or model.spanning.active_constraints:
            what = "the relaxed problem" if contact.convex else "dry friction" if contact.rubs else "loops and gears"
            raise UnsupportedError(
                f"a step with contacts and {what} has no derivative yet: contacts=False differentiates motion without "
                f"contacts, and feet that stay in place can be constraints (`sarrus.contact`)"
            )
        if settings.integrator == "implicit":
            model, settings = implicit_step(model, settings)
        self.model, self.contact, self.u, self._dt = model, contact, u, dt
        self._limits = limits_in_step(model, contact)
        self._friction = np.array([contact.contacts.pair_of(k).friction for k in contact.contacts.usual], float)
        self._size = len(self._limits) + 3 * len(contact.contacts.usual)
        self._widths = {"q": model.nv, "v": model.nv, u: inputs[u].shape[1], "impulses": self._size}
        shapes: dict[str, tuple[int, ...] | None] = {"q": None, "v": None}
        shapes |= {} if settings.dt is not None else {"dt": ()}
        shapes |= {"step": ()} if any(controller.uses_time for controller in settings.controllers) else {}
        shapes |= {name: x.shape[1:] for name, x in inputs.items()} | {"impulses": (self._size,)}
        takes = tuple(Input(name, False, shape) for name, shape in shapes.items())
        algorithm = Algorithm("open_contact_step", open_contact_step, takes, None, ("settings",))
        self._along: Kernel = compile(
            model, algorithm, settings=settings, derivative="jvp", wrt=tuple(self._widths), lanes="auto"
        )

    def __call__(self, q: Array, v: Array, steps: Array, inputs: dict[str, Array], step: Any) -> ContactLinearization:
        """Of states (B, n) and inputs (B, n); step: what the step itself found there."""
        bad = np.flatnonzero(step.status != Status.OK)
        if len(bad):
            raise StateError(
                f"no derivative of the step at state {bad[0]} of {len(q)}: {Status(int(step.status[bad[0]])).words}"
            )
        x, nv, ends = self._impulses(step.warm), self.model.nv, np.cumsum(list(self._widths.values()))[:-1]
        given = {"q": q, "v": v, "dt": np.full(len(q), self._dt), "step": steps.astype(float)} | inputs
        value, slopes = self._slopes(given | {"impulses": x})
        what = [self._what(*at) for at in zip(x, value.rows, slopes["rows"][..., ends[-1] :], strict=True)]
        for k, doing in enumerate(what):
            G = slopes["rows"][k][:, ends[-1] :]
            x[k] = doing.solved(x[k], G, value.rows[k] - G @ x[k])
        value, slopes = self._slopes(given | {"impulses": x})
        same = _SAME * max(self.contact.tolerance, _ROUNDING) * (1.0 + np.abs(v).max(axis=1))
        off = ~(np.abs(value.v - step.v).max(axis=1) <= same)
        if off.any():
            raise StateError(
                f"no derivative of the step at state {np.flatnonzero(off)[0]} of {len(q)}: it has contacts other than "
                f"those where the robot stands, or something else that only some steps look at"
            )
        both, unique = np.empty((len(q), 2 * nv, ends[-1])), np.ones(len(q))
        for k, doing in enumerate(what):
            by_t, by_x = np.split(slopes["rows"][k], [ends[-1]], axis=1)
            dx, consistent = doing.variation(x[k], value.rows[k], by_x, by_t)
            clear = doing.is_clear(x[k], value.rows[k], by_x, value.gaps[k], self._dt)
            unique[k] = float(consistent and clear)
            state = np.concatenate([slopes["q"][k], slopes["v"][k]])
            both[k] = state[:, : ends[-1]] + state[:, ends[-1] :] @ dx
        return ContactLinearization(both[..., : 2 * nv], both[..., 2 * nv :], unique)

    def _impulses(self, warm: Array) -> Array:
        """(B, m) of what a step left."""
        slots, usual = self.contact.contacts.slots, np.array(self.contact.contacts.usual)
        numbers, impulses, pushed, _ = np.split(warm, np.cumsum([slots, 3 * slots, self.contact.limit_count]), axis=1)
        out = np.zeros((len(warm), self._size))
        for k, limit in enumerate(self._limits):
            out[:, k] = np.maximum(0.0, limit.sign * pushed[:, self.contact.limited.index(limit.v)])
        same = np.abs(numbers[:, None, :] - usual[None, :, None]) < 0.5  # (B, usual, slots)
        out[:, len(self._limits) :] = np.einsum("bus,bsk->buk", same, impulses.reshape(-1, slots, 3)).reshape(
            len(warm), -1
        )
        return out

    def _slopes(self, given: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        """Values (B, n), and derivatives (B, n, k) along everything, by one batch of directions."""
        batch, k = len(given["q"]), sum(self._widths.values())
        units = dict(
            zip(self._widths, np.split(np.eye(k), np.cumsum(list(self._widths.values()))[:-1], axis=1), strict=True)
        )
        arrays = {name: np.repeat(x, k, axis=0) for name, x in given.items()}
        arrays |= {f"d{name}": np.tile(x, (batch, 1)) for name, x in units.items()}
        found = self._along(*(np.ascontiguousarray(arrays[name], float) for name in self._along.input_names))
        slopes = {x: getattr(found, f"d{x}").reshape(batch, k, -1).swapaxes(1, 2) for x in ("q", "v", "rows")}
        return OpenContactStep(*(getattr(found, x)[::k] for x in OpenContactStep._fields)), slopes

    def _what(self, x: Array, c: Array, G: Array) -> Modes:
        return Modes.of(len(self._limits), self._friction, x, c, G)


class Modes(NamedTuple):
    """What every limit and contact of a state does."""

    pushes: Array  # (limits,) whether
    closed: Array  # (contacts,) whether
    slips: Array  # (contacts,) whether, of those that are closed
    friction: Array  # (contacts,)

    @staticmethod
    def of(limits: int, friction: Array, x: Array, c: Array, G: Array) -> Modes:
        """By what is larger, in rows of one size."""
        w = _sizes(limits, G)
        x, c = w * x, c / w
        T, n = _parts(x[limits:])
        cT, cn = _parts(c[limits:])
        slack = friction * n - np.linalg.norm(T, axis=1)
        return Modes(x[:limits] > c[:limits], n > cn, np.linalg.norm(cT, axis=1) > slack, friction)

    def equations(self, x: Array, c: Array) -> tuple[Array, Array, Array]:
        """r(x, c) and its derivatives with respect to both."""
        limits, m = len(self.pushes), len(x)
        r, by_x, by_c = np.array(x), np.eye(m), np.zeros((m, m))  # open
        holds = np.concatenate([self.pushes, np.repeat(self.closed, 3)])
        r[holds], by_x[holds], by_c[holds] = c[holds], 0.0, np.eye(m)[holds]
        for k in np.flatnonzero(self.closed & (self.slips | (self.friction == 0.0))):
            i, mu = limits + 3 * k, self.friction[k]
            T, n = slice(i, i + 2), i + 2
            r[T], by_x[T], by_c[T] = x[T], np.eye(m)[T], 0.0  # without friction
            if mu > 0.0:
                speed = max(float(np.linalg.norm(c[T])), _SLOWEST)
                r[T] = speed * x[T] + mu * x[n] * c[T]
                by_x[T, T], by_x[T, n] = speed * np.eye(2), mu * c[T]
                by_c[T, T] = np.outer(x[T], c[T] / speed) + mu * x[n] * np.eye(2)
        return r, by_x, by_c

    def solved(self, x: Array, G: Array, g: Array) -> Array:
        """x made exact, where c = G x + g."""
        for _ in range(_NEWTON):
            r, by_x, by_c = self.equations(x, G @ x + g)
            x = x - np.linalg.lstsq(by_x + by_c @ G, r, rcond=_RANK)[0]
        return x

    def variation(self, x: Array, c: Array, G: Array, by_t: Array) -> tuple[Array, bool]:
        """dx/dt (m, k), and whether it varies c as rows that depend on each other ask for."""
        _, by_x, by_c = self.equations(x, c)
        matrix, right = by_x + by_c @ G, -(by_c @ by_t)
        dx = np.linalg.lstsq(matrix, right, rcond=_RANK)[0]
        left = np.abs(matrix @ dx - right).max(initial=0.0)
        return dx, bool(left <= _EDGE * (1.0 + np.abs(right).max(initial=0.0)))

    def is_clear(self, x: Array, c: Array, G: Array, gaps: Array, dt: float) -> bool:
        """Whether nothing is on the edge to doing something else."""
        limits = len(self.pushes)
        w = _sizes(limits, G)
        x, c = w * x, c / w
        least = _EDGE * max(np.abs(x).max(initial=0.0), 1e-3 * np.abs(c).max(initial=0.0), 1e-12)
        T, n = _parts(x[limits:])
        cT, cn = _parts(c[limits:])
        slack, speed = self.friction * n - np.linalg.norm(T, axis=1), np.linalg.norm(cT, axis=1)
        wide = [np.where(self.pushes, x[:limits], c[:limits]), np.where(self.closed, n, cn)]
        rough = self.closed & (self.friction > 0.0)
        wide += [np.where(rough, np.where(self.slips, speed, slack), np.inf)]
        held = np.concatenate([self.pushes, self.closed])
        return bool(np.concatenate(wide).min(initial=np.inf) > least and np.all(np.abs(gaps[held]) > _CLOSED))


def _parts(rows: Array) -> tuple[Array, Array]:
    """Tangents (contacts, 2) and normals (contacts,)."""
    by_contact = rows.reshape(-1, 3)
    return by_contact[:, :2], by_contact[:, 2]


def _sizes(limits: int, G: Array) -> Array:
    """w (m,) by which impulses of different rows are of one size."""
    own = np.maximum(np.diagonal(G), 1e-300)
    blocks = own[limits:].reshape(-1, 3).mean(axis=1)
    return np.sqrt(np.concatenate([own[:limits], np.repeat(blocks, 3)]))
