"""How the state after a step on the ground varies with the state before it and with what acts: A and B at the solution.

Impulses solve equations of what every contact, limit and dry friction does (`contact_modes.py`), whose derivatives give
those of the impulses; the state after a step with given impulses is straight text (`open_contact_step.py`), loops and
gears included. Nothing goes through the iterations that found the impulses; they are made exact by Newton's method
first.

Where a contact is just about to open, to slip or to stick, or a gap is just closed (an open one may close within the
step, a closed one does not close further), the step has a derivative to either side and none in between: `unique` is 0,
and A and B are those of one side. So they are where contacts that depend on each other ask for different things, and
where what slides may rest on several contacts in several ways that brake it differently. Where rows of loops ask for
different things as soon as these open, A takes of a change of the state what keeps them closed, and nothing else, as it
does without contacts.

Unless friction is exact, a joint that sticks is held by what its friction was in the step before, which is part of the
state, then: A and B have rows and columns for it, after those of q and v.

Where impulses change velocities and their products by much, a step solves for impulses twice (`every_contact.py`). How
the velocities vary by which it changed them first follows in the same way, and is an input of the second.

Symbols of a model (masses, lengths, gear ratios) are inputs of the open step like the state and what acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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


class ParametricContactLinearization(NamedTuple):
    """x' = A x + B u + P p: p are the parameters of the simulation."""

    A: Array  # (2 nv, 2 nv) or (B, 2 nv, 2 nv)
    B: Array  # (2 nv, nu)
    P: Array  # (2 nv, n)
    unique: Array  # () or (B,) 1; 0 on the edge between two motions, of which A, B and P are then one


class Way(NamedTuple):
    """Of those in which a step finds its contacts; see `open_contact_step`."""

    bent: bool
    struck: bool


# A step that did not look further may have done so, and found the usual contacts: that is tried next.
WAYS = (Way(False, False), Way(True, False), Way(True, True))


class Given(NamedTuple):
    """What steps take but impulses, (B, n) each."""

    arrays: dict[str, Array]
    struck: Array | None = None  # (B, nv, k) how the velocities by impulses of the first motion vary, where that counts


class Solution(NamedTuple):
    """Steps with the impulses that they had, made exact."""

    along: Kernel
    kinds: RowKinds
    modes: list[Modes]
    x: Array  # (B, m)
    value: OpenContactStep
    slopes: dict[str, Array]


class TakenSteps(NamedTuple):
    """What steps found from states (B, n): what the one before left, and what they leave."""

    before: Array  # (B, w) see `ContactSettings.cold`
    after: Array  # (B, w)
    v: Array  # (B, nv) before a projection
    status: Array  # (B,)


