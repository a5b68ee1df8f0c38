"""`ModelBuilder`: the only mutable thing. It collects, checks, merges fixed joints and makes a `Model`."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from sarrus.errors import InertiaError, ModelError, NameClashError, unknown_name
from sarrus.model.actuators import Actuator, actuator
from sarrus.model.bodies import WORLD, WORLD_NAME, Body, Frame, Joint, Placement
from sarrus.model.constraints import Constraint
from sarrus.model.fields import as_gravity, field, nonphysical, placement
from sarrus.model.geometries import ContactShape, Geometry, GeometryPair
from sarrus.model.gravity_compensation import NOTHING_BORNE, BorneWeight, GravityCompensation
from sarrus.model.make_geometry import make_geometry, make_pair
from sarrus.model.make_joint import make_joint
from sarrus.model.model import Model
from sarrus.model.visuals import Color, Shape, Visual
from sarrus.model.well_posed import check_well_posed, noted_ill_posed
from sarrus.spatial.arrays import Scalar, is_numeric
from sarrus.spatial.inertia import Inertia


@dataclass(frozen=True, eq=False)
class _Link:
    name: str
    parent: str
    joint: Joint | None  # None: fixed
    placement: Placement
    inertia: Inertia


class ModelBuilder:
    """Collects bodies, frames, constraints and actuators in any order; then call `build()`.

    name     of the robot
    gravity  (3,) in the world: m/s^2

    >>> builder = sarrus.ModelBuilder("pendulum")
    >>> heavy = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": 0.01 * np.eye(3)}
    >>> builder = builder.add_body("bob", joint="revolute", axis=(0, 1, 0), **heavy)
    >>> builder.build().nv
    1
    """

    def __init__(self, name: str = "robot", *, gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = as_gravity(gravity)
        self._links: dict[str, _Link] = {}
        self._frames: dict[str, tuple[str, Placement]] = {}
        self._constraints: dict[str, Constraint] = {}
        self._joint_names: set[str] = set()
        self._actuators: dict[str, Actuator] = {}
        self._borne = NOTHING_BORNE
        self._visuals: list[tuple[str, Visual]] = []
        self._geometries: dict[str, tuple[str, Geometry]] = {}
        self._geometry_pairs: list[GeometryPair] = []
        self._excluded_pairs: list[tuple[str, str]] = []
        self._report: dict[str, bool] = {}  # line: whether it is about physics that is lost

    def add_body(
        self,
        name: str,
        parent: str = WORLD_NAME,
        *,
        joint: str = "revolute",
        joint_name: str | None = None,
        axis: Sequence[float] | None = None,
        second_axis: Sequence[float] | None = None,
        pitch: Scalar = 0.0,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        mass: Scalar = 0.0,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = None,
        allow_nonphysical: bool = False,
        **carried: Any,
    ) -> ModelBuilder:
        """Add a body and the joint that connects it to `parent` (a body's name, or "world").

        position, rotation  pose of the joint frame in the parent body; rotation is a 3x3 matrix, a quaternion xyzw or
                            roll-pitch-yaw. At q = 0 the body frame lies on the joint frame.
        name                of the body, also of its frame
        parent              a body that is added before or after it, or "world"
        joint_name          default: "<name>_joint"
        joint               fixed, revolute, continuous, prismatic, helical, cylindrical, universal, planar,
                            translation, spherical or free
        axis, second_axis   in the joint frame; default z (universal: x, then y)
        pitch               of a helical joint: metres per radian
        mass, com, inertia  in the body frame: kg, m, kg m^2; `inertia` is the 3x3 matrix about the centre of mass
        allow_nonphysical   keep an inertia that no mass distribution has (it goes into the import report)
        carried             armature, damping, friction, stiffness, rest, lower, upper, velocity_limit,
                            effort_limit (numbers or arrays), effort_lower (the least effort, if it is not
                            -effort_limit), independent
        returns             the builder
        errors              `NameClashError`: the name is taken; `InertiaError`: an inertia that cannot be;
                            `ModelError`: other numbers that cannot be; `UnknownNameError`: no such joint type

        Masses, lengths and inertias may be CasADi symbols.

        >>> sarrus.ModelBuilder().add_body("slide", joint="prismatic", axis=(1, 0, 0), mass=2.0).build().joint_names
        ('slide_joint',)
        """
        if name == WORLD_NAME:
            raise NameClashError(f"a body cannot be called {WORLD_NAME!r}: that is the name of the ground")
        if self.has_name(name):
            raise NameClashError(f"there is already a body or frame {name!r}")
        joint_name = joint_name or f"{name}_joint"
        if joint_name in self._joint_names:
            raise NameClashError(f"there is already a joint {joint_name!r}")
        made = make_joint(joint_name, joint, axis, second_axis, pitch, carried)
        pose = placement(position, rotation, joint_name, "joint ")
        self._links[name] = _Link(name, parent, made, pose, self._inertia(name, mass, com, inertia, allow_nonphysical))
        self._joint_names.add(joint_name)
        return self

    def add_frame(self, name: str, body: str, *, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> ModelBuilder:
        """Name a pose on a body (or on "world").

        name      of the frame
        body      a body, another frame, or "world"
        position  (3,) of its origin there: m
        rotation  a 3x3 matrix, a quaternion xyzw or roll-pitch-yaw (rad); None: the same axes
        returns   the builder
        errors    `NameClashError`: the name is taken; `ModelError`: numbers that cannot be

        >>> builder = sarrus.ModelBuilder().add_body("arm", mass=1.0, inertia=np.eye(3))
        >>> builder.add_frame("tip", "arm", position=(0, 0, 0.3)).build().frame("tip").body
        0
        """
        if self.has_name(name):
            raise NameClashError(f"there is already a body or frame {name!r}")
        self._frames[name] = (body, placement(position, rotation, name))
        return self

    def add_constraint(self, constraint: Constraint) -> ModelBuilder:
        """Declare a constraint; its names are checked by `build`.

        constraint  what `sarrus.weld`, `loop`, `contact`, ... return
        returns     the builder
        errors      `NameClashError`: the name is taken
        """
        if constraint.name in self._constraints:
            raise NameClashError(f"there is already a constraint {constraint.name!r}")
        self._constraints[constraint.name] = constraint
        return self

    def add_actuator(self, name: str, joint: str | Mapping[str, float], **numbers: Any) -> ModelBuilder:
        """Put a motor or servo on a joint of one velocity, or on a sum of some ({name: coefficient}).

        gear           how far the motor moves per joint (1); its force is multiplied by it
        gain, bias     force = gain u + bias, each one number or three: constant, per length, per speed, both at the
                       motor (1, 0). A position servo has gain kp and bias (0, -kp, -kv), a velocity servo kv and
                       (0, 0, -kv).
        control_range  (low, high) to which controls are cut; None: any
        force_range    likewise of the force, before the gear: N m, N
        name           of the actuator
        joint          its name, or coefficients by name
        numbers        those above
        returns        the builder
        errors         `NameClashError`: the name is taken; `ModelError`: no joint, or numbers that cannot be

        >>> builder = sarrus.ModelBuilder().add_body("arm", mass=1.0, inertia=np.eye(3))
        >>> builder.add_actuator("servo", "arm_joint", gain=50.0, bias=(0, -50.0, -2.0)).build().actuators[0].kind
        'position'
        """
        if name in self._actuators:
            raise NameClashError(f"there is already an actuator {name!r}")
        self._actuators[name] = actuator(name, joint, **numbers)
        return self

    def bear_weight(self, frame: str, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0)) -> ModelBuilder:
        """Let something bear the weight of `mass` kg at a point of a frame (MJCF's `gravcomp`); see
        `motors_bear_weight`.

        frame    a body or frame
        mass     kg
        com      (3,) the point, in that frame: m
        returns  the builder
        errors   `ModelError`: numbers that are not finite
        """
        if not np.isfinite([mass, *com]).all():
            raise ModelError(
                f"the weight that is borne at frame {frame!r}: mass {mass!r} and com {com!r} must be finite"
            )
        x, y, z = (float(c) for c in com)
        self._borne += GravityCompensation((BorneWeight(frame, float(mass), (x, y, z)),))
        return self

    def motors_bear_weight(self, *joints: str) -> ModelBuilder:
        """At these joints it is their motors that bear such weights: part of `sarrus.actuator_forces`.

        joints   their names
        returns  the builder
        errors   none before `build`
        """
        self._borne += GravityCompensation((), joints)
        return self

    def add_visual(
        self,
        body: str,
        shape: Shape,
        *,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        color: Color | None = None,
        collision: bool = False,
    ) -> ModelBuilder:
        """Draw a shape of `sarrus.model.visuals` on a body, a frame, or "world".

        body                a body, a frame, or "world"
        shape               of `sarrus.model.visuals`: m
        position, rotation  pose of the shape there, as in `add_frame`
        color               red, green, blue and opacity, from 0 to 1
        collision           whether it is there for contacts rather than for the eye
        returns             the builder
        errors              `ModelError`: a pose that cannot be
        """
        pose = placement(position, rotation, f"a visual of {body}")
        self._visuals.append((body, Visual(WORLD, pose, shape, color, collision)))
        return self

    def add_geometry(
        self,
        body: str,
        shape: ContactShape,
        *,
        name: str | None = None,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        **numbers: Any,
    ) -> ModelBuilder:
        """Give a body, a frame or "world" a shape of `sarrus.model.geometries` that can touch others.

        body                     a body, a frame, or "world"
        shape                    of `sarrus.model.geometries`: m
        name                     default: "<body>_geometry_<k>"
        position, rotation       pose of the shape there, as in `add_frame`
        numbers                  those below, with their defaults
        friction                 a coefficient (1), up to three (sliding, torsional, rolling: 1, m, m), or a `Friction`
        dimensions               1: no friction, 3: sliding (default), 4: twisting too, 6: rolling too
        category, collides_with  bits (1, 1): two may meet if a category of one is among what the other collides with
        margin                   metres from which on a contact is looked at (0)
        priority                 of two geometries that differ in it, the higher one gives friction and dimensions (0)
        returns                  the builder
        errors                   `NameClashError`: the name is taken; `ModelError`: shape or numbers that cannot be

        Planes and height fields are of the world only.

        >>> from sarrus.model.geometries import Sphere
        >>> builder = sarrus.ModelBuilder().add_body("ball", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
        >>> builder.add_geometry("ball", Sphere(0.1), friction=0.5).build().geometries[0].name
        'ball_geometry_0'
        """
        if name is None:
            made_up = (f"{body}_geometry_{k}" for k in count())
            name = next(x for x in made_up if x not in self._geometries)
        if name in self._geometries:
            raise NameClashError(f"there is already a geometry {name!r}")
        pose = placement(position, rotation, name, "geometry ")
        self._geometries[name] = (body, make_geometry(name, body, shape, pose, **numbers))
        return self

    def add_geometry_pair(
        self, a: str, b: str, *, friction: Any = None, dimensions: int | None = None, margin: float | None = None
    ) -> ModelBuilder:
        """Let two geometries meet whatever their categories, parents and exclusions say.

        a, b        names of geometries
        friction    as in `add_geometry`; None: as the geometries say
        dimensions  likewise
        margin      likewise: m
        returns     the builder
        errors      `ModelError`: a geometry and itself, or numbers that cannot be
        """
        self._geometry_pairs.append(make_pair(a, b, friction, dimensions, margin))
        return self

    def exclude_pair(self, a: str, b: str) -> ModelBuilder:
        """Never let the geometries of two bodies meet (or of "world"), nor those of links on fixed joints so named.

        a, b     names of bodies, of links that are merged into one, or "world"
        returns  the builder
        errors   none before `build`
        """
        self._excluded_pairs.append((a, b))
        return self

    def report(self, line: str, *, lost: bool = False) -> ModelBuilder:
        """Note something that the model does not represent; it is shown as `model.import_report`.

        line     in words
        lost     it makes the robot move otherwise than its file says: in `model.lost_physics`, and first in the report
        returns  the builder
        errors   none
        """
        self._report[line] = lost or self._report.get(line, False)
        return self

    def has_name(self, name: str) -> bool:
        """Whether a body or frame of that name was added.

        name     to look for
        returns  True or False; "world" is always there
        errors   none
        """
        return name in self._links or name in self._frames or name == WORLD_NAME

    def is_fixed(self, body: str) -> bool:
        """Whether a body that was added is fixed to the world, or is the world.

        body     its name
        returns  True or False
        errors   none
        """
        while body in self._links and self._links[body].joint is None:
            body = self._links[body].parent
        return body == WORLD_NAME

    def build(self, *, allow_ill_posed: bool = False) -> Model:
        """Check everything, merge fixed joints, put parents first and make the model.

        allow_ill_posed  put a joint that moves no inertia into the import report instead of refusing the model: robot
                         files have such joints, and everything but their acceleration is well defined
        returns          a `Model`
        errors           `UnknownNameError`: a body, frame or joint that was not added; `IllPosedError`: a joint that
                         moves no inertia; `ModelError`: parents in a circle
        """
        bodies: list[Body] = []
        on_body = {WORLD_NAME: (WORLD, Placement.identity())}  # of every name: a body's number, and the pose on it

        def found(name: str) -> tuple[int, Placement]:
            if name not in on_body:
                raise unknown_name("body", name, on_body)
            return on_body[name]

        def placed(body: str, geometry: Geometry) -> Geometry:
            link = body
            while link in self._frames:
                link = self._frames[link][0]
            return replace(geometry.moved(*found(body)), link=link)

        for link in self._sorted_links():
            parent, carrier = on_body[link.parent]
            pose = carrier @ link.placement
            if link.joint is not None:
                on_body[link.name] = (len(bodies), Placement.identity())
                bodies.append(Body(link.name, parent, link.joint, pose, link.inertia))
                continue
            on_body[link.name] = (parent, pose)
            if parent != WORLD:  # what is fixed to the ground does not move: its inertia has no effect
                merged = bodies[parent].inertia + link.inertia.transformed(pose.transform)
                bodies[parent] = replace(bodies[parent], inertia=merged)
        for name, (body, pose) in self._frames.items():
            number, carrier = found(body)
            on_body[name] = (number, carrier @ pose)
        lost = tuple(line for line, is_lost in self._report.items() if is_lost)
        model = Model(
            self.name,
            tuple(bodies),
            tuple(Frame(name, *where) for name, where in on_body.items()),
            tuple(self._constraints.values()),
            self.gravity,
            import_report=(*lost, *(line for line, is_lost in self._report.items() if not is_lost)),
            lost_physics=lost,
            visuals=tuple(visual.moved(*found(body)) for body, visual in self._visuals),
            actuators=tuple(self._actuators.values()),
            gravity_compensation=self._borne,
            geometries=tuple(placed(*declared) for declared in self._geometries.values()),
            geometry_pairs=tuple(self._geometry_pairs),
            excluded_pairs=tuple(self._excluded_pairs),
        )
        if allow_ill_posed:
            return noted_ill_posed(model)
        check_well_posed(model)
        return model

    def _sorted_links(self) -> list[_Link]:
        """Parents first; otherwise in the order of addition."""
        names = list(self._links)
        number = {name: k for k, name in enumerate(names)}
        children: dict[str, list[int]] = {name: [] for name in (WORLD_NAME, *names)}
        for link in self._links.values():
            if link.parent not in children:
                raise unknown_name(f"parent of body {link.name!r}:", link.parent, children)
            children[link.parent].append(number[link.name])
        order: list[_Link] = []
        ready = children[WORLD_NAME]
        while ready:
            link = self._links[names[heapq.heappop(ready)]]
            order.append(link)
            for child in children[link.name]:
                heapq.heappush(ready, child)
        if len(order) < len(names):
            placed = {link.name for link in order}
            stuck = next(name for name in names if name not in placed)
            cycle = ring(stuck, {link.name: link.parent for link in self._links.values()})
            raise ModelError(
                f"cyclic parents: {' <- '.join(map(repr, cycle))}. Replace one of these joints "
                f"by a constraint (a loop closure)"
            )
        return order

    def _inertia(self, name: str, mass: Scalar, com: Any, inertia: Any, allow_nonphysical: bool) -> Inertia:
        m = field(mass, (1,), f"mass of body {name!r}")[0]
        c = field(com, (3,), f"com of body {name!r}")
        Ic = field(np.zeros((3, 3)) if inertia is None else inertia, (3, 3), f"inertia of body {name!r}")
        if isinstance(m, (float, np.floating)) and m < 0.0:
            raise InertiaError(f"body {name!r} has mass {m:g}: a mass must not be negative")
        if is_numeric(Ic):
            problem = nonphysical(Ic, m)
            if problem and not allow_nonphysical:
                raise InertiaError(f"body {name!r}: {problem}")
            if problem:
                self.report(f"body {name!r}: {problem}; kept as given")
            Ic = 0.5 * (Ic + Ic.T)
        return Inertia.from_com(m, c, Ic)


def ring(start: str, before: Mapping[str, str]) -> list[str]:
    """The names that repeat when one goes from `start` to what is before it, and so on; the first comes once more."""
    seen: dict[str, int] = {}
    name = start
    while name not in seen:
        seen[name] = len(seen)
        name = before[name]
    return [*list(seen)[seen[name] :], name]
