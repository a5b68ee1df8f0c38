"""What a robot is. A `Model` is immutable; `ModelBuilder` makes one.

A model is data. What is computed from it stands beside it, remembered for as long as the model lives: `tree_of`,
`cluster_tree_of`, `spinning_tree_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from sarrus.errors import ModelError, NameClashError, StateError, unknown_name
from sarrus.model.actuators import Actuator
from sarrus.model.bodies import WORLD, WORLD_NAME, Body, Frame, freeze
from sarrus.model.constraints import Constraint, Kind
from sarrus.model.content import hash_of
from sarrus.model.embedding import Embedding
from sarrus.model.fields import as_gravity, placement
from sarrus.model.geometries import GROUND, Geometry, GeometryPair, Plane
from sarrus.model.gravity_compensation import NOTHING_BORNE, GravityCompensation
from sarrus.model.keyframes import Keyframe, Keyframes
from sarrus.model.layout import StateLayout, spans
from sarrus.model.make_geometry import make_geometry
from sarrus.model.visuals import Visual
from sarrus.once import cached_property
from sarrus.spatial.arrays import Array, Scalar, is_numeric, vector

GROUND_NAME = "ground"

_verbs: dict[str, Callable[..., Any]] = {}


def install(**verbs: Callable[..., Any]) -> None:
    """Say what the methods do that need rooms above this one (`sarrus/__init__.py`)."""
    _verbs.update(verbs)


@dataclass(frozen=True, eq=False)
class Model:
    """A robot: bodies (parents before children), frames and declared constraints.

    Every body is also a frame of the same name, and so is every link that a fixed joint merged into a body.

    >>> robot = sarrus.zoo.chain(7)
    >>> robot.nq, robot.nv, robot.nb
    (7, 7, 7)
    """

    name: str  # of the robot
    bodies: tuple[Body, ...]  # that move, parents first
    frames: tuple[Frame, ...]  # named poses on bodies and on the world
    constraints: tuple[Constraint, ...] = ()  # as declared, the inactive ones among them
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))  # (3,) in the world: m/s^2
    import_report: tuple[str, ...] = ()  # what the file says and the model does not represent
    lost_physics: tuple[str, ...] = ()  # the lines of the report that make it move otherwise than the file says
    ill_posed: str = ""  # why accelerations are not defined, if a file was loaded in spite of that
    embedding: Embedding | None = None  # which constraints hold by construction (`sarrus.embed`)
    home: Array | None = None  # (nq,) the configuration in which a file shows the robot; None: neutral
    visuals: tuple[Visual, ...] = ()  # what it looks like; no part of `digest`
    actuators: tuple[Actuator, ...] = ()  # what controls do; no part of `digest`
    gravity_compensation: GravityCompensation = NOTHING_BORNE  # weights that something bears; no part of `digest`
    geometries: tuple[Geometry, ...] = ()  # what it touches with, the world's among them; no part of `digest`
    geometry_pairs: tuple[GeometryPair, ...] = ()  # that may meet although their categories do not say so
    excluded_pairs: tuple[tuple[str, str], ...] = ()  # of links (or "world") whose own geometries never meet
    keyframes: Mapping[str, Keyframe] = field(default_factory=Keyframes)  # states that a file names
    time_step: float | None = None  # seconds, that a file asks for
    integrator_hint: str | None = None  # the integrator of `simulate` that is most like what a file asks for
    typical: tuple[tuple[str, float], ...] = ()  # values of symbols, where decisions need numbers; no part of `digest`

    def __post_init__(self) -> None:
        freeze(self.gravity, *([] if self.home is None else [self.home]))
        check_constraint_names(self)
        check_actuators(self)
        check_geometries(self)
        check_keyframes(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is declared, without what was computed from it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.nb} bodies, nq {self.nq}, nv {self.nv}>"

    @cached_property
    def nb(self) -> int:
        """How many bodies move."""
        return len(self.bodies)

    @cached_property
    def remembered(self) -> dict[Any, Any]:
        """What was computed from it and is kept for as long as it lives: trees, mobilities, kernels."""
        return {}

    @cached_property
    def layout(self) -> StateLayout:
        """Where each joint's numbers lie in q and v."""
        return StateLayout(tuple(body.joint for body in self.bodies))

    @cached_property
    def nq(self) -> int:
        """How many coordinates q has: more than nv where there are quaternions."""
        return self.layout.nq

    @cached_property
    def nv(self) -> int:
        """How many joint velocities there are."""
        return self.layout.nv

    @property
    def nu(self) -> int:
        """How many actuators, hence controls, there are."""
        return len(self.actuators)

    @property
    def ny(self) -> int:
        """How many independent velocities there are: nv where nothing is embedded."""
        clusters = () if self.embedding is None else self.embedding.clusters
        return self.nv - sum(len(cluster.dependent) for cluster in clusters)

    @cached_property
    def mass(self) -> Scalar:
        """The mass that moves: kg."""
        return sum((body.inertia.mass for body in self.bodies), 0.0)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """(nb,) the number of the body before each; -1: the world."""
        return tuple(body.parent for body in self.bodies)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """(nb,) names of the bodies, parents first."""
        return tuple(body.name for body in self.bodies)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(nb,) names of the joints, in the order of q and v: each moves the body of the same number."""
        return self.layout.joint_names

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frames: "world", bodies, links that were merged into bodies, and other named poses."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.frame_names)}

    @property
    def _joint_index(self) -> dict[str, int]:
        return self.layout.index

    def body_index(self, name: str) -> int:
        """The number of a body.

        name     of the body
        returns  its place in `bodies`
        errors   `UnknownNameError`: no such body; it lists the valid ones

        >>> sarrus.zoo.chain(3).body_index("link_1")
        1
        """
        if name not in self.body_names:
            raise unknown_name("body", name, self.body_names)
        return self.body_names.index(name)

    def joint_index(self, name: str) -> int:
        """The number of a joint, which is that of the body it moves.

        name     of the joint
        returns  its place in `joint_names`
        errors   `UnknownNameError`: no such joint; it lists the valid ones
        """
        return self.layout.joint_index(name)

    def frame(self, name: str) -> Frame:
        """A frame by its name: the body that it is on, and its pose there.

        name     of a body, a link that was merged into one, or another frame
        returns  a `Frame`
        errors   `UnknownNameError`: no such frame; it lists the valid ones

        >>> sarrus.zoo.chain(3).frame("tip").body
        2
        """
        if name not in self._frame_index:
            raise unknown_name("frame", name, self.frame_names)
        return self.frames[self._frame_index[name]]

    def geometry(self, name: str) -> Geometry:
        """A shape that can touch others, by its name.

        name     of the geometry
        returns  a `sarrus.model.geometries.Geometry`
        errors   `UnknownNameError`: no such geometry; it lists the valid ones
        """
        for found in self.geometries:
            if found.name == name:
                return found
        raise unknown_name("geometry", name, (geometry.name for geometry in self.geometries))

    @cached_property
    def digest(self) -> str:
        """A hash of everything that the model declares (not of what it looks like, nor of its actuators)."""
        declared = (self.name, self.bodies, self.frames, self.constraints, self.gravity)
        if self.embedding is not None:
            declared = (*declared, self.embedding.clusters)
        return hash_of(declared)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether no field is a symbol."""
        placed = (*self.bodies, *self.frames, *self.geometries)
        fields = [x for part in placed for x in (part.placement.R, part.placement.p)]
        for body in self.bodies:
            mass_and_pitch = vector(body.inertia.mass, *body.joint.type.constants)
            fields += [body.inertia.h, body.inertia.Sigma, body.joint.armature, mass_and_pitch]
        return all(is_numeric(x) for x in fields) and not any(c.parameters for c in self.constraints)

    @cached_property
    def active_constraints(self) -> tuple[Constraint, ...]:
        """Those that are to be solved for, in order of declaration: without those that are embedded."""
        embedded = self.embedding.constraints if self.embedding is not None else frozenset()
        return tuple(c for c in self.constraints if c.active and c.kind is not Kind.TENDON and c.name not in embedded)

    @cached_property
    def spanning(self) -> Model:
        """The same robot with nothing embedded."""
        return self if self.embedding is None else replace(self, embedding=None)

    @property
    def n_rows(self) -> int:
        """How many rows the active constraints have."""
        return sum(c.size for c in self.active_constraints)

    @property
    def row_spans(self) -> tuple[slice, ...]:
        """Where the rows of each active constraint lie among all rows."""
        return spans(c.size for c in self.active_constraints)

    @property
    def n_input_rows(self) -> int:
        """How many rows of active constraints have their desired acceleration given at run time."""
        return sum(c.size for c in self.active_constraints if c.takes_input)

    def with_constraints(self, *constraints: Constraint | Iterable[Constraint]) -> Model:
        """The same robot with these constraints declared after those that it has.

        constraints  each one, or lists of them: `sarrus.contact`, `connect`, `weld`, `loop`, `distance`, `coupling`,
                     `link_rows`, `center_of_mass_constraint`
        returns      a `Model`
        errors       `ModelError`: something that is not a constraint; `NameClashError`: two of one name;
                     `UnknownNameError`: a frame or joint that does not exist

        >>> sarrus.zoo.chain(7).with_constraints(sarrus.weld("tip", "world")).n_rows
        6
        """
        more: list[Constraint] = []
        for given in constraints:
            found = given if isinstance(given, (list, tuple)) else (given,)
            for constraint in found:
                if not isinstance(constraint, Constraint):
                    raise ModelError(
                        f"with_constraints: {constraint!r} is not a constraint. Constraints are made by "
                        "sarrus.contact, connect, "
                        "weld, loop, distance, coupling, link_rows, center_of_mass_constraint"
                    )
                more.append(constraint)
        return replace(self, constraints=(*self.constraints, *more))

    def without_constraints(self) -> Model:
        """The same robot as a plain tree: all loops open, nothing embedded.

        >>> sarrus.zoo.four_bar().without_constraints().n_rows
        0
        """
        return replace(self, constraints=(), embedding=None)

    def with_gravity(self, gravity: Array) -> Model:
        """The same robot in another gravitational field.

        gravity  (3,) in the world: m/s^2
        returns  a `Model`
        errors   `ModelError`: not three finite numbers

        >>> moon = sarrus.zoo.chain(2).with_gravity((0.0, 0.0, -1.62))
        >>> float(moon.gravity[2])
        -1.62
        """
        return replace(self, gravity=as_gravity(gravity))

    def lock(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Model:
        """The same robot with some joints locked: fewer bodies, shorter q and v, and every frame.

        Bodies behind a locked joint become part of the body before it, with inertia, frames, shapes and geometries.
        Loops stay. Couplings, tendons and actuators keep what is left of them: a locked coordinate is a constant there.
        A constraint between parts that no longer move against each other is left out if it holds, and is an error if it
        does not. Motors of locked joints are left out, and so are keyframes in which locked joints are elsewhere. What
        is left out becomes a line of `import_report`.

        joints   names (locked at `home`, else neutral), or positions by name: rad or m, a number, or as many as the
                 joint has coordinates
        returns  a `Model`
        errors   `UnknownNameError`: no such joint; `StateError`: positions of the wrong size or not finite;
                 `ModelError`: a constraint that cannot hold there; `UnsupportedError`: embedded constraints or symbols

        >>> arm = sarrus.zoo.chain(7)
        >>> arm.lock(["link_6_joint"]).nv, arm.lock({"link_5_joint": 0.3, "link_6_joint": 0.0}).nv
        (6, 5)
        """
        return _verbs["lock"](self, joints)

    def to_urdf(self, path: Any = None) -> Any:
        """The model as URDF.

        path     of a file to write as well, its folders included; None: none
        returns  `.text`, the XML; `.report`, a line for everything that the format cannot say; `.lost_physics`, those
                 lines of it that make the robot move otherwise
        errors   `UnsupportedError`: symbols, or a joint that URDF does not have

        >>> written = sarrus.zoo.four_bar().to_urdf()
        >>> written.text.startswith("<robot"), len(written.report) > 0
        (True, True)
        """
        return _verbs["to_urdf"](self, path)

    def to_mjcf(self, path: Any = None) -> Any:
        """The model as MJCF, MuJoCo's format.

        path     of a file to write as well, its folders included; None: none
        returns  `.text`, the XML; `.report`, a line for everything that the format cannot say; `.lost_physics`, those
                 lines of it that make the robot move otherwise
        errors   `UnsupportedError`: symbols, a joint that MuJoCo does not have, or a moving body without mass

        >>> sarrus.load(sarrus.zoo.chain(2).to_mjcf().text).nv
        2
        """
        return _verbs["to_mjcf"](self, path)

    def with_ground(self, friction: Any = 1.0, height: float = 0.0) -> Model:
        """The same robot over a horizontal plane of the world that is called "ground".

        friction  a coefficient, up to three (sliding, torsional, rolling: 1, m, m), or a `Friction`
        height    of the plane in the world: m
        returns   a `Model`
        errors    `NameClashError`: there is already a geometry "ground"; `ModelError`: friction or height that cannot
                  be

        >>> sarrus.zoo.biped().with_ground(friction=0.8).geometries[-1].name
        'ground'
        """
        if any(geometry.name == GROUND_NAME for geometry in self.geometries):
            raise NameClashError(f"there is already a geometry {GROUND_NAME!r}")
        pose = placement((0.0, 0.0, height), None, GROUND_NAME)
        ground = make_geometry(GROUND_NAME, WORLD_NAME, Plane(), pose, friction=friction)
        return replace(self, geometries=(*self.geometries, ground))


def check_is_model(function: str, model: Any) -> None:
    """Refuse anything else where a function takes a model first."""
    if not isinstance(model, Model):
        raise StateError(f"{function}: the first argument must be a sarrus.Model, got {type(model).__name__}")


def _check_distinct(what: str, named: Iterable[Constraint | Actuator | Geometry]) -> set[str]:
    """The names of these; no two share theirs."""
    seen: set[str] = set()
    for x in named:
        if x.name in seen:
            raise NameClashError(f"two {what} are called {x.name!r}")
        seen.add(x.name)
    return seen


def check_constraint_names(model: Model) -> None:
    """Every name that a constraint uses exists, no two constraints share theirs, and sums of positions are over joints
    of one coordinate.
    """
    _check_distinct("constraints", model.constraints)
    for constraint in model.constraints:
        for what, names, known in (
            ("frame", constraint.frames, model._frame_index),
            ("joint", constraint.joints, model._joint_index),
        ):
            for name in names:
                if name not in known:
                    raise unknown_name(f"{what} of constraint {constraint.name!r}:", name, known)
        for name in constraint.joints:
            _check_one_coordinate(model, f"constraint {constraint.name!r} adds up positions of", name)


def _check_one_coordinate(model: Model, who: str, joint: str) -> None:
    kind = model.bodies[model.joint_index(joint)].joint.type
    if kind.nq != 1 or kind.nv != 1:
        raise ModelError(f"{who} {joint!r}, a {kind.name} joint: it needs joints of one coordinate")


def check_actuators(model: Model) -> None:
    """Every joint that an actuator acts on exists and has one velocity, and no two actuators share their name."""
    _check_distinct("actuators", model.actuators)
    for found in model.actuators:
        for name, _ in found.joints:
            if name not in model._joint_index:
                raise unknown_name(f"joint of actuator {found.name!r}:", name, model.joint_names)
            _check_one_coordinate(model, f"actuator {found.name!r} acts on", name)


def check_geometries(model: Model) -> None:
    """No two geometries share their name, those without an end are the world's, and pairs name what there is."""
    names = _check_distinct("geometries", model.geometries)
    for geometry in model.geometries:
        if not WORLD <= geometry.body < model.nb:
            raise ModelError(f"geometry {geometry.name!r} is on body {geometry.body} of {model.nb}")
        if isinstance(geometry.shape, GROUND) and geometry.body != WORLD:
            raise ModelError(
                f"geometry {geometry.name!r} on body {model.bodies[geometry.body].name!r}: planes and height fields "
                f"must be on the world"
            )
    for pair in model.geometry_pairs:
        for name in (pair.a, pair.b):
            if name not in names:
                raise unknown_name("geometry of a pair:", name, names)
    for excluded in model.excluded_pairs:
        for name in excluded:
            if name not in model._frame_index:
                raise unknown_name("body of an excluded pair:", name, model.frame_names)


def check_keyframes(model: Model) -> None:
    """Keyframes have the model's sizes."""
    for name, found in model.keyframes.items():
        for key, size in (("q", model.nq), ("v", model.nv), ("controls", model.nu)):
            shape = getattr(found, key).shape
            if shape != (size,):
                raise ModelError(f"{key} of keyframe {name!r} has shape {shape}, expected ({size},)")