class ContactLinearizer:
    """The linearization of a step of one kind on the ground, compiled."""

    def __init__(
        self,
        model: Model,
        traced: Model,
        symbols: tuple[Any, ...],
        settings: StepSettings,
        inputs: dict[str, tuple[int, ...]],
        u: str,
        dt: float,
    ) -> None:
        """traced: the model with symbols, if it has any, which are then the input `parameters`, else the same;
        inputs: shapes of what the step takes beside the state; u: which of them B is for.
        """
        contact = settings.contact
        assert contact is not None
        self.projection = ProjectionVariation(model, traced, symbols)
        if settings.integrator == "implicit":
            traced, settings = implicit_step(traced, settings)
        self.model, self.contact, self.u, self._dt, self._settings = traced, contact, u, dt, settings
        self._symbols = symbols
        self.memory = len(contact.rubs) if remembers(contact) else 0  # numbers of a state beside q and v
        self._shapes = {name: shape for name, shape in inputs.items() if name != "parameters"}
        more = ["rubbed"] if self.memory else []
        self._wrt = ("q", "v", *more, u, *(["parameters"] if symbols else []), "impulses")
        self._ends = np.cumsum([2 * model.nv + self.memory, *self._shapes[u], len(symbols)])
        self._limits = limits_in_step(model, contact)
        self._kernels: dict[tuple[tuple[int, ...], Way], tuple[Kernel, RowKinds]] = {}

    def __call__(
        self, q: Array, v: Array, steps: Array, inputs: dict[str, Array], taken: TakenSteps
    ) -> tuple[ContactLinearization | ParametricContactLinearization, NearState]:
        """Of states (B, n) and inputs (B, n), and the states after; taken: what the steps themselves found."""
        bad = np.flatnonzero(taken.status != Status.OK)
        if len(bad):
            raise StateError(
                f"no derivative of the step at state {bad[0]} of {len(q)}: {Status(int(taken.status[bad[0]])).words}"
            )
        slots, usual = self.contact.contacts.slots, self.contact.contacts.usual
        looked_further = ~np.isin(np.round(taken.after[:, :slots]), (-1.0, *usual)).all(axis=1)
        columns, unique = np.empty((len(q), self._ends[0], self._ends[-1])), np.empty(len(q))
        after, found = NearState(np.empty(q.shape), np.empty(v.shape)), np.zeros(len(q), bool)
        for way in WAYS:
            those = np.flatnonzero(~found & (way.bent | ~looked_further))
            if not len(those):
                continue
            given = {name: x[those] for name, x in inputs.items()}
            same, *parts = self._of_alike(
                q[those], v[those], steps[those], given, TakenSteps(*(x[those] for x in taken)), way
            )
            found[those] = same
            for whole, part in zip((columns, unique, *after), parts, strict=True):
                whole[those] = part
        if not found.all():
            raise StateError(
                f"no derivative of the step at state {np.flatnonzero(~found)[0]} of {len(q)}: impulses bend a limb's "
                f"path into the ground, friction would let a bounce gain energy, or something else happens that only "
                f"some steps look at"
            )
        A, B, P, _ = np.split(columns, self._ends, axis=-1)
        return (
            ParametricContactLinearization(A, B, P, unique) if self._symbols else ContactLinearization(A, B, unique)
        ), after

    def _of_alike(
        self, q: Array, v: Array, steps: Array, inputs: dict[str, Array], taken: TakenSteps, way: Way
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Of states at which steps found contacts in one way: whether the steps were these, A, B and P beside each
        other, whether these are unique, and the states after.
        """
        nv, ends = self.model.nv, self._ends[-1]
        rubbed = taken.before[:, -self.memory :] if self.memory else np.zeros((len(q), 0))
        given = {"q": q, "v": v, "dt": np.full(len(q), self._dt), "step": steps.astype(float), "rubbed": rubbed}
        begun = Given(given | inputs)
        if way.struck:
            # What the first motion was is not recorded: it had the contacts of the second.
            first = self._solution(taken, begun, way._replace(struck=False))
            by_all, _ = self._columns(first, ("changed",))
            begun = Given(begun.arrays | {"change": first.value.changed}, by_all)
        found = self._solution(taken, begun, way)
        _, _, modes, x, value, slopes = found
        columns, consistent = self._columns(found)
        unique = np.empty(len(q))
        for k, mode in enumerate(modes):
            clear = mode.is_clear(x[k], value.rows[k], slopes["rows"][k][:, ends:])
            clear &= mode.gaps_are_clear(
                value.gaps[k], value.speeds[k], value.rows[k], self._dt, self.contact.restitution
            )
            unique[k] = float(consistent[k] and clear and self._friction_is_clear(value.rubbed[k]))
        others = [mode.others(*at) for mode, *at in zip(modes, x, value.rows, slopes["rows"][..., ends:], strict=True)]
        shared = np.flatnonzero([np.any(other) for other in others])
        if len(shared):
            unique[shared] *= self._same_by_others(
                found, shared, x[shared] + np.array(others)[shared], begun, columns[shared]
            )
        apart = self._loops_part(slopes, ends)
        if apart.any():
            size = 2 * nv + len(self._symbols)  # loops whose lengths vary are closed by other states
            changes = np.broadcast_to(np.eye(2 * nv, size), (int(apart.sum()), 2 * nv, size))
            parameters = inputs["parameters"][apart] if self._symbols else None
            closed = columns[apart, :, : 2 * nv] @ self.projection.along(q[apart], v[apart], changes, parameters)
            columns[apart, :, : 2 * nv] = closed[..., : 2 * nv]
            columns[apart, :, ends - len(self._symbols) :] += closed[..., 2 * nv :]
        return self._are_same(value, v, taken), columns, unique, value.q, value.v

    def _solution(self, taken: TakenSteps, given: Given, way: Way) -> Solution:
        numbers, along, kinds = self._kernel(taken.after, way)
        x = self._impulses(given.arrays["q"], taken.after, numbers, kinds)
        value, slopes = self._slopes(along, given, x)
        found = zip(x, value.rows, slopes["rows"][..., self._ends[-1] :], strict=True)
        modes, smallest = zip(*(Modes.of(kinds, *at).within(*at) for at in found), strict=True)
        x = self._solved(modes, np.array(smallest), value, slopes)
        return Solution(along, kinds, list(modes), x, *self._slopes(along, given, x))

    def _solved(self, modes: Sequence[Modes], x: Array, value: OpenContactStep, slopes: dict[str, Array]) -> Array:
        """Impulses (B, m) made exact."""
        found = np.empty(x.shape)
        for k, mode in enumerate(modes):
            G = slopes["rows"][k][:, self._ends[-1] :]
            found[k] = mode.solved(x[k], G, value.rows[k] - G @ x[k])
        return found

    def _columns(self, found: Solution, names: tuple[str, ...] = ()) -> tuple[Array, Array]:
        """A, B and P beside each other, (B, n, k), and (B,) whether rows that depend on each other agree.

        names  of other outputs than the state
        """
        ends, (_, _, modes, x, value, slopes) = self._ends[-1], found
        names = names or ("q", "v", "rubbed")[: 3 if self.memory else 2]
        columns, consistent = [], np.empty(len(x), bool)
        for k, mode in enumerate(modes):
            by_t, by_x = np.split(slopes["rows"][k], [ends], axis=1)
            dx, consistent[k] = mode.variation(x[k], value.rows[k], by_x, by_t)
            outputs = np.concatenate([slopes[name][k] for name in names])
            columns.append(outputs[:, :ends] + outputs[:, ends:] @ dx)
        return np.array(columns), consistent

    def _same_by_others(self, found: Solution, which: Array, x: Array, begun: Given, columns: Array) -> Array:
        """(B,) whether other impulses x that solve the same equations lead to the same velocities and derivatives, of
        those of the states that are meant.

        A box that slides on four corners may load one pair of them or the other. As soon as it spins these brake it
        differently: the step has several solutions, of which the solver finds one.
        """
        arrays = {name: y[which] for name, y in begun.arrays.items()}
        given = Given(arrays, None if begun.struck is None else begun.struck[which])
        modes, v = [found.modes[k] for k in which], found.value.v[which]
        x = self._solved(modes, x, *self._slopes(found.along, given, x))
        value, slopes = self._slopes(found.along, given, x)
        others, _ = self._columns(Solution(found.along, found.kinds, modes, x, value, slopes))
        moved = np.abs(value.v - v).max(axis=1, initial=0.0) > EDGE * (1.0 + np.abs(v).max(axis=1, initial=0.0))
        sizes = np.abs(columns).max(axis=(1, 2), initial=0.0)
        return ~moved & (np.abs(others - columns).max(axis=(1, 2), initial=0.0) <= EDGE * (1.0 + sizes))

    def _kernel(self, left: Array, way: Way) -> tuple[tuple[int, ...], Kernel, RowKinds]:
        """That knows all contacts which steps had, by what they left."""
        slots = self.contact.contacts.slots
        wanted = {*self.contact.contacts.usual, *(int(x) for x in np.unique(np.round(left[:, :slots])) if x >= 0)}
        alike = [known for known, other in self._kernels if other == way]
        fitting = [known for known in alike if wanted <= set(known)]
        numbers = min(fitting, key=len) if fitting else tuple(sorted(wanted.union(*alike)))
        if (numbers, way) not in self._kernels:
            pairs = [self.contact.contacts.pair_of(k) for k in numbers]
            rubs = [rub for rub in self.contact.rubs if are_rows(self.contact) or not rub.is_joint]
            bounds = np.array([self._dt * rub.size for rub in rubs])
            sizes = tuple(3 + turns_of(pair.lengths) for pair in pairs)
            friction = np.array([pair.friction for pair in pairs], float)
            kinds = RowKinds(bounds, len(self._limits), friction, sizes, self.contact.convex)
            shapes = self._shapes | ({"change": (self.model.nv,)} if way.struck else {})
            algorithm = open_contact_step_algorithm(self.model, self._settings, shapes, kinds.total)
            along: Kernel = compile(
                self.model, algorithm, settings=self._settings, numbers=numbers, **way._asdict(), derivative="jvp",
                wrt=self._directions(way.struck),
                lanes="auto", parameters=self._symbols or None,
            )  # fmt: skip
            self._kernels[numbers, way] = along, kinds
        return numbers, *self._kernels[numbers, way]

    def _impulses(self, q: Array, left: Array, numbers: tuple[int, ...], kinds: RowKinds) -> Array:
        """(B, m) of what steps from q left."""
        contact, count = self.contact, len(kinds.bounds)
        slots, width = contact.contacts.slots, contact.contacts.width
        ends = np.cumsum([slots, width * slots, contact.limit_count])
        in_slots, impulses, pushed, rubbed = np.split(left, ends, axis=1)
        out = np.zeros((len(left), kinds.total))
        rows = [k for k, rub in enumerate(contact.rubs) if are_rows(contact) or not rub.is_joint]
        out[:, :count] = np.clip(rubbed[:, rows], -1.0, 1.0) * kinds.bounds
        for k, limit in enumerate(self._limits):
            before = [limit.pushed_before(x, contact.limited, y) for x, y in zip(q, pushed, strict=True)]
            out[:, count + k] = np.maximum(0.0, before)
        same = np.abs(in_slots[:, None, :] - np.array(numbers)[None, :, None]) < 0.5  # (B, numbers, slots)
        found = np.einsum("bus,bsk->buk", same, impulses.reshape(-1, slots, width))
        for k, span in enumerate(kinds.contacts):  # slots may have more rows, the last of which is along the normal
            tangents = span.stop - 1 - span.start
            out[:, span.start : span.stop - 1], out[:, span.stop - 1] = found[:, k, :tangents], found[:, k, -1]
        return out

    def _directions(self, struck: bool) -> tuple[str, ...]:
        """Inputs along which the open step is differentiated; impulses are the last."""
        return (*self._wrt[:-1], "change", self._wrt[-1]) if struck else self._wrt

    def _slopes(self, along: Kernel, begun: Given, impulses: Array) -> tuple[OpenContactStep, dict[str, Array]]:
        """Values (B, n), and derivatives (B, n, k) along everything, by one batch of directions."""
        by_name, given = {port.name: port for port in along.tape.inputs}, begun.arrays | {"impulses": impulses}
        directions = [by_name[f"d{name}"] for name in self._directions(begun.struck is not None)]
        batch, k = len(given["q"]), sum(port.size for port in directions)
        arrays = {name: np.repeat(x, k, axis=0) for name, x in given.items()}
        ends = np.cumsum([port.size for port in directions])[:-1]
        units = np.split(np.eye(k), ends, axis=1)
        arrays |= {port.name: np.tile(x, (batch, 1)) for port, x in zip(directions, units, strict=True)}
        found = called(along, arrays)
        slopes = {x: getattr(found, f"d{x}").reshape(batch, k, -1).swapaxes(1, 2) for x in OpenContactStep._fields}
        if begun.struck is not None:
            first, last = self._ends[-1], self._ends[-1] + self.model.nv
            for name, s in slopes.items():
                through = s[..., :first] + s[..., first:last] @ begun.struck
                slopes[name] = np.concatenate([through, s[..., last:]], axis=-1)
        return OpenContactStep(*(getattr(found, x)[::k] for x in OpenContactStep._fields)), slopes

    def _are_same(self, value: OpenContactStep, v: Array, taken: TakenSteps) -> Array:
        """(B,) whether the steps were these."""
        same = _SAME * max(self.contact.tolerance, _ROUNDING) * (1.0 + np.abs(v).max(axis=1, initial=0.0))
        return np.abs(value.v - taken.v).max(axis=1, initial=0.0) <= same

    def _friction_is_clear(self, parts: Array) -> bool:
        """Whether no joint that sticks is just about to slip."""
        left = 1.0 - np.abs(parts)
        return not self.memory or not np.any((left > _SLIPS) & (left < _AT_BOUND))

    @staticmethod
    def _loops_part(slopes: dict[str, Array], ends: int) -> Array:
        """(B,) whether rows of loops ask for different things along some change."""
        left, asked = (np.abs(slopes[x][..., :ends]).max(axis=(1, 2), initial=0.0) for x in ("loops", "asked"))
        return left > EDGE * (1.0 + asked)
