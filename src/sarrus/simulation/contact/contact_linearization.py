"""How the state after a step on the ground varies with the state before it and with what acts: A and B at the solution.

Impulses solve equations of what every contact, limit and dry friction does (`contact_modes.py`), whose derivatives give
those of the impulses; the state after a step with given impulses is straight text (`open_contact_step.py`), loops and
gears included. Nothing goes through the iterations that found the impulses; they are made exact by Newton's method
first.

Where a contact is just about to open, to slip or to stick, or a gap is just closed (an open one may close within the
step, of a penetration a part is undone), the step has a derivative to either side and none in between: `unique` is 0,
and A and B are those of one side. So they are where contacts that depend on each other ask for different things. Where
rows of loops do so as soon as these open, A takes of a change of the state what keeps them closed, and nothing else, as
it does without contacts.

Unless friction is exact, a joint that sticks is held by what its friction was in the step before, which is part of the
state, then: A and B have rows and columns for it, after those of q and v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError
from sarrus.mechanics.contact.contact_set import turns_of
from sarrus.model.model import Model
from sarrus.simulation.contact.contact_modes import EDGE, Modes, RowKinds
from sarrus.simulation.contact.open_contact_step import (
    OpenContactStep,
    are_rows,
    limits_in_step,
    open_contact_step_algorithm,
    remembers,
)
from sarrus.simulation.projection_variation import NearState, ProjectionVariation, called
from sarrus.simulation.step import StepSettings
from sarrus.simulation.step_kernels import implicit_step
from sarrus.spatial.arrays import Array
from sarrus.status import Status

_SAME = 20.0  # tolerances of the contact problem by which the step's own velocities may differ ...
_ROUNDING = 1e-9  # ... which is not less than this
_AT_BOUND = 1e-6  # of dry friction: a joint that sticks with so much less than its bound is on the edge ...
_SLIPS = 1e-8  # ... and one with so much less has slipped


class ContactLinearization(NamedTuple):
    """x' = A x + B u: x = (q, v) in the tangent space, u = controls where they are given, else tau."""

    A: Array  # (2 nv, 2 nv) or (B, 2 nv, 2 nv)
    B: Array  # (2 nv, nu)
    unique: Array  # () or (B,) 1; 0 on the edge between two motions, of which A and B are then one


class TakenSteps(NamedTuple):
    """What steps found from states (B, n): what the one before left, and what they leave."""

    before: Array  # (B, w) see `ContactSettings.cold`
    after: Array  # (B, w)
    v: Array  # (B, nv) before a projection
    status: Array  # (B,)


