"""What a simulation leaves behind: arrays with names, and what follows from them."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError, check_name
from sarrus.model.model import Model
from sarrus.once import cached_property
from sarrus.simulation import conserved
from sarrus.simulation import trajectory_files as files
from sarrus.simulation.conserved import Drift, Energy, Momentum
from sarrus.simulation.contact.record import ContactRecord
from sarrus.simulation.projection import closure_error
from sarrus.simulation.trajectory_files import FIELDS, Contents
from sarrus.simulation.trajectory_plot import plot
from sarrus.spatial.arrays import Array
from sarrus.status import Status


class State(NamedTuple):
    """Where a trajectory is at a time: what a simulation starts, or goes on, from."""

    time: float
    q: Array  # (nq,) or (B, nq)
    v: Array


class Trajectory:
    """States over time, of one robot (T, n) or of a batch (B, T, n).

    `trajectory["knee"]` is the position of a joint, (T,), or (T, k) if it has several coordinates;
    `trajectory[100:200:5]` is a section in time, and `trajectory.robot(3)` one robot of a batch.

    tau, qdd, forces, residual, iterations and status are None if they were not recorded; `arrays` has those that were.
    `forces` act on the robot as results of `forward_dynamics` say; `status` indexes `settings["status_words"]`
    (default: those of `forward_dynamics`). `settings` says how the trajectory was made: numbers, strings and lists.

    model     whose states these are
    time      (T,) seconds
    q, v      (T, nq) and (T, nv), or with a first dimension of B: rad, m, unit quaternions xyzw; rad/s, m/s
    settings  how it was made

    >>> motion = sarrus.simulate(sarrus.zoo.chain(2), duration=0.01)
    >>> float(motion.time[-1]), motion["link_0_joint"].shape
    (0.01, (11,))
    """

    def __init__(
        self, model: Model, time: Any, q: Any, v: Any, *, settings: dict[str, Any] | None = None, **recorded: Any
    ) -> None:
        self.model = model
        self.settings: dict[str, Any] = dict(settings or {})
        self.time: Array = np.asarray(time, dtype=float)
        if self.time.ndim != 1:
            raise StateError(f"time: expected shape (T,), got {self.time.shape}")
        if np.ndim(q) not in (2, 3):
            raise StateError(f"q: expected shape (T, {model.nq}) or (B, T, {model.nq}), got {np.shape(q)}")
        lead = (*np.shape(q)[:-2], len(self.time))
        for name in recorded:
            if name not in FIELDS:
                raise StateError(f"{name!r} is not a field of a trajectory. Valid: {', '.join(FIELDS)}")
        given = {"q": q, "v": v, **recorded}
        self.arrays = {n: _checked(model, n, given[n], lead) for n in FIELDS if given.get(n) is not None}
        self.q, self.v = self.arrays["q"], self.arrays["v"]
        self.tau, self.qdd, self.forces, self.residual, self.iterations, self.status = (
            self.arrays.get(name) for name in list(FIELDS)[2:-1]
        )

    @classmethod
    def of(cls, model: Model, contents: Contents) -> Trajectory:
        """The trajectory with these times, arrays and settings.

        model     whose states these are
        contents  as in `contents` of another trajectory
        returns   a `Trajectory`
        errors    `StateError`: arrays of the wrong shape
        """
        return cls(model, contents.time, settings=contents.settings, **contents.arrays)

    @cached_property
    def contacts(self) -> ContactRecord | None:
        """What touched, where, and with what force, a `ContactRecord`; None: nothing could, or it was not recorded."""
        recorded = self.arrays.get("contacts")
        return None if recorded is None else ContactRecord.of(recorded, self.settings.get("contact_names", ()))

    # --- parts ---------------------------------------------------------------------------------------------

    @property
    def contents(self) -> Contents:
        """Settings, times and arrays: what a file holds."""
        return Contents(self.settings, self.time, self.arrays)

    @property
    def batch(self) -> int | None:
        """How many robots; None: one, without a dimension of its own."""
        return None if self.q.ndim == 2 else len(self.q)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(nb,) names of the joints, in the order of q and v."""
        return self.model.joint_names

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the active constraints, in the order of their rows in `forces`."""
        return tuple(c.name for c in self.model.active_constraints)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        robots = "" if self.batch is None else f", {self.batch} robots"
        return f"<Trajectory of {self.model.name!r}: {len(self)} states, {span}{robots}>"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return _squeezed(self.q[..., self.model.layout.q_of(key)])
        part = slice(key, None if key == -1 else key + 1) if isinstance(key, (int, np.integer)) else key
        if not isinstance(part, slice):
            raise StateError(f"a trajectory is indexed by a joint's name, a number or a slice of states, got {key!r}")
        if part is not key and not -len(self) <= key < len(self):
            raise IndexError(f"state {key} of a trajectory of {len(self)}")
        return Trajectory.of(self.model, self.contents.part(part))

    def robot(self, number: int) -> Trajectory:
        """One robot of a batch.

        number   of the robot, from 0
        returns  a `Trajectory` without the dimension of the batch
        errors   `StateError`: this trajectory has one robot; `IndexError`: no such robot

        >>> motion = sarrus.simulate(sarrus.zoo.chain(2), q0=np.zeros((3, 2)), duration=0.01)
        >>> motion.q.shape, motion.robot(0).q.shape
        ((3, 11, 2), (11, 2))
        """
        if self.batch is None:
            raise StateError("this trajectory has one robot, not a batch")
        arrays = {name: x[number] for name, x in self.arrays.items()}
        return Trajectory(self.model, self.time, settings=self.settings, **arrays)

    def velocity(self, joint: str) -> Array:
        """Velocity of a joint.

        joint    its name
        returns  (T,), or (T, k) of a joint with k velocities; a batch (B, T, ...): rad/s, m/s
        errors   `UnknownNameError`: no such joint

        >>> sarrus.simulate(sarrus.zoo.chain(2), duration=0.01).velocity("link_0_joint").shape
        (11,)
        """
        return self._of_joint("v", joint)

    def acceleration(self, joint: str) -> Array:
        """Acceleration of a joint at the beginning of each step.

        joint    its name
        returns  (T,), or (T, k) of a joint with k velocities; a batch (B, T, ...): rad/s^2, m/s^2
        errors   `UnknownNameError`: no such joint; `StateError`: qdd was not recorded
        """
        return self._of_joint("qdd", joint)

    def torque(self, joint: str) -> Array:
        """Joint force or torque that was applied.

        joint    its name
        returns  (T,), or (T, k) of a joint with k velocities; a batch (B, T, ...): N m, N
        errors   `UnknownNameError`: no such joint; `StateError`: tau was not recorded
        """
        return self._of_joint("tau", joint)

    def _of_joint(self, name: str, joint: str) -> Array:
        return _squeezed(self._recorded(name)[..., self.model.layout.v_of(joint)])

    def force(self, constraint: str) -> Array:
        """Force of a constraint on the robot.

        constraint  its name, one of `constraint_names`
        returns     (T, rows), of a batch (B, T, rows): N, N m, in the order and the axes of declaration
        errors      `UnknownNameError`: no such active constraint; `StateError`: forces were not recorded

        >>> motion = sarrus.simulate(sarrus.zoo.four_bar(), duration=0.01)
        >>> motion.force(motion.constraint_names[0]).shape
        (11, 5)
        """
        rows = dict(zip(self.constraint_names, self.model.row_spans, strict=True))
        check_name("constraint", constraint, rows)
        return self._recorded("forces")[..., rows[constraint]]

    def _recorded(self, name: str) -> Array:
        if name not in self.arrays:
            raise StateError(f"{name} was not recorded. Recorded: {', '.join(self.arrays)}")
        return self.arrays[name]

    @property
    def final(self) -> State:
        """The last state, to go on from."""
        if not len(self):
            raise StateError("the trajectory is empty: it has no last state")
        return State(float(self.time[-1]), self.q[..., -1, :], self.v[..., -1, :])

    @property
    def statuses(self) -> dict[str, int]:
        """How many states ended with which status, in words."""
        words = self.settings.get("status_words", [status.words for status in Status])
        codes, counts = np.unique(self._recorded("status"), return_counts=True)
        known = dict(enumerate(words))
        return {known.get(int(c), f"status {c:g}"): int(n) for c, n in zip(codes, counts, strict=True)}

    def append(self, other: Trajectory) -> Trajectory:
        """This one, then the other; a state that both have, the last here and the first there, is kept once.

        other    of the same model and batch, with the same arrays, from a time at which this one ends or later
        returns  a `Trajectory`, with the settings of this one
        errors   `StateError`: they do not fit together

        >>> motion = sarrus.simulate(sarrus.zoo.chain(2), duration=0.01)
        >>> len(motion[:6].append(motion[5:]))
        11
        """
        if other.model.digest != self.model.digest:
            raise StateError(f"append: trajectories of different models, {self.model.name!r} and {other.model.name!r}")
        if other.batch != self.batch:
            raise StateError(f"append: batches of different sizes, {self.batch} and {other.batch}")
        try:
            self.contents.check_continued_by(other.contents)
        except StateError as error:
            raise StateError(f"append: {error}") from None
        if len(self) and len(other) and other.time[0] < self.time[-1]:
            raise StateError(f"append: the other starts at {other.time[0]:g} s, before {self.time[-1]:g} s")
        if len(self) and len(other) and other.time[0] == self.time[-1]:
            other = other[1:]
        return Trajectory.of(self.model, Contents.joined([self.contents, other.contents]))

    # --- what follows ---------------------------------------------------------------------------------------

    @cached_property
    def energy(self) -> Energy:
        """`kinetic`, `potential` (zero as in `sarrus.energy`), `elastic` and `total`, each (T,) or (B, T): J."""
        return conserved.energy(self.model, self.q, self.v)

    @cached_property
    def momentum(self) -> Momentum:
        """In the world's axes, (T, 3) or (B, T, 3) each: `linear`, kg m/s; `angular` about the world's origin and
        `centroidal` about the centre of mass, kg m^2/s. Without the rotors' armature.
        """
        return conserved.momentum(self.model, self.q, self.v)

    @cached_property
    def center_of_mass(self) -> Array:
        """In the world, (T, 3) or (B, T, 3): m."""
        return conserved.center_of_mass(self.model, self.q)

    @cached_property
    def closure_error(self) -> Array:
        """The largest error of any constraint, metres or radians: (T,) or (B, T). Contacts without `at` have none."""
        return closure_error(self.model, self.q)

    @property
    def drift(self) -> Drift:
        """How far what should stay the same did not, at worst over time: `energy` (relative), `linear_momentum`
        (kg m/s), `angular_momentum` (kg m^2/s) and `closure` (m, rad). Floats, or (B,) of a batch.
        """
        return conserved.drift(self.energy, self.momentum, self.closure_error)

    # --- files and pictures -----------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file: .npz, or .parquet (needs pyarrow).

        path    of the file; its ending says what kind it is
        errors  `StateError`: another ending; `MissingDependencyError`: pyarrow is not installed
        """
        files.write(path, self.model, self.contents)

    @staticmethod
    def load(path: str | PathLike[str], model: Model) -> Trajectory:
        """Read a file, or the directory of a `Recorder`.

        path     of the file or directory
        model    the one that it was recorded with; if other loops or gears of it are embedded now, forces and
                 residuals of constraints are left out
        returns  a `Trajectory`
        errors   `StateError`: no such file, a damaged one, or one of another model; `MissingDependencyError`: pyarrow
                 is not installed

        >>> robot = sarrus.zoo.chain(2)
        >>> sarrus.simulate(robot, duration=0.01).save("motion.npz")
        >>> len(sarrus.Trajectory.load("motion.npz", robot))
        11
        """
        with files.errors_that_name(path):
            return Trajectory.of(model, files.read(path, model))

    def plot(self, path: str | PathLike[str] | None = None, joints: list[str] | None = None) -> Any:
        """Positions, velocities, energy, closure error and forces over time; of a batch, those of its first robot.

        path     of a picture to save as well; None: none
        joints   names of those to show; None: those that move
        returns  a matplotlib figure
        errors   `UnknownNameError`: no such joint; `StateError`: no states; `UnsupportedError`: no kind of picture;
                 `MissingDependencyError`: matplotlib is not installed
        """
        return plot(self, path, joints)


def _checked(model: Model, name: str, value: Any, lead: tuple[int, ...]) -> Array:
    count = FIELDS[name]
    array = np.asarray(value, dtype=float)
    shape = lead if count is None else (*lead, getattr(model, count) if count else array.shape[-1])
    if array.shape != shape:
        raise StateError(f"{name}: expected shape {shape}, got {array.shape}")
    return array


def _squeezed(x: Array) -> Array:
    return x[..., 0] if x.shape[-1] == 1 else x