class ContactLinearizer:
    """The linearization of a step of one kind on the ground, compiled."""

    def __init__(self, model: Model, settings: StepSettings, inputs: dict[str, Array], u: str, dt: float) -> None:
        """inputs: what the step takes beside the state, (B, n) each; u: which of them B is for."""
        contact = settings.contact
        assert contact is not None
        self.projection = ProjectionVariation(model, model, ())
        if settings.integrator == "implicit":
            model, settings = implicit_step(model, settings)
        self.model, self.contact, self.u, self._dt, self._settings = model, contact, u, dt, settings
        self.memory = len(contact.rubs) if remembers(contact) else 0  # numbers of a state beside q and v
        self._shapes = {name: x.shape[1:] for name, x in inputs.items()}
        self._limits = limits_in_step(model, contact)
        self._kernels: dict[tuple[int, ...], tuple[Kernel, RowKinds]] = {}

    def __call__(
        self, q: Array, v: Array, steps: Array, inputs: dict[str, Array], taken: TakenSteps
    ) -> tuple[ContactLinearization, NearState]:
        """Of states (B, n) and inputs (B, n), and the states after; taken: what the steps themselves found."""
        bad = np.flatnonzero(taken.status != Status.OK)
        if len(bad):
            raise StateError(
                f"no derivative of the step at state {bad[0]} of {len(q)}: {Status(int(taken.status[bad[0]])).words}"
            )
        numbers, along, kinds = self._kernel(taken.after)
        x, nv, n = self._impulses(taken.after, numbers, kinds), self.model.nv, 2 * self.model.nv + self.memory
        rubbed = taken.before[:, -self.memory :] if self.memory else np.zeros((len(q), 0))
        given = {"q": q, "v": v, "dt": np.full(len(q), self._dt), "step": steps.astype(float), "rubbed": rubbed}
        given |= inputs
        value, slopes = self._slopes(along, given | {"impulses": x})
        ends = n + self._shapes[self.u][0]
        modes = [Modes.of(kinds, *at) for at in zip(x, value.rows, slopes["rows"][..., ends:], strict=True)]
        for k, mode in enumerate(modes):
            G = slopes["rows"][k][:, ends:]
            x[k] = mode.solved(x[k], G, value.rows[k] - G @ x[k])
        value, slopes = self._slopes(along, given | {"impulses": x})
        self._check_same(value, v, taken)
        both, unique = np.empty((len(q), n, ends)), np.ones(len(q))
        for k, mode in enumerate(modes):
            by_t, by_x = np.split(slopes["rows"][k], [ends], axis=1)
            dx, consistent = mode.variation(x[k], value.rows[k], by_x, by_t)
            clear = mode.is_clear(x[k], value.rows[k], by_x)
            clear &= mode.gaps_are_clear(value.gaps[k], value.speeds[k], self._dt, self.contact.restitution)
            unique[k] = float(consistent and clear and self._friction_is_clear(value.rubbed[k]))
            state = np.concatenate([slopes[name][k] for name in ("q", "v", "rubbed")[: 3 if self.memory else 2]])
            both[k] = state[:, :ends] + state[:, ends:] @ dx
        apart = self._loops_part(slopes, ends)
        if apart.any():
            identity = np.broadcast_to(np.eye(2 * nv), (int(apart.sum()), 2 * nv, 2 * nv))
            closed = self.projection.along(q[apart], v[apart], identity)
            both[apart, :, : 2 * nv] = both[apart, :, : 2 * nv] @ closed
        return ContactLinearization(both[..., :n], both[..., n:], unique), NearState(value.q, value.v)

    def _kernel(self, left: Array) -> tuple[tuple[int, ...], Kernel, RowKinds]:
        """That knows all contacts which steps had, by what they left."""
        slots = self.contact.contacts.slots
        wanted = {*self.contact.contacts.usual, *(int(x) for x in np.unique(np.round(left[:, :slots])) if x >= 0)}
        fitting = [known for known in self._kernels if wanted <= set(known)]
        numbers = min(fitting, key=len) if fitting else tuple(sorted(wanted.union(*self._kernels)))
        if numbers not in self._kernels:
            pairs = [self.contact.contacts.pair_of(k) for k in numbers]
            rubs = [rub for rub in self.contact.rubs if are_rows(self.contact) or not rub.is_joint]
            bounds = np.array([self._dt * rub.size for rub in rubs])
            sizes = tuple(3 + turns_of(pair.lengths) for pair in pairs)
            friction = np.array([pair.friction for pair in pairs], float)
            kinds = RowKinds(bounds, len(self._limits), friction, sizes, self.contact.convex)
            algorithm = open_contact_step_algorithm(self.model, self._settings, self._shapes, kinds.total)
            wrt = ("q", "v", *(["rubbed"] if self.memory else []), self.u, "impulses")
            along: Kernel = compile(
                self.model, algorithm, settings=self._settings, numbers=numbers, derivative="jvp", wrt=wrt, lanes="auto"
            )
            self._kernels[numbers] = along, kinds
        return numbers, *self._kernels[numbers]

    def _impulses(self, left: Array, numbers: tuple[int, ...], kinds: RowKinds) -> Array:
        """(B, m) of what steps left."""
        contact, count = self.contact, len(kinds.bounds)
        slots, width = contact.contacts.slots, contact.contacts.width
        ends = np.cumsum([slots, width * slots, contact.limit_count])
        in_slots, impulses, pushed, rubbed = np.split(left, ends, axis=1)
        out = np.zeros((len(left), kinds.total))
        rows = [k for k, rub in enumerate(contact.rubs) if are_rows(contact) or not rub.is_joint]
        out[:, :count] = np.clip(rubbed[:, rows], -1.0, 1.0) * kinds.bounds
        for k, limit in enumerate(self._limits):
            out[:, count + k] = np.maximum(0.0, limit.sign * pushed[:, contact.limited.index(limit.v)])
        same = np.abs(in_slots[:, None, :] - np.array(numbers)[None, :, None]) < 0.5  # (B, numbers, slots)
        found = np.einsum("bus,bsk->buk", same, impulses.reshape(-1, slots, width))
        for k, span in enumerate(kinds.contacts):  # slots may have more rows, the last of which is along the normal
            tangents = span.stop - 1 - span.start
            out[:, span.start : span.stop - 1], out[:, span.stop - 1] = found[:, k, :tangents], found[:, k, -1]
        return out

    def _slopes(self, along: Kernel, given: dict[str, Array]) -> tuple[OpenContactStep, dict[str, Array]]:
        """Values (B, n), and derivatives (B, n, k) along everything, by one batch of directions."""
        directions = [port for port in along.tape.inputs if port.name[1:] in given and port.name[0] == "d"]
        batch, k = len(given["q"]), sum(port.size for port in directions)
        arrays = {name: np.repeat(x, k, axis=0) for name, x in given.items()}
        ends = np.cumsum([port.size for port in directions])[:-1]
        units = np.split(np.eye(k), ends, axis=1)
        arrays |= {port.name: np.tile(x, (batch, 1)) for port, x in zip(directions, units, strict=True)}
        found = called(along, arrays)
        slopes = {x: getattr(found, f"d{x}").reshape(batch, k, -1).swapaxes(1, 2) for x in OpenContactStep._fields}
        return OpenContactStep(*(getattr(found, x)[::k] for x in OpenContactStep._fields)), slopes

    def _check_same(self, value: OpenContactStep, v: Array, taken: TakenSteps) -> None:
        same = _SAME * max(self.contact.tolerance, _ROUNDING) * (1.0 + np.abs(v).max(axis=1, initial=0.0))
        off = ~(np.abs(value.v - taken.v).max(axis=1, initial=0.0) <= same)
        if off.any():
            raise StateError(
                f"no derivative of the step at state {np.flatnonzero(off)[0]} of {len(v)}: a limb whips around, or "
                f"something else happens that only some steps look at"
            )

    def _friction_is_clear(self, parts: Array) -> bool:
        """Whether no joint that sticks is just about to slip."""
        left = 1.0 - np.abs(parts)
        return not self.memory or not np.any((left > _SLIPS) & (left < _AT_BOUND))

    @staticmethod
    def _loops_part(slopes: dict[str, Array], ends: int) -> Array:
        """(B,) whether rows of loops ask for different things along some change."""
        left, asked = (np.abs(slopes[x][..., :ends]).max(axis=(1, 2), initial=0.0) for x in ("loops", "asked"))
        return left > EDGE * (1.0 + asked)
